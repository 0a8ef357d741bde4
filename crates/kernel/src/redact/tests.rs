//! What is taken out and what must stay.

use super::shapes::Letters;
use super::*;
use crate::{Create, EntityId, Observe};
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{Kind, ReasonCode};

/// Letters that no word has, of a kind, so that no scanner of sources finds a secret here.
fn made(letters: Letters, length: usize) -> String {
    let of = match letters {
        Letters::Hex => "0a1b2c3d4e5f60718293",
        Letters::Upper => "A2B3C4D5E6F7G2H3J4K5",
        Letters::Alnum | Letters::Word | Letters::Dotted | Letters::Base64 => "aB3dE5gH7jK9mN2pQ4sT",
    };
    of.chars().cycle().take(length).collect()
}

/// Secrets that are told by their whole form.
fn forms() -> Vec<(&'static str, String)> {
    let m = |length| made(Letters::Alnum, length);
    let hex = |length| made(Letters::Hex, length);
    vec![
        ("telegram", format!("123456789:A{}", m(34))),
        ("discord", format!("M{}.{}.{}", m(23), m(6), m(27))),
        ("azure ad", format!("aB38Q~{}", m(34))),
        ("azure storage", format!("{}==", m(86))),
        ("aws secret", "wJa1rXUt/K7M+NG2bPx9RfiC8YEkL3zQv5Hd0TsW".to_owned()),
        ("airtable", format!("pat{}.{}", m(14), hex(64))),
        ("terraform", format!("{}.atlasv1.{}", m(14), m(64))),
        ("mailchimp", format!("{}-us12", hex(32))),
        ("maxmind", format!("{}_{}_mmk", m(6), m(29))),
        ("private key", format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", m(64))),
        ("open private key", format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}", m(64))),
        ("slack webhook", format!("https://hooks.slack.com/services/T0/B0/{}", m(24))),
        ("discord webhook", format!("https://discord.com/api/webhooks/1/{}", m(60))),
        ("teams webhook", format!("https://x.webhook.office.com/webhookb2/{}", m(36))),
        ("telegram address", format!("https://api.telegram.org/bot123456789:A{}/getMe", m(34))),
        ("login", format!("https://ann:{}@example.org/repo.git", m(12))),
        ("login with a slash", format!("postgres://ann:pa/{}@db/shop", m(12))),
        ("login with a comma", format!("postgres://ann:p,;{}@db/shop", m(12))),
        ("query", format!("postgres://db/shop?user=ann&password={}", m(12))),
        ("fragment", format!("https://example.org/#access_token={}", m(12))),
        ("sas", format!("https://x.blob.core.windows.net/c?sv=1&sig={}", m(40))),
        ("connection string", format!("AccountName=a;AccountKey={};x=y", m(20))),
        ("environment", format!("PGPASSWORD={}", m(8))),
        ("yaml", format!("db_password: {}", m(8))),
        ("json", format!("{{\"apiKey\": \"{}\", \"x\": 1}}", m(8))),
        ("json, tight", format!("{{\"client_secret\":\"{}\"}}", m(8))),
        ("header", format!("Authorization: Basic {}", m(16))),
        ("bare header", format!("authorization: {}", m(16))),
        ("cookie", format!("Cookie: session={}", m(16))),
    ]
}

#[test]
fn no_known_kind_of_secret_survives_bare_or_among_words() {
    let shapes = SHAPES.iter().map(|(kind, begins, letters, least)| {
        (*kind, format!("{begins}{}", made(*letters, (*least).max(12))))
    });
    let all: Vec<(&str, String)> = shapes.chain(forms()).collect();
    let kinds: std::collections::BTreeSet<&str> = all.iter().map(|(kind, _)| *kind).collect();
    assert!(kinds.len() >= 80, "{}", kinds.len());
    for (kind, secret) in &all {
        let tail = &secret[secret.len() / 2..];
        let tail = tail.rsplit_once(['@', ';', '"']).map_or(tail, |_| "aB3dE5gH");
        for given in [secret.clone(), format!("use {secret} now"), format!("(see '{secret}')")] {
            let cleaned = text(&given);
            assert!(cleaned.contains(HIDDEN) && !cleaned.contains(tail), "{kind}: {given} became {cleaned}");
            assert_eq!(text(&cleaned), cleaned, "{kind}: twice is once");
        }
        let argv = words(["tool", secret.as_str(), "--verbose"].into_iter());
        assert!(!argv[1].contains(tail), "{kind}: {}", argv[1]);
        assert_eq!((argv[0].as_str(), argv[2].as_str()), ("tool", "--verbose"));
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let stays = [
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "0195a3b4-7000-7000-8000-0123456789ab",
        "0195A3B4-7000-7000-8000-0123456789AB",
        "ses_01m7mbe0cafa4t8k2v3x5y7z9q",
        "/srv/project/crates/engine/src/delivery/Repository2.rs",
        "crates/engine/src/delivery/repo/Locatio2",
        "aGVsbG8gd29ybGQ=",
        "https://example.org/a?b=c&page=2",
        "https://registry.npmjs.org/@scope/pkg/-/pkg-1.0.0.tgz",
        "git@github.com:ann/repo.git",
        "http://127.0.0.1:8080/@x",
        "--max-tokens=100",
        "--token-budget=5",
        "--token-file=/run/secrets/x",
        "--password-file=/run/secrets/x",
        "monkey=banana",
        "the key: abc",
        "Unexpected token: }",
        "/etc/passwd: permission denied",
        "a secret that nobody tells",
        "SKU-12345",
        "skim-the-milk",
        "EAAger",
        "key-value store",
        "sha512-integrity",
        "-----BEGIN CERTIFICATE-----",
        "12:30:45",
        "127.0.0.1:8080",
        "x=1&y=2",
    ];
    for given in stays {
        assert_eq!(text(given), given);
    }
}

#[test]
fn what_is_around_a_secret_stays() {
    let cases = [
        ("--api-key=abc", "--api-key=***"),
        ("use ghp_0123456789abcdefghij0123 now", "use *** now"),
        ("postgres://me:hunter2@db/x", "postgres://***@db/x"),
        ("postgres://me:hun@ter2@db/x?sslmode=disable", "postgres://***@db/x?sslmode=disable"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("{\"token\":\"abc\",\"a\":\"b\"}", "{\"token\":\"***\",\"a\":\"b\"}"),
        ("https://example.org/?b=c&access_token=abc&d=e", "https://example.org/?b=c&access_token=***&d=e"),
        ("X-Api-Key: abc", "X-Api-Key: ***"),
        ("sk-0123456789abcdef:ghp_0123456789abcdefghij", "***:***"),
        ("cb_adm_0123456789abcdef0123456789abcdef", "***"),
        ("GITHUB_TOKEN_PROD=abc", "GITHUB_TOKEN_PROD=***"),
    ];
    for (given, expected) in cases {
        assert_eq!(text(given), expected, "{given}");
    }
}

#[test]
fn a_secret_may_be_the_word_after_its_name() {
    let hidden = words(["curl", "-u", "me:hunter2", "-u", "me"].into_iter());
    assert_eq!(hidden, ["curl", "-u", "***", "-u", "me"]);
    let argv = ["tool", "--token", "abc", "--verbose", "--password", "-x", "fix the bug"];
    let hidden = words(argv.into_iter());
    assert_eq!(hidden, ["tool", "--token", "***", "--verbose", "--password", "-x", "fix the bug"]);
}

#[test]
fn a_command_is_recorded_without_secrets_and_with_file_names_as_they_are() {
    let secret = format!("ghp_{}", made(Letters::Alnum, 36));
    let list = |words: &[&str]| Value::List(words.iter().map(|word| Value::from(*word)).collect());
    let contract =
        Facts::none().with("command", list(&["curl", "-u", "ann:hunter2"])).with("path", "key=a/b");
    let data = Facts::none()
        .with("title", format!("a\u{202e}\u{1b}b {secret}"))
        .with("labels", Value::Map(Facts::none().with("db_password", "hunter2").with("key", "AB-12")))
        .with("artifacts", Value::Map(Facts::none().with("contract", Value::Map(contract))))
        .with("cwd", "/tmp/token=abc/x")
        .with("end_key", "abc");
    let reason = StateReason::new(const { ReasonCode::of("system.operator.note") }, secret.as_str())
        .shown_by(EvidenceRef::human_assertion(secret.as_str()));
    let id = EntityId::new(Kind::Task, uuid::Uuid::nil());
    let order = Create { at: TaskState::Open.into(), reasons: vec![reason], data };
    let command = Command::new(id, Order::Create(order)).recordable();
    assert_eq!(command.clone().recordable(), command);
    let Order::Create(order) = command.order else { panic!("another order") };
    let json = serde_json::to_string(&order.data).unwrap();
    assert_eq!(
        json,
        "{\"artifacts\":{\"contract\":{\"command\":[\"curl\",\"-u\",\"***\"],\"path\":\"key=a/b\"}},\
         \"cwd\":\"/tmp/token=abc/x\",\"end_key\":\"abc\",\"labels\":{\"db_password\":\"***\",\"key\":\"AB-12\"},\
         \"title\":\"ab ***\"}"
    );
    assert_eq!(order.reasons[0].message, HIDDEN);
    assert_eq!(order.reasons[0].evidence[0].detail.as_deref(), Some(HIDDEN));
    let seen = Observe { reasons: vec![], data: Facts::none().with("said", "password: hunter2") };
    let Order::Observe(seen) = Command::new(id, Order::Observe(seen)).recordable().order else { panic!() };
    assert_eq!(seen.data.get("said"), Some(&Value::from("password: ***")));
}

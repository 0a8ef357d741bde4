//! How secrets of well-known services look: the beginning of each, its letters, and how many follow at the least.
//!
//! Invariant: one table. The kinds are those that public detectors look for and that can be told by themselves; the lengths
//! are at most the real ones, so that a key that became longer is still found. Deliberately absent: kinds that are told only
//! by a name beside them, which the names find.

/// Which letters a secret is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Letters {
    Hex,
    Upper,
    Alnum,
    /// And `_`, `-`.
    Word,
    /// And `.`.
    Dotted,
    /// And `+`, `/`, `=`.
    Base64,
}

impl Letters {
    pub(super) const fn has(self, byte: u8) -> bool {
        match self {
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => Self::Word.has(byte) || byte == b'.',
            Self::Base64 => Self::Dotted.has(byte) || matches!(byte, b'+' | b'/' | b'='),
        }
    }
}

use Letters::{Alnum, Base64, Dotted, Hex, Upper, Word};

/// Service, beginning, letters, how many follow at the least.
pub(super) const SHAPES: &[(&str, &str, Letters, usize)] = &[
    ("callboard", "cb_adm_", Dotted, 13),
    ("callboard", "cb_ro_", Dotted, 14),
    ("callboard", "cb_run_", Dotted, 13),
    ("1password", "A3-", Word, 30),
    ("1password", "ops_eyJ", Base64, 60),
    ("age", "AGE-SECRET-KEY-1", Upper, 50),
    ("alibaba", "LTAI", Alnum, 16),
    ("artifactory", "AKCp", Alnum, 60),
    ("artifactory", "cmVmd", Alnum, 55),
    ("atlassian", "ATATT3", Base64, 40),
    ("atlassian", "ATCTT3", Base64, 40),
    ("atlassian", "ATBB", Alnum, 24),
    ("aws", "AKIA", Upper, 16),
    ("aws", "ASIA", Upper, 16),
    ("aws", "ABIA", Upper, 16),
    ("aws", "ACCA", Upper, 16),
    ("bedrock", "ABSK", Base64, 80),
    ("bedrock", "bedrock-api-key-", Base64, 20),
    ("brevo", "xkeysib-", Word, 60),
    ("brevo", "xsmtpsib-", Word, 60),
    ("clojars", "CLOJARS_", Alnum, 40),
    ("contentful", "CFPAT-", Word, 40),
    ("crates.io", "cio", Alnum, 32),
    ("databricks", "dapi", Hex, 32),
    ("digitalocean", "dop_v1_", Hex, 60),
    ("digitalocean", "doo_v1_", Hex, 60),
    ("digitalocean", "dor_v1_", Hex, 60),
    ("docker", "dckr_pat_", Word, 20),
    ("docker", "dckr_oat_", Word, 20),
    ("doppler", "dp.pt.", Alnum, 40),
    ("doppler", "dp.st.", Dotted, 40),
    ("dropbox", "sl.", Word, 100),
    ("duffel", "duffel_live_", Word, 40),
    ("duffel", "duffel_test_", Word, 40),
    ("dynatrace", "dt0c01.", Dotted, 60),
    ("easypost", "EZAK", Alnum, 50),
    ("easypost", "EZTK", Alnum, 50),
    ("facebook", "EAA", Alnum, 60),
    ("figma", "figd_", Word, 30),
    ("fly.io", "fo1_", Word, 40),
    ("fly.io", "fm1a_", Base64, 80),
    ("fly.io", "fm1r_", Base64, 80),
    ("fly.io", "fm2_", Base64, 80),
    ("frame.io", "fio-u-", Word, 60),
    ("github", "ghp_", Alnum, 16),
    ("github", "gho_", Alnum, 16),
    ("github", "ghu_", Alnum, 16),
    ("github", "ghs_", Alnum, 16),
    ("github", "ghr_", Alnum, 16),
    ("github", "github_pat_", Word, 9),
    ("gitlab", "glpat-", Dotted, 10),
    ("gitlab", "gldt-", Dotted, 16),
    ("gitlab", "glrt-", Dotted, 16),
    ("gitlab", "glptt-", Dotted, 16),
    ("gitlab", "glcbt-", Dotted, 16),
    ("gitlab", "glft-", Dotted, 16),
    ("gitlab", "glffct-", Dotted, 16),
    ("gitlab", "glimt-", Dotted, 16),
    ("gitlab", "glagent-", Dotted, 16),
    ("gitlab", "gloas-", Dotted, 16),
    ("gitlab", "glsoat-", Dotted, 16),
    ("gitlab", "GR1348941", Word, 16),
    ("google", "AIza", Word, 26),
    ("google", "ya29.", Dotted, 20),
    ("google", "GOCSPX-", Word, 20),
    ("google", "1//0", Word, 40),
    ("grafana", "glc_", Base64, 32),
    ("grafana", "glsa_", Word, 32),
    ("groq", "gsk_", Alnum, 40),
    ("harness", "pat.", Dotted, 60),
    ("harness", "sat.", Dotted, 60),
    ("heroku", "HRKU-", Word, 36),
    ("huggingface", "hf_", Alnum, 30),
    ("huggingface", "api_org_", Alnum, 30),
    ("infracost", "ico-", Alnum, 32),
    ("jwt", "eyJ", Dotted, 37),
    ("langsmith", "lsv2_pt_", Word, 30),
    ("langsmith", "lsv2_sk_", Word, 30),
    ("linear", "lin_api_", Alnum, 32),
    ("linear", "lin_oauth_", Alnum, 32),
    ("mailgun", "key-", Hex, 32),
    ("netlify", "nfp_", Alnum, 36),
    ("new relic", "NRAK-", Alnum, 26),
    ("new relic", "NRII-", Word, 26),
    ("new relic", "NRJS-", Hex, 19),
    ("notion", "ntn_", Alnum, 40),
    ("notion", "secret_", Alnum, 43),
    ("npm", "npm_", Alnum, 16),
    ("nuget", "oy2", Alnum, 43),
    ("nvidia", "nvapi-", Word, 40),
    ("octopus", "API-", Upper, 25),
    ("openai, anthropic", "sk-", Dotted, 13),
    ("openshift", "sha256~", Word, 43),
    ("perplexity", "pplx-", Alnum, 40),
    ("pinecone", "pcsk_", Word, 40),
    ("planetscale", "pscale_tkn_", Dotted, 32),
    ("planetscale", "pscale_oauth_", Dotted, 32),
    ("planetscale", "pscale_pw_", Dotted, 32),
    ("postman", "PMAK-", Word, 50),
    ("prefect", "pnu_", Alnum, 36),
    ("pulumi", "pul-", Hex, 40),
    ("pypi", "pypi-Ag", Word, 16),
    ("readme", "rdme_", Alnum, 60),
    ("replicate", "r8_", Alnum, 37),
    ("rubygems", "rubygems_", Hex, 32),
    ("scalingo", "tk-us-", Word, 40),
    ("sendgrid", "SG.", Dotted, 40),
    ("sentry", "sntrys_", Base64, 40),
    ("sentry", "sntryu_", Hex, 60),
    ("settlemint", "sm_aat_", Alnum, 16),
    ("settlemint", "sm_pat_", Alnum, 16),
    ("settlemint", "sm_sat_", Alnum, 16),
    ("shippo", "shippo_live_", Hex, 40),
    ("shippo", "shippo_test_", Hex, 40),
    ("shopify", "shpat_", Hex, 32),
    ("shopify", "shpca_", Hex, 32),
    ("shopify", "shppa_", Hex, 32),
    ("shopify", "shpss_", Hex, 32),
    ("slack", "xoxa-", Dotted, 11),
    ("slack", "xoxb-", Dotted, 11),
    ("slack", "xoxe-", Dotted, 11),
    ("slack", "xoxe.", Dotted, 11),
    ("slack", "xoxo-", Dotted, 11),
    ("slack", "xoxp-", Dotted, 11),
    ("slack", "xoxr-", Dotted, 11),
    ("slack", "xoxs-", Dotted, 11),
    ("slack", "xapp-", Dotted, 11),
    ("sonar", "squ_", Hex, 40),
    ("sonar", "sqp_", Hex, 40),
    ("sonar", "sqa_", Hex, 40),
    ("sourcegraph", "sgp_", Word, 40),
    ("square", "sq0atp-", Word, 20),
    ("square", "sq0csp-", Word, 20),
    ("stripe", "sk_live_", Alnum, 8),
    ("stripe", "sk_test_", Alnum, 8),
    ("stripe", "sk_prod_", Alnum, 8),
    ("stripe", "rk_live_", Alnum, 8),
    ("stripe", "rk_test_", Alnum, 8),
    ("stripe", "rk_prod_", Alnum, 8),
    ("supabase", "sbp_", Hex, 40),
    ("tavily", "tvly-", Word, 20),
    ("twilio", "SK", Hex, 32),
    ("typeform", "tfp_", Dotted, 40),
    ("vault", "hvs.", Word, 20),
    ("vault", "hvb.", Word, 20),
    ("vault", "hvr.", Word, 20),
    ("webhook", "whsec_", Base64, 10),
    ("xai", "xai-", Alnum, 60),
    ("yandex", "AQVN", Word, 35),
];

/// Addresses whose path is the secret: what stands behind these words is hidden.
pub(super) const SECRET_ADDRESSES: &[&str] = &[
    "hooks.slack.com/services/",
    "hooks.slack.com/workflows/",
    "hooks.slack.com/triggers/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    "webhook.office.com/webhookb2/",
    "outlook.office.com/webhook/",
    "api.telegram.org/bot",
    "chat.googleapis.com/v1/spaces/",
    "hooks.zapier.com/hooks/catch/",
];

/// The length of a secret at the beginning of a text that is told by its whole form and not by how it begins.
pub(super) fn form(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let run = |from: usize, letters: Letters| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|byte| letters.has(**byte)).count()
    };
    let at = |place: usize| bytes.get(place).copied().unwrap_or(0);
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // Telegram: the number of a bot, then its key.
    if (6..=12).contains(&digits) && at(digits) == b':' {
        let key = run(digits + 1, Word);
        return (key >= 32 && at(digits + 1) == b'A').then_some(digits + 1 + key);
    }
    let hex = run(0, Hex);
    // Mailchimp: a key and its data centre.
    if hex == 32 && text.get(32..35) == Some("-us") && at(35).is_ascii_digit() {
        return Some(35 + bytes[35..].iter().take_while(|byte| byte.is_ascii_digit()).count());
    }
    let word = run(0, Word);
    // Discord: the number of a bot in base 64, a time, a signature.
    if (23..=28).contains(&word) && matches!(at(0), b'M' | b'N' | b'O') && at(word) == b'.' {
        let time = run(word + 1, Word);
        let signature = run(word + time + 2, Word);
        let is_token = (5..=7).contains(&time) && at(word + time + 1) == b'.' && signature >= 27;
        return is_token.then_some(word + time + 2 + signature);
    }
    // Airtable, Terraform Cloud: a name, a word, a key.
    if word == 17 && text.starts_with("pat") && at(17) == b'.' && run(18, Hex) >= 60 {
        return Some(18 + run(18, Hex));
    }
    if word == 14 && text.get(14..23) == Some(".atlasv1.") && run(23, Word) >= 50 {
        return Some(23 + run(23, Word));
    }
    // MaxMind.
    if word >= 36 && text[..word].ends_with("_mmk") {
        return Some(word);
    }
    // Azure: three letters, a digit, `Q~`, a key.
    if at(3).is_ascii_digit() && text.get(4..6) == Some("Q~") && run(6, Dotted) >= 31 {
        return Some(6 + run(6, Dotted));
    }
    scattered(text)
}

/// The keys of AWS and of Azure's storage have no form but their length and that no word looks like them.
fn scattered(text: &str) -> Option<usize> {
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'+' | b'/');
    let length = text.bytes().take_while(|byte| is_letter(&byte)).count();
    let rest = &text.as_bytes()[length..];
    let is_whole = |end: usize| rest.get(end).is_none_or(|byte| !Base64.has(*byte));
    let length = match length {
        40 if is_whole(0) => 40,
        86 if rest.starts_with(b"==") && is_whole(2) => 88,
        _ => return None,
    };
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let classes: Vec<u8> = text.bytes().take(40).map(class).collect();
    let changes = classes.windows(2).filter(|pair| pair[0] != pair[1]).count();
    (changes >= 18 && (0..3).all(|class| classes.contains(&class))).then_some(length)
}

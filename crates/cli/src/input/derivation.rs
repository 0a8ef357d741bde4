//! One line of `derive`: from what is known about an entity to the state that is shown.
//!
//! Invariant: severity, tone and chain are the kernel's; this reads words and writes JSON. A line that is answered
//! allocates nothing unless it gives a reason, has escaped text, or its health speaks against its state. Deliberately
//! absent: reading and writing the stream.

use std::borrow::Cow;
use std::fmt;

use callboard_kernel::{
    Axes, Chain, Confidence, Effective, Moment, NormalizedState, Phase, Source, StateReason, claim_severity,
    normalize,
};
use callboard_lifecycle::claim::ClaimStatus;
use callboard_lifecycle::{
    Delivery, Health, Kind, Lifecycle, MACHINES, Outcome, PolicyVersion, Severity, Tone, UnknownWord, Words,
    reason,
};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::instead_of;

/// What is known about one entity.
#[derive(Deserialize)]
struct Known<'a> {
    #[serde(borrow, default)]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    lifecycle: Option<Text<'a>>,
    #[serde(borrow, default)]
    outcome: Option<Text<'a>>,
    #[serde(borrow, default)]
    health: Option<Text<'a>>,
    #[serde(borrow, default)]
    delivery: Option<Text<'a>>,
    #[serde(borrow, default)]
    reason: Option<Text<'a>>,
    #[serde(default)]
    confidence: Option<f64>,
}

/// A text that is taken from the line where it stands there unescaped; serde's own `Cow` is always copied.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Borrowing;

        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        from.deserialize_str(Borrowing)
    }
}

/// Why a line has no answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Problem {
    /// What is wrong with it.
    pub(crate) because: String,
    /// What to write instead.
    pub(crate) instead: String,
}

impl Problem {
    /// A line that is longer than `limit` bytes.
    pub(crate) fn too_long(limit: usize) -> Self {
        let because = format!("it is longer than {} KiB", limit / 1024);
        Self { because, instead: "one JSON object a line, with a line break after it".to_owned() }
    }

    fn malformed(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let told = text.rsplit_once(" at line ").map_or(text.as_str(), |(told, _)| told);
        Self {
            because: format!("{told}, at column {}", error.column()),
            instead: r#"an object such as {"kind":"session","lifecycle":"running","health":"ok"}"#.to_owned(),
        }
    }

    fn unknown(unknown: &UnknownWord, all: &str) -> Self {
        let because = format!("unknown {} {:?}", unknown.what, unknown.word);
        Self { because, instead: instead_of(unknown, all) }
    }
}

/// The answer to one line.
pub(crate) struct Derived {
    kind: Option<Kind>,
    axes: Axes,
    state: NormalizedState,
}

/// Derives the state from one line of JSON.
pub(crate) fn derive(line: &[u8], policy: PolicyVersion, now: Moment) -> Result<Derived, Problem> {
    // A list would be read as the fields in their order, which nobody means.
    if line.trim_ascii_start().first() == Some(&b'[') {
        let because = "it is a list, not an object".to_owned();
        return Err(Problem {
            because,
            instead: "one object a line, without brackets around them".to_owned(),
        });
    }
    let known: Known<'_> = serde_json::from_slice(line).map_err(|error| Problem::malformed(&error))?;
    let kind = known.kind.map(|text| word::<Kind>(&text)).transpose()?;
    let axes = Axes {
        lifecycle: known.lifecycle.map(|text| lifecycle(kind, &text.0)).transpose()?,
        outcome: known.outcome.map(|text| word(&text)).transpose()?,
        health: known.health.map(|text| word(&text)).transpose()?,
        delivery: known.delivery.map(|text| word(&text)).transpose()?,
    };
    let reasons = match known.reason {
        None => Vec::new(),
        Some(code) => vec![explained(kind, &code.0)?],
    };
    let mut state = normalize(axes, reasons, policy, now);
    if let Some((severity, tone)) = judged_as_claim(axes.lifecycle, known.confidence)? {
        (state.severity, state.tone) = (severity, tone);
    }
    Ok(Derived { kind, axes, state })
}

fn word<T: Words>(text: &Text<'_>) -> Result<T, Problem> {
    T::parse(&text.0).map_err(|unknown| {
        let all: Vec<&str> = T::WORDS.iter().map(|word| word.name).collect();
        Problem::unknown(&unknown, &format!("one of {}", all.join(", ")))
    })
}

/// A state of the kind; without a kind, of a session, or else of whatever has such a state.
fn lifecycle(kind: Option<Kind>, name: &str) -> Result<Lifecycle, Problem> {
    let Some(kind) = kind else {
        return anybodys(name).ok_or_else(|| {
            let mut names: Vec<&str> = MACHINES.iter().flat_map(|machine| machine.state_names()).collect();
            names.sort_unstable();
            names.dedup();
            let unknown = UnknownWord::new("state", name, names.into_iter());
            Problem::unknown(&unknown, "callboard machines KIND lists them")
        });
    };
    Lifecycle::parse(kind, name).map_err(|unknown| {
        let because = format!("{kind} has no state {name:?}");
        Problem { because, instead: instead_of(&unknown, &format!("callboard machines {kind} lists them")) }
    })
}

/// A session's state, then one that some kind has, then one that some kind had: an old name must not hide a name that
/// is in use.
fn anybodys(name: &str) -> Option<Lifecycle> {
    let of = |kind: Kind| Some(Lifecycle::new(kind, kind.machine().state(name)?));
    let has = |kind: &&Kind| kind.machine().state_names().any(|state| state == name);
    let in_use = || Kind::ALL.iter().find(has).copied().and_then(of);
    of(Kind::Session).or_else(in_use).or_else(|| Kind::ALL.iter().copied().find_map(of))
}

fn explained(kind: Option<Kind>, code: &str) -> Result<StateReason, Problem> {
    let code = reason(code).map_err(|unknown| Problem::unknown(&unknown, "callboard reasons lists them"))?;
    match kind {
        Some(kind) if !code.def().fits(kind) => Err(Problem {
            because: format!("the reason {code} does not belong to the kind {kind}"),
            instead: format!("callboard reasons {kind} lists those that do"),
        }),
        Some(_) | None => Ok(StateReason::new(code, code.def().meaning)),
    }
}

/// A claim is judged by how sure it is, not by an outcome.
fn judged_as_claim(
    lifecycle: Option<Lifecycle>,
    confidence: Option<f64>,
) -> Result<Option<(Severity, Tone)>, Problem> {
    let Some(claim) = lifecycle.filter(|state| state.kind() == Kind::Claim) else { return Ok(None) };
    let confidence = confidence.map_or(Confidence::CERTAIN, Confidence::new);
    if !(0.0..=1.0).contains(&confidence.get()) {
        let because = format!("a confidence of {} is no probability", confidence.get());
        return Err(Problem { because, instead: "a number from 0 to 1".to_owned() });
    }
    Ok(Some(claim_severity(ClaimStatus::ALL[usize::from(claim.position())], confidence)))
}

impl Derived {
    /// Its line for people: severity and tone first, then the chain.
    pub(crate) fn shown(&self) -> (Severity, Tone, Chain<'_>) {
        (self.state.severity, self.state.tone, Chain::new(self.axes))
    }

    /// Appends its line of JSON. `evaluated_at` is the moment it was derived at, written once for many lines.
    pub(crate) fn write(&self, evaluated_at: &str, into: &mut Vec<u8>) -> std::io::Result<()> {
        let state = &self.state;
        let answer = Answer {
            kind: self.kind,
            lifecycle: state.lifecycle,
            outcome: state.outcome,
            phase: state.phase.as_ref(),
            health: state.health,
            delivery: state.delivery,
            severity: state.severity,
            tone: state.tone,
            reasons: &state.reasons,
            evaluated_at,
            policy_version: state.policy_version,
            source: state.source,
            chain: Chain::new(self.axes),
            effective: Effective(self.axes),
        };
        serde_json::to_writer(&mut *into, &answer)?;
        into.push(b'\n');
        Ok(())
    }
}

/// A `NormalizedState`, field by field, and what `derive` adds to it.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    lifecycle: Option<Lifecycle>,
    outcome: Option<Outcome>,
    phase: Option<&'a Phase>,
    health: Option<Health>,
    delivery: Option<Delivery>,
    severity: Severity,
    tone: Tone,
    reasons: &'a [StateReason],
    evaluated_at: &'a str,
    policy_version: PolicyVersion,
    source: Source,
    #[serde(serialize_with = "as_text")]
    chain: Chain<'a>,
    #[serde(serialize_with = "as_text")]
    effective: Effective,
}

fn as_text<T: fmt::Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: Moment = Moment::from_micros(1_794_770_358_000_000);

    fn answer(line: &str) -> Value {
        let mut written = Vec::new();
        let derived =
            derive(line.as_bytes(), PolicyVersion::V2, NOW).unwrap_or_else(|problem| panic!("{problem:?}"));
        derived.write(&NOW.to_string(), &mut written).unwrap();
        assert_eq!(written.pop(), Some(b'\n'));
        serde_json::from_slice(&written).unwrap()
    }

    fn problem(line: &str) -> (String, String) {
        let Err(problem) = derive(line.as_bytes(), PolicyVersion::V2, NOW) else {
            panic!("{line} was answered")
        };
        (problem.because, problem.instead)
    }

    #[test]
    fn an_answer_is_the_kernels_state_and_three_fields_more() {
        let line = r#"{"kind":"run","lifecycle":"failed","health":"ok","reason":"run.failed.oom"}"#;
        let derived =
            derive(line.as_bytes(), PolicyVersion::V2, NOW).unwrap_or_else(|problem| panic!("{problem:?}"));
        let mut expected = serde_json::to_value(&derived.state).unwrap();
        expected["kind"] = json!("session");
        expected["chain"] = json!("Failed · Infra OK");
        expected["effective"] = json!("Failed");
        assert_eq!(answer(line), expected);
        assert_eq!(expected["reasons"][0]["code"], "run.failed.oom");
        assert_eq!(expected["evaluated_at"], "2026-11-15T19:19:18.000000Z");
    }

    #[test]
    fn nothing_known_is_legacy_and_quiet() {
        for line in ["{}", r#"{"lifecycle":null,"outcome":null,"health":null,"delivery":null}"#] {
            let answer = answer(line);
            assert_eq!((&answer["chain"], &answer["effective"]), (&json!("legacy"), &json!("legacy")));
            assert_eq!((&answer["severity"], &answer["tone"]), (&json!("neutral"), &json!("neutral")));
            assert_eq!(answer.get("kind"), None);
            assert!(answer["lifecycle"].is_null() && answer["outcome"].is_null());
        }
    }

    #[test]
    fn a_state_without_a_kind_is_a_sessions_first_and_then_anybodys() {
        assert_eq!(answer(r#"{"lifecycle":"killed"}"#)["lifecycle"], "cancelled");
        assert_eq!(answer(r#"{"lifecycle":"pending_approval"}"#)["severity"], "warning");
        assert_eq!(
            answer(r#"{"lifecycle":"archived"}"#)["lifecycle"],
            "archived",
            "a show's, though others had it"
        );
        assert_eq!(answer(r#"{"lifecycle":"deleted"}"#)["lifecycle"], "disabled", "a schedule's old name");
        assert_eq!(answer(r#"{"lifecycle":"disputed"}"#)["tone"], "warning");
        assert_eq!(problem(r#"{"lifecycle":"pending_aproval"}"#).1, "pending_approval");
    }

    #[test]
    fn old_words_are_taken_and_others_ignored() {
        let answer = answer(
            r#"{"outcome":"timeout","health":"zombie","delivery":"skipped","pid":7,"more":{"a":[1]}}"#,
        );
        assert_eq!(
            (&answer["outcome"], &answer["health"], &answer["delivery"]),
            (&json!("timed_out"), &json!("degraded"), &json!("not_expected"))
        );
    }

    #[test]
    fn escaped_text_is_read_too() {
        assert_eq!(answer(r#"{"health":"stal\u006ced"}"#)["health"], "stalled");
    }

    #[test]
    fn a_choice_of_a_person_is_quiet_and_a_death_is_not() {
        let aborted = |code: &str| answer(&format!(r#"{{"lifecycle":"aborted","reason":"{code}"}}"#));
        assert_eq!(aborted("run.aborted.sigint")["severity"], "neutral");
        assert_eq!(aborted("system.health.orphaned")["severity"], "critical");
    }

    #[test]
    fn a_claim_is_judged_by_how_sure_it_is() {
        let claim = |rest: &str| answer(&format!(r#"{{"kind":"claim","lifecycle":"hypothesis"{rest}}}"#));
        assert_eq!(claim("")["severity"], "info");
        assert_eq!(claim(r#","confidence":0.49"#)["severity"], "warning");
        let wild = problem(r#"{"kind":"claim","lifecycle":"hypothesis","confidence":2}"#);
        assert_eq!(wild.1, "a number from 0 to 1");
    }

    #[test]
    fn a_bad_line_says_what_is_wrong_and_what_is_near() {
        for (line, because, instead) in [
            (r#"{"kind":"sesion"}"#, r#"unknown kind "sesion""#, "session"),
            (r#"{"kind":"play","lifecycle":"merge"}"#, r#"play has no state "merge""#, "merged"),
            (r#"{"health":"stuled"}"#, r#"unknown health "stuled""#, "stalled"),
            (
                r#"{"kind":"play","reason":"run.failed.oom"}"#,
                "the reason run.failed.oom does not belong to the kind play",
                "callboard reasons play lists those that do",
            ),
            (
                r#"{"reason":"run.failed.exit_nonzeroo"}"#,
                r#"unknown reason "run.failed.exit_nonzeroo""#,
                "run.failed.exit_nonzero",
            ),
            (r#"{"reason":"zebra"}"#, r#"unknown reason "zebra""#, "callboard reasons lists them"),
            (
                r#"["session","running"]"#,
                "it is a list, not an object",
                "one object a line, without brackets around them",
            ),
        ] {
            assert_eq!(problem(line), (because.to_owned(), instead.to_owned()), "{line}");
        }
        assert!(problem(r#"{"outcome":"zebra"}"#).1.starts_with("one of succeeded, completed, "));
    }

    #[test]
    fn what_is_no_json_is_told_with_its_column() {
        assert_eq!(problem(r#"{"health":"ok""#).0, "EOF while parsing an object, at column 14");
        assert_eq!(problem(r#"{"health":5}"#).0, "invalid type: integer `5`, expected a word, at column 11");
        assert!(problem("nonsense").1.starts_with("an object such as {"));
        assert!(problem("7").0.starts_with("invalid type: integer `7`"));
        assert!(problem("{\"health\":\"\u{0}\"}").0.starts_with("control character"));
    }

    #[test]
    fn the_example_of_the_message_is_answered() {
        let example = problem("nonsense").1;
        answer(example.trim_start_matches("an object such as "));
    }
}

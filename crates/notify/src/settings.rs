//! What the user wants to be told, and how: a file, and variables that override it.
//!
//! Invariant: unset, nothing is sent. What is not understood is an error that names the file and the line, never a setting
//! that is quietly ignored; no error repeats a value, because values are secrets. Deliberately absent: where the file
//! lies and what the environment is, which the caller says.

use std::path::{Path, PathBuf};

use callboard_lifecycle::{Severity, Words};
use serde::Deserialize;
use toml::Spanned;

use crate::address::Address;
use crate::secret::Secret;

/// What is sent, and where.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A note on the desktop.
    pub desktop: bool,
    /// A signed call of an address.
    pub webhook: Option<Webhook>,
    /// Nothing less severe is told.
    pub min_severity: Severity,
    /// The root of the store is sent by the webhook once a day.
    pub daily_root: bool,
}

/// An address that is called, and the secret that signs the calls.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// The address.
    pub address: Address,
    /// The secret.
    pub secret: Secret,
}

/// Settings that are not understood.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Something in the file.
    #[error("{} line {line}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Where, counted from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// A variable.
    #[error("{name}: {problem}")]
    Variable {
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    notify: Section,
    /// Somebody else reads these.
    #[serde(default, rename = "sandbox")]
    _sandbox: serde::de::IgnoredAny,
    #[serde(default, rename = "profiles")]
    _profiles: serde::de::IgnoredAny,
    #[serde(default, rename = "pull_requests")]
    _pull_requests: serde::de::IgnoredAny,
}

/// Every value with its place, and read by hand, so that no message repeats one.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    desktop: Option<Spanned<toml::Value>>,
    webhook: Option<Spanned<toml::Value>>,
    webhook_secret: Option<Spanned<toml::Value>>,
    webhook_allow: Option<Spanned<toml::Value>>,
    min_severity: Option<Spanned<toml::Value>>,
    daily_root: Option<Spanned<toml::Value>>,
}

const SWITCH: &str = "CALLBOARD_NOTIFY";
const URL: &str = "CALLBOARD_WEBHOOK_URL";
const SECRET: &str = "CALLBOARD_WEBHOOK_SECRET";
const ALLOW: &str = "CALLBOARD_WEBHOOK_ALLOW";
/// The variables that a run does not inherit.
pub const SECRET_VARIABLES: [&str; 2] = [URL, SECRET];
const NO_SECRET: &str = "a webhook needs webhook_secret, or CALLBOARD_WEBHOOK_SECRET, to be signed with";

impl Settings {
    /// Nothing is sent.
    #[must_use]
    pub const fn off() -> Self {
        Self { desktop: false, webhook: None, min_severity: Severity::Warning, daily_root: false }
    }

    /// Is there nothing to send to?
    pub const fn is_off(&self) -> bool {
        !self.desktop && self.webhook.is_none()
    }

    /// Reads the file, if there is one, and the variables, which win.
    pub fn load(
        file: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, SettingsError> {
        match variable(SWITCH).as_deref() {
            Some("0") => return Ok(Self::off()),
            None | Some("1") => {}
            Some(_) => {
                return Err(SettingsError::Variable { name: SWITCH, problem: "it is neither 0 nor 1" });
            }
        }
        let text = match file.map(std::fs::read_to_string) {
            None => String::new(),
            Some(Ok(text)) => text,
            Some(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Some(Err(source)) => {
                let path = file.unwrap_or(Path::new("")).to_owned();
                return Err(SettingsError::Unreadable { path, source });
            }
        };
        Reading { path: file.unwrap_or(Path::new("")), text: &text }.settings(variable)
    }
}

struct Reading<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Reading<'_> {
    fn settings(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Settings, SettingsError> {
        let file: File = toml::from_str(self.text).map_err(|error| {
            self.at(error.span().map_or(0, |span| span.start), error.message().to_owned())
        })?;
        let Section { desktop, webhook, webhook_secret, webhook_allow, min_severity, daily_root } =
            file.notify;
        let place = webhook.as_ref().map(|value| value.span().start);
        let of_file = webhook.map(|value| self.text_of(&value, Address::parse)).transpose()?;
        let secret_of_file = webhook_secret.map(|value| self.text_of(&value, Secret::parse)).transpose()?;
        let address = of_variable(URL, variable, Address::parse)?;
        let secret = of_variable(SECRET, variable, Secret::parse)?.or(secret_of_file);
        let allowed = self.allowed(webhook_allow, variable)?;
        let webhook = match (address, of_file, secret) {
            (None, None, _) => None,
            (Some(address), _, Some(secret)) | (None, Some(address), Some(secret)) => {
                let is_allowed = allowed.iter().any(|host| host.eq_ignore_ascii_case(&address.host));
                let address = if is_allowed { address.inward() } else { address };
                Some(Webhook { address, secret })
            }
            (Some(_), _, None) => return Err(SettingsError::Variable { name: URL, problem: NO_SECRET }),
            (None, Some(_), None) => return Err(self.at(place.unwrap_or(0), NO_SECRET.to_owned())),
        };
        let desktop = self.switch("desktop", desktop.as_ref())?;
        let place = daily_root.as_ref().map(|value| value.span().start);
        let daily_root = self.switch("daily_root", daily_root.as_ref())?;
        if daily_root && webhook.is_none() {
            return Err(self.at(place.unwrap_or(0), "daily_root needs a webhook to send it to".to_owned()));
        }
        let min_severity = match min_severity {
            None => Severity::Warning,
            Some(value) => self.text_of(&value, severity)?,
        };
        Ok(Settings { desktop, webhook, min_severity, daily_root })
    }

    fn switch(&self, name: &str, value: Option<&Spanned<toml::Value>>) -> Result<bool, SettingsError> {
        let Some(value) = value else { return Ok(false) };
        let read = value.get_ref().as_bool();
        read.ok_or_else(|| self.at(value.span().start, format!("{name} is true or false")))
    }

    /// The hosts that may be on this machine or in a network that is not public.
    fn allowed(
        &self,
        of_file: Option<Spanned<toml::Value>>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<String>, SettingsError> {
        if let Some(text) = variable(ALLOW).filter(|text| !text.is_empty()) {
            return Ok(text.split(',').map(|host| host.trim().to_owned()).collect());
        }
        let Some(value) = of_file else { return Ok(Vec::new()) };
        let problem = || self.at(value.span().start, "webhook_allow is a list of names of hosts".to_owned());
        let hosts = value.get_ref().as_array().ok_or_else(problem)?;
        hosts.iter().map(|host| host.as_str().map(str::to_owned).ok_or_else(problem)).collect()
    }

    fn text_of<T>(
        &self,
        value: &Spanned<toml::Value>,
        read: fn(&str) -> Result<T, &'static str>,
    ) -> Result<T, SettingsError> {
        let text = value.get_ref().as_str().ok_or("it is no text in quotation marks");
        text.and_then(read).map_err(|problem| self.at(value.span().start, problem.to_owned()))
    }

    fn at(&self, offset: usize, problem: String) -> SettingsError {
        let line = self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;
        SettingsError::File { path: self.path.to_owned(), line, problem }
    }
}

fn of_variable<T>(
    name: &'static str,
    variable: &dyn Fn(&str) -> Option<String>,
    read: fn(&str) -> Result<T, &'static str>,
) -> Result<Option<T>, SettingsError> {
    let text = variable(name).filter(|text| !text.is_empty());
    text.map(|text| read(&text).map_err(|problem| SettingsError::Variable { name, problem })).transpose()
}

/// Only these two need somebody.
fn severity(word: &str) -> Result<Severity, &'static str> {
    let known = Severity::parse(word).ok();
    known.filter(|severity| severity.is_urgent()).ok_or("min_severity is \"critical\" or \"warning\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn load(text: &str, variables: &[(&str, &str)]) -> Result<Settings, String> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let shown = file.display().to_string();
        Settings::load(Some(&file), &variable).map_err(|error| error.to_string().replace(&shown, "FILE"))
    }

    #[test]
    fn nothing_is_sent_unless_it_is_asked_for() {
        assert!(load("", &[]).unwrap().is_off());
        assert!(Settings::load(Some(Path::new("/nonexistent/x.toml")), &|_| None).unwrap().is_off());
        assert!(Settings::load(None, &|_| None).unwrap().is_off());
    }

    #[test]
    fn the_file_is_read_and_variables_win() {
        let text = format!(
            "[notify]\ndesktop = true\nwebhook = \"http://a/x\"\nwebhook_secret = \"{GOOD}\"\nmin_severity = \"critical\"\n"
        );
        let settings = load(&text, &[]).unwrap();
        assert_eq!((settings.desktop, settings.min_severity), (true, Severity::Critical));
        assert_eq!(settings.webhook.unwrap().address.to_string(), "http://a");
        let other = load(&text, &[(URL, "https://b/y")]).unwrap();
        assert_eq!(other.webhook.unwrap().address.to_string(), "https://b");
        assert!(load(&text, &[(SWITCH, "0")]).unwrap().is_off());
        assert!(load("", &[(URL, "https://b/y"), (SECRET, GOOD)]).unwrap().webhook.is_some());
    }

    #[test]
    fn a_host_that_is_named_may_be_anywhere() {
        let text = |allow: &str| {
            format!("[notify]\nwebhook = \"https://hooks.lan/x\"\nwebhook_secret = \"{GOOD}\"\n{allow}")
        };
        let inward = |allow: &str, variables: &[(&str, &str)]| {
            load(&text(allow), variables).unwrap().webhook.unwrap().address.is_inward
        };
        assert!(!inward("", &[]) && !inward("webhook_allow = [\"other.lan\"]\n", &[]));
        assert!(inward("webhook_allow = [\"other.lan\", \"Hooks.lan\"]\n", &[]));
        assert!(inward("", &[(ALLOW, "other.lan, hooks.lan")]));
        let problem = load(&text("webhook_allow = true\n"), &[]).expect_err("true");
        assert_eq!(problem, "FILE line 4: webhook_allow is a list of names of hosts");
    }

    #[test]
    fn what_is_not_understood_names_its_place_and_repeats_no_value() {
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
        let cases: [Case<'_>; 10] = [
            ("[notify]\n\ndesktp = true\n", &[], "FILE line 3: unknown field `desktp`"),
            ("[notfy]\n", &[], "FILE line 1: unknown field `notfy`"),
            ("[notify]\nwebhook = \"hunter2\"\n", &[], "FILE line 2: it does not begin with"),
            ("[notify]\nwebhook = \"http://a\"\n", &[], "FILE line 2: a webhook needs"),
            ("[notify]\nwebhook_secret = 731941\n", &[], "FILE line 2: it is no text"),
            ("[notify]\nwebhook_secret = \"hunter2\"\n", &[], "FILE line 2: it does not begin with whsec_"),
            ("[notify]\nmin_severity = \"info\"\n", &[], "FILE line 2: min_severity is"),
            ("[notify]\nwebhook_secret = hunter2\n", &[], "FILE line 2: "),
            ("", &[(SWITCH, "maybe")], "CALLBOARD_NOTIFY: it is neither 0 nor 1"),
            ("", &[(URL, "http://ann:hunter2@a")], "CALLBOARD_WEBHOOK_URL: a webhook needs"),
        ];
        for (text, variables, expected) in cases {
            let problem = load(text, variables).expect_err(text);
            assert!(problem.starts_with(expected), "{text}: {problem}");
            assert!(!problem.contains("hunter2") && !problem.contains("731941"), "{problem}");
        }
    }
}

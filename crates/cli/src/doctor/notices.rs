//! The notifications: what is configured, whether it can work, and a test of it.

use std::os::unix::fs::PermissionsExt;

use callboard_kernel::Moment;
use callboard_notify::{Settings, desktop_in_reach, send_test};

use super::Check;
use crate::store::config;

/// Looks at the settings; with `test`, sends a message on every configured way.
pub(super) fn checks(test: bool, now: Moment) -> Vec<Check> {
    let place = config::file();
    let shown = place
        .as_ref()
        .map_or_else(|| "no file, as HOME is not set".to_owned(), |path| path.display().to_string());
    let settings = match config::notifications() {
        Ok(settings) => settings,
        Err(error) => {
            let advice = "correct it; docs/notifications.md lists the settings";
            return vec![Check::broken("notifications", error.to_string(), advice)];
        }
    };
    if settings.is_off() {
        let off = Check::ok("notifications", format!("off; they are turned on in {shown}"));
        let nothing = "turn a notification on first: docs/notifications.md";
        return match test {
            false => vec![off],
            true => vec![off, Check::warning("test", "there is nowhere to send it to", nothing)],
        };
    }
    let mut checks = vec![configured(&settings)];
    let mode = place.and_then(|path| path.metadata().ok()).map(|found| found.permissions().mode() & 0o777);
    if let Some(mode) = mode.filter(|mode| mode & 0o077 != 0 && settings.webhook.is_some()) {
        let found = format!("{shown} has mode {mode:03o}");
        checks.push(Check::warning(
            "settings file",
            found,
            format!("others can read the secret: chmod 600 {shown}"),
        ));
    }
    if test {
        checks.extend(send_test(&settings, now).into_iter().map(|(way, sent)| match sent {
            Ok(()) => Check::ok("test", format!("{way}: sent")),
            Err(problem) => {
                let advice = "look at the settings and at the receiver, then test again";
                Check::broken("test", format!("{way}: {problem}"), advice)
            }
        }));
    }
    checks
}

fn configured(settings: &Settings) -> Check {
    let mut told = Vec::new();
    if let Some(webhook) = &settings.webhook {
        told.push(format!("webhook to {}", webhook.address));
    }
    if settings.desktop {
        told.push("desktop".to_owned());
    }
    let told = format!("{}, for {} and worse", told.join(" and "), settings.min_severity);
    match desktop_in_reach() {
        Err(error) if settings.desktop => {
            let advice = "install notify-send and log in on a desktop, or set desktop = false";
            return Check::warning("notifications", format!("{told}; {error}"), advice);
        }
        Ok(_) | Err(_) => {}
    }
    if settings.webhook.as_ref().is_some_and(|webhook| !webhook.address.is_private()) {
        return Check::warning("notifications", format!("{told}, unencrypted"), "use an https:// address");
    }
    Check::ok("notifications", told)
}

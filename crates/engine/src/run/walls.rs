//! The walls of a sandbox, as they are recorded and told.

use callboard_kernel::{Facts, Value};
use callboard_supervisor::sandbox::{Network, Sandbox, Wall, Walls};

/// The walls that stood and those that did not, as they are recorded.
pub(super) fn facts(profile: &str, sandbox: &Sandbox, walls: &Walls) -> Facts {
    let map = |walls: &[(Wall, String)]| {
        let mut facts = Facts::none();
        for (wall, text) in walls {
            facts.set(wall.name(), text.as_str());
        }
        Value::Map(facts)
    };
    Facts::none()
        .with("profile", profile)
        .with("network", network(&sandbox.network))
        .with("walls", map(&walls.standing))
        .with("missing", map(&walls.missing))
}

/// The same in a sentence.
pub(super) fn told(profile: &str, walls: &Walls) -> String {
    let list = |walls: &[(Wall, String)]| {
        let texts: Vec<String> =
            walls.iter().map(|(wall, text)| format!("{} ({text})", wall.name())).collect();
        texts.join(", ")
    };
    let standing = format!("sandbox {profile}: walls for {}", list(&walls.standing));
    match walls.missing.is_empty() {
        true => standing,
        false => format!("{standing}; missing: {}", list(&walls.missing)),
    }
}

fn network(network: &Network) -> String {
    match network {
        Network::Open => "open".to_owned(),
        Network::Loopback => "loopback".to_owned(),
        Network::None => "none".to_owned(),
        Network::Ports(ports) => {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            format!("ports {}", ports.join(","))
        }
    }
}

//! The walls of a sandbox and what they noticed, as it is recorded and told.

use callboard_kernel::{Facts, Moment, fact};
use callboard_supervisor::sandbox::{CallSeen, HostSeen, Network, Outcome, Sandbox, Sightings, Wall, Walls};

/// The walls that stood and those that did not, as they are recorded.
pub(super) fn facts(profile: &str, sandbox: &Sandbox, walls: &Walls) -> Facts {
    let map = |walls: &[(Wall, String)]| {
        let mut facts = Facts::none();
        for (wall, text) in walls {
            facts.set(wall.name(), text.as_str());
        }
        facts
    };
    Facts::none()
        .and(fact::PROFILE, profile)
        .and(fact::NETWORK, network(&sandbox.network))
        .and(fact::WALLS, map(&walls.standing))
        .and(fact::MISSING, map(&walls.missing))
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
        Network::Hosts(hosts) => {
            let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
            format!("hosts {}", hosts.join(","))
        }
    }
}

/// What a sandbox noticed.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// When the run was started, by the clock of the records.
    began: Option<Moment>,
    /// Whether there is somebody who notices.
    is_watched: bool,
    sightings: Sightings,
    facts: Option<Facts>,
}

/// How many of a kind a sentence names.
const NAMED: usize = 8;

impl Seen {
    /// Takes note of what was noticed so far; tells whether there is anything.
    pub(super) fn note(&mut self, sightings: &Sightings, now: Moment) -> bool {
        self.is_watched = true;
        self.sightings = sightings.clone();
        let Sightings { at, hosts, more_hosts, calls } = sightings;
        let calls = calls.as_deref().unwrap_or_default();
        if hosts.is_empty() && calls.is_empty() {
            return false;
        }
        let micros = i64::try_from(at.as_micros()).unwrap_or(i64::MAX);
        let began =
            *self.began.get_or_insert_with(|| Moment::from_micros(now.as_micros().saturating_sub(micros)));
        let listed = hosts.iter().map(|seen| {
            Facts::none()
                .and(fact::HOST, seen.host.as_str())
                .and(fact::PORT, i64::from(seen.port))
                .and(fact::OUTCOME, seen.outcome.name())
                .and(fact::COUNT, seen.count)
                .and(fact::FIRST_AT, began.plus(seen.first))
        });
        let mut facts = Facts::none();
        if !hosts.is_empty() {
            facts.record(fact::HOSTS, listed.collect::<Vec<_>>());
        }
        if *more_hosts > 0 {
            facts.record(fact::MORE_HOSTS, *more_hosts);
        }
        if !calls.is_empty() {
            let listed = calls.iter().map(|seen| {
                Facts::none()
                    .and(fact::CALL, seen.name)
                    .and(fact::COUNT, seen.count)
                    .and(fact::FIRST_AT, began.plus(seen.first))
            });
            facts.record(fact::REFUSED_CALLS, listed.collect::<Vec<_>>());
        }
        self.facts = Some(facts);
        true
    }

    /// It, as it is recorded.
    pub(super) const fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }

    /// The same in sentences, one for the network and one for system calls.
    pub(super) fn told(&self) -> impl Iterator<Item = String> {
        [self.network_told(), self.calls_told()].into_iter().flatten()
    }

    fn network_told(&self) -> Option<String> {
        let Sightings { hosts, more_hosts, .. } = &self.sightings;
        let of = |is_meant: fn(Outcome) -> bool| {
            list(hosts.iter().filter(|seen| is_meant(seen.outcome)).map(host).collect())
        };
        let kinds = [
            ("refused", of(Outcome::is_refused)),
            ("reached", of(|outcome| outcome == Outcome::Allowed)),
            ("not reached", of(|outcome| outcome == Outcome::Failed)),
        ];
        let mut texts: Vec<String> = kinds
            .iter()
            .filter(|(_, list)| !list.is_empty())
            .map(|(kind, list)| format!("{kind} {list}"))
            .collect();
        if *more_hosts > 0 {
            texts.push(format!("{more_hosts} requests for further hosts"));
        }
        (!texts.is_empty()).then(|| format!("sandbox network: {}", texts.join("; ")))
    }

    fn calls_told(&self) -> Option<String> {
        let Some(calls) = &self.sightings.calls else {
            let why = "another program around this run is asked about them";
            return self.is_watched.then(|| format!("sandbox: refused system calls were not seen: {why}"));
        };
        let call = |seen: &CallSeen| format!("{}{}", seen.name, times(seen.count));
        (!calls.is_empty())
            .then(|| format!("sandbox refused system calls: {}", list(calls.iter().map(call).collect())))
    }
}

/// The first of many, and how many there are beside.
fn list(mut texts: Vec<String>) -> String {
    let more = texts.len().saturating_sub(NAMED);
    texts.truncate(NAMED);
    if more > 0 {
        texts.push(format!("{more} more"));
    }
    texts.join(", ")
}

fn times(count: u64) -> String {
    if count > 1 { format!(" {count} times") } else { String::new() }
}

fn host(seen: &HostSeen) -> String {
    let HostSeen { host, port, outcome, count, .. } = seen;
    let why = match outcome {
        Outcome::Allowed | Outcome::Failed => "",
        Outcome::NotListed => " (not listed)",
        Outcome::Inward => " (leads to an address that is not public)",
    };
    format!("{host}:{port}{why}{}", times(*count))
}

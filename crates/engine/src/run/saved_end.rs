//! An end that could not be recorded: the supervisor keeps it beside the output, and whoever finds it first records it.
//!
//! Invariant: nobody but the supervisor of a run can keep an end for it. It draws a key before the first record, which holds
//! the public half; the other half never leaves its memory, and a file that is not signed with it is not an end. The
//! room for the file is taken before the start, because a full disk is why it is needed.

use std::io;
use std::path::{Path, PathBuf};

use callboard_kernel::{
    Actor, Command, EntityId, EvidenceRef, Facts, Moment, Order, StateReason, Transition, fact,
};
use callboard_ledger::{AppendError, Ledger, Request, Stored};
use callboard_lifecycle::session::{SessionState, SessionTrigger};
use callboard_lifecycle::{ActorClass, Kind, Words};
use ed25519_dalek::{Signature, Signer, SigningKey, Verifier, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::world::{Room, World};

/// The file beside the output.
const FILE: &str = "end";
/// The room that is taken for it; an end has a few thousand bytes.
const RESERVED_BYTES: u64 = 16 * 1024;
/// More than this is not an end.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Reads a file that somebody left, up to a bound.
pub(crate) type ReadLeft<'a> = &'a dyn Fn(&Path, u64) -> Option<Vec<u8>>;

/// Keeps the end of one run if it cannot be recorded.
pub(crate) struct EndKeeper {
    id: EntityId,
    key: SigningKey,
    path: PathBuf,
    reserved: Option<Box<dyn Room>>,
}

/// What is signed.
#[derive(Serialize, Deserialize)]
struct Body {
    run: String,
    kept_at: Moment,
    because: String,
    moves: Vec<Move>,
}

/// One transition that is to be recorded.
#[derive(Serialize, Deserialize)]
struct Move {
    key: String,
    to: String,
    trigger: String,
    reasons: Vec<StateReason>,
    data: Facts,
}

/// The file: what is signed, as a text, and the signature.
#[derive(Serialize, Deserialize)]
struct Signed {
    body: String,
    signature: String,
}

impl EndKeeper {
    /// Draws the key. Without randomness no end can be kept, and the run goes on all the same.
    pub(crate) fn new(id: EntityId, dir: &Path, world: &dyn World) -> Option<Self> {
        let mut secret = [0; 32];
        world.draw(&mut secret).ok()?;
        Some(Self { id, key: SigningKey::from_bytes(&secret), path: dir.join(FILE), reserved: None })
    }

    /// What the first record holds.
    pub(crate) fn public_key(&self) -> String {
        hex(&self.key.verifying_key().to_bytes())
    }

    /// Takes the room for the end. Where that fails, it is tried again when the end is kept.
    pub(crate) fn reserve(&mut self, world: &dyn World) {
        self.reserved = world.reserve(&self.path, RESERVED_BYTES).ok();
    }

    /// The end is recorded; nothing has to be kept.
    pub(crate) fn discard(&mut self, world: &dyn World) {
        if self.reserved.take().is_some() {
            world.remove(&self.path);
        }
    }

    /// Keeps these transitions; where.
    pub(crate) fn keep(
        &self,
        moves: &[Command],
        kept_at: Moment,
        because: &str,
        world: &dyn World,
    ) -> io::Result<PathBuf> {
        let moves = moves.iter().filter_map(Move::of).collect();
        let body = Body { run: self.id.to_string(), kept_at, because: because.to_owned(), moves };
        let body = serde_json::to_string(&body)?;
        let signature = hex(&self.key.sign(body.as_bytes()).to_bytes());
        let mut bytes = serde_json::to_vec(&Signed { body, signature })?;
        bytes.push(b'\n');
        let reserved = self.reserved.as_ref().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        let filled = reserved.and_then(|room| room.fill(&bytes));
        filled
            .or_else(|_| world.replace(&self.path, &bytes))
            .or_else(|_| world.replace(&elsewhere(self.id), &bytes))
    }
}

impl Move {
    fn of(command: &Command) -> Option<Self> {
        let Order::Transition(Transition { to, trigger, reasons, data }) = &command.order else {
            return None;
        };
        Some(Self {
            key: command.key.clone()?,
            to: to.as_ref()?.name().to_owned(),
            trigger: trigger.as_ref()?.name().to_owned(),
            reasons: reasons.clone(),
            data: data.clone(),
        })
    }

    fn order(self) -> Option<Order> {
        let to = SessionState::parse(&self.to).ok()?;
        let trigger = SessionTrigger::parse(&self.trigger).ok()?;
        let (reasons, data) = (self.reasons, self.data);
        Some(Order::Transition(Transition {
            to: Some(to.into()),
            trigger: Some(trigger.into()),
            reasons,
            data,
        }))
    }
}

/// An end that was found, and is its supervisor's.
pub(crate) struct SavedEnd {
    /// Where it is kept.
    pub(crate) path: PathBuf,
    body: Body,
}

/// Looks for the end that the supervisor of a run kept. An error is a file that is not its end.
pub(crate) fn find(stored: &Stored, read: ReadLeft<'_>) -> Result<Option<SavedEnd>, String> {
    let (state, facts) = (&stored.entity.state, &stored.entity.facts);
    let Some(key) = facts.read(fact::END_KEY).filter(|_| state.id.kind() == Kind::Session) else {
        return Ok(None);
    };
    let beside = facts.read(fact::DIR).map(|dir| Path::new(dir).join(FILE));
    let mut problem = Ok(None);
    for path in beside.into_iter().chain([elsewhere(state.id)]) {
        // Room that was taken and not used is full of zeros.
        let found = read(&path, FILE_BYTES_MAX).filter(|bytes| bytes.iter().any(|byte| *byte != 0));
        let Some(bytes) = found else { continue };
        match verified(&bytes, key, state.id) {
            Some(body) => return Ok(Some(SavedEnd { path, body })),
            None => {
                problem = Err(format!("{} is not signed by its supervisor and was ignored", path.display()))
            }
        }
    }
    problem
}

impl SavedEnd {
    /// Records it, and removes the file once the store has it.
    pub(crate) fn record(
        self,
        ledger: &Ledger,
        stored: &Stored,
        remove: &dyn Fn(&Path),
    ) -> Result<(), AppendError> {
        let Self { path, body: Body { kept_at, because, moves, .. } } = self;
        let seen = format!(
            "kept beside the output by its supervisor since {kept_at}, because the store could not be written: {because}"
        );
        let is_pending = stored.entity.state.lifecycle == Some(SessionState::Pending.into());
        let last = moves.len().saturating_sub(1);
        let mut requests = Vec::new();
        for (at, mut step) in moves.into_iter().enumerate() {
            if at < last && !is_pending {
                continue;
            }
            if let Some(first) = step.reasons.first_mut() {
                first.evidence.push(EvidenceRef::tool_result(seen.as_str()));
            }
            let key = Some(step.key.clone());
            let Some(order) = step.order() else { continue };
            let command = Command { key, ..Command::new(stored.entity.state.id, order) };
            let actor = Actor::new(ActorClass::System, "kept-end");
            requests.push(Request { command, actor, now: kept_at, cause: None });
        }
        for ticket in ledger.submit_together(requests) {
            ticket.wait()?;
        }
        remove(&path);
        Ok(())
    }
}

fn verified(bytes: &[u8], key: &str, id: EntityId) -> Option<Body> {
    let Signed { body, signature } = serde_json::from_slice(bytes).ok()?;
    let key = VerifyingKey::from_bytes(&unhex(key)?).ok()?;
    key.verify(body.as_bytes(), &Signature::from_bytes(&unhex(&signature)?)).ok()?;
    let body: Body = serde_json::from_str(&body).ok()?;
    (body.run == id.to_string() && !body.moves.is_empty()).then_some(body)
}

/// Where an end is kept if nothing can be written beside the output. The name may be taken by somebody else in a directory
/// that all can write; what is read there counts only if it is signed, and what is written there is for the owner only.
fn elsewhere(id: EntityId) -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let own = || std::env::temp_dir().join(format!("callboard-{}", rustix::process::getuid().as_raw()));
    runtime.map_or_else(own, |dir| dir.join("callboard")).join("ends").join(id.to_string())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

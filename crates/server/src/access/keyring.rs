//! Tokens: one of the operator in a file that only the user can read, and those that were issued, of which only hashes
//! are kept.
//!
//! Invariant: a token is 256 random bits and is never written to a log; a file that others can read or that belongs to
//! somebody else is refused. The hashes are keyed with the operator's token, so all that were issued end with it; each ends by
//! itself, too, and can be revoked. A token of an agent names one run. Deliberately absent: whether that run still lives, which
//! the gate asks the ledger.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use callboard_engine::keep_private;
use callboard_kernel::{EntityId, Moment};
use serde::{Deserialize, Serialize};

use super::seal::Seal;

/// What a token opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Everything.
    Operator,
    /// Looking at everything.
    Viewer,
    /// Looking at one run, and saying that it lives.
    Agent(EntityId),
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Principal {
    pub(crate) scope: Scope,
    /// Tells one token from another, and is no secret.
    pub(crate) mark: [u8; 32],
}

/// Why the tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("failed to read or write the tokens at {path}")]
    File {
        /// Where they are.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others could read the token, or it is not ours.
    #[error(
        "{path} must belong to you and be readable by nobody else: chmod 600 it, or remove it to get a new token"
    )]
    Exposed {
        /// Where it is.
        path: PathBuf,
    },
    /// What is in the file is no token.
    #[error("{path} holds no token: remove it to get a new one")]
    Damaged {
        /// Where it is.
        path: PathBuf,
    },
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

const OPERATOR: &str = "operator.token";
const ISSUED: &str = "tokens.jsonl";
/// When issued tokens were last used, by their ids.
const USED: &str = "tokens.used.json";
/// Classes can be told apart by people and by secret scanners.
const PREFIX: [&str; 3] = ["cb_adm_", "cb_ro_", "cb_run_"];

/// The tokens of one store.
pub struct Keyring {
    dir: PathBuf,
    operator: blake3::Hash,
    seal: Seal,
    /// What hashes of issued tokens are keyed with.
    key: [u8; 32],
    issued: Mutex<Issued>,
}

#[derive(Default)]
struct Issued {
    seen: Option<(SystemTime, u64)>,
    by_hash: HashMap<[u8; 32], Opens>,
    /// When each was last used, as far as it is not written down yet.
    used: BTreeMap<String, Moment>,
}

/// What an issued token opens.
struct Opens {
    id: String,
    scope: Scope,
    expires: Option<Moment>,
}

/// A line of the file of issued tokens.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Issued {
        id: String,
        /// Tells tokens of one operator's token from those of the next.
        ring: String,
        hash: String,
        scope: Scope,
        at: Moment,
        expires: Option<Moment>,
    },
    Revoked {
        revoked: String,
        at: Moment,
    },
}

/// A token that was made and opens nothing yet.
pub struct NewToken {
    /// What it is called.
    pub id: String,
    token: String,
    line: Line,
}

impl NewToken {
    /// The token, for somebody who is given it before it is kept.
    pub fn text(&self) -> &str {
        &self.token
    }
}

/// A token that was issued, without the token.
#[derive(Clone, Debug, Serialize)]
pub struct IssuedToken {
    /// What it is called.
    pub id: String,
    /// What it opens.
    pub scope: Scope,
    /// When it was made.
    pub made_at: Moment,
    /// When it ends by itself.
    pub expires_at: Option<Moment>,
    /// When it was revoked.
    pub revoked_at: Option<Moment>,
    /// When it was last used; known a few seconds later.
    pub last_used_at: Option<Moment>,
    /// The operator's token that it was made with was replaced.
    pub is_void: bool,
}

impl Keyring {
    /// Opens the tokens in a directory, making the operator's if there is none.
    pub fn open(dir: &Path) -> Result<Self, KeyError> {
        let path = dir.join(OPERATOR);
        let token = match read_private(&path) {
            Err(KeyError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => make(&path)?,
            other => other?,
        };
        let token = token.trim();
        if !token.starts_with(PREFIX[0]) || token.len() != PREFIX[0].len() + 64 {
            return Err(KeyError::Damaged { path });
        }
        Ok(Self {
            dir: dir.to_owned(),
            operator: blake3::hash(token.as_bytes()),
            seal: Seal::of(token),
            key: blake3::derive_key("callboard 2026 issued tokens", token.as_bytes()),
            issued: Mutex::default(),
        })
    }

    /// A code that lets a browser in once, within a minute, by this start of a server.
    pub fn login_code(&self, start: &str, now: Moment) -> Result<String, KeyError> {
        Ok(self.seal.code(now, start, &random()?[..32]))
    }

    /// The name of this store's page on its own host. Browsers know that it is this host, and send its cookie to nobody who is
    /// called otherwise.
    pub fn page_name(&self) -> String {
        format!("callboard-{}.localhost", &self.hash("the name of the page").to_hex()[..8])
    }

    /// Something that tells one start of a server from every other one.
    pub(crate) fn new_start() -> Result<String, KeyError> {
        Ok(random()?[..16].to_owned())
    }

    /// Makes a token of this scope that ends at a moment. It opens nothing until it is kept.
    pub fn make(&self, scope: Scope, now: Moment, expires: Option<Moment>) -> Result<NewToken, KeyError> {
        let prefix = match scope {
            Scope::Operator => PREFIX[0],
            Scope::Viewer => PREFIX[1],
            Scope::Agent(_) => PREFIX[2],
        };
        let token = format!("{prefix}{}", random()?);
        let hash = self.hash(&token).to_hex().to_string();
        let id = format!("tok_{}", &random()?[..12]);
        let line = Line::Issued { id: id.clone(), ring: self.ring(), hash, scope, at: now, expires };
        Ok(NewToken { id, token, line })
    }

    /// Keeps the hash of a token that was made, which opens what it is for from here on. The token is shown here and never again.
    pub fn keep(&self, new: NewToken) -> Result<String, KeyError> {
        self.write(&new.line)?;
        Ok(new.token)
    }

    /// Every token that was issued, oldest first.
    pub fn list(&self) -> Result<Vec<IssuedToken>, KeyError> {
        let path = self.dir.join(ISSUED);
        let text = match read_private(&path) {
            Err(KeyError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        let used = self.read_used();
        let mut tokens: Vec<IssuedToken> = Vec::new();
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                Line::Issued { id, ring, scope, at, expires, .. } => tokens.push(IssuedToken {
                    last_used_at: used.get(&id).copied(),
                    id,
                    scope,
                    made_at: at,
                    expires_at: expires,
                    revoked_at: None,
                    is_void: ring != self.ring(),
                }),
                Line::Revoked { revoked, at } => {
                    for token in tokens.iter_mut().filter(|token| token.id == revoked) {
                        token.revoked_at.get_or_insert(at);
                    }
                }
            }
        }
        Ok(tokens)
    }

    /// Takes a token back; `false` if there is none of this id.
    pub fn revoke(&self, id: &str, now: Moment) -> Result<bool, KeyError> {
        if !self.list()?.iter().any(|token| token.id == id) {
            return Ok(false);
        }
        self.write(&Line::Revoked { revoked: id.to_owned(), at: now })?;
        Ok(true)
    }

    /// Writes down which tokens were used since the last time. Nobody waits for it and nothing is synced: after a crash of the
    /// machine a use may be missing.
    pub(crate) fn keep_used(&self) -> Result<(), KeyError> {
        let fresh = std::mem::take(&mut self.issued.lock().unwrap_or_else(PoisonError::into_inner).used);
        if fresh.is_empty() {
            return Ok(());
        }
        let mut all = self.read_used();
        for (id, at) in fresh {
            let kept = all.entry(id).or_insert(at);
            *kept = at.max(*kept);
        }
        let (path, new) = (self.dir.join(USED), self.dir.join(format!("{USED}.{}", std::process::id())));
        let fail = |source| KeyError::File { path: path.clone(), source };
        let bytes = serde_json::to_vec(&all).map_err(|error| fail(error.into()))?;
        keep_private(&new, &bytes).and_then(|()| std::fs::rename(&new, &path)).map_err(fail)
    }

    fn read_used(&self) -> BTreeMap<String, Moment> {
        let text = read_private(&self.dir.join(USED)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn write(&self, line: &Line) -> Result<(), KeyError> {
        let path = self.dir.join(ISSUED);
        let fail = |source| KeyError::File { path: path.clone(), source };
        let mut bytes = serde_json::to_vec(line).map_err(|error| fail(error.into()))?;
        bytes.push(b'\n');
        let opened = File::options().append(true).create(true).mode(0o600).open(&path);
        opened.and_then(|mut file| file.write_all(&bytes)).map_err(fail)
    }

    fn hash(&self, token: &str) -> blake3::Hash {
        blake3::keyed_hash(&self.key, token.as_bytes())
    }

    fn ring(&self) -> String {
        self.hash("the ring of tokens").to_hex()[..16].to_owned()
    }

    pub(crate) const fn seal(&self) -> &Seal {
        &self.seal
    }

    /// Whom a token belongs to.
    pub(crate) fn whose(&self, token: &str, now: Moment) -> Option<Principal> {
        let hash = blake3::hash(token.as_bytes());
        // Hashes compare in constant time.
        if hash == self.operator {
            return Some(self.person());
        }
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        issued.refresh(&self.dir.join(ISSUED));
        let hash = self.hash(token);
        let Opens { id, scope, expires } = issued.by_hash.get(hash.as_bytes())?;
        if expires.is_some_and(|expires| expires <= now) {
            return None;
        }
        let (id, scope) = (id.clone(), *scope);
        issued.used.insert(id, now);
        Some(Principal { scope, mark: *hash.as_bytes() })
    }

    /// Does the token behind a mark still open anything? The operator's ends with this server.
    pub(crate) fn still_opens(&self, mark: &[u8; 32], now: Moment) -> bool {
        if mark == self.operator.as_bytes() {
            return true;
        }
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        issued.refresh(&self.dir.join(ISSUED));
        issued.by_hash.get(mark).is_some_and(|opens| opens.expires.is_none_or(|expires| now < expires))
    }

    /// The operator, however they came in.
    pub(crate) const fn person(&self) -> Principal {
        Principal { scope: Scope::Operator, mark: *self.operator.as_bytes() }
    }
}

impl Issued {
    /// Reads the file again if it changed, so that a line that was removed opens nothing any more.
    fn refresh(&mut self, path: &Path) {
        let seen = std::fs::metadata(path).and_then(|meta| Ok((meta.modified()?, meta.len()))).ok();
        if seen == self.seen {
            return;
        }
        self.seen = seen;
        self.by_hash.clear();
        let text = read_private(path).unwrap_or_default();
        let mut by_id = HashMap::new();
        for line in text.lines() {
            match serde_json::from_str(line) {
                Ok(Line::Issued { id, hash, scope, expires, .. }) => {
                    if let Ok(hash) = blake3::Hash::from_hex(hash) {
                        by_id.insert(id.clone(), *hash.as_bytes());
                        self.by_hash.insert(*hash.as_bytes(), Opens { id, scope, expires });
                    }
                }
                Ok(Line::Revoked { revoked, .. }) => {
                    by_id.get(&revoked).map(|hash| self.by_hash.remove(hash));
                }
                Err(_) => {}
            }
        }
    }
}

fn make(path: &Path) -> Result<String, KeyError> {
    let token = format!("{}{}", PREFIX[0], random()?);
    keep_private(path, format!("{token}\n").as_bytes())
        .map_err(|source| KeyError::File { path: path.to_owned(), source })?;
    Ok(token)
}

fn read_private(path: &Path) -> Result<String, KeyError> {
    let fail = |source| KeyError::File { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(fail)?;
    let meta = file.metadata().map_err(fail)?;
    if meta.mode() & 0o077 != 0 || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeyError::Exposed { path: path.to_owned() });
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(fail)?;
    Ok(text)
}

/// 256 random bits in hexadecimal digits.
fn random() -> Result<String, KeyError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| KeyError::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    impl Keyring {
        fn issue(&self, scope: Scope, now: Moment, expires: Option<Moment>) -> Result<String, KeyError> {
            self.keep(self.make(scope, now, expires)?)
        }
    }

    #[test]
    fn the_operators_token_is_made_once_and_only_the_user_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        Keyring::open(dir.path()).unwrap();
        let path = dir.path().join(OPERATOR);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        let token = std::fs::read_to_string(&path).unwrap();
        let keys = Keyring::open(dir.path()).unwrap();
        assert_eq!(keys.whose(token.trim(), Moment::default()).unwrap().scope, Scope::Operator);
        assert!(keys.whose(&token.trim().to_uppercase(), Moment::default()).is_none());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Keyring::open(dir.path()), Err(KeyError::Exposed { .. })));
    }

    #[test]
    fn an_issued_token_opens_until_its_line_is_removed_and_is_kept_as_a_hash() {
        let dir = tempfile::tempdir().unwrap();
        let keys = Keyring::open(dir.path()).unwrap();
        let now = Moment::default();
        let token = keys.issue(Scope::Viewer, now, None).unwrap();
        assert_eq!(keys.whose(&token, now).unwrap().scope, Scope::Viewer);
        let file = dir.path().join(ISSUED);
        assert!(!std::fs::read_to_string(&file).unwrap().contains(&token));
        std::fs::write(&file, "").unwrap();
        assert!(keys.whose(&token, now).is_none());
    }

    #[test]
    fn issued_tokens_end_with_the_operators_token_by_themselves_and_when_they_are_revoked() {
        let dir = tempfile::tempdir().unwrap();
        let at = |second: i64| Moment::from_micros(second * 1_000_000);
        let keys = Keyring::open(dir.path()).unwrap();
        let short = keys.issue(Scope::Viewer, at(0), Some(at(10))).unwrap();
        let long = keys.issue(Scope::Operator, at(0), None).unwrap();
        assert!(keys.whose(&short, at(9)).is_some() && keys.whose(&short, at(10)).is_none());
        assert!(keys.whose(&long, at(10)).is_some());
        let listed = keys.list().unwrap();
        assert_eq!(
            listed.iter().map(|token| token.scope).collect::<Vec<_>>(),
            [Scope::Viewer, Scope::Operator]
        );
        assert!(keys.revoke(&listed[1].id, at(11)).unwrap() && !keys.revoke("tok_0", at(11)).unwrap());
        assert!(keys.whose(&long, at(11)).is_none());
        let mark = |token: &str| *keys.hash(token).as_bytes();
        assert!(keys.still_opens(&mark(&short), at(9)) && !keys.still_opens(&mark(&short), at(10)));
        assert!(
            !keys.still_opens(&mark(&long), at(11)) && keys.still_opens(keys.operator.as_bytes(), at(11))
        );
        assert_eq!(keys.list().unwrap()[1].revoked_at, Some(at(11)));

        keys.keep_used().unwrap();
        let used: Vec<Option<Moment>> = keys.list().unwrap().iter().map(|token| token.last_used_at).collect();
        assert_eq!(used, [Some(at(9)), Some(at(10))], "what opened nothing was not used");

        let kept = keys.issue(Scope::Viewer, at(12), None).unwrap();
        assert_eq!(keys.list().unwrap()[2].last_used_at, None);
        std::fs::remove_file(dir.path().join(OPERATOR)).unwrap();
        let fresh = Keyring::open(dir.path()).unwrap();
        assert!(fresh.whose(&kept, at(13)).is_none());
        assert!(fresh.list().unwrap().iter().all(|token| token.is_void));
    }
}

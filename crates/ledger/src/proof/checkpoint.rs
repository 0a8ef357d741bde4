//! Checkpoints: signed summaries of the log up to a record, so that a cut or rewritten log is found.
//!
//! Invariant: a root covers every record hash up to its sequence number, in order, through the root before it.
//! The key lies beside the store, or where it was said to, and only its owner can read it; whoever can read it can sign, so a copy of the
//! newest checkpoint kept elsewhere is what stands against that person. Deliberately absent: keeping that copy.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use callboard_kernel::Moment;
use ed25519_dalek::{Signature, Signer, SigningKey, Verifier, VerifyingKey};
use serde::{Deserialize, Serialize};

use crate::error::OpenError;
use crate::record::{Hash, Unreadable};

/// After so many records a checkpoint stays; one of fewer is replaced by that of the next commit.
pub(crate) const RECORDS_BETWEEN: u64 = 256;

/// One signed summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) seq: u64,
    pub(crate) at: Moment,
    pub(crate) root: Hash,
    pub(crate) public_key: [u8; 32],
    pub(crate) signature: [u8; 64],
    /// The newest record that no checkpoint covered when the writer of this one came; 0 if all were covered.
    pub(crate) unsealed: u64,
}

/// Who signed a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(pub [u8; 32]);

impl std::fmt::Display for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Hash(self.0).fmt(f)
    }
}

impl std::str::FromStr for PublicKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let key = Hash::from_hex(text).ok_or("a key has 64 hexadecimal digits")?;
        Ok(Self(key.0))
    }
}

impl serde::Serialize for PublicKey {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Folds record hashes into the next root.
#[derive(Clone)]
pub(crate) struct Root(blake3::Hasher);

impl Root {
    pub(crate) fn after(before: Hash) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&before.0);
        Self(hasher)
    }

    pub(crate) fn add(&mut self, hash: Hash) {
        self.0.update(&hash.0);
    }

    pub(crate) fn finish(&self) -> Hash {
        Hash(*self.0.finalize().as_bytes())
    }
}

/// Signs checkpoints with the key of the store.
pub(crate) struct Seal(SigningKey);

impl Seal {
    /// Reads the key beside the store, or makes one.
    pub(crate) fn beside(store: &Path) -> Result<Self, OpenError> {
        Self::at(&key_path(store))
    }

    /// Reads the key at a path, or makes one there.
    pub(crate) fn at(path: &Path) -> Result<Self, OpenError> {
        let fail = |source| OpenError::Key { path: path.to_owned(), source };
        match File::open(path) {
            Ok(file) => read(file).map(Self).map_err(fail),
            Err(error) if error.kind() == ErrorKind::NotFound => make(path).map(Self).map_err(fail),
            Err(error) => Err(fail(error)),
        }
    }

    /// A key that is known already, for a store that has no files.
    pub(crate) fn of_secret(secret: [u8; 32]) -> Self {
        Self(SigningKey::from_bytes(&secret))
    }

    pub(crate) fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    pub(crate) fn sign(&self, seq: u64, at: Moment, root: Hash, unsealed: u64) -> Checkpoint {
        let signature = self.0.sign(&message(seq, at, root, unsealed)).to_bytes();
        Checkpoint { seq, at, root, public_key: self.0.verifying_key().to_bytes(), signature, unsealed }
    }
}

/// A checkpoint as it stands in an export.
#[derive(Serialize, Deserialize)]
struct CheckpointLine {
    checkpoint: Fields,
}

#[derive(Serialize, Deserialize)]
struct Fields {
    seq: u64,
    at: Moment,
    root: String,
    public_key: String,
    signature: String,
    #[serde(default, skip_serializing_if = "is_none")]
    unsealed: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
const fn is_none(unsealed: &u64) -> bool {
    *unsealed == 0
}

impl Checkpoint {
    /// Its line in an export.
    pub(crate) fn line(&self) -> Result<String, Unreadable> {
        let checkpoint = Fields {
            seq: self.seq,
            at: self.at,
            root: self.root.to_string(),
            public_key: PublicKey(self.public_key).to_string(),
            signature: self.signature_text(),
            unsealed: self.unsealed,
        };
        Ok(serde_json::to_string(&CheckpointLine { checkpoint })?)
    }

    /// Reads it from its line.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let CheckpointLine { checkpoint: fields } =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let hex = |text: Option<&str>| text.and_then(Hash::from_hex).ok_or("a checkpoint has bad digits");
        let signature = Self::signature_of(&fields.signature).ok_or("a checkpoint has bad digits")?;
        Ok(Self {
            seq: fields.seq,
            at: fields.at,
            root: hex(Some(&fields.root))?,
            public_key: hex(Some(&fields.public_key))?.0,
            signature,
            unsealed: fields.unsealed,
        })
    }

    /// Its signature as digits.
    pub(crate) fn signature_text(&self) -> String {
        let (first, second) = self.signature.split_at(32);
        let half = |bytes: &[u8]| Hash::of(bytes).unwrap_or_default().to_string();
        half(first) + &half(second)
    }

    /// A signature from its digits.
    pub(crate) fn signature_of(text: &str) -> Option<[u8; 64]> {
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&Hash::from_hex(text.get(..64)?)?.0);
        signature[32..].copy_from_slice(&Hash::from_hex(text.get(64..)?)?.0);
        Some(signature)
    }

    /// Was it signed by the key it names?
    pub(crate) fn is_signed(&self) -> bool {
        let Ok(key) = VerifyingKey::from_bytes(&self.public_key) else { return false };
        let signature = Signature::from_bytes(&self.signature);
        key.verify(&message(self.seq, self.at, self.root, self.unsealed), &signature).is_ok()
    }
}

fn message(seq: u64, at: Moment, root: Hash, unsealed: u64) -> Vec<u8> {
    let mut message = b"callboard checkpoint ".to_vec();
    // Checkpoints of older programs are of the first sort too.
    message.extend_from_slice(if unsealed == 0 { b"1\0" } else { b"2\0" });
    if unsealed > 0 {
        message.extend_from_slice(&unsealed.to_le_bytes());
    }
    message.extend_from_slice(&seq.to_le_bytes());
    message.extend_from_slice(&at.as_micros().to_le_bytes());
    message.extend_from_slice(&root.0);
    message
}

fn key_path(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".key");
    name.into()
}

fn read(mut file: File) -> std::io::Result<SigningKey> {
    let bytes = file.metadata()?.len();
    let mut secret = [0; 32];
    // Any other file would do as a key, and be remembered as one.
    if bytes != secret.len() as u64 {
        return Err(std::io::Error::other(format!(
            "it is no key: it has {bytes} bytes instead of {}",
            secret.len()
        )));
    }
    file.read_exact(&mut secret)?;
    Ok(SigningKey::from_bytes(&secret))
}

/// Two processes may make the key at once: the one whose file appears first wins, and the other reads it.
fn make(path: &Path) -> std::io::Result<SigningKey> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(std::io::Error::other)?;
    // Two threads of one process may be here at once, so the pid alone would name a file that both write.
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(std::io::Error::other)?;
    let mut own = path.as_os_str().to_owned();
    own.push(format!(".{:016x}", u64::from_ne_bytes(number)));
    let own = PathBuf::from(own);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&own)?;
    file.write_all(&secret)?;
    file.sync_all()?;
    let linked = std::fs::hard_link(&own, path);
    std::fs::remove_file(&own)?;
    match linked {
        Ok(()) => Ok(SigningKey::from_bytes(&secret)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read(File::open(path)?),
        Err(error) => Err(error),
    }
}

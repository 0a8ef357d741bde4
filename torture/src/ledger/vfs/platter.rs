//! The platter: what a power cut leaves of the changes made so far.
//!
//! Invariant: what was synced is there. Of the rest, every sector holds what it held at some moment since its last
//! sync, each sector for itself, or is torn between two such moments, or has garbage where it was being written; sizes
//! and names are those of some such moment too, and names change in order. Deliberately absent: harm to bytes that
//! were not being written, which SQLite excludes when it is told that overwriting is safe.

use std::collections::{BTreeMap, HashMap};

use super::disk::Op;
use crate::harness::dice::Dice;

/// Files by name.
pub(crate) type Image = BTreeMap<String, Vec<u8>>;

const SECTOR: usize = 512;
/// Sectors that a disk of four-kilobyte sectors writes together.
const SECTORS_A_BLOCK: u64 = 8;

/// What is synced, and what came after.
#[derive(Clone, Default)]
pub(crate) struct Platter {
    files: HashMap<u64, Stored>,
    names: BTreeMap<String, u64>,
    /// Names given and taken since the directory was synced.
    renamed: Vec<(String, Option<u64>)>,
    now: u64,
}

#[derive(Clone, Default)]
struct Stored {
    synced: Vec<u8>,
    size: u64,
    /// Sizes since the last sync.
    sizes: Vec<u64>,
    size_dirty: bool,
    sectors: BTreeMap<u64, Sector>,
}

/// What a sector held since its last sync.
#[derive(Clone, Default)]
struct Sector {
    versions: Vec<(u64, [u8; SECTOR])>,
    /// The next sync writes it.
    dirty: bool,
}

/// How a power cut treats what was not synced; each in sixteenths.
#[derive(Clone, Copy, Debug)]
struct Style {
    sectors_together: u64,
    newest: u64,
    torn: u64,
    garbage: u64,
}

impl Platter {
    /// A disk with these files, all of them synced, numbered as the disk numbers them.
    pub(crate) fn with(base: &Image) -> Self {
        let mut platter = Self::default();
        for (file, (name, bytes)) in base.iter().enumerate() {
            let stored = Stored { synced: bytes.clone(), size: bytes.len() as u64, ..Stored::default() };
            platter.files.insert(file as u64, stored);
            platter.names.insert(name.clone(), file as u64);
        }
        platter
    }

    /// One more change.
    pub(crate) fn take(&mut self, op: &Op) {
        self.now += 1;
        let now = self.now;
        match op {
            Op::Create { file, name } => self.renamed.push((name.clone(), Some(*file))),
            Op::Delete { name, dir_synced } => {
                self.renamed.push((name.clone(), None));
                if *dir_synced {
                    self.sync_names();
                }
            }
            Op::Write { file, at, bytes } => self.file(*file).write(now, *at, bytes),
            Op::Truncate { file, to } => self.file(*file).truncate(now, *to),
            Op::Sync { file } => {
                self.file(*file).sync();
                // The first sync of a file that SQLite made syncs its directory too.
                if self.renamed.iter().any(|(_, named)| *named == Some(*file)) {
                    self.sync_names();
                }
            }
            Op::SyncLost { file } => self.file(*file).lose(),
        }
    }

    /// Only what was synced.
    pub(crate) fn durable(&self) -> Image {
        let image = |file: &u64| self.files.get(file).map(Stored::durable).unwrap_or_default();
        self.names.iter().map(|(name, file)| (name.clone(), image(file))).collect()
    }

    /// What was synced and, by chance, some of the rest.
    pub(crate) fn torn(&self, dice: &mut Dice) -> Image {
        let style = Style {
            sectors_together: *dice.pick(&[1, SECTORS_A_BLOCK]),
            newest: *dice.pick(&[0, 1, 8, 15, 16]),
            torn: *dice.pick(&[0, 0, 2]),
            garbage: *dice.pick(&[0, 0, 0, 1]),
        };
        let mut names = self.names.clone();
        let renamed = dice.roll(self.renamed.len() as u64 + 1) as usize;
        for (name, file) in &self.renamed[..renamed] {
            rename(&mut names, name, *file);
        }
        let mut image =
            |file: &u64| self.files.get(file).map(|stored| stored.torn(style, dice)).unwrap_or_default();
        names.iter().map(|(name, file)| (name.clone(), image(file))).collect()
    }

    fn file(&mut self, file: u64) -> &mut Stored {
        self.files.entry(file).or_default()
    }

    fn sync_names(&mut self) {
        for (name, file) in self.renamed.drain(..) {
            rename(&mut self.names, &name, file);
        }
    }
}

fn rename(names: &mut BTreeMap<String, u64>, name: &str, file: Option<u64>) {
    match file {
        Some(file) => names.insert(name.to_owned(), file),
        None => names.remove(name),
    };
}

impl Stored {
    fn newest_size(&self) -> u64 {
        self.sizes.last().copied().unwrap_or(self.size)
    }

    fn synced_sector(&self, sector: u64) -> [u8; SECTOR] {
        let mut content = [0; SECTOR];
        let from = self.synced.get(sector as usize * SECTOR..).unwrap_or_default();
        let there = from.len().min(SECTOR);
        content[..there].copy_from_slice(&from[..there]);
        content
    }

    /// Changes one sector, as of now.
    fn change(&mut self, now: u64, sector: u64, change: impl FnOnce(&mut [u8; SECTOR])) {
        let synced = self.synced_sector(sector);
        let kept = self.sectors.entry(sector).or_default();
        let mut content = kept.versions.last().map_or(synced, |(_, content)| *content);
        change(&mut content);
        kept.versions.push((now, content));
        kept.dirty = true;
    }

    fn write(&mut self, now: u64, at: u64, bytes: &[u8]) {
        let (size, end) = (SECTOR as u64, at + bytes.len() as u64);
        for sector in at / size..end.div_ceil(size) {
            let start = sector * size;
            let (from, to) = (at.max(start), end.min(start + size));
            let part = &bytes[(from - at) as usize..(to - at) as usize];
            self.change(now, sector, |content| {
                content[(from - start) as usize..(to - start) as usize].copy_from_slice(part);
            });
        }
        if end > self.newest_size() {
            self.sizes.push(end);
        }
        // Writing behind the synced end again brings the size to the disk with it, though an earlier sync lost it.
        self.size_dirty |= end > self.size;
    }

    fn truncate(&mut self, now: u64, to: u64) {
        let (size, before) = (SECTOR as u64, self.newest_size());
        for sector in to / size..before.div_ceil(size) {
            let from = to.saturating_sub(sector * size) as usize;
            self.change(now, sector, |content| content[from..].fill(0));
        }
        if to != before {
            self.sizes.push(to);
            self.size_dirty = true;
        }
    }

    fn sync(&mut self) {
        let Self { synced, sectors, .. } = self;
        sectors.retain(|sector, kept| {
            if let (true, Some((_, content))) = (kept.dirty, kept.versions.last()) {
                put(synced, *sector, content);
            }
            !kept.dirty
        });
        if self.size_dirty {
            self.size = self.newest_size();
            self.sizes.clear();
            self.size_dirty = false;
        }
    }

    /// The sync failed and nothing is dirty any more: it can be read, and will not be written.
    fn lose(&mut self) {
        self.sectors.values_mut().for_each(|sector| sector.dirty = false);
        self.size_dirty = false;
    }

    fn durable(&self) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        bytes.resize(self.size as usize, 0);
        bytes
    }

    fn torn(&self, style: Style, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        let (mut together, mut moment) = (None, 0);
        for (sector, kept) in &self.sectors {
            let block = Some(sector / style.sectors_together);
            if block != together {
                (together, moment) = (block, kept.moment(style, dice));
            }
            put(&mut bytes, *sector, &kept.torn(self.synced_sector(*sector), moment, style, dice));
        }
        let size = if self.sizes.is_empty() {
            self.size
        } else if dice.roll(16) < style.newest {
            self.newest_size()
        } else {
            let nth = dice.roll(self.sizes.len() as u64 + 1) as usize;
            nth.checked_sub(1).map_or(self.size, |nth| self.sizes[nth])
        };
        bytes.resize(size as usize, 0);
        bytes
    }
}

impl Sector {
    /// As of which moment it is on the disk.
    fn moment(&self, style: Style, dice: &mut Dice) -> u64 {
        if dice.roll(16) < style.newest {
            u64::MAX
        } else if dice.roll(2) == 0 {
            0
        } else {
            dice.pick(&self.versions).0
        }
    }

    fn torn(&self, synced: [u8; SECTOR], moment: u64, style: Style, dice: &mut Dice) -> [u8; SECTOR] {
        let as_of = self.versions.iter().rev().find(|(at, _)| *at <= moment);
        let mut content = as_of.map_or(synced, |(_, content)| *content);
        let newest = self.versions.last().map_or(synced, |(_, content)| *content);
        if dice.roll(16) < style.torn {
            let cut = dice.roll(SECTOR as u64) as usize;
            content[cut..].copy_from_slice(&newest[cut..]);
        }
        if dice.roll(16) < style.garbage {
            for at in 0..SECTOR {
                if self.versions.iter().any(|(_, version)| version[at] != synced[at]) {
                    content[at] = dice.next() as u8;
                }
            }
        }
        content
    }
}

fn put(bytes: &mut Vec<u8>, sector: u64, content: &[u8; SECTOR]) {
    let start = sector as usize * SECTOR;
    if bytes.len() < start + SECTOR {
        bytes.resize(start + SECTOR, 0);
    }
    bytes[start..start + SECTOR].copy_from_slice(content);
}

//! The board: everything that is alive or ended in a way that calls for somebody, judged and in order.
//!
//! Invariant: a question first brings the board up to the end of the log, and is then answered from it. What changed is
//! read from the view rows of the ledger and judged at once; everything is judged anew after a moment though nothing
//! was recorded, because health changes though nobody writes, and what that changed is kept until it was told.
//! Deliberately absent: what ended and needs nobody; there
//! may be millions of them, and the ledger lists those.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use callboard_kernel::EntityId;
use callboard_ledger::{Ledger, Page, ReadError, RecordScope, Slice, Stored};
use callboard_lifecycle::{Kind, Severity, Words};
use uuid::Uuid;

use super::entry::{BoardEntry, ShownEntity};
use crate::host::machine::monotonic_now;
use crate::{Viewpoint, read_again};

/// Records read at once while catching up.
pub(super) const PAGE: usize = 2000;
/// Behind by more than this, everything is read anew.
pub(super) const FAR_BEHIND: u64 = 50_000;
/// Entities read at once when everything is read.
const PIECE: usize = 500;
/// How long a judgement of the whole board is used again: as long as judging everything takes many times over.
const MOMENT_MAX: Duration = Duration::from_millis(125);
const MOMENT_MIN: Duration = Duration::from_millis(10);
const MOMENT_EACH: Duration = Duration::from_micros(12);
/// More changes than this at once are put in order together.
const FEW: usize = 50;

/// What is alive and what needs somebody, up to a record.
pub struct Board {
    /// Everything up to this record is in it.
    pub head: u64,
    entries: Vec<BoardEntry>,
    places: HashMap<EntityId, u32>,
    order: Vec<Rank>,
    judged: Instant,
    /// Who was found dead and was not before, and of whom nothing was read since.
    found_dead: Vec<EntityId>,
    /// Whose verdict changed although nothing was recorded, and nobody was told yet.
    changed: Vec<EntityId>,
}

/// Somebody whose verdict changed although nothing was recorded.
pub struct ChangedVerdict {
    /// Whose verdict it is.
    pub id: EntityId,
    /// It is alive by the log, and its process is gone.
    pub is_dead: bool,
    /// The entity, as it is judged by now.
    pub shown: ShownEntity,
}

/// Where an entity stands on the board: the most severe first, then the newest.
#[derive(Clone, Copy, Debug)]
struct Rank {
    severity: Severity,
    uuid: Uuid,
    place: u32,
}

impl Rank {
    const fn key(&self) -> (Severity, Reverse<Uuid>) {
        (self.severity, Reverse(self.uuid))
    }
}

impl Board {
    /// Reads everything, a piece at a time: all of it at once would take many times the memory of the board.
    pub(super) fn read(ledger: &Ledger, sight: &Viewpoint<'_>) -> Result<Self, ReadError> {
        // The end is read first: what comes meanwhile is followed and at worst read twice.
        let head = ledger.head()?;
        let mut board = Self {
            head,
            entries: Vec::new(),
            places: HashMap::new(),
            order: Vec::new(),
            judged: monotonic_now(),
            found_dead: Vec::new(),
            changed: Vec::new(),
        };
        for stored in ledger.attention(i64::MAX as usize)? {
            board.put(&stored, sight)?;
        }
        // By kind, because the index of what lives is by kind.
        for kind in Kind::ALL {
            let mut slice = Slice { kind: Some(*kind), live: true, limit: PIECE, ..Slice::default() };
            loop {
                let piece = ledger.slice(slice.clone())?;
                let Some(last) = piece.last() else { break };
                slice.beyond = Some(last.entity.state.id);
                piece.iter().try_for_each(|stored| board.put(stored, sight).map(drop))?;
            }
        }
        board.arrange();
        Ok(board)
    }

    pub(super) const fn is_far_behind(&self, end: u64) -> bool {
        end.saturating_sub(self.head) > FAR_BEHIND
    }

    /// Takes over everything that was recorded, and judges what is not fresh. A supervisor records the end of its run and
    /// then goes, so where somebody is found dead the log is read again: that may be an end. One that it could not record
    /// and kept is recorded now.
    pub(super) fn follow(&mut self, ledger: &Ledger, sight: &Viewpoint<'_>) -> Result<(), ReadError> {
        loop {
            let end = ledger.head()?;
            self.catch_up(ledger, end, sight)?;
            let dead = std::mem::take(&mut self.found_dead);
            if dead.is_empty() {
                return Ok(());
            }
            dead.into_iter().try_for_each(|id| read_again(ledger, id).map(drop))?;
        }
    }

    fn catch_up(&mut self, ledger: &Ledger, end: u64, sight: &Viewpoint<'_>) -> Result<(), ReadError> {
        while self.head < end {
            let records = ledger.records(Page { after: self.head, limit: PAGE, scope: RecordScope::All })?;
            let Some(last) = records.last().map(|record| record.seq) else { break };
            let touched: HashSet<EntityId> = records.iter().filter_map(|record| record.id().ok()).collect();
            let few = touched.len() <= FEW;
            for id in touched {
                if few {
                    self.unrank(id);
                }
                match ledger.entity(id)? {
                    Some(stored) if stored.entity.ended_at.is_none() || stored.is_urgent() => {
                        let place = self.put(&stored, sight)?;
                        if few {
                            self.rank(place);
                        }
                    }
                    Some(_) | None => self.remove(id),
                }
            }
            if !few {
                self.arrange();
            }
            self.head = last;
        }
        if self.judged.elapsed() >= self.moment() {
            self.judge(sight);
        }
        Ok(())
    }

    /// How long a judgement of everything is used again.
    fn moment(&self) -> Duration {
        let all = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        MOMENT_EACH.saturating_mul(all).clamp(MOMENT_MIN, MOMENT_MAX)
    }

    /// Judges some anew, because there is a sign that they changed. Follow the log afterwards: whose process is gone may
    /// have recorded its end.
    pub(super) fn look_again(&mut self, runs: &[EntityId], sight: &Viewpoint<'_>) {
        for id in runs {
            let Some(place) = self.places.get(id).copied() else { continue };
            self.unrank(*id);
            let entry = &mut self.entries[place as usize];
            let was_dead = entry.is_dead();
            if entry.judge(sight).is_changed {
                self.changed.push(*id);
            }
            if entry.is_dead() && !was_dead {
                self.found_dead.push(*id);
            }
            self.rank(place);
        }
    }

    /// Whose verdict changed although nothing was recorded, each once, as they are judged by now.
    pub(super) fn take_changed(&mut self) -> Vec<ChangedVerdict> {
        let mut ids = std::mem::take(&mut self.changed);
        ids.sort_unstable();
        ids.dedup();
        let entry = |id: EntityId| self.places.get(&id).map(|place| &self.entries[*place as usize]);
        let changed =
            |id| entry(id).map(|entry| ChangedVerdict { id, is_dead: entry.is_dead(), shown: entry.shown() });
        ids.into_iter().filter_map(changed).collect()
    }

    pub(super) const fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Judges everything.
    fn judge(&mut self, sight: &Viewpoint<'_>) {
        self.judged = monotonic_now();
        let mut has_moved = false;
        for entry in &mut self.entries {
            let was_dead = entry.is_dead();
            let judged = entry.judge(sight);
            has_moved |= judged.is_moved;
            if judged.is_changed {
                self.changed.push(entry.keys.id);
            }
            if entry.is_dead() && !was_dead {
                self.found_dead.push(entry.keys.id);
            }
        }
        if has_moved {
            self.arrange();
        }
    }

    fn put(&mut self, stored: &Stored, sight: &Viewpoint<'_>) -> Result<u32, ReadError> {
        let entry =
            BoardEntry::of(stored, sight).map_err(|error| ReadError::File(std::io::Error::other(error)))?;
        let id = entry.keys.id;
        let before = self.places.get(&id).copied();
        let old = before.map(|place| &self.entries[place as usize]);
        // The record does not say either, so whoever reads only records has to be told.
        if entry.is_dead() && !old.is_some_and(BoardEntry::is_dead) {
            self.found_dead.push(id);
            self.changed.push(id);
        } else if entry.outlives_its_end() && !old.is_some_and(BoardEntry::outlives_its_end) {
            self.changed.push(id);
        }
        if let Some(place) = before {
            self.entries[place as usize] = entry;
            return Ok(place);
        }
        let place = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.entries.push(entry);
        self.places.insert(id, place);
        Ok(place)
    }

    /// Takes one off; the last one takes its place.
    fn remove(&mut self, id: EntityId) {
        let Some(place) = self.places.remove(&id) else { return };
        self.entries.swap_remove(place as usize);
        let Some(moved) = self.entries.get(place as usize) else { return };
        self.places.insert(moved.keys.id, place);
        let key = (moved.verdict.severity, Reverse(moved.keys.id.uuid()));
        if let Ok(at) = self.order.binary_search_by_key(&key, Rank::key) {
            self.order[at].place = place;
        }
    }

    fn rank_of(&self, place: u32) -> Rank {
        let entry = &self.entries[place as usize];
        Rank { severity: entry.verdict.severity, uuid: entry.keys.id.uuid(), place }
    }

    /// Puts one into the order.
    fn rank(&mut self, place: u32) {
        let rank = self.rank_of(place);
        let at = self.order.partition_point(|other| other.key() < rank.key());
        self.order.insert(at, rank);
    }

    /// Takes one out of the order.
    fn unrank(&mut self, id: EntityId) {
        let Some(place) = self.places.get(&id) else { return };
        let key = self.rank_of(*place).key();
        if let Ok(at) = self.order.binary_search_by_key(&key, Rank::key) {
            self.order.remove(at);
        }
    }

    /// Puts everything in order.
    fn arrange(&mut self) {
        self.order = (0..self.entries.len()).map(|place| self.rank_of(place as u32)).collect();
        self.order.sort_unstable_by_key(Rank::key);
    }

    /// How many have not ended.
    pub fn alive(&self) -> usize {
        self.entries.iter().filter(|entry| entry.keys.is_alive).count()
    }

    /// Everything, in no order.
    pub fn all(&self) -> &[BoardEntry] {
        &self.entries
    }

    /// Everything, the most severe first, then the newest.
    pub fn ranked(&self) -> impl Iterator<Item = &BoardEntry> {
        self.order.iter().map(|rank| &self.entries[rank.place as usize])
    }

    /// What calls for somebody, in the same order.
    pub fn urgent(&self) -> impl Iterator<Item = &BoardEntry> {
        self.ranked().take_while(|entry| entry.verdict.severity.is_urgent())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Observed, ProcessTable};
    use callboard_kernel::health::{Place, Sighting};
    use callboard_kernel::{
        Actor, Command, Create, EvidenceRef, Facts, Moment, Observe, Order, StateReason, Transition, Value,
    };
    use callboard_ledger::{Options, Request};
    use callboard_lifecycle::session::SessionState;
    use callboard_lifecycle::{ActorClass, reason};

    use super::*;

    const NOW: Moment = Moment::from_micros(1_794_770_358_000_000);

    fn send(ledger: &Ledger, number: u64, order: Order) {
        // In no order, as ids of several hosts are.
        let uuid = Uuid::from_u128(u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 32);
        let actor = Actor::new(ActorClass::Supervisor, "t");
        let command = Command::new(EntityId::new(Kind::Session, uuid), order);
        // What the machine does not allow from where it stands is refused, and changes nothing.
        drop(ledger.append(Request { command, actor, now: NOW, cause: None }));
    }

    fn order(step: u64) -> Order {
        let moved = |to: SessionState, code: &str| {
            let code = reason(code).unwrap_or_else(|unknown| panic!("{unknown}"));
            let why = StateReason::new(code, "it did").shown_by(EvidenceRef::tool_result("seen"));
            // As a supervisor does, which has seen the process end.
            let data = if to.is_terminal() { Facts::none().with("leftovers", 0_i64) } else { Facts::none() };
            Order::Transition(Transition::to(to, why).with(data))
        };
        match step % 5 {
            0 | 1 => moved(SessionState::Running, "run.started.ok"),
            2 => moved(SessionState::Failed, "run.failed.exit_nonzero"),
            3 => moved(SessionState::Completed, "run.completed.ok"),
            _ => {
                let data =
                    Facts::none().with("waits_for", "an answer").with("lease_until", "2099-01-01T00:00:00Z");
                Order::Observe(Observe { reasons: vec![], data })
            }
        }
    }

    fn shown(board: &Board) -> Vec<(EntityId, Severity, u64)> {
        let version =
            |entry: &BoardEntry| entry.shown().unpack().map_or(0, |stored| stored.entity.state.version);
        board.ranked().map(|entry| (entry.keys.id, entry.verdict.severity, version(entry))).collect()
    }

    #[test]
    fn a_board_that_followed_the_log_is_the_one_that_is_read_anew() {
        let place = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&place.path().join("s.db"), Options::default()).unwrap();
        let sight = Viewpoint::past(NOW);
        let mut board = Board::read(&ledger, &sight).unwrap();
        let (mut random, mut severities) = (7_u64, HashSet::new());
        for round in 0..30 {
            // A few changes at once, and now and then more than are put in order one by one.
            for _ in 0..if round % 10 == 9 { 3 * FEW as u64 } else { 1 + random % 9 } {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (number, step) = (random >> 33 & 127, random >> 50);
                let at = SessionState::Pending.into();
                send(&ledger, number, Order::Create(Create { at, reasons: vec![], data: Facts::none() }));
                send(&ledger, number, order(step));
            }
            let end = ledger.head().unwrap();
            board.follow(&ledger, &sight).unwrap();
            let anew = Board::read(&ledger, &sight).unwrap();
            assert_eq!((board.head, shown(&board)), (end, shown(&anew)), "round {round}");
            assert_eq!(
                board.urgent().count(),
                board.all().iter().filter(|entry| entry.verdict.severity.is_urgent()).count()
            );
            severities.extend(board.all().iter().map(|entry| entry.verdict.severity.name()));
        }
        assert!(board.all().len() > 50 && severities.len() > 2, "{} {severities:?}", board.all().len());
    }

    /// A host on which every supervisor records the end of its run and goes, just before somebody looks for it.
    struct Leaving<'a> {
        here: Place,
        ledger: &'a Ledger,
    }

    impl ProcessTable for Leaving<'_> {
        fn here(&self) -> &Place {
            &self.here
        }

        fn look(&self, pid: u32) -> Sighting {
            send(self.ledger, u64::from(pid), order(3));
            Sighting::Gone
        }
    }

    /// A host on which a supervisor (7) records the end of its run just before somebody looks for it, and after somebody
    /// has looked for its command (2).
    struct Parting<'a> {
        here: Place,
        ledger: &'a Ledger,
        is_over: std::cell::Cell<bool>,
    }

    impl ProcessTable for Parting<'_> {
        fn here(&self) -> &Place {
            &self.here
        }

        fn look(&self, pid: u32) -> Sighting {
            if pid == 7 && !self.is_over.replace(true) {
                send(self.ledger, 1, order(3));
            }
            if self.is_over.get() { Sighting::Gone } else { Sighting::Seen { started_ticks: 1, hold: None } }
        }
    }

    #[test]
    fn a_command_that_was_seen_before_the_end_is_no_sign_of_life_after_it() {
        let place = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&place.path().join("s.db"), Options::default()).unwrap();
        let process = |pid: i64| Facts::none().with("pid", pid).with("started_ticks", 1_i64);
        let data = process(2).with("host", "h").with("boot", "b").with("supervisor", Value::Map(process(7)));
        send(&ledger, 1, Order::Create(Create { at: SessionState::Pending.into(), reasons: vec![], data }));
        send(&ledger, 1, order(0));
        let here = Place { host: "h".to_owned(), boot: "b".to_owned(), ..Place::default() };
        let parting = Parting { here, ledger: &ledger, is_over: false.into() };
        let stored = ledger.slice(Slice { live: true, limit: 9, ..Slice::default() }).unwrap();
        let seen = Observed::all(&ledger, stored, &Viewpoint::present(NOW, &parting)).unwrap();
        let shown: Vec<String> = seen.iter().map(|seen| seen.view().chain).collect();
        assert_eq!(shown, ["Completed"]);
    }

    /// A host on which nobody lives.
    struct Deserted(Place);

    impl ProcessTable for Deserted {
        fn here(&self) -> &Place {
            &self.0
        }

        fn look(&self, _: u32) -> Sighting {
            Sighting::Gone
        }
    }

    #[test]
    fn a_death_is_told_once_whether_it_is_met_in_a_look_at_one_or_at_all_or_with_a_record() {
        let place = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&place.path().join("s.db"), Options::default()).unwrap();
        let here = || Place { host: "h".to_owned(), boot: "b".to_owned(), ..Place::default() };
        let start = |number: u64| {
            let process = Facts::none().with("pid", 7_i64).with("started_ticks", 1_i64);
            let data =
                Facts::none().with("host", "h").with("boot", "b").with("supervisor", Value::Map(process));
            let at = SessionState::Pending.into();
            send(&ledger, number, Order::Create(Create { at, reasons: vec![], data }));
            send(&ledger, number, order(0));
        };
        let (past, deserted) = (Viewpoint::past(NOW), Deserted(here()));
        let present = Viewpoint::present(NOW, &deserted);
        (1..=3).for_each(start);
        let mut board = Board::read(&ledger, &past).unwrap();
        let told = |board: &mut Board| {
            let changed = board.take_changed();
            assert!(changed.iter().all(|one| one.is_dead));
            changed.len()
        };
        assert_eq!(told(&mut board), 0);
        let one = board.all()[0].keys.id;
        board.look_again(&[one], &present);
        board.follow(&ledger, &present).unwrap();
        assert_eq!((told(&mut board), board.urgent().count()), (1, 1));
        board.judged -= 2 * MOMENT_MAX;
        board.follow(&ledger, &present).unwrap();
        assert_eq!((told(&mut board), board.urgent().count()), (2, 3));
        start(4);
        board.follow(&ledger, &present).unwrap();
        assert_eq!((told(&mut board), board.urgent().count()), (1, 4));
        board.judged -= 2 * MOMENT_MAX;
        board.follow(&ledger, &present).unwrap();
        assert_eq!(told(&mut board), 0, "each is told once");
    }

    #[test]
    fn who_ends_while_they_are_looked_at_has_ended_and_is_not_dead() {
        let place = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&place.path().join("s.db"), Options::default()).unwrap();
        let here = Place { host: "h".to_owned(), boot: "b".to_owned(), ..Place::default() };
        let start = |number: u64| {
            let data = Facts::none()
                .with("host", "h")
                .with("boot", "b")
                .with("pid", i64::try_from(number).unwrap())
                .with("started_ticks", 1_i64);
            let at = SessionState::Pending.into();
            send(&ledger, number, Order::Create(Create { at, reasons: vec![], data }));
            send(&ledger, number, order(0));
        };
        start(1);
        let mut board = Board::read(&ledger, &Viewpoint::past(NOW)).unwrap();
        assert_eq!(board.alive(), 1);
        start(2);
        let leaving = Leaving { here, ledger: &ledger };
        // One is looked at because it is read, the other because a moment has passed.
        board.judged -= 2 * MOMENT_MAX;
        board.follow(&ledger, &Viewpoint::present(NOW, &leaving)).unwrap();
        assert_eq!((board.alive(), board.urgent().count()), (0, 0));
        assert_eq!(board.take_changed().len(), 0, "an end is no death, and is told by its record");
        start(3);
        let stored = ledger.slice(Slice { live: true, limit: 9, ..Slice::default() }).unwrap();
        let seen = Observed::all(&ledger, stored, &Viewpoint::present(NOW, &leaving)).unwrap();
        let shown: Vec<String> = seen.iter().map(|seen| seen.view().chain).collect();
        assert_eq!(shown, ["Completed"]);
    }
}

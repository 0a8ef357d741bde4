//! One reader of the feed: cut off at random bytes, coming back with the last id it got whole.
//!
//! Invariant: only a whole event counts. An id that does not follow the last one ends the reader at once; whether some
//! were left out is told by their number and a sum over all of them, compared with the log.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use callboard_kernel::EntityId;
use callboard_lifecycle::Kind;

use super::writer::Cast;
use super::{PATIENCE, must};
use crate::harness::dice::Dice;
use crate::harness::http::{bearer, head};

/// How long a silent stream is listened to before a look whether everything came.
const SILENCE: Duration = Duration::from_millis(100);
/// Bytes of an event, about.
const EVENT_BYTES: u64 = 400;

/// Which records a reader wants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Choice {
    All,
    Of(Kind),
    One(EntityId),
}

impl Choice {
    /// Every kind of choice; few get everything, because that is what takes the time.
    pub(crate) fn all(cast: &Cast) -> Vec<Self> {
        let mut all = Vec::new();
        for (number, id) in cast.ids.iter().enumerate() {
            match number % 20 {
                0 => all.push(Self::All),
                1 => all.push(Self::Of(if number == 1 { Kind::Session } else { Kind::Schedule })),
                _ => {}
            }
            all.push(Self::One(*id));
        }
        all
    }

    fn wants(&self, id: EntityId) -> bool {
        match self {
            Self::All => true,
            Self::Of(kind) => id.kind() == *kind,
            Self::One(one) => *one == id,
        }
    }

    fn query(&self) -> String {
        match self {
            Self::All => String::new(),
            Self::Of(kind) => format!("&kind={kind}"),
            Self::One(id) => format!("&entity={id}"),
        }
    }
}

/// How many, the last one, and a sum over all of them that depends on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    events: u64,
    last: u64,
    sum: u64,
}

impl Total {
    fn add(&mut self, seq: u64) {
        self.events += 1;
        self.last = seq;
        self.sum = self.sum.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(seq);
    }
}

/// What readers are told: how far the writers are, and in the end what there is to get.
pub(crate) struct Outlook {
    events: u64,
    entities: u64,
    pub(crate) written: AtomicU64,
    expected: OnceLock<HashMap<Choice, Total>>,
    given_up: AtomicBool,
}

impl Outlook {
    pub(crate) fn new(events: u64, entities: u64) -> Self {
        let (written, expected, given_up) = (AtomicU64::new(0), OnceLock::new(), AtomicBool::new(false));
        Self { events, entities, written, expected, given_up }
    }

    /// Tells what there is to get, after the last record was written.
    pub(crate) fn tell(&self, cast: &Cast) -> Result<()> {
        let mut expected: HashMap<Choice, Total> =
            Choice::all(cast).into_iter().map(|choice| (choice, Total::default())).collect();
        for (seq, id) in cast.log()? {
            expected.iter_mut().filter(|(choice, _)| choice.wants(id)).for_each(|(_, total)| total.add(seq));
        }
        drop(self.expected.set(expected));
        Ok(())
    }

    /// Nothing more will be told.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Release);
    }

    fn of(&self, choice: &Choice) -> Option<Total> {
        self.expected.get()?.get(choice).copied()
    }

    fn share(&self, choice: &Choice) -> u64 {
        match choice {
            Choice::All => self.events,
            Choice::Of(_) => self.events / 2,
            Choice::One(_) => self.events / self.entities,
        }
    }
}

/// What a reader got, when it was all.
#[derive(Debug, Default)]
pub(crate) struct Got {
    pub(crate) events: u64,
    pub(crate) cuts: u64,
    /// Connections that it did not cut itself.
    pub(crate) broken: u64,
    /// Times it was told that it is behind.
    pub(crate) behind: u64,
}

pub(crate) struct Reader {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) choice: Choice,
    pub(crate) cuts: u64,
    pub(crate) is_slow: bool,
    pub(crate) seed: u64,
    pub(crate) number: u64,
}

/// Why a reader stopped listening.
#[derive(PartialEq, Eq)]
enum Stop {
    /// It was cut at the byte it had chosen.
    Cut,
    /// The other side ended it.
    Broken,
    /// It has everything.
    Whole,
}

impl Reader {
    /// Reads everything there is, over as many connections as it has cuts, and more.
    pub(crate) fn read(&self, outlook: &Outlook) -> Result<Got> {
        let mut dice = Dice::of(self.seed, self.number);
        let (mut got, mut total) = (Got::default(), Total::default());
        let give_up = Instant::now() + PATIENCE;
        loop {
            if Instant::now() > give_up || outlook.given_up.load(Ordering::Acquire) {
                bail!("it got to {} of {:?}", total.last, outlook.of(&self.choice));
            }
            let bytes = self.next_cut(outlook, &total, &got, &mut dice);
            // A server that was killed is back in a moment.
            let Ok(stream) = self.open(total.last, bytes) else {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            match self.listen(stream, outlook, &mut total, &mut got)? {
                Stop::Cut => got.cuts += 1,
                Stop::Broken => got.broken += 1,
                Stop::Whole if got.cuts < self.cuts => got.cuts += 1,
                Stop::Whole => break,
            }
        }
        let expected = outlook.of(&self.choice).context("nobody said what there is")?;
        must(total == expected, || format!("it got {total:?} of {expected:?}: some were lost"))?;
        got.events = total.events;
        Ok(got)
    }

    /// After how many bytes it is cut off; spread over what is still to come.
    fn next_cut(&self, outlook: &Outlook, total: &Total, got: &Got, dice: &mut Dice) -> u64 {
        let left = outlook.share(&self.choice).saturating_sub(total.events);
        match self.cuts.saturating_sub(got.cuts) {
            0 => u64::MAX,
            cuts => 1 + dice.roll(2 * EVENT_BYTES * (left / cuts + 1)),
        }
    }

    fn open(&self, last: u64, bytes: u64) -> Result<BufReader<std::io::Take<TcpStream>>> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let last = if last == 0 { String::new() } else { format!("Last-Event-ID: {last}\r\n") };
        let request = format!(
            "GET /api/v1/events?since=0{} HTTP/1.0\r\nHost: {}\r\n{}{last}\r\n",
            self.choice.query(),
            self.address,
            bearer(&self.token)
        );
        stream.write_all(request.as_bytes())?;
        let size = if self.is_slow { 4096 } else { 64 * 1024 };
        let mut reader = BufReader::with_capacity(size, stream.take(u64::MAX));
        let (status, _) = head(&mut reader)?;
        must(status == 200, || format!("it was answered with {status}"))?;
        reader.get_ref().get_ref().set_read_timeout(Some(SILENCE))?;
        // What is buffered already is beyond the cut all the same.
        let ahead = reader.buffer().len() as u64;
        reader.get_mut().set_limit(bytes.saturating_sub(ahead).max(1));
        Ok(reader)
    }

    fn listen(
        &self,
        mut stream: BufReader<std::io::Take<TcpStream>>,
        outlook: &Outlook,
        total: &mut Total,
        got: &mut Got,
    ) -> Result<Stop> {
        let (mut line, mut id, mut is_record) = (Vec::new(), None, false);
        let mut pauses = outlook.written.load(Ordering::Acquire) + outlook.events / 8;
        loop {
            match stream.read_until(b'\n', &mut line) {
                Ok(_) if line.ends_with(b"\n") => {}
                Ok(_) => return Ok(if stream.get_ref().limit() == 0 { Stop::Cut } else { Stop::Broken }),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if outlook.of(&self.choice).is_some_and(|expected| total.last >= expected.last) {
                        return Ok(Stop::Whole);
                    }
                    if outlook.given_up.load(Ordering::Acquire) {
                        return Ok(Stop::Broken);
                    }
                    continue;
                }
                Err(_) => return Ok(Stop::Broken),
            }
            match line.as_slice() {
                b"\n" => {
                    if let (Some(seq), true) = (id.take(), is_record) {
                        must(seq > total.last, || format!("{seq} came after {}", total.last))?;
                        let is_next = self.choice != Choice::All || seq == total.last + 1;
                        must(is_next, || format!("{seq} came after {}: some were lost", total.last))?;
                        total.add(seq);
                    }
                    is_record = false;
                    if outlook.of(&self.choice).is_some_and(|expected| total.last >= expected.last) {
                        return Ok(Stop::Whole);
                    }
                    if self.is_slow && outlook.written.load(Ordering::Acquire) < pauses {
                        pauses = self.pause(outlook, pauses);
                    }
                }
                b"event: record\n" => is_record = true,
                b"event: behind\n" => got.behind += 1,
                field => {
                    if let Some(text) = field.strip_prefix(b"id: ") {
                        id = std::str::from_utf8(text)
                            .ok()
                            .and_then(|text| text.trim_end().parse::<u64>().ok());
                    } else if let (Some(data), Some(seq)) = (field.strip_prefix(b"data: "), id) {
                        let is_its = !is_record || data.starts_with(format!("{{\"seq\":{seq},").as_bytes());
                        must(is_its, || format!("{seq} carries {}", String::from_utf8_lossy(data)))?;
                    }
                }
            }
            line.clear();
        }
    }

    /// Does not read until the writers are further on; the place where it reads again, and the next one.
    fn pause(&self, outlook: &Outlook, until: u64) -> u64 {
        let far = until.min(outlook.events);
        let give_up = Instant::now() + Duration::from_secs(60);
        while outlook.written.load(Ordering::Acquire) < far
            && Instant::now() < give_up
            && !outlook.given_up.load(Ordering::Acquire)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        outlook.written.load(Ordering::Acquire) + outlook.events / 8
    }
}

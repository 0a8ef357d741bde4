//! Many sockets read by one thread, which notes when how much had come.

use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

/// How long nothing may come while something is missing.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The sockets.
pub(super) struct Crowd {
    sockets: Vec<Socket>,
    poll: OwnedFd,
    buffer: Vec<u8>,
    /// What came to the first one.
    witness: Vec<u8>,
}

struct Socket {
    stream: TcpStream,
    total: usize,
    /// How much had come when.
    steps: Vec<(usize, Instant)>,
}

impl Crowd {
    pub(super) fn of(streams: Vec<TcpStream>) -> io::Result<Self> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (place, stream) in streams.iter().enumerate() {
            stream.set_nonblocking(true)?;
            epoll::add(&poll, stream, epoll::EventData::new_u64(place as u64), epoll::EventFlags::IN)?;
        }
        let socket = |stream| Socket { stream, total: 0, steps: Vec::new() };
        let sockets = streams.into_iter().map(socket).collect();
        Ok(Self { sockets, poll, buffer: vec![0; 256 * 1024], witness: Vec::new() })
    }

    /// Reads what comes within a time; how many reads that were.
    pub(super) fn read_for(&mut self, time: Duration) -> io::Result<usize> {
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        let mut places = [MaybeUninit::uninit(); 256];
        let (ready, _) = epoll::wait(&self.poll, &mut places, Some(&time))?;
        for event in ready.iter() {
            let place = event.data.u64() as usize;
            let Some(socket) = self.sockets.get_mut(place) else { continue };
            let size = socket.stream.read(&mut self.buffer)?;
            if size == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            socket.total += size;
            socket.steps.push((socket.total, Instant::now()));
            if place == 0 {
                self.witness.extend_from_slice(&self.buffer[..size]);
            }
        }
        Ok(ready.len())
    }

    /// Reads until so many bytes have come to each.
    pub(super) fn read_until(&mut self, total: usize) -> io::Result<()> {
        let mut heard = Instant::now();
        while self.sockets.iter().any(|socket| socket.total < total) {
            if self.read_for(Duration::from_millis(100))? > 0 {
                heard = Instant::now();
            } else if heard.elapsed() > SILENCE_MAX {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    /// What came to the first one.
    pub(super) fn witnessed(&self) -> &[u8] {
        &self.witness
    }

    /// When each had got so many bytes.
    pub(super) fn received(&self, total: usize) -> impl Iterator<Item = Instant> {
        self.sockets.iter().filter_map(move |socket| {
            let first = socket.steps.partition_point(|(had, _)| *had < total);
            socket.steps.get(first).map(|(_, at)| *at)
        })
    }
}

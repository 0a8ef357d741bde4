//! What the machine itself needs: a bare process ends, its descriptor says so, and a message crosses a loopback socket.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use callboard_supervisor::process;
use rustix::event::{PollFd, PollFlags, poll};

use super::event::Event;
use super::stage::{pipe, script, signal};

/// Two ends of a loopback connection.
pub(super) struct Floor(TcpStream, TcpStream);

impl Floor {
    pub(super) fn open() -> Result<Self, Box<dyn Error>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        let far = listener.accept()?.0;
        near.set_nodelay(true)?;
        far.set_nodelay(true)?;
        Ok(Self(near, far))
    }

    /// From the same event at a bare process until the message has come back.
    #[expect(clippy::disallowed_methods, reason = "what is measured is a bare process, and it is ended here")]
    pub(super) fn time(&mut self, event: Event, scratch: &Path) -> Result<Duration, Box<dyn Error>> {
        let path = scratch.join("floor");
        drop(std::fs::remove_file(&path));
        let mut line = pipe(&path)?;
        let mut child = Command::new("sh").args(["-c", &script(&path)]).stdin(Stdio::null()).spawn()?;
        let identity = process::of(child.id())?.ok_or("a process that is gone")?;
        // It waits in its pipe by then.
        std::thread::sleep(Duration::from_millis(20));
        let descriptor = process::descriptor(&identity)?.ok_or("a process that is gone")?;
        let began = Instant::now();
        match event {
            Event::Exits | Event::Fails => line.write_all(b"0\n")?,
            Event::CommandKilled
            | Event::SupervisorKilled
            | Event::BothKilled
            | Event::StopAsked
            | Event::Paused
            | Event::Continued => signal(&identity, 9)?,
        }
        poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], None)?;
        let mut byte = [0];
        self.0.write_all(&byte)?;
        self.1.read_exact(&mut byte)?;
        self.1.write_all(&byte)?;
        self.0.read_exact(&mut byte)?;
        let took = began.elapsed();
        child.wait()?;
        Ok(took)
    }
}

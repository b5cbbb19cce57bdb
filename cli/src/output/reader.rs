//! Whether a process reads the standard output.

use std::time::Duration;

/// Waits, and returns false if the reader of the standard output has gone. A signal ends the wait early.
#[cfg(unix)]
pub fn wait_for_reader(pause: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdout = std::io::stdout();
    // If no events are asked for, the system reports only that the other end was closed.
    let mut output = [PollFd::new(&stdout, PollFlags::empty())];
    let pause = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: pause.subsec_nanos().into() };
    let _ = poll(&mut output, Some(&pause));
    !output[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Waits. If the reader has gone, this is noticed with the next line.
#[cfg(not(unix))]
pub fn wait_for_reader(pause: Duration) -> bool {
    std::thread::sleep(pause);
    true
}

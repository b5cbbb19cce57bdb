//! Signals: they are noticed between two redraws, so that the terminal is as before when the program ends.

use std::io;

/// The requests of signals since the last look.
pub struct Asked {
    /// The number of the signal that ends the program.
    pub end: Option<i32>,
    pub suspend: bool,
    /// The program was stopped, and has resumed.
    pub goes_on: bool,
}

#[cfg(unix)]
pub use unix::{Signals, end_by, suspend};

#[cfg(unix)]
mod unix {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
    use signal_hook::flag;
    use signal_hook::low_level::emulate_default_handler;

    use super::{Asked, io};
    use crate::exit::Exit;

    /// The signals that end the program.
    const ENDING: [i32; 4] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT];

    pub struct Signals {
        end: Arc<AtomicUsize>,
        suspend: Arc<AtomicBool>,
        goes_on: Arc<AtomicBool>,
    }

    impl Signals {
        pub fn register() -> io::Result<Self> {
            let signals = Self { end: Arc::default(), suspend: Arc::default(), goes_on: Arc::default() };
            for signal in ENDING {
                flag::register_usize(signal, signals.end.clone(), usize::try_from(signal).unwrap_or_default())?;
            }
            flag::register(SIGTSTP, signals.suspend.clone())?;
            flag::register(SIGCONT, signals.goes_on.clone())?;
            Ok(signals)
        }

        pub fn asked(&self) -> Asked {
            let end = self.end.load(Ordering::Relaxed);
            Asked {
                end: i32::try_from(end).ok().filter(|signal| *signal != 0),
                suspend: self.suspend.swap(false, Ordering::Relaxed),
                goes_on: self.goes_on.swap(false, Ordering::Relaxed),
            }
        }
    }

    /// Ends the program by a signal, as it would end without a handler. An interrupt has an exit code of its
    /// own.
    pub fn end_by(signal: i32) -> Exit {
        if signal != SIGINT {
            // Fails only for a signal that does not end programs.
            let _ = emulate_default_handler(signal);
        }
        Exit::Interrupted
    }

    /// Stops the program until the shell lets it continue.
    pub fn suspend() -> io::Result<()> {
        emulate_default_handler(SIGTSTP)
    }
}

#[cfg(not(unix))]
pub use other::{Signals, end_by, suspend};

#[cfg(not(unix))]
mod other {
    use super::{Asked, io};
    use crate::exit::Exit;

    pub struct Signals;

    impl Signals {
        pub fn register() -> io::Result<Self> {
            Ok(Self)
        }

        pub fn asked(&self) -> Asked {
            Asked { end: None, suspend: false, goes_on: false }
        }
    }

    pub fn end_by(_: i32) -> Exit {
        Exit::Interrupted
    }

    pub fn suspend() -> io::Result<()> {
        Ok(())
    }
}

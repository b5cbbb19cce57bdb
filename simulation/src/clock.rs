//! The time of a world, and the clocks of its machines, which may be wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use callstack_core::stack::Clock;

/// When a world begins, in microseconds since the Unix epoch.
const BEGINNING: u64 = 1_750_000_000_000_000;

/// The true time of a world, in microseconds. It never goes back, except by [`Time::set`].
#[derive(Debug)]
pub struct Time(AtomicU64);

impl Default for Time {
    fn default() -> Self {
        Self(AtomicU64::new(BEGINNING))
    }
}

impl Time {
    /// Milliseconds since the Unix epoch.
    pub fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed) / 1_000
    }

    /// Milliseconds since the beginning of the world.
    pub fn passed(&self) -> u64 {
        self.passed_finely() / 1_000
    }

    /// Microseconds since the beginning of the world.
    pub fn passed_finely(&self) -> u64 {
        self.0.load(Ordering::Relaxed) - BEGINNING
    }

    /// Lets milliseconds pass.
    pub fn pass(&self, span: u64) {
        self.pass_finely(span * 1_000);
    }

    /// Lets microseconds pass.
    pub fn pass_finely(&self, span: u64) {
        self.0.fetch_add(span, Ordering::Relaxed);
    }

    /// Goes to a time, in microseconds since the beginning of the world: to that of the machine that acts next.
    pub fn set(&self, passed: u64) {
        self.0.store(BEGINNING + passed, Ordering::Relaxed);
    }
}

/// The clock of a machine: by how much it is wrong, and whether it stands still.
#[derive(Debug, Default)]
pub struct MachineClock {
    ahead: AtomicI64,
    is_stopped: AtomicBool,
    stopped_at: AtomicU64,
}

impl MachineClock {
    /// Sets it forward or back by this number of milliseconds. If it stands still, it goes on.
    pub fn jump(&self, by: i64, time: &Time) {
        let read = self.reads(time).saturating_add_signed(by);
        self.is_stopped.store(false, Ordering::Relaxed);
        self.ahead.store(read as i64 - time.now() as i64, Ordering::Relaxed);
    }

    /// Stops it.
    pub fn stop(&self, time: &Time) {
        self.stopped_at.store(time.now(), Ordering::Relaxed);
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Makes it right.
    pub fn set_right(&self) {
        self.ahead.store(0, Ordering::Relaxed);
        self.is_stopped.store(false, Ordering::Relaxed);
    }

    fn reads(&self, time: &Time) -> u64 {
        let now =
            if self.is_stopped.load(Ordering::Relaxed) { self.stopped_at.load(Ordering::Relaxed) } else { time.now() };
        now.saturating_add_signed(self.ahead.load(Ordering::Relaxed))
    }
}

/// The time of day as a machine sees it.
pub fn time_of_day(time: &Arc<Time>, clock: &Arc<MachineClock>) -> Clock {
    let (time, clock) = (time.clone(), clock.clone());
    Arc::new(move || clock.reads(&time))
}

/// Spans, which every machine measures rightly.
pub fn spans(time: &Arc<Time>) -> Clock {
    let time = time.clone();
    Arc::new(move || time.passed())
}

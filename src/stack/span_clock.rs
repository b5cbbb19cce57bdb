//! The clock for spans, such as idle times and time limits. It never goes back, no matter how the time of day
//! changes.

use parking_lot::Mutex;

use super::Clock;

/// Readings of two threads can be out of order by less than this many milliseconds. A larger step back means
/// that the clock was set back.
const OUT_OF_ORDER: u64 = 1_000;

/// A clock that never goes back. It begins with the time of day at which it was made, in milliseconds since
/// the Unix epoch, and then advances with its source.
pub(super) struct SpanClock {
    source: Clock,
    last: Mutex<Reading>,
}

struct Reading {
    /// The newest reading of the source.
    source: u64,
    /// What this clock said then.
    said: u64,
}

impl SpanClock {
    /// Creates a clock. `now` is the time of day.
    pub(super) fn new(source: Clock, now: u64) -> Self {
        let last = Mutex::new(Reading { source: source(), said: now });
        Self { source, last }
    }

    /// The present time on this clock.
    pub(super) fn now(&self) -> u64 {
        // Read before the lock: the source is code of the host.
        let reading = (self.source)();
        let mut last = self.last.lock();
        match reading.checked_sub(last.source) {
            Some(passed) => *last = Reading { source: reading, said: last.said.saturating_add(passed) },
            // The source was set back: no time that could be measured has passed.
            None if last.source - reading >= OUT_OF_ORDER => last.source = reading,
            None => {}
        }
        last.said
    }

    /// A moment of this clock as time of day. Both clocks are read now, so a later change of the time of day
    /// does not matter to a caller that sets a timer at once.
    pub(super) fn time_of_day(&self, moment: u64, clock: &Clock) -> u64 {
        let (time_of_day, now) = (clock(), self.now());
        match moment.checked_sub(now) {
            Some(left) => time_of_day.saturating_add(left),
            None => time_of_day.saturating_sub(now - moment),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_step_back_takes_no_time_and_gives_none_back() {
        let source = Arc::new(AtomicU64::new(50_000));
        let reading = source.clone();
        let clock = SpanClock::new(Arc::new(move || reading.load(Ordering::Relaxed)), 1_000_000);
        let at = |time: u64| {
            source.store(time, Ordering::Relaxed);
            clock.now()
        };
        assert_eq!([at(50_000), at(50_007)], [1_000_000, 1_000_007]);
        assert_eq!([at(50_001), at(50_009)], [1_000_007, 1_000_009], "readings of two threads out of order");
        assert_eq!([at(10), at(25)], [1_000_009, 1_000_024], "set back");
        assert_eq!([at(u64::MAX), at(0), at(5)], [u64::MAX; 3], "nothing wraps");
    }

    #[test]
    fn moments_are_told_in_the_present_time_of_day() {
        let fixed = |time: u64| -> Clock { Arc::new(move || time) };
        let clock = SpanClock::new(fixed(7), 5_000);
        assert_eq!(clock.time_of_day(6_000, &fixed(5_000)), 6_000);
        assert_eq!(clock.time_of_day(6_000, &fixed(200)), 1_200, "the time of day was set back");
        assert_eq!(clock.time_of_day(4_000, &fixed(200)), 0);
        assert_eq!(clock.time_of_day(u64::MAX, &fixed(9_000)), u64::MAX);
    }
}

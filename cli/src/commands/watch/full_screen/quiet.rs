//! A rest of the keys: text that is pasted as keys must not answer a question that the person has not seen.

use std::time::{Duration, Instant};

/// The time without any key after which keys count again. The pieces of a paste follow each other faster.
const QUIET: Duration = Duration::from_millis(300);

/// The rest of the keys after a question has closed or asks once more, and after a paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quiet {
    #[default]
    Over,
    /// Keys are discarded. The screen does not show yet why the rest has begun.
    Begun { last: Instant },
    /// Keys are discarded, and the screen shows why.
    Seen { last: Instant },
}

impl Quiet {
    pub fn begin(&mut self, now: Instant) {
        *self = Self::Begun { last: now };
    }

    /// True if a key at this time is discarded. Then the rest lasts longer.
    pub fn discards(&mut self, now: Instant) -> bool {
        match self {
            Self::Over => false,
            Self::Begun { last } | Self::Seen { last } => {
                *last = now;
                true
            }
        }
    }

    pub fn is_over(self) -> bool {
        self == Self::Over
    }

    /// Notes that the screen is about to be drawn, and returns true if the rest ends.
    pub fn before_redraw(&mut self, now: Instant) -> bool {
        match *self {
            Self::Begun { last } => *self = Self::Seen { last },
            Self::Seen { last } if now.duration_since(last) >= QUIET => {
                *self = Self::Over;
                return true;
            }
            Self::Over | Self::Seen { .. } => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_count_again_after_a_redraw_and_a_time_without_keys() {
        let begin = Instant::now();
        let mut quiet = Quiet::default();
        assert!(!quiet.discards(begin), "keys count at first");
        quiet.begin(begin);
        assert!(quiet.discards(begin + 2 * QUIET), "nothing was drawn yet");
        assert!(!quiet.before_redraw(begin + 2 * QUIET));
        assert!(!quiet.before_redraw(begin + 2 * QUIET), "a key was discarded just now");
        assert!(quiet.discards(begin + 3 * QUIET));
        assert!(!quiet.before_redraw(begin + 3 * QUIET + QUIET / 2), "each key makes the rest longer");
        assert!(quiet.before_redraw(begin + 4 * QUIET) && quiet.is_over());
        assert!(!quiet.discards(begin + 4 * QUIET));
    }
}

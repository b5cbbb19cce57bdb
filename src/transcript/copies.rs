//! Which lines of a thread of Codex are copies of lines of another thread. A fork begins with such copies,
//! and so does a subagent that knows what its caller knows.

use super::line::{Fact, Line};

/// How long copying a thread takes, in milliseconds: all copied lines have nearly the same time.
const COPY: u64 = 1_500;

/// Follows the lines of a thread.
#[derive(Default)]
pub(super) struct Copies {
    /// The ID of the thread.
    thread: String,
    /// Where its own lines begin, if the host says that.
    own_from: u64,
    /// When lines of another thread were copied.
    copied_at: Option<u64>,
}

impl Copies {
    /// True if the next line is a copy.
    pub fn follow(&mut self, line: &Line, time: Option<u64>) -> bool {
        for fact in &line.facts {
            match fact {
                Fact::Session(id) if self.thread.is_empty() => self.thread.clone_from(id),
                Fact::Session(id) if *id != self.thread => {
                    self.copied_at = Some(time.unwrap_or_default());
                    return true;
                }
                Fact::OwnFrom(ordinal) => self.own_from = *ordinal,
                _ => {}
            }
        }
        if line.thread.as_ref().is_some_and(|thread| !self.thread.is_empty() && *thread != self.thread) {
            return true;
        }
        if line.ordinal.is_some_and(|ordinal| ordinal > 0 && ordinal < self.own_from) {
            return true;
        }
        let Some(copied) = self.copied_at else { return false };
        let is_later = time.is_some_and(|time| time > copied + COPY);
        if is_later && line.facts.contains(&Fact::Begun) {
            self.copied_at = None;
        }
        self.copied_at.is_some()
    }
}

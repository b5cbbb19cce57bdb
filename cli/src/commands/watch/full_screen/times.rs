//! When the shown frames began, waited and ended. The events of a frame are read once, and after that only
//! the new ones.

use std::collections::HashMap;

use callstack_core::frame::FrameSpans;
use callstack_core::{EventQuery, FrameStatus, Handle, Result, Stack};

/// Above this number of frames, the times of frames that are not shown are forgotten.
const KEPT: usize = 4_096;

/// The times of frames, as far as they were asked for.
#[derive(Default)]
pub struct Times {
    known: HashMap<Handle, Known>,
}

struct Known {
    spans: FrameSpans,
    /// The revision up to which the events are followed.
    revision: u64,
}

impl Times {
    /// Follows the events of these frames.
    ///
    /// # Errors
    /// The errors of the stack's history.
    pub fn follow(&mut self, stack: &Stack, frames: &[Handle]) -> Result<()> {
        if self.known.len() > KEPT.max(2 * frames.len()) {
            self.known.retain(|handle, _| frames.contains(handle));
        }
        for handle in frames {
            let (newest, changed) = stack.read(|tree| (tree.revision(), tree.node(*handle).revision()))?;
            match self.known.get_mut(handle) {
                Some(known) if known.revision >= changed => {}
                Some(known) => {
                    let query = EventQuery::default().frame(*handle).since(known.revision);
                    stack.history().events(&query)?.iter().for_each(|event| known.spans.follow(event));
                    known.revision = newest;
                }
                None => {
                    let spans = stack.history().spans(*handle)?;
                    self.known.insert(*handle, Known { spans, revision: newest });
                }
            }
        }
        Ok(())
    }

    /// The times of a frame, if they are known.
    pub fn spans(&self, handle: Handle) -> Option<&FrameSpans> {
        Some(&self.known.get(&handle)?.spans)
    }

    /// The age of a frame in milliseconds: for how long it has run, or has waited since it was blocked. For a
    /// frame that has ended, it is how long the frame was worked on. `None` if it has not begun.
    pub fn age(&self, handle: Handle, status: FrameStatus, now: u64) -> Option<u64> {
        let spans = self.spans(handle)?;
        let begun_at = spans.begun_at?;
        Some(match status {
            FrameStatus::Planned => return None,
            FrameStatus::InProgress => now.saturating_sub(begun_at),
            FrameStatus::Blocked => now.saturating_sub(spans.blocked.last().map_or(begun_at, |span| span.from)),
            _ => spans.worked(now),
        })
    }
}

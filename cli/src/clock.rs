//! The clock of this machine.

use std::time::Duration;

use callstack_core::Stack;

/// Shortest pause between two polls of a stack.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);

/// The time until the files beside the database of a stack are due, but at most `longest`.
pub fn until_files_are_due(stack: &Stack, longest: Duration) -> Duration {
    let left = stack.upkeep().deadline().map(|deadline| Duration::from_millis(deadline.saturating_sub(now())));
    left.map_or(longest, |left| left.clamp(SHORTEST_PAUSE, longest))
}

/// The time in milliseconds since the Unix epoch.
pub fn now() -> u64 {
    jiff::Timestamp::now().as_millisecond().unsigned_abs()
}

//! The page of `callstack view`: a flame chart of a stack in one HTML file, and the server that keeps it up
//! to date.

mod conversations;
mod live;
mod page;
mod requests;
mod server;
mod snapshot;
mod texts;

use callstack_core::Stack;
use callstack_core::frame::{Prices, Timeline};

use self::conversations::Conversations;
use crate::failure::Failure;

pub use page::{MARK_BYTES, is_page};
pub use server::Server;
pub use snapshot::Snapshot;

/// The page of a stack as a file that needs nothing else, and what it shows. `with_logs`: also what was said
/// in the frames.
///
/// # Errors
/// The errors of reading the history.
pub fn page(stack: &Stack, prices: Option<&Prices>, with_logs: bool) -> Result<(String, Snapshot), Failure> {
    let mut timeline = Timeline::default();
    stack.history().update_timeline(&mut timeline)?;
    let said = if with_logs { Conversations::of(stack)? } else { Conversations::default() };
    let snapshot = Snapshot::with(stack, &timeline, prices, &said)?;
    Ok((page::file(&snapshot), snapshot))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::output::{duration, money};

    /// The page writes them itself; its tests use the same file.
    #[test]
    fn durations_and_costs_are_written_as_the_page_writes_them() {
        let cases: Value = serde_json::from_str(include_str!("../../tests/browser/words.json")).unwrap();
        for case in cases["durations"].as_array().unwrap() {
            assert_eq!(duration(case[0].as_u64().unwrap()), case[1].as_str().unwrap());
        }
        for case in cases["costs"].as_array().unwrap() {
            assert_eq!(money(case[0].as_f64().unwrap()), case[1].as_str().unwrap());
        }
    }
}

//! The page of `callstack view`: a flame chart of a stack in one HTML file, and the server that keeps it up to date.

mod live;
mod page;
mod requests;
mod server;
mod snapshot;
mod texts;

use callstack_core::Stack;
use callstack_core::frame::{Prices, Timeline};

use crate::failure::Failure;

pub use page::{MARK_BYTES, is_page};
pub use server::Server;
pub use snapshot::Snapshot;

/// The page of a stack as a file that needs nothing else, and what it shows.
///
/// # Errors
/// Those of reading the history.
pub fn page(stack: &Stack, prices: Option<&Prices>) -> Result<(String, Snapshot), Failure> {
    let mut timeline = Timeline::default();
    stack.update_timeline(&mut timeline)?;
    let snapshot = Snapshot::of(stack, &timeline, prices);
    Ok((page::file(&snapshot), snapshot))
}

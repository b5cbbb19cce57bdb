//! What a host tells of its sessions, and what to make of it.
//!
//! This floor knows frames and trees. It reads no clock and does nothing by itself: it is told what
//! has happened and when, and says what should be done.

mod assessing;
pub mod autonomy;
mod calling;
pub mod calls;
pub mod compaction;
mod effect;
mod event;
mod framing;
mod reporting;
mod sessions;
pub mod subagents;
mod summarizing;
mod turn;

pub use effect::{Action, Effect, LogLevel};
pub use event::HostEvent;
#[cfg(feature = "tools")]
pub(crate) use framing::title_of;
pub use sessions::Sessions;
pub use turn::Turn;

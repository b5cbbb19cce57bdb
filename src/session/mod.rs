//! What a host tells of its sessions, and what to make of it.
//!
//! This floor knows frames and trees. It reads no clock and does nothing by itself: it is told what
//! has happened and when, and says what should be done.

pub mod autonomy;
mod calling;
pub mod calls;
pub mod compaction;
mod effect;
mod event;
mod sessions;
pub mod subagents;

pub use effect::{Action, Effect, LogLevel};
pub use event::HostEvent;
pub use sessions::Sessions;
#[cfg(feature = "tools")]
pub(crate) use sessions::title_of;

//! Sessions of a host: handles the events that the host reports, and decides the actions that follow from
//! them.
//!
//! This layer knows frames and trees. It reads no clock and performs no actions: it gets events with their
//! times, and returns actions.

mod answering;
mod assessing;
pub mod autonomy;
pub(crate) mod call_title;
mod calling;
pub mod calls;
pub mod compaction;
mod effect;
mod ending;
mod event;
mod framing;
#[cfg(test)]
mod growth_tests;
mod known_session;
mod logging;
mod place;
mod reporting;
mod salvage;
mod sessions;
mod shell;
pub mod subagents;
mod summarizing;
mod timers;
mod titles;
mod topic;
mod turn;
mod waiting;
mod way;

pub use effect::{Action, Effect, LogLevel};
pub use event::{FileChange, HostEvent};
pub use sessions::Sessions;
pub use shell::{changes_of_command, folder_after};
pub(crate) use titles::TitlePatterns;
#[cfg(feature = "tools")]
pub(crate) use topic::title_of;
pub use turn::Turn;

//! What a host tells of its sessions, and what to make of it.
//!
//! This floor knows frames and trees. It reads no clock and does nothing by itself: it is told what
//! has happened and when, and says what should be done.

pub mod autonomy;
pub mod compaction;
pub mod subagents;
mod variables;

//! Sessions of agents as their hosts keep them on the disk: read line by line, as items and requests, and as
//! a tree of frames.
//!
//! A *form* is the form of one host's files ([`TranscriptForm`]). There are two readers over it:
//!
//! - [`read_transcript`] resumes reading where it has stopped. It is for the logs and the usage of the frames
//!   of a stack in which the agent works.
//! - [`Session`] makes a tree of frames from a session that no stack knows: turns, subagents, to-do lists,
//!   usage.
//!
//! [`Replay`] says what folding would have saved in a session.
//!
//! Nothing here reads a file: the caller passes the texts.

mod atif;
mod called;
mod claude;
mod codex;
mod copies;
mod copilot;
mod document;
mod following;
mod form;
mod gemini;
mod line;
mod opencode;
mod parts;
mod pi;
mod qwen;
mod reading;
mod replay;
mod session;
mod swe_agent;
mod taking;

pub use following::SessionFile;
pub use form::TranscriptForm;
pub use reading::{LONGEST_TRANSCRIPT_LINE, TranscriptPart, TranscriptStep, read_transcript};
pub use replay::{PolicyOutcome, Replay, Replayed};
pub use session::{AgentFile, LeftOut, Session, SessionFacts, SessionLine};
pub use taking::TakenSession;
pub(crate) use taking::take_over;

//! Which frames can begin and in which order, and which frames are free for workers. These are queries of a
//! tree; nothing here changes a tree. Commands and contexts use them.
//!
//! - A planned frame waits for its own dependencies, and for the dependencies of the planned frames above it,
//!   which need them for all of their work. But it does not wait for a dependency of a frame above it if that
//!   dependency waits for the planned frame itself. A frame above it that is in progress has begun, so it has
//!   what it needs.
//! - Frames below a frame that has ended are not wanted any more.
//! - A frame with parts is the work of putting these parts together, so the parts are next
//!   ([`Parts::First`]). An agent can begin such a frame before its parts, and work on them inside it
//!   ([`Parts::Within`]).
//! - A frame can wait before it has begun, for an answer or for a time. All work below it waits too. A frame
//!   that is not work never begins.
//! - Among the frames that can begin, the most urgent one is next. Among equally urgent frames, the first one
//!   in the plan is next.

mod begin;
mod next;
mod order;
mod waiting;
mod workers;

pub use begin::{Obstacle, Parts};
pub(super) use next::{ClearAbove, NextFrames};
pub(super) use workers::WorkerTimes;

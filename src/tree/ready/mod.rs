//! Which frames can begin and in which order, and which are free for workers. Questions about a tree; nothing here changes one. Commands and
//! contexts ask them.
//!
//! - A planned frame waits for its own dependencies, and for those of the planned frames above it, which need them for all of their
//!   work: but not for what waits for this part of them itself. What is in progress above it has begun, so that has what it needs.
//! - Nobody wants what is below a frame that has ended.
//! - A frame with parts is the work of putting these together, so what is next are the parts ([`Parts::First`]). An agent can begin such
//!   a frame before them, and work on them in it ([`Parts::Within`]).
//! - A frame can wait before it has begun, for an answer or for a time, and all work below it waits with it. A frame that is no work never
//!   begins.
//! - Of what can begin, the most urgent is next, and of that the first of the plan.

mod begin;
mod order;
mod waiting;
mod workers;

pub use begin::{Obstacle, Parts};

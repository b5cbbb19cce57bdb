//! What persons, hosts and workers ask about the work of a tree: what is in the way of it, how it is resumed,
//! how a frame stands for its holder, and what frames may do and spend. These are questions about a tree;
//! nothing here changes one. Which frames can begin, and in which order, is a part of the tree, because
//! commands ask that too.

mod in_the_way;
mod limits;
mod overview;
mod resumption;
mod standing;

pub use in_the_way::InTheWay;
pub use limits::{Allowance, Overspent};
pub use overview::Overview;
pub use resumption::{Missed, Resumption};
pub use standing::Standing;

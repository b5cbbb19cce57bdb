//! Trees of frames: commands, queries, states, imports.

mod damage;
mod errors;
mod import;
mod outlines;
mod stack;
mod state;
mod tree_model;

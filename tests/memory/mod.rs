//! Tests of agents that manage their own memory.

mod machine;
mod results;
mod window;

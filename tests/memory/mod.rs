//! Agents that manage their own memory.

mod machine;

//! Commands other than `agent`.

pub mod runs;

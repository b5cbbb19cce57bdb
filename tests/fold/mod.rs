//! Folding: requests without what finished frames have said.

mod invariants;
mod rule;
mod transcripts;
mod turns;
mod validity;
#[cfg(all(feature = "sqlite", feature = "tools"))]
mod watching;

//! Folding: requests without the stretches of finished frames.

mod invariants;
mod rule;
#[cfg(all(feature = "sqlite", feature = "tools"))]
mod transcript_files;
mod transcripts;
mod turns;
mod validity;
#[cfg(all(feature = "sqlite", feature = "tools"))]
mod watching;

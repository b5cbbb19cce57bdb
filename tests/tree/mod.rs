//! Tests of trees: commands, queries, states and imports.

mod damage;
mod edits;
mod errors;
mod export;
mod field;
mod holding;
mod import;
mod import_model;
mod marks;
mod outlines;
mod overview;
mod plan_text;
mod readiness;
mod reimport;
mod resuming;
mod retries;
mod spans;
mod stack;
mod state;
mod tree_model;
#[cfg(feature = "sqlite")]
mod undo;
#[cfg(feature = "sqlite")]
mod usage;

//! Tests of the rules of the source tree.

mod layers;
mod versions;
#[cfg(feature = "tools")]
mod words;

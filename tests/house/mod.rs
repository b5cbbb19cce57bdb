//! Tests of the rules of the source tree.

#[cfg(all(feature = "tools", feature = "sqlite"))]
mod examples;
mod layers;
mod versions;
#[cfg(feature = "tools")]
mod words;

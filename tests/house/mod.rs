//! Tests of the rules of the source tree.

#[cfg(feature = "tools")]
mod documents;
#[cfg(all(feature = "tools", feature = "sqlite"))]
mod examples;
mod layers;
mod source;
mod versions;
#[cfg(feature = "tools")]
mod words;

//! The rules of the source tree.

mod layers;

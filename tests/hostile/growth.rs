//! Work grows linearly with its input: steps or allocations of two sizes, never times.

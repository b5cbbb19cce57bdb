//! The C library. Its functions are those of `callstack_core::capi`; `include/callstack.h` declares them.

extern crate callstack_core as _;

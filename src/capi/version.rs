//! Which interface this is, and which version of the library.

use std::ffi::c_char;

/// Number of the interface that this header describes. It changes when a function changes or goes,
/// not when one is added.
pub const CALLSTACK_ABI: u32 = 1;

/// Number of the interface that the library has. If it is not `CALLSTACK_ABI`, header and library do
/// not fit, and nothing else may be called.
#[unsafe(no_mangle)]
pub extern "C" fn callstack_abi() -> u32 {
    CALLSTACK_ABI
}

/// Version of the library, such as `0.1.0`. A constant text, not to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn callstack_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

//! Version of the C interface and of the library.

use std::ffi::c_char;

/// Version of the C interface that this header describes. It changes when a function is changed or removed,
/// not when one is added.
pub const CALLSTACK_ABI: u32 = 1;

/// Returns the version of the C interface that the loaded library implements. If it is not `CALLSTACK_ABI`,
/// the header does not match the library: do not call any other function.
#[unsafe(no_mangle)]
pub extern "C" fn callstack_abi() -> u32 {
    CALLSTACK_ABI
}

/// Returns the version of the library, such as `0.1.0`. NUL-terminated and static: the caller must not free
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn callstack_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

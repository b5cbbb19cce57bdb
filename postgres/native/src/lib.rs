//! The C library with stacks in PostgreSQL. `include/callstack.h` and `postgres/include/callstack_postgres.h`
//! declare its functions.

extern crate callstack_postgres as _;

//! Writes what the clients in other languages share with the C interface, and its reference, from `api.json`:
//! one source for functions, records and errors, with their documentation. By hand stays what has a form of
//! its own in a language: opening and closing, hosts, threads, forks.
//!
//! `make api` renews `api.json` and everything that is made of it. The test compares the committed files.

pub mod api;
mod markdown;
mod python;
pub mod shape;
mod text;
mod typescript;

use api::Api;

/// The generated files: their paths in the repository, and their texts.
pub fn files(api: &Api) -> Vec<(&'static str, String)> {
    vec![
        ("bindings/node/src/generated/types.ts", typescript::types(api)),
        ("bindings/node/src/generated/methods.ts", typescript::methods(api)),
        ("bindings/node/src/generated/signatures.ts", typescript::signatures(api)),
        ("bindings/node/src/generated/errors.ts", typescript::errors(api)),
        ("bindings/python/src/callstack_core/types.py", python::types(api)),
        ("bindings/python/src/callstack_core/_methods.py", python::methods(api)),
        ("bindings/python/src/callstack_core/errors.py", python::errors(api)),
        ("docs/api.md", markdown::document(api)),
    ]
}

//! Where the requests of an agent go if the run says nothing else: variables of the person, and the vendors
//! of wires.

use std::env;

use callstack_core::fold::Wire;

/// A variable of the person.
pub fn own(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Where the vendor of a wire serves.
pub fn vendor(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "https://api.anthropic.com",
        Wire::Gemini => "https://generativelanguage.googleapis.com",
        _ => "https://api.openai.com/v1",
    }
}

//! The token counters by their names, for settings.

use std::sync::Arc;

use super::approx::Approx;
#[cfg(feature = "tokenizer")]
use super::tokens::O200k;
use super::tokens::{Chars4, TokenCounter};
use crate::error::{Error, Result};

/// Returns the token counter of this name: `approx` ([`Approx`]), `chars4` ([`Chars4`]) or `o200k` (`O200k`).
///
/// # Errors
/// [`Error::Setting`] for any other name, and for `o200k` if the library was built without the feature
/// `tokenizer`.
pub fn counter(name: &str) -> Result<Arc<dyn TokenCounter>> {
    match name {
        "approx" => Ok(Arc::new(Approx)),
        "chars4" => Ok(Arc::new(Chars4)),
        #[cfg(feature = "tokenizer")]
        "o200k" => Ok(Arc::new(O200k)),
        _ => Err(Error::Setting { name: "counter".to_owned(), value: name.to_owned(), expected: COUNTERS }),
    }
}

#[cfg(feature = "tokenizer")]
const COUNTERS: &str = "approx, chars4 or o200k";
#[cfg(not(feature = "tokenizer"))]
const COUNTERS: &str =
    "approx or chars4; o200k needs a library that is built with the feature tokenizer (make native FEATURES=tokenizer)";

#[cfg(all(test, not(feature = "tokenizer")))]
mod tests {
    use super::*;

    #[test]
    fn the_exact_counter_is_refused_by_a_library_without_it() {
        let error = counter("o200k").err().expect("this library has no vocabulary");
        assert_eq!(error.code(), "setting");
        assert!(error.to_string().contains("built with the feature tokenizer"), "{error}");
    }
}

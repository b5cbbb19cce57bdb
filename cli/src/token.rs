//! The token of a server: a secret text. A program that knows it may use the server.

use std::fmt;
use std::io;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// Number of random bytes in a token.
const RANDOM_BYTES: usize = 24;

/// A secret text that URLs and headers can contain.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// # Errors
    /// If the system gives no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        Ok(Self(BASE64_URL_SAFE_NO_PAD.encode(random)))
    }

    /// Compares a text with the token in a time that does not tell how much of it is right.
    pub fn is(&self, given: &[u8]) -> bool {
        let differences = self.0.bytes().zip(given).fold(0, |sum, (own, given)| sum | (own ^ given));
        self.0.len() == given.len() && differences == 0
    }
}

impl From<String> for Token {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

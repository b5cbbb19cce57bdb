//! JSON for other programs. What a terminal would obey is escaped, which changes no value. It is always
//! escaped, because what goes to a pipe or a file often gets to a terminal later.

use std::io::{self, Write};

use callstack_core::text::escape_hidden;

/// A writer of JSON that escapes hidden characters.
pub struct EscapedJson<W> {
    writer: W,
    /// The beginning of a character whose remaining bytes follow.
    rest: Vec<u8>,
}

impl<W: Write> EscapedJson<W> {
    pub fn new(writer: W) -> Self {
        Self { writer, rest: Vec::new() }
    }
}

impl<W: Write> Write for EscapedJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&self.rest[..error.valid_up_to()]).unwrap_or_default(),
        };
        self.writer.write_all(escape_hidden(whole).as_bytes())?;
        let length = whole.len();
        self.rest.drain(..length);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_piece_of_a_character_is_obeyed_or_lost() {
        let json = "{\"title\": \"größe \u{9b}2J\u{7f} \u{202e} 👩‍👩‍👧 \u{e0041}\"}";
        for length in 1..json.len() {
            let mut writer = EscapedJson::new(Vec::new());
            json.as_bytes().chunks(length).for_each(|piece| writer.write_all(piece).unwrap());
            let written = String::from_utf8(writer.writer).unwrap();
            assert!(!written.contains(char::is_control), "{written:?}");
            let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            assert_eq!(read(&written), read(json), "{length}");
        }
    }
}

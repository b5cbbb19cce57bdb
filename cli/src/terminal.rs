//! Text for terminals: control characters of models, commands and providers must not reach one. They could set its title,
//! move the cursor over what was written, or answer questions of the terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

/// What stands in the place of a character that is not written.
const REPLACEMENT: char = '\u{FFFD}';

/// Returns a text without control characters other than line ends and tabs, and without characters that change the
/// direction of writing. Each becomes U+FFFD; a carriage return before a line end is left out.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace(is_harmful, REPLACEMENT.encode_utf8(&mut [0; 4])))
}

fn is_harmful(character: char) -> bool {
    let turns_text =
        matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    turns_text || character.is_control() && !matches!(character, '\n' | '\t')
}

/// Writes a line to the standard error, without control characters. A closed standard error is not a problem.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", harmless(text));
}

/// Writes a result to the standard output, and a line end: as it is into a file or a pipe, without control characters to a
/// terminal.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    let shown = if out.is_terminal() { harmless(text) } else { Cow::Borrowed(text) };
    writeln!(out, "{shown}")?;
    out.flush()
}

/// The width of the terminal behind the standard error, in characters; `None` if it is no terminal.
pub fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_left() {
        assert!(matches!(harmless("größe\t1\n日本 👩‍👩‍👧"), Cow::Borrowed(_)));
        assert_eq!(harmless("a\u{1b}]0;title\u{7}b"), "a\u{FFFD}]0;title\u{FFFD}b");
        assert_eq!(harmless("a\r\nb\rc\u{9b}2J\u{7f}\u{202e}d\0"), "a\nb\u{FFFD}c\u{FFFD}2J\u{FFFD}\u{FFFD}d\u{FFFD}");
        for character in (0..=0x9f).filter_map(char::from_u32).filter(|character| character.is_control()) {
            let text = format!("x{character}y");
            let is_kept = matches!(character, '\n' | '\t');
            assert_eq!(harmless(&text) == text, is_kept, "U+{:04X}", u32::from(character));
        }
    }
}

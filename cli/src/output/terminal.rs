//! Text for terminals: control characters of models, commands and providers must not reach a terminal. They
//! could set its title, move the cursor over what was written, or answer questions of the terminal.

use std::borrow::Cow;
#[cfg(all(unix, feature = "agent"))]
use std::io::{self, Write};

use callstack_core::text::visible;

/// Returns a text without control characters other than line ends and tabs, and without characters that
/// change the direction of writing. Each becomes U+FFFD; a carriage return before a line end is left out.
pub fn harmless(text: &str) -> Cow<'_, str> {
    match text.contains("\r\n") {
        true => visible(&text.replace("\r\n", "\n")).into_owned().into(),
        false => visible(text),
    }
}

/// Writes a line to the standard error, without control characters. A closed standard error is not a problem.
#[cfg(all(unix, feature = "agent"))]
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", harmless(text));
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

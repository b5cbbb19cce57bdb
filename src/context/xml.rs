//! Conversion of any text to valid XML 1.0: escaping, and replacement of forbidden characters.

use std::borrow::Cow;
use std::fmt::Write;

use quick_xml::escape;

use crate::text::replace_hidden;

/// Escapes a text for use as XML element content or attribute value: `&`, `<`, `>` and quotes become
/// entities, line ends become `\n`, and characters that XML 1.0 forbids become U+FFFD. Characters that are
/// not seen although they change how a text is read, such as marks of the direction of writing and tags,
/// become character references.
///
/// An HTML parser reads the same text as an XML parser, except for control characters from U+0080 to U+009F.
///
/// ```
/// use callstack_core::context::escape;
/// assert_eq!(escape("a < b && c ]]> \u{0}"), "a &lt; b &amp;&amp; c ]]&gt; \u{fffd}");
/// assert_eq!(escape("plain \u{202e}"), "plain &#x202E;");
/// ```
pub fn escape(text: &str) -> Cow<'_, str> {
    referenced(escape::escape(legal(text)))
}

/// As [`escape`], but only for element content, which needs no entities for quotes.
pub(super) fn content(text: &str) -> Cow<'_, str> {
    // Most texts need no change. One look at all bytes, which does not stop at the first byte that needs a
    // change, is much faster than a look for each kind of change.
    let stands_for_itself =
        |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t') & !matches!(byte, b'&' | b'<' | b'>');
    if text.bytes().fold(true, |all, byte| all & stands_for_itself(byte)) {
        return Cow::Borrowed(text);
    }
    referenced(escape::partial_escape(legal(text)))
}

/// As [`escape`], but only for attribute values, whose line ends and tabs XML parsers would read as spaces.
pub(super) fn attribute(text: &str) -> Cow<'_, str> {
    let escaped = escape(text);
    match escaped.contains(['\n', '\t']) {
        true => Cow::Owned(escaped.replace('\n', "&#xA;").replace('\t', "&#x9;")),
        false => escaped,
    }
}

/// Maximum length of a run of blanks, in characters. Code and tables need no longer ones.
const BLANKS: usize = 32;

/// Removes surrounding blanks, and shortens each run of more than 32 blank, control or invisible characters
/// to its first
/// 32. Also returns how many characters of runs were left out.
pub(super) fn without_long_blanks(text: &str) -> (Cow<'_, str>, usize) {
    let text = text.trim();
    if !may_have_long_blanks(text.as_bytes()) {
        return (Cow::Borrowed(text), 0);
    }
    let (mut shortened, mut copied, mut run, mut omitted) = (String::new(), 0, 0, 0);
    for (at, character) in text.char_indices() {
        run = if is_blank(character) { run + 1 } else { 0 };
        if run > BLANKS {
            shortened.push_str(&text[copied..at]);
            copied = at + character.len_utf8();
            omitted += 1;
        }
    }
    if omitted == 0 {
        return (Cow::Borrowed(text), 0);
    }
    shortened.push_str(&text[copied..]);
    (Cow::Owned(shortened), omitted)
}

/// The attribute that says how many blanks were left out; empty if there are none. A text of a frame cannot
/// imitate it, because texts do not become attributes.
pub(super) fn omitted_blanks(count: usize) -> String {
    if count > 0 { format!(" omitted-blanks=\"{count}\"") } else { String::new() }
}

/// Looks at every 32nd byte, and around it if it may belong to a blank character.
fn may_have_long_blanks(bytes: &[u8]) -> bool {
    let may_be_blank = |byte: &&u8| **byte <= b' ' || **byte >= 0x7f;
    (0..bytes.len()).step_by(BLANKS).any(|at| {
        let (before, after) = bytes.split_at(at);
        let after = after.iter().take_while(may_be_blank).count();
        after > 0 && before.iter().rev().take_while(may_be_blank).count() + after > BLANKS
    })
}

/// True for white space, control characters and characters that are never visible.
fn is_blank(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(character, '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
        || is_forbidden(character)
}

/// As [`content`], with as few entities as possible, for texts whose exact characters matter. Also returns
/// the number of characters that XML 1.0 forbids.
///
/// A CDATA section would need no entities at all. But to an HTML parser it is a comment that ends at the
/// first `>`, and what comes then would be elements.
pub(super) fn verbatim(text: &str) -> (Cow<'_, str>, usize) {
    let replaced = text.chars().filter(|character| is_forbidden(*character)).count();
    let escaped = escape::minimal_escape(legal(text));
    let escaped = if escaped.contains("]]>") { Cow::Owned(escaped.replace("]]>", "]]&gt;")) } else { escaped };
    (referenced(escaped), replaced)
}

/// Replaces hidden characters by character references.
fn referenced(text: Cow<'_, str>) -> Cow<'_, str> {
    let write = |character: char, text: &mut String| {
        let _ = write!(text, "&#x{:X};", u32::from(character));
    };
    match text {
        Cow::Borrowed(text) => replace_hidden(text, write),
        Cow::Owned(text) => match replace_hidden(&text, write) {
            Cow::Borrowed(_) => Cow::Owned(text),
            Cow::Owned(replaced) => Cow::Owned(replaced),
        },
    }
}

/// True for characters that XML 1.0 forbids (production 2).
fn is_forbidden(character: char) -> bool {
    !matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

/// Replaces forbidden characters and normalizes line ends. quick-xml would write forbidden characters
/// unchanged, and parsers that follow the standard would reject the document.
fn legal(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte >= 0x20 && byte != 0xEF || byte == b'\n' || byte == b'\t') {
        return Cow::Borrowed(text);
    }
    let mut legal = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' => {
                characters.next_if_eq(&'\n');
                legal.push('\n');
            }
            _ if is_forbidden(character) => legal.push('\u{FFFD}'),
            _ => legal.push(character),
        }
    }
    Cow::Owned(legal)
}

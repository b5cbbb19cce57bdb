//! Conversion of any text to valid XML 1.0: escaping, and replacement of forbidden characters.

use std::borrow::Cow;

use quick_xml::escape;

/// Escapes a text for use as XML element content or attribute value: `&`, `<`, `>` and quotes become entities, line
/// ends become `\n`, and characters that XML 1.0 forbids become U+FFFD.
///
/// ```
/// use callstack_core::context::escape;
/// assert_eq!(escape("a < b && c ]]> \u{0}"), "a &lt; b &amp;&amp; c ]]&gt; \u{fffd}");
/// assert_eq!(escape("plain"), "plain");
/// ```
pub fn escape(text: &str) -> Cow<'_, str> {
    escape::escape(legal(text))
}

/// As [`escape`], but only for element content, which needs no entities for quotes.
pub(super) fn content(text: &str) -> Cow<'_, str> {
    escape::partial_escape(legal(text))
}

/// Converts a text to a CDATA section, which contains it verbatim with two exceptions: `]]>`, which would end the
/// section, is divided between two sections, and characters that XML 1.0 forbids become U+FFFD. Also returns the number
/// of the replaced characters.
pub(super) fn character_data(text: &str) -> (String, usize) {
    let replaced = text.chars().filter(|character| is_forbidden(*character)).count();
    let legal = if replaced > 0 { Cow::Owned(text.replace(is_forbidden, "\u{FFFD}")) } else { Cow::Borrowed(text) };
    (format!("<![CDATA[{}]]>", legal.replace("]]>", "]]]]><![CDATA[>")), replaced)
}

/// True for characters that XML 1.0 forbids (production 2).
fn is_forbidden(character: char) -> bool {
    !matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

/// Replaces forbidden characters and normalizes line ends. quick-xml would write forbidden characters unchanged, and
/// parsers that follow the standard would reject the document.
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

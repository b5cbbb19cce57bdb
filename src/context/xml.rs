//! Conversion of any text to valid XML 1.0: escaping, and replacement of forbidden characters.

use std::borrow::Cow;
use std::fmt::Write;

use quick_xml::escape;

use crate::text::replace_hidden;

/// Escapes a text for use as XML element content or attribute value: `&`, `<`, `>` and quotes become entities, line
/// ends become `\n`, and characters that XML 1.0 forbids become U+FFFD. Characters that are not seen although they change
/// how a text is read, such as marks of the direction of writing and tags, become character references.
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

/// As [`content`], with as few entities as possible, for texts whose exact characters matter. Also returns the number of
/// characters that XML 1.0 forbids.
///
/// A CDATA section would need no entities at all. But to an HTML parser it is a comment that ends at the first `>`, and
/// what comes then would be elements.
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

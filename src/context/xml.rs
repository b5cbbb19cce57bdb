//! XML 1.0 out of any text: escaping, and a stand-in for what XML cannot hold.

use std::borrow::Cow;

use quick_xml::escape;

/// Text as XML element content or attribute value: `&`, `<`, `>` and quotes become entities, line
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

/// Element content needs no entities for quotes.
pub(super) fn content(text: &str) -> Cow<'_, str> {
    escape::partial_escape(legal(text))
}

/// quick-xml writes forbidden characters as they are, and reads them back; parsers that keep to
/// the standard refuse them (XML 1.0, production 2).
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
            '\t' | '\n' | ' '..='\u{FFFD}' | '\u{10000}'.. => legal.push(character),
            _ => legal.push('\u{FFFD}'),
        }
    }
    Cow::Owned(legal)
}

//! A reader of JSON that says where each value is in the text, so that values can be taken out and all other
//! bytes stay as they are. It accepts what the grammar of JSON (RFC 8259) accepts.

use std::ops::Range;

use crate::text::from_json;

/// The deepest nesting of arrays and objects within a value that is skipped.
const DEEPEST: u32 = 127;

/// True for the bytes of a string that stand for themselves.
const IS_PLAIN: [bool; 256] = {
    let mut table = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = false;
        byte += 1;
    }
    table[b'"' as usize] = false;
    table[b'\\' as usize] = false;
    table
};

/// A value in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value<'a> {
    /// The value as it is written, with the quotes of a string.
    pub text: &'a str,
    /// Its first byte in the whole text.
    pub start: usize,
}

impl<'a> Value<'a> {
    pub fn range(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// What is between the quotes of a string, with its escapes.
    pub fn raw(self) -> Option<&'a str> {
        self.text.strip_prefix('"')?.strip_suffix('"')
    }

    /// This value as a string, without escapes, if it is a string.
    pub fn string(self) -> Option<String> {
        self.raw()?;
        from_json(self.text).ok()
    }

    /// Reads this value.
    pub fn reader(self) -> Reader<'a> {
        Reader { text: self.text, at: 0, start: self.start }
    }

    /// The value of a key, if this is an object that has it.
    pub fn get(self, key: &str) -> Option<Self> {
        let mut found = None;
        self.reader().object(|reader, name| {
            let value = reader.value()?;
            if name == key {
                found = Some(value);
            }
            Some(())
        })?;
        found
    }

    /// The values of an array, or none.
    pub fn elements(self) -> Vec<Self> {
        self.reader().array_of(Reader::value).unwrap_or_default()
    }
}

/// Passes each string of a value to a function, except keys.
pub(crate) fn each_string<'a>(value: Value<'a>, mut each: impl FnMut(Value<'a>)) {
    let mut reader = value.reader();
    while let Some(byte) = reader.byte() {
        if byte != b'"' {
            reader.at += 1;
            continue;
        }
        let start = reader.at;
        // The value was read before, so its strings end.
        if reader.quoted().is_none() {
            return;
        }
        let text = &value.text[start..reader.at];
        if reader.peek() != Some(b':') {
            each(Value { text, start: value.start + start });
        }
    }
}

/// A place in a JSON text. Each method returns `None` where the text breaks the grammar, or is not what was
/// asked for.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The place of this text in the whole one.
    start: usize,
}

impl<'a> Reader<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { text, at: 0, start: 0 }
    }

    /// The first byte of the next value.
    pub fn peek(&mut self) -> Option<u8> {
        self.blanks();
        self.byte()
    }

    /// True if nothing but blanks is left.
    pub fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Passes the key of each entry of an object to a function, which reads the value of the entry. Keys are
    /// as they are written.
    pub fn object(&mut self, mut each: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.list(b'{', b'}', |reader| {
            let key = reader.key()?;
            each(reader, key)
        })
    }

    /// Calls a function at each value of an array. The function reads the value.
    pub fn array(&mut self, each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.list(b'[', b']', each)
    }

    /// Reads each value of an array with a function.
    pub fn array_of<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut values = Vec::new();
        self.array(|reader| {
            values.push(read(reader)?);
            Some(())
        })?;
        Some(values)
    }

    /// Reads a value as a whole.
    pub fn value(&mut self) -> Option<Value<'a>> {
        self.blanks();
        let start = self.at;
        self.skip()?;
        Some(Value { text: &self.text[start..self.at], start: self.start + start })
    }

    /// Calls a function that reads a value, and returns the place of the value in the whole text, in bytes.
    pub fn spanned(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<Range<usize>> {
        self.blanks();
        let start = self.at;
        read(self)?;
        Some(self.start + start..self.start + self.at)
    }

    fn list(&mut self, open: u8, close: u8, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(open)?;
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            each(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                other => return (other == close).then(|| self.at += 1),
            }
        }
    }

    fn key(&mut self) -> Option<&'a str> {
        self.blanks();
        let start = self.at + 1;
        self.quoted()?;
        let key = &self.text[start..self.at - 1];
        self.expect(b':')?;
        Some(key)
    }

    /// Moves behind a value, without recursion: a bit for each array and object around the place says which
    /// of the two it is.
    fn skip(&mut self) -> Option<()> {
        let (mut depth, mut are_objects) = (0, 0u128);
        loop {
            let is_open = self.begin()?;
            if let Some(is_object) = is_open {
                if depth == DEEPEST {
                    return None;
                }
                (depth, are_objects) = (depth + 1, are_objects << 1 | u128::from(is_object));
                let close = if is_object { b'}' } else { b']' };
                if self.peek()? != close {
                    if is_object {
                        self.key()?;
                    }
                    continue;
                }
            }
            // A value has ended, or an empty array or object is about to.
            loop {
                if depth == 0 {
                    return Some(());
                }
                let is_object = are_objects & 1 == 1;
                match (self.peek()?, is_object) {
                    (b',', _) => {
                        self.at += 1;
                        if is_object {
                            self.key()?;
                        }
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        self.at += 1;
                        (depth, are_objects) = (depth - 1, are_objects >> 1);
                    }
                    _ => return None,
                }
            }
        }
    }

    /// Moves behind a value without parts, or behind the bracket that opens an array or object. Returns which
    /// of these it opens.
    fn begin(&mut self) -> Option<Option<bool>> {
        match self.peek()? {
            b'"' => self.quoted()?,
            b'{' | b'[' => {
                self.at += 1;
                return Some(Some(self.text.as_bytes()[self.at - 1] == b'{'));
            }
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            _ => self.number()?,
        }
        Some(None)
    }

    fn quoted(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        if *bytes.get(self.at)? != b'"' {
            return None;
        }
        let mut at = self.at + 1;
        loop {
            let byte = *bytes.get(at)?;
            at += 1;
            if IS_PLAIN[usize::from(byte)] {
                continue;
            }
            match byte {
                b'"' => {
                    self.at = at;
                    return Some(());
                }
                b'\\' => match bytes.get(at)? {
                    b'u' => {
                        let digits = bytes.get(at + 1..at + 5)?;
                        if !digits.iter().all(u8::is_ascii_hexdigit) {
                            return None;
                        }
                        at += 5;
                    }
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 1,
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text.as_bytes()[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    fn number(&mut self) -> Option<()> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        let first = self.byte();
        let digits = self.digits()?;
        if first == Some(b'0') && digits > 1 {
            return None;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// Moves behind one or more digits, and returns how many there are.
    fn digits(&mut self) -> Option<usize> {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(count)
    }

    fn blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_json(text: &str) -> bool {
        let mut reader = Reader::of(text);
        reader.value().is_some() && reader.is_at_end()
    }

    #[test]
    fn it_accepts_what_another_parser_accepts() {
        for text in [
            "{}",
            "[]",
            " [ ] ",
            "[1,2]",
            "[1,]",
            "[,1]",
            "{\"a\":1}",
            "{\"a\":1,}",
            "{\"a\"}",
            "{1:2}",
            "[}",
            "{]",
            "",
            "-",
            "-0",
            "01",
            "0",
            "1.",
            "1.5e+3",
            "1e",
            ".5",
            "+1",
            "true",
            "tru",
            "nul",
            "null",
            "\"",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u123g\"",
            "\"\\u00e9 \\\\ \\/ \\\"\"",
            "\"a\nb\"",
            "[[[[{}]]]]",
            "[[]",
            "{\"a\":[{\"b\":{}}]}",
            "1 2",
            "{\"a\":{}}}",
            "[{},[],\"\",0]",
            "\u{a0}1",
            "[true false]",
            "{\"a\" 1}",
            "{\"a\":}",
        ] {
            let expected = serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(is_json(text), expected, "{text:?}");
        }
    }

    #[test]
    fn it_says_where_values_are() {
        let text = r#" {"a": [1, "two\n"], "b": {"a": null}} "#;
        let whole = Reader::of(text).value().unwrap();
        let list = whole.get("a").unwrap().elements();
        assert_eq!(&text[list[1].range()], r#""two\n""#);
        assert_eq!(list[1].string().as_deref(), Some("two\n"));
        let inner = whole.get("b").unwrap().get("a").unwrap();
        assert_eq!((&text[inner.range()], whole.get("c")), ("null", None));
        let mut strings = Vec::new();
        each_string(Reader::of(r#"{"a": ["b", {"c": "d : \""}], "e" : "f"}"#).value().unwrap(), |value| {
            strings.push(value.text)
        });
        assert_eq!(strings, [r#""b""#, r#""d : \"""#, r#""f""#]);
    }

    #[test]
    fn half_characters_and_deep_nesting_are_read() {
        assert_eq!(Reader::of(r#""\ud83d""#).value().unwrap().string().as_deref(), Some("\u{fffd}"));
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(is_json(&nested(127)) && !is_json(&nested(128)) && !is_json(&"[".repeat(100_000)));
    }
}

//! Changes to a JSON text that leave all its other bytes as they are.

use std::ops::Range;

use serde_json::Value as Json;

use crate::json::{Reader, Value};

/// Changes to a text.
#[derive(Default)]
pub(super) struct Edits {
    edits: Vec<(Range<usize>, String)>,
}

impl Edits {
    pub(super) fn len(&self) -> usize {
        self.edits.len()
    }

    /// The text with all changes. They do not overlap.
    pub(super) fn applied(mut self, text: &str) -> String {
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let (mut new, mut at) = (String::with_capacity(text.len()), 0);
        for (range, with) in self.edits {
            new.push_str(&text[at..range.start]);
            new.push_str(&with);
            at = range.end;
        }
        new.push_str(&text[at..]);
        new
    }

    pub(super) fn insert(&mut self, at: usize, text: String) {
        self.edits.push((at..at, text));
    }

    pub(super) fn replace(&mut self, range: Range<usize>, text: String) {
        self.edits.push((range, text));
    }

    /// Gives a key of an object a value that is written already.
    pub(super) fn set_text(&mut self, object: &Object<'_>, key: &str, text: String) {
        match object.get(key) {
            Some(old) => self.replace(old.range(), text),
            None => self.insert(object.end, format!(",{}\"{key}\"{}{text}", object.before, object.colon)),
        }
    }

    /// Sets keys of an object to values. A key that the object does not have is added after the others, and
    /// is written in the same way.
    pub(super) fn set(&mut self, object: &Object<'_>, values: &[(&str, Json)]) {
        let mut added = String::new();
        for (key, value) in values {
            match object.get(key) {
                Some(old) if from(old) == *value => {}
                Some(old) => self.replace(old.range(), value.to_string()),
                None if value.is_null() => {}
                None => {
                    let comma = if object.entries.is_empty() && added.is_empty() { "" } else { "," };
                    added += &format!("{comma}{}\"{key}\"{}{value}", object.before, object.colon);
                }
            }
        }
        if !added.is_empty() {
            self.insert(object.end, added);
        }
    }
}

/// The value that a text contains.
pub(super) fn from(value: Value<'_>) -> Json {
    crate::text::from_json(value.text).unwrap_or_default()
}

/// An object, and the way in which it is written.
pub(super) struct Object<'a> {
    pub(super) entries: Vec<(String, Value<'a>)>,
    /// The text before its last key.
    before: String,
    /// The text between a key and its value.
    colon: String,
    /// The end of its last value.
    end: usize,
}

impl<'a> Object<'a> {
    pub(super) fn of(value: Value<'a>) -> Option<Self> {
        let mut entries: Vec<(String, Value<'a>)> = Vec::new();
        let (mut before, mut colon) = (String::new(), ": ".to_owned());
        let start = value.text.as_ptr() as usize;
        let mut end = 1;
        value.reader().object(|reader, key| {
            let value_of = reader.value()?;
            let key_at = key.as_ptr() as usize - start - 1;
            let value_at = value_of.text.as_ptr() as usize - start;
            before = value.text[end..key_at].trim_start_matches(',').to_owned();
            if let Some((_, blanks)) = before.split_once(',') {
                before = blanks.to_owned();
            }
            colon = value.text[key_at + key.len() + 2..value_at].to_owned();
            end = value_at + value_of.text.len();
            let name = from(Value { text: &value.text[key_at..key_at + key.len() + 2], start: 0 });
            entries.push((name.as_str().unwrap_or_default().to_owned(), value_of));
            Some(())
        })?;
        Some(Self { entries, before, colon, end: value.start + end })
    }

    /// The value of a key. If several keys have that name, the last one counts, as in parsers.
    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// The value of a key, read.
    pub(super) fn read(&self, key: &str) -> Option<Json> {
        self.get(key).map(from)
    }

    /// The text between a key and its value.
    pub(super) fn colon(&self) -> &str {
        &self.colon
    }
}

/// The values at the top of a text, each with its place in it. What cannot be read is left out, up to the
/// next line.
pub(super) fn values(text: &str) -> Vec<Value<'_>> {
    let begin = text.len() - crate::text::without_mark(text).len();
    let whole = |range: Range<usize>| {
        let part = &text[range.clone()];
        let mut reader = Reader::of(part);
        let value = reader.value().filter(|_| reader.is_at_end())?;
        Some(Value { text: value.text, start: range.start + value.start })
    };
    if let Some(value) = whole(begin..text.len()) {
        return vec![value];
    }
    let mut at = begin;
    let lines = text[begin..].split_inclusive('\n').map(|line| {
        at += line.len();
        at - line.len()..at
    });
    lines.filter_map(whole).collect()
}

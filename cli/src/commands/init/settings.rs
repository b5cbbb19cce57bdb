//! Settings of hosts in JSON and TOML, in which an entry is found, put and taken back.

use std::ops::Range;
use std::path::{Path, PathBuf};

use jsonc_parser::common::Ranged;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value, json};
use toml_edit::{Array, Decor, DocumentMut, Item, Table, TableLike};

use super::file::unreadable;
use crate::failure::Failure;

/// The name of the server in the settings of every host.
pub const SERVER: &str = "callstack";

/// The key of a section, and a key in it.
pub type Keys<'a> = [&'a str; 2];

/// The settings of a host. What is not changed keeps every character, comments included.
pub trait Settings {
    /// The value at two keys, such as the entry of the server.
    fn find(&self, keys: Keys<'_>) -> Result<Option<Value>, Failure>;
    fn put(&mut self, keys: Keys<'_>, value: &Value) -> Result<(), Failure>;
    /// Removes the value at two keys. Comments stay.
    fn remove(&mut self, keys: Keys<'_>) -> Result<(), Failure>;
    /// Puts a word into the list at these keys, or takes it out.
    fn list(&mut self, keys: &[&str], word: &str, is_in: bool) -> Result<(), Failure>;
    /// All settings as one value.
    fn all(&self) -> Value;
    /// Removes what is at these keys if nothing is in it, not even a comment.
    fn remove_bare(&mut self, keys: &[&str]) -> Result<(), Failure>;
    /// True if there are no settings.
    fn is_empty(&self) -> bool;
    fn text(&self) -> String;
}

/// Settings in JSON, with the comments and the commas that some hosts allow.
pub struct Json {
    root: CstRootNode,
    path: PathBuf,
}

impl Json {
    /// The entry alone, as the file has it.
    pub fn shown(section: &str, entry: &Value) -> String {
        format!("{:#}\n", json!({ section: { SERVER: entry } }))
    }

    pub fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        let text = if text.trim().is_empty() { "{\n}\n" } else { text };
        let root =
            CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| unreadable(path, &error.to_string()))?;
        let settings = Self { root, path: path.to_owned() };
        settings.object()?;
        Ok(settings)
    }

    fn object(&self) -> Result<CstObject, Failure> {
        self.root.object_value().ok_or_else(|| unreadable(&self.path, "it is not an object"))
    }

    fn section(&self, section: &str) -> Result<Option<CstObject>, Failure> {
        let Some(property) = self.object()?.get(section) else { return Ok(None) };
        let no_object = || unreadable(&self.path, &format!("{section} is not an object"));
        property.object_value().map(Some).ok_or_else(no_object)
    }
}

impl Json {
    /// Removes what is at these keys if its text is of the wanted kind.
    fn remove_if(&mut self, keys: &[&str], is_wanted: impl Fn(&str) -> bool) -> Result<(), Failure> {
        let text = self.text();
        if let Some(found) = property(&text, keys).filter(|found| is_wanted(&text[found.value.clone()])) {
            *self = Self::parse(&without(&text, &found), &self.path)?;
        }
        Ok(())
    }
}

impl Settings for Json {
    fn find(&self, [section, key]: Keys<'_>) -> Result<Option<Value>, Failure> {
        let found = self.section(section)?.and_then(|section| section.get(key));
        Ok(found.and_then(|property| property.value()).and_then(|value| value.to_serde_value()))
    }

    fn put(&mut self, [section, key]: Keys<'_>, value: &Value) -> Result<(), Failure> {
        let section = match self.section(section)? {
            Some(found) => found,
            None => self.object()?.object_value_or_set(section),
        };
        match section.get(key) {
            Some(property) => property.set_value(input(value)),
            None => drop(section.append(key, input(value))),
        }
        section.ensure_multiline();
        Ok(())
    }

    fn remove(&mut self, keys: Keys<'_>) -> Result<(), Failure> {
        self.remove_if(&keys, |_| true)
    }

    fn remove_bare(&mut self, keys: &[&str]) -> Result<(), Failure> {
        self.remove_if(keys, |value| {
            value.chars().all(|character| "{}[]".contains(character) || character.is_whitespace())
        })
    }

    fn all(&self) -> Value {
        self.root.to_serde_value().unwrap_or_default()
    }

    fn list(&mut self, keys: &[&str], word: &str, is_in: bool) -> Result<(), Failure> {
        let root = self.object()?;
        let Some((last, above)) = keys.split_last() else { return Ok(()) };
        let has = |list: &CstArray| {
            let is_word = |node: &CstNode| node.to_serde_value().is_some_and(|value| value == word);
            list.elements().into_iter().find(is_word)
        };
        let mut objects = vec![root];
        for key in above {
            let object = &objects[objects.len() - 1];
            let inner = match (object.object_value(key), object.get(key).is_some(), is_in) {
                (Some(inner), ..) => inner,
                (None, true, true) => return Err(unreadable(&self.path, &format!("{key} is not an object"))),
                (None, false, true) => object.object_value_or_set(key),
                (None, _, false) => return Ok(()),
            };
            objects.push(inner);
        }
        let object = &objects[objects.len() - 1];
        if is_in {
            let is_other = object.get(last).is_some() && object.array_value(last).is_none();
            if is_other {
                return Err(unreadable(&self.path, &format!("{last} is not a list")));
            }
            let list = object.array_value_or_set(last);
            if has(&list).is_none() {
                list.append(input(&word.into()));
            }
            return Ok(());
        }
        let Some(list) = object.array_value(last) else { return Ok(()) };
        let Some(found) = has(&list) else { return Ok(()) };
        found.remove();
        Ok(())
    }

    fn is_empty(&self) -> bool {
        let text = self.text();
        let has_comments = text.contains("//") || text.contains("/*");
        self.root.object_value().is_some_and(|object| object.properties().is_empty()) && !has_comments
    }

    fn text(&self) -> String {
        self.root.to_string()
    }
}

/// A value as the parser takes it.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(values) => {
            CstInputValue::Object(values.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

/// Where a property is in a text, and its value.
struct Found {
    whole: Range<usize>,
    value: Range<usize>,
    /// The comma after it, and the comma before it.
    commas: [Option<usize>; 2],
}

/// The property that these keys lead to.
fn property(text: &str, path: &[&str]) -> Option<Found> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).ok()?;
    let mut value = parsed.value?;
    let (last, above) = path.split_last()?;
    for key in above {
        value = value.as_object()?.get(key)?.value.clone();
    }
    let object = value.as_object()?;
    let place = object.properties.iter().position(|property| property.name.as_str() == *last)?;
    let property = &object.properties[place];
    let before = place.checked_sub(1).map(|place| object.properties[place].range.end);
    let value = property.value.range();
    Some(Found {
        whole: property.range.start..property.range.end,
        value: value.start..value.end,
        commas: [comma_after(text, property.range.end), before.and_then(|end| comma_after(text, end))],
    })
}

/// The place of the comma that comes next, after blanks and comments.
fn comma_after(text: &str, from: usize) -> Option<usize> {
    let mut rest = text.get(from..)?;
    loop {
        rest = rest.trim_start();
        rest = match rest.get(..2) {
            Some("//") => rest.split_once('\n')?.1,
            Some("/*") => rest.split_once("*/")?.1,
            _ => return rest.starts_with(',').then(|| text.len() - rest.len()),
        };
    }
}

/// A text without a property and its comma. Its line goes too, if nothing else is there; comments stay.
fn without(text: &str, found: &Found) -> String {
    // For the last property it is the comma before it, which would be one too many.
    let comma = found.commas.iter().flatten().next().copied();
    let is_kept = |place: usize| !found.whole.contains(&place) && Some(place) != comma;
    let mut kept = String::with_capacity(text.len());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let places = start..start + line.len();
        start = places.end;
        let left: String =
            line.char_indices().filter(|(at, _)| is_kept(places.start + at)).map(|(_, one)| one).collect();
        if left.len() == line.len() || !left.trim().is_empty() {
            kept.push_str(&left);
        }
    }
    kept
}

/// Settings in TOML.
pub struct Toml {
    document: DocumentMut,
    path: PathBuf,
}

impl Toml {
    /// The entry alone, as the file has it.
    pub fn shown(section: &str, entry: &Value) -> String {
        format!("[{section}.{SERVER}]\n{}", table(entry))
    }

    pub fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        let document: DocumentMut = text.parse().map_err(|error| unreadable(path, &format!("{error}")))?;
        Ok(Self { document, path: path.to_owned() })
    }
}

impl Settings for Toml {
    fn find(&self, [section, key]: Keys<'_>) -> Result<Option<Value>, Failure> {
        let Some(section) = self.document.get(section) else { return Ok(None) };
        let section = section
            .as_table_like()
            .ok_or_else(|| unreadable(&self.path, &format!("{} is not a table", section.type_name())))?;
        Ok(section.get(key).map(value_of))
    }

    fn put(&mut self, [section, key]: Keys<'_>, value: &Value) -> Result<(), Failure> {
        let section = self.document.entry(section).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let no_table = || unreadable(&self.path, "mcp_servers is not a table");
        section.as_table_like_mut().ok_or_else(no_table)?.insert(key, Item::Table(table(value)));
        Ok(())
    }

    fn remove(&mut self, [section, key]: Keys<'_>) -> Result<(), Failure> {
        let document = &mut self.document;
        let text = document.to_string();
        let Some(found) = document.get_mut(section).and_then(Item::as_table_like_mut) else { return Ok(()) };
        let removed = found.remove(key);
        // The library takes the comments above an entry away with it.
        let meaning = |document: &DocumentMut| {
            let mut value = value_of(document.as_item());
            if let Some(object) = value.as_object_mut().filter(|object| object.get(section) == Some(&json!({}))) {
                object.remove(section);
            }
            value
        };
        let mut same =
            without_lines(&text, [section, key]).into_iter().filter_map(|text| text.parse::<DocumentMut>().ok());
        match same.find(|same| meaning(same) == meaning(document)) {
            Some(same) => *document = same,
            None => keep_comments(document, removed.as_ref()),
        }
        Ok(())
    }

    fn remove_bare(&mut self, keys: &[&str]) -> Result<(), Failure> {
        let is_bare = |item: &Item| match item {
            Item::Table(table) => table.is_empty() && !has_comment(table.decor()),
            other => {
                other.as_table_like().is_some_and(|table| table.is_empty())
                    || other.as_array().is_some_and(Array::is_empty)
            }
        };
        let Some((last, above)) = keys.split_last() else { return Ok(()) };
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for key in above {
            let Some(inner) = table.get_mut(key).and_then(Item::as_table_like_mut) else { return Ok(()) };
            table = inner;
        }
        if table.get(last).is_some_and(is_bare) {
            table.remove(last);
        }
        Ok(())
    }

    fn all(&self) -> Value {
        value_of(self.document.as_item())
    }

    fn list(&mut self, keys: &[&str], word: &str, is_in: bool) -> Result<(), Failure> {
        let Some((last, above)) = keys.split_last() else { return Ok(()) };
        let no_table = |key: &str| unreadable(&self.path, &format!("{key} is not a table"));
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for key in above {
            if !is_in && table.get(key).is_none_or(|item| item.as_table_like().is_none()) {
                return Ok(());
            }
            let item = table.entry(key).or_insert_with(|| {
                let mut inner = Table::new();
                inner.set_implicit(true);
                Item::Table(inner)
            });
            // A simple switch is the same as a table with nothing else.
            if let Some(is_on) = item.as_bool() {
                let mut inner = Table::new();
                inner.insert("enabled", is_on.into());
                *item = Item::Table(inner);
            }
            table = item.as_table_like_mut().ok_or_else(|| no_table(key))?;
        }
        if is_in {
            let list = table.entry(last).or_insert_with(|| toml_edit::Value::Array(Array::new()).into());
            let list = list.as_array_mut().ok_or_else(|| unreadable(&self.path, &format!("{last} is not a list")))?;
            if !list.iter().any(|value| value.as_str() == Some(word)) {
                list.push(word);
            }
            return Ok(());
        }
        let Some(list) = table.get_mut(last).and_then(Item::as_array_mut) else { return Ok(()) };
        list.retain(|value| value.as_str() != Some(word));
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.document.to_string().trim().is_empty()
    }

    fn text(&self) -> String {
        self.document.to_string()
    }
}

/// A document without the lines of a table, in the forms in which it is usually written: a table of its own,
/// or a key of the section.
fn without_lines(text: &str, [section, key]: Keys<'_>) -> Vec<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let code = |line: &str| line.split('#').next().unwrap_or_default().split_whitespace().collect::<String>();
    let header = format!("[{section}.{key}]");
    let joined = |from: usize, to: usize| [&lines[..from], &lines[to..]].concat().concat();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if code(line) == header {
            let body = &lines[number + 1..];
            let length = body.iter().position(|line| line.trim_start().starts_with('[')).unwrap_or(body.len());
            // Comments after the last key belong to what comes next.
            let last = body[..length].iter().rposition(|line| !code(line).is_empty()).map_or(0, |last| last + 1);
            let is_apart = number > 0 && lines[number - 1].trim().is_empty();
            found.push(joined(number - usize::from(is_apart), number + 1 + last));
        }
        if code(line).starts_with(&format!("{key}={{")) {
            found.push(joined(number, number + 1));
        }
    }
    found
}

/// Puts the comments above a table that was removed before the table that follows it, or at the end of the
/// document.
fn keep_comments(document: &mut DocumentMut, removed: Option<&Item>) {
    let Some(removed) = removed.and_then(Item::as_table) else { return };
    let comments = removed.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
    if !comments.contains('#') {
        return;
    }
    let place = removed.position();
    match next_table(document.as_table_mut(), place) {
        Some(next) => {
            let own = next.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
            let both = format!("{comments}{own}");
            next.decor_mut().set_prefix(both);
        }
        None => {
            let both = format!("{comments}{}", document.trailing().as_str().unwrap_or_default());
            document.set_trailing(both);
        }
    }
}

/// The first table with a header of its own after a place in the document.
fn next_table(table: &mut Table, place: Option<isize>) -> Option<&mut Table> {
    let tables = table.iter_mut().flat_map(|(_, item)| match item {
        Item::Table(table) => vec![table],
        Item::ArrayOfTables(tables) => tables.iter_mut().collect(),
        _ => Vec::new(),
    });
    let found = tables.flat_map(|table| {
        let is_next = !table.is_implicit() && table.position() > place;
        if is_next { Some(table) } else { next_table(table, place) }
    });
    found.min_by_key(|table| table.position())
}

fn has_comment(decor: &Decor) -> bool {
    let texts = [decor.prefix(), decor.suffix()];
    texts.into_iter().flatten().any(|text| text.as_str().is_some_and(|text| text.contains('#')))
}

/// A table of texts, lists of texts, and tables of them within the line.
fn table(entry: &Value) -> Table {
    entry.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), Item::Value(line(value)))).collect()
}

fn line(value: &Value) -> toml_edit::Value {
    match value {
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
        Value::Object(values) => values.iter().map(|(key, value)| (key.as_str(), line(value))).collect(),
        other => other.as_str().unwrap_or_default().into(),
    }
}

/// A part of a document as JSON.
fn value_of(item: &Item) -> Value {
    fn of_value(value: &toml_edit::Value) -> Value {
        match value {
            toml_edit::Value::String(text) => json!(text.value()),
            toml_edit::Value::Array(values) => values.iter().map(|value| json!(value.as_str())).collect(),
            toml_edit::Value::InlineTable(table) => {
                Value::Object(table.iter().map(|(key, value)| (key.to_owned(), of_value(value))).collect())
            }
            other => json!(other.to_string().trim()),
        }
    }
    match item {
        Item::Value(value) => of_value(value),
        Item::Table(table) => {
            Value::Object(table.iter().map(|(key, item)| (key.to_owned(), value_of(item))).collect::<Map<_, _>>())
        }
        _ => Value::Null,
    }
}

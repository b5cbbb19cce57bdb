//! The links of an issue to other issues, in each form that people and programs write.

use serde_json::{Map, Value};

use super::Collector;
use super::tables::{LINKS, LinkKind};
use crate::import::fate;

/// A link from an issue to another one.
pub(super) struct Link {
    pub(super) from: String,
    /// The ID of the other issue. If the link cannot be read, the link as it is in the file.
    pub(super) to: Result<String, String>,
    pub(super) kind: LinkKind,
    pub(super) place: String,
}

/// The keys of lists of links. The types of links are keys of lists too.
const LISTS: [(&str, LinkKind); 3] =
    [("deps", LinkKind::Needs), ("depends", LinkKind::Needs), ("parent-id", LinkKind::Parent)];

/// The keys of lists of links that other issues have to this issue.
const REVERSED: [&str; 3] = ["blocks", "blocking", "dependents"];

/// The keys of the other issue in an object, in the order in which they are looked for.
const TARGETS: [&str; 7] = ["depends_on_id", "depends_on", "dependsOn", "target", "target_id", "to", "id"];

/// Takes the links out of an issue. Links that say nothing about the order of work stay in it.
pub(super) fn take_links(
    id: &str,
    issue: &mut Map<String, Value>,
    place: &str,
    collector: &mut Collector,
) -> Vec<Link> {
    let mut reader = Reader { id, place, collector, links: Vec::new(), is_reversed: false };
    if let Some(value) = issue.remove("dependencies") {
        let loose = reader.read(value, None);
        if !loose.is_empty() {
            issue.insert("dependencies".into(), loose.into());
        }
    }
    for (key, value) in issue.iter() {
        let key = fate::folded(&fate::snake_case(key));
        reader.is_reversed = REVERSED.contains(&&*key);
        let kind = fate::of(&LISTS, &key).or_else(|| fate::of(LINKS, &key));
        match kind.filter(|kind| *kind != LinkKind::Loose) {
            // A flag is not a list.
            _ if value.is_boolean() => {}
            _ if key == "dependents" => drop(reader.read(value.clone(), None)),
            None if reader.is_reversed => drop(reader.read(value.clone(), Some(LinkKind::Needs))),
            Some(kind) => drop(reader.read(value.clone(), Some(kind))),
            None => {}
        }
    }
    reader.links
}

/// True for an object of lists, such as `{"blocks": ["ex-1"]}`.
fn is_map(link: &Map<String, Value>) -> bool {
    !link.is_empty() && !has_target(link) && link.values().all(Value::is_array)
}

/// True if an object names another issue.
fn has_target(link: &Map<String, Value>) -> bool {
    TARGETS.iter().any(|key| link.contains_key(*key))
}

struct Reader<'a> {
    id: &'a str,
    place: &'a str,
    collector: &'a mut Collector,
    links: Vec<Link>,
    /// True if what is read names the issues that have the link to this issue.
    is_reversed: bool,
}

impl Reader<'_> {
    /// Reads a value with links, and returns the links that say nothing about the order of work.
    fn read(&mut self, value: Value, kind: Option<LinkKind>) -> Vec<Value> {
        match value {
            Value::Null => Vec::new(),
            Value::Array(links) => {
                let mut loose = Vec::new();
                for link in links {
                    match link {
                        Value::Object(map) if kind.is_none() && is_map(&map) => {
                            loose.extend(map.into_iter().flat_map(|(key, value)| self.entry(key, value)));
                        }
                        link if self.one(&link, kind) == LinkKind::Loose => loose.push(link),
                        _ => {}
                    }
                }
                loose
            }
            Value::String(text) => {
                let links: Vec<&str> = text.split([',', ';']).map(str::trim).filter(|link| !link.is_empty()).collect();
                { links.into_iter() }.map(Value::from).filter(|link| self.one(link, kind) == LinkKind::Loose).collect()
            }
            Value::Object(object) if has_target(&object) => {
                let link = Value::Object(object);
                if self.one(&link, kind) == LinkKind::Loose { vec![link] } else { Vec::new() }
            }
            Value::Object(object) => object.into_iter().flat_map(|(key, value)| self.entry(key, value)).collect(),
            other => {
                self.one(&other, kind);
                Vec::new()
            }
        }
    }

    /// An entry of an object: `{"blocks": ["ex-1"]}` or `{"ex-1": "blocks"}`.
    fn entry(&mut self, key: String, value: Value) -> Vec<Value> {
        let kind_of = |word: &str| fate::of(LINKS, word);
        match (kind_of(&key), value.as_str().and_then(kind_of)) {
            (Some(kind), _) => self.read(value, Some(kind)),
            (None, Some(kind)) => {
                self.push(self.id.to_owned(), Ok(key), kind);
                Vec::new()
            }
            (None, None) => {
                self.push(self.id.to_owned(), Err(format!("`{key}: {value}`")), LinkKind::Needs);
                Vec::new()
            }
        }
    }

    /// Reads one link, and returns its kind.
    fn one(&mut self, link: &Value, kind: Option<LinkKind>) -> LinkKind {
        let text = |value: &Value| match value {
            Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let (from, to, kind) = match link {
            Value::Object(object) => {
                let part = |key: &str| object.get(key).and_then(text);
                let word = ["type", "dependency_type", "dep_type"].into_iter().find_map(part);
                let kind = kind.unwrap_or_else(|| self.kind(word.as_deref()));
                let target = TARGETS.into_iter().find_map(part);
                (part("issue_id").unwrap_or_else(|| self.id.to_owned()), target, kind)
            }
            link => {
                let named = text(link);
                // `blocks:ex-1`, in the form of the command line.
                let pair = named.as_deref().and_then(|named| named.split_once(':'));
                let pair = pair.and_then(|(word, id)| Some((fate::of(LINKS, word)?, id.trim().to_owned())));
                match pair.filter(|_| kind.is_none()) {
                    Some((kind, id)) => (self.id.to_owned(), Some(id), kind),
                    None => (self.id.to_owned(), named, kind.unwrap_or(LinkKind::Needs)),
                }
            }
        };
        let to = to.ok_or_else(|| format!("`{link}`"));
        // A link in the wrong place: neither of its ends is this record.
        let is_own = from == self.id || to.as_ref().is_ok_and(|to| *to == self.id);
        match to {
            Ok(other) if self.is_reversed => self.push(other, Ok(self.id.to_owned()), kind),
            to => self.push(if is_own { from } else { self.id.to_owned() }, to, kind),
        }
        kind
    }

    fn push(&mut self, from: String, to: Result<String, String>, kind: LinkKind) {
        self.links.push(Link { from, to, kind, place: self.place.to_owned() });
    }

    /// The kind of link that a word stands for. A link with an unknown word is kept in the order of work.
    fn kind(&mut self, word: Option<&str>) -> LinkKind {
        let Some(word) = word else { return LinkKind::Needs };
        fate::of(LINKS, word).unwrap_or_else(|| {
            self.collector.report(
                self.place,
                format!("the type of dependency `{word}` is unknown; it waits for the issue that it names"),
            );
            LinkKind::Needs
        })
    }
}

//! What is wrong with JSON of another shape, in words that name the field and no type of this library.

use std::borrow::Cow;
use std::sync::LazyLock;

/// What stands before the type that is expected.
const EXPECTED: &str = ", expected ";
/// What serde calls the types, before the names of types of this library, and what they are in JSON.
const NAMED: [(&str, &str); 6] = [
    ("tuple struct", "a list"),
    ("newtype struct", "another value"),
    ("internally tagged enum", "an object"),
    ("adjacently tagged enum", "an object"),
    ("struct", "an object"),
    ("enum", "one of its words"),
];
const WORDS: [(&str, &str); 12] = [
    ("expected a map", "expected an object"),
    ("expected map", "expected an object"),
    ("expected a sequence", "expected a list"),
    ("expected sequence", "expected a list"),
    ("expected usize", "expected a whole number from 0"),
    ("expected u64", "expected a whole number from 0"),
    ("expected u32", "expected a whole number from 0"),
    ("expected u16", "expected a whole number from 0"),
    ("expected u8", "expected a whole number from 0"),
    ("expected i64", "expected a whole number"),
    ("expected f64", "expected a number"),
    ("expected unit", "expected null"),
];
const UNTAGGED: &str = "data did not match any variant of untagged enum ";

static FORMS: LazyLock<Vec<(String, &str)>> =
    LazyLock::new(|| NAMED.iter().map(|(name, word)| (format!("expected {name} "), *word)).collect());

/// A message of the reader of JSON, in plain words.
pub(crate) fn plain(message: &str) -> Cow<'_, str> {
    // The text before it can come from the caller.
    match message.rfind(EXPECTED) {
        Some(start) => match plain_end(&message[start..]) {
            Cow::Borrowed(_) => message.into(),
            Cow::Owned(end) => format!("{}{end}", &message[..start]).into(),
        },
        None => plain_end(message),
    }
}

/// As [`plain`], for what is expected.
fn plain_end(message: &str) -> Cow<'_, str> {
    let named = FORMS.iter().find_map(|(form, word)| Some((message.find(form.as_str())?, form.len(), *word)));
    if let Some((start, length, word)) = named {
        let rest = &message[start + length..];
        let end = rest.find(|character: char| !character.is_alphanumeric()).unwrap_or(rest.len());
        return format!("{}expected {word}{}", &message[..start], &rest[end..]).into();
    }
    if let Some(start) = message.find(UNTAGGED) {
        let rest = &message[start + UNTAGGED.len()..];
        let end = rest.find(|character: char| !character.is_alphanumeric()).unwrap_or(rest.len());
        return format!("{}it has none of the forms that it can have{}", &message[..start], &rest[end..]).into();
    }
    match WORDS.iter().find(|(rust, _)| message.contains(rust)) {
        Some((rust, word)) => message.replacen(rust, word, 1).into(),
        None => message.into(),
    }
}

/// The problem of a text that cannot be read as a record, with the field where it is. `error`: what the
/// reader has said.
#[cfg(feature = "capi")]
pub(crate) fn located<T: serde::de::DeserializeOwned>(json: &str, error: &serde_json::Error) -> String {
    use serde_json::{Map, Value};

    let told = error.to_string();
    let read = |value: Value| serde_path_to_error::deserialize::<_, T>(value);
    let Ok(value) = super::from_json::<Value>(json) else { return told };
    let Err(found) = read(value.clone()) else { return plain(&told).into_owned() };
    let inner = found.inner().to_string();
    let path = place_of::<T>(found.path(), &value, &inner);
    // The reader writes `.` for the whole, and `?` for a key that it reads as one of several words.
    let is_named = path != "." && path != "?";
    let path = match value {
        _ if is_named => Some(path),
        // Fields that are flattened have lost their names. The field that is meant is the one that alone has
        // the same problem.
        Value::Object(fields) if !inner.starts_with("missing field") => {
            let alone =
                |(name, value): (&String, &Value)| Value::Object(Map::from_iter([(name.clone(), value.clone())]));
            let is_meant =
                |field: &(&String, &Value)| read(alone(*field)).is_err_and(|error| error.inner().to_string() == inner);
            fields.iter().find(is_meant).map(|(name, _)| name.clone())
        }
        _ => None,
    };
    match path {
        Some(path) if !inner.contains(&format!("`{path}`")) => format!("`{path}`: {}", plain(&inner)),
        _ => plain(&inner).into_owned(),
    }
}

/// The path of a problem. Where a field is missing, the reader names the last field that it has read: in the
/// object that lacks the field, or that object itself. The object is the one in which the field, if it is
/// added, changes the problem.
#[cfg(feature = "capi")]
fn place_of<T: serde::de::DeserializeOwned>(
    path: &serde_path_to_error::Path,
    value: &serde_json::Value,
    problem: &str,
) -> String {
    use serde_json::Value;

    let missing = problem.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let (Some(missing), Some(last)) = (missing, path.iter().next_back()) else { return path.to_string() };
    let (whole, last) = (path.to_string(), last.to_string());
    let around = whole.strip_suffix(&last).unwrap_or_default().trim_end_matches('.').to_owned();
    let mut completed = value.clone();
    let above = path.iter().take(path.iter().len() - 1).try_fold(&mut completed, |value, segment| match segment {
        serde_path_to_error::Segment::Seq { index } => value.get_mut(index),
        serde_path_to_error::Segment::Map { key } => value.get_mut(key),
        _ => None,
    });
    let Some(Value::Object(above)) = above else { return whole };
    above.insert(missing.to_owned(), Value::Null);
    let is_same = serde_path_to_error::deserialize::<_, T>(completed)
        .is_err_and(|error| error.inner().to_string() == problem && error.path().to_string() == whole);
    match (is_same, around.is_empty()) {
        (true, _) => whole,
        (false, true) => ".".to_owned(),
        (false, false) => around,
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    #[cfg(feature = "capi")]
    fn a_missing_field_is_told_of_the_object_that_lacks_it() {
        #[derive(Debug, serde::Deserialize)]
        #[allow(dead_code, reason = "it is only read")]
        struct Outer {
            inner: Inner,
            name: String,
        }
        #[derive(Debug, serde::Deserialize)]
        #[allow(dead_code, reason = "it is only read")]
        struct Inner {
            first: u8,
            second: u8,
        }
        let told = |json: &str| super::located::<Outer>(json, &serde_json::from_str::<Outer>(json).unwrap_err());
        assert_eq!(told(r#"{"inner": {"first": 1, "second": 2}}"#), "missing field `name`");
        assert_eq!(told(r#"{"inner": {"first": 1}, "name": "x"}"#), "`inner`: missing field `second`");
        assert_eq!(told(r#"{"inner": {}, "name": "x"}"#), "`inner`: missing field `first`");
        assert_eq!(
            told(r#"{"inner": {"first": "x"}}"#),
            "`inner.first`: invalid type: string \"x\", expected a whole number from 0"
        );
    }

    #[test]
    fn types_of_the_library_become_words() {
        for (told, plain_words) in [
            (
                "invalid type: string \"x\", expected struct FlatNewFrame at line 1 column 3",
                "invalid type: string \"x\", expected an object at line 1 column 3",
            ),
            (
                "invalid type: string \"x\", expected usize",
                "invalid type: string \"x\", expected a whole number from 0",
            ),
            ("invalid type: map, expected a sequence", "invalid type: map, expected a list"),
            ("data did not match any variant of untagged enum LogWords", "it has none of the forms that it can have"),
            ("missing field `title`", "missing field `title`"),
            (
                "invalid type: string \"expected usize\", expected i64",
                "invalid type: string \"expected usize\", expected a whole number",
            ),
            ("invalid type: map, expected tuple struct Pair", "invalid type: map, expected a list"),
        ] {
            assert_eq!(plain(told), plain_words);
        }
    }
}

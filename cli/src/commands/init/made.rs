//! What `init` has made in a file with settings: a mark in the file names it, so that `--undo` takes back
//! nothing that was there before. The mark is a variable of the environment, because hosts accept any such
//! variable in their settings.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Host;
use super::settings::{Keys, Settings};
use crate::failure::Failure;

/// The variable.
pub const MARK: &str = "CALLSTACK_INIT";
/// What the mark says of a file that was not there.
const FILE: &str = "file";

/// What was made: `file`, keys joined with dots, and words of lists.
#[derive(Default, PartialEq)]
pub struct Made(BTreeSet<String>);

impl Made {
    /// What a mark says.
    pub fn of_mark(mark: Option<&Value>) -> Self {
        let words = mark.and_then(Value::as_str).unwrap_or_default().split_whitespace();
        Self(words.map(str::to_owned).collect())
    }

    /// The mark. `None`: everything but the entry was there before.
    pub fn mark(&self) -> Option<Value> {
        let words: Vec<&str> = self.0.iter().map(String::as_str).collect();
        (!words.is_empty()).then(|| json!(words.join(" ")))
    }

    pub fn add_file(&mut self) {
        self.0.insert(FILE.to_owned());
    }

    pub fn has_file(&self) -> bool {
        self.0.contains(FILE)
    }

    /// Notes which of these keys, and of those above them, the settings do not have yet.
    pub fn add_keys(&mut self, settings: &dyn Settings, keys: &[&str]) {
        let all = settings.all();
        let mut value = Some(&all);
        for (place, key) in keys.iter().enumerate() {
            value = value.and_then(|value| value.get(key));
            if value.is_none() {
                self.0.insert(keys[..=place].join("."));
            }
        }
    }

    /// Puts a word into a list, and notes it if it was not there.
    ///
    /// # Errors
    /// If the settings have something else in the place of the list.
    pub fn put_word(&mut self, settings: &mut dyn Settings, keys: &[&str], word: &str) -> Result<(), Failure> {
        self.add_keys(settings, keys);
        let before = settings.text();
        settings.list(keys, word, true)?;
        if settings.text() != before {
            self.0.insert(word.to_owned());
        }
        Ok(())
    }

    /// Takes a word out of a list if it was put there. Also removes the list with what is around it, if these
    /// were made for the word.
    ///
    /// # Errors
    /// As [`Made::remove_bare`].
    pub fn remove_word(&self, settings: &mut dyn Settings, keys: &[&str], word: &str) -> Result<(), Failure> {
        if self.0.contains(word) {
            settings.list(keys, word, false)?;
        }
        self.remove_bare(settings, keys)
    }

    /// Removes these keys and those above them, as far as they were made and nothing is left in them.
    ///
    /// # Errors
    /// If the settings cannot be read without them.
    pub fn remove_bare(&self, settings: &mut dyn Settings, keys: &[&str]) -> Result<(), Failure> {
        for length in (1..=keys.len()).rev() {
            if self.0.contains(&keys[..length].join(".")) {
                settings.remove_bare(&keys[..length])?;
            }
        }
        Ok(())
    }
}

/// Where the mark is in the settings of the person that are not an entry.
pub const PLACE: Keys<'static> = ["env", MARK];

impl Host {
    /// The key of the variables in an entry.
    fn variables(self) -> &'static str {
        if self == Self::Opencode { "environment" } else { "env" }
    }

    /// What the mark in an entry says.
    pub fn made(self, entry: Option<&Value>) -> Made {
        Made::of_mark(entry.and_then(|entry| entry.get(self.variables())?.get(MARK)))
    }

    /// An entry with a mark.
    pub fn with_mark(self, mut entry: Value, made: &Made) -> Value {
        if let Some(mark) = made.mark() {
            entry[self.variables()][MARK] = mark;
        }
        entry
    }

    /// An entry without its mark. If there are no other variables, the entry has no key for variables, unless
    /// it has that key `anyway`.
    pub fn without_mark(self, mut entry: Value, anyway: bool) -> Value {
        let Some(variables) = entry.get_mut(self.variables()).and_then(Value::as_object_mut) else { return entry };
        if variables.shift_remove(MARK).is_some()
            && variables.is_empty()
            && !anyway
            && let Some(entry) = entry.as_object_mut()
        {
            entry.shift_remove(self.variables());
        }
        entry
    }
}

//! Settings from environment variables: what makes sense is taken, what does not is reported.

use crate::error::Error;

/// Looks variables up, and collects what was wrong with them.
pub(super) struct Variables<'a> {
    look_up: &'a dyn Fn(&str) -> Option<String>,
    pub(super) problems: Vec<Error>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(look_up: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { look_up, problems: Vec::new() }
    }

    /// Puts a variable in the place of a default, if it is set and `read` can read it.
    pub(super) fn take<T>(&mut self, name: &str, place: &mut T, read: impl Fn(&str) -> Result<T, &'static str>) {
        let Some(value) = (self.look_up)(name) else { return };
        match read(value.trim()) {
            Ok(value) => *place = value,
            Err(expected) => self.report(name, value.trim(), expected),
        }
    }

    /// The parts of a variable that is a list with commas; `None` if it is not set.
    pub(super) fn list(&self, name: &str) -> Option<Vec<String>> {
        let value = (self.look_up)(name)?;
        Some(value.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect())
    }

    pub(super) fn report(&mut self, name: &str, value: &str, expected: &'static str) {
        self.problems.push(Error::Setting { name: name.to_owned(), value: value.to_owned(), expected });
    }
}

/// True or false, in the words that people use in environments.
pub(super) fn flag(value: &str) -> Result<bool, &'static str> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("true or false"),
    }
}

/// A whole number of milliseconds, messages, and the like.
pub(super) fn number(value: &str) -> Result<u64, &'static str> {
    value.parse().map_err(|_| "a whole number from 0 on")
}

/// A whole number of per cent.
pub(super) fn percentage(value: &str) -> Result<u8, &'static str> {
    value.parse().ok().filter(|number| *number <= 100).ok_or("a whole number from 0 to 100")
}

//! Settings from environment variables: each variable is judged independently, and invalid ones are reported.

use crate::error::Error;

/// The value of a variable in the environment of this process, with `U+FFFD` for what is no UTF-8; `None` if it is
/// not set.
pub(crate) fn from_environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Looks variables up, and collects the problems found.
pub(crate) struct Variables<'a> {
    look_up: &'a dyn Fn(&str) -> Option<String>,
    /// An [`Error::Setting`] for each invalid value.
    pub(crate) problems: Vec<Error>,
}

impl<'a> Variables<'a> {
    pub(crate) fn new(look_up: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { look_up, problems: Vec::new() }
    }

    /// Replaces a default by a variable's value. A variable that is not set, or that `read` refuses, leaves the
    /// default; a refusal is reported. `read` gets the value without surrounding whitespace and returns what it
    /// expects if it refuses.
    pub(crate) fn take<T>(&mut self, name: &str, place: &mut T, read: impl Fn(&str) -> Result<T, &'static str>) {
        let Some(value) = (self.look_up)(name) else { return };
        match read(value.trim()) {
            Ok(value) => *place = value,
            Err(expected) => self.report(name, value.trim(), expected),
        }
    }

    /// The parts of a variable that is a list separated by commas; `None` if it is not set.
    #[cfg(feature = "session")]
    pub(crate) fn list(&self, name: &str) -> Option<Vec<String>> {
        let value = (self.look_up)(name)?;
        Some(value.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect())
    }

    /// Reports an invalid value.
    pub(crate) fn report(&mut self, name: &str, value: &str, expected: &'static str) {
        self.problems.push(Error::Setting { name: name.to_owned(), value: value.to_owned(), expected });
    }
}

/// Reads true or false: `true`, `1`, `yes`, `on`, or `false`, `0`, `no`, `off`, in any case.
#[cfg(feature = "session")]
pub(crate) fn flag(value: &str) -> Result<bool, &'static str> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err("true or false"),
    }
}

/// Reads a whole number from 0 on, such as a number of milliseconds or of messages.
#[cfg(feature = "session")]
pub(crate) fn number(value: &str) -> Result<u64, &'static str> {
    value.parse().map_err(|_| "a whole number from 0 on")
}

/// Reads a whole number of per cent.
#[cfg(feature = "session")]
pub(crate) fn percentage(value: &str) -> Result<u8, &'static str> {
    value.parse().ok().filter(|number| *number <= 100).ok_or("a whole number from 0 to 100")
}

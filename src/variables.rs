//! Settings from environment variables: each variable is judged independently, and invalid ones are reported.

use crate::error::Error;

/// Returns the value of an environment variable of this process; `None` if it is not set. Bytes that are not
/// valid UTF-8 become U+FFFD.
pub(crate) fn from_environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Looks up variables, and collects the problems.
pub(crate) struct Variables<'a> {
    look_up: &'a dyn Fn(&str) -> Option<String>,
    /// An [`Error::Setting`] for each invalid value.
    pub(crate) problems: Vec<Error>,
}

impl<'a> Variables<'a> {
    pub(crate) fn new(look_up: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { look_up, problems: Vec::new() }
    }

    /// Replaces a default by the value of a variable. If the variable is not set or `read` rejects the value,
    /// the default remains; a rejected value is reported. `read` gets the value without surrounding
    /// whitespace; if it rejects the value, it returns a description of valid values.
    pub(crate) fn take<T>(&mut self, name: &str, place: &mut T, read: impl Fn(&str) -> Result<T, &'static str>) {
        let Some(value) = (self.look_up)(name) else { return };
        match read(value.trim()) {
            Ok(value) => *place = value,
            Err(expected) => self.report(name, value.trim(), expected),
        }
    }

    /// Returns the parts of a variable that is a list separated by commas, without empty parts; `None` if it
    /// is not set.
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

/// Reads a whole number of percent, from 0 to 100.
#[cfg(feature = "session")]
pub(crate) fn percentage(value: &str) -> Result<u8, &'static str> {
    value.parse().ok().filter(|number| *number <= 100).ok_or("a whole number from 0 to 100")
}

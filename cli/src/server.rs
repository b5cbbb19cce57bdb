//! Stacks on a server, which `--stack postgres://…` names. A build without the feature `postgres` refuses
//! them.

use std::io::BufRead;

use callstack_core::{Stack, StackOptions};
#[cfg(feature = "postgres")]
use callstack_postgres::{OpenUrl, StackUrl};

use crate::exit::Exit;
use crate::failure::Failure;

/// The URL of a stack on a server.
#[derive(Debug, Clone)]
pub struct ServerStack {
    url: String,
}

impl ServerStack {
    pub fn new(url: String) -> Self {
        Self { url }
    }

    /// The URL as the person has given it. It can have a password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL without its password, for messages and for files that others read. If the URL is wrong, it is
    /// only the scheme, the user and the host.
    pub fn shown(&self) -> String {
        // Without PostgreSQL it is not known whether the URL is right.
        #[cfg(feature = "postgres")]
        if let Ok(shown) = StackUrl::without_password(&self.url) {
            return shown;
        }
        let (scheme, rest) = self.url.split_once(':').unwrap_or((&self.url, ""));
        format!("{scheme}://{}…", shown_place(rest.trim_start_matches('/')))
    }

    /// The password in the URL.
    pub fn password(&self) -> Option<String> {
        #[cfg(feature = "postgres")]
        return self.url.parse::<StackUrl>().ok()?.password();
        #[cfg(not(feature = "postgres"))]
        None
    }
}

/// A user and a host without the password between them.
fn shown_authority(authority: &str) -> String {
    match authority.rsplit_once('@') {
        Some((user, host)) => format!("{}@{host}", user.split([':', '@']).next().unwrap_or_default()),
        None => authority.to_owned(),
    }
}

/// The user and the host of a URL that is wrong, from the text after the scheme. A password there may have
/// any character. So if an `@` is at a wrong place, only the text before the first separator is shown: it is
/// a user or a host.
fn shown_place(rest: &str) -> String {
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    match authority.contains('@') && !path.contains('@') {
        true => shown_authority(authority),
        false => authority.split([':', '@']).next().unwrap_or_default().to_owned(),
    }
}

#[cfg(feature = "postgres")]
impl ServerStack {
    /// Opens the stack, which must exist.
    ///
    /// # Errors
    /// If the stack does not exist; the errors of the server.
    pub fn open(&self, options: StackOptions) -> Result<Stack, Failure> {
        Stack::open_existing_url(&self.url, options)?.ok_or_else(|| {
            Failure::new(Exit::Failed, "no_stack", format!("there is no stack {}", self.place()))
                .next("name another one with --stack, or begin it: callstack push --new TITLE")
        })
    }

    /// Opens the stack, which is made if it does not exist.
    pub fn open_or_make(&self, options: StackOptions) -> Result<Stack, Failure> {
        Ok(Stack::open_url(&self.url, options)?)
    }

    /// Makes the stack from a history.
    ///
    /// # Errors
    /// If it has events already; if the events do not fit together.
    pub fn rebuild(&self, history: impl BufRead) -> Result<Stack, callstack_core::Error> {
        Stack::rebuild_at_url(&self.url, history, StackOptions::default())
    }

    /// True if the stack exists.
    pub fn exists(&self) -> Result<bool, Failure> {
        Ok(Stack::open_existing_url(&self.url, StackOptions::default())?.is_some())
    }

    /// The URL without user, password and options.
    fn place(&self) -> String {
        self.url.parse::<StackUrl>().map_or_else(|_| self.shown(), |url| url.to_string())
    }
}

#[cfg(not(feature = "postgres"))]
impl ServerStack {
    pub fn open(&self, _: StackOptions) -> Result<Stack, Failure> {
        Err(without_servers())
    }

    pub fn open_or_make(&self, _: StackOptions) -> Result<Stack, Failure> {
        Err(without_servers())
    }

    pub fn rebuild(&self, _: impl BufRead) -> Result<Stack, callstack_core::Error> {
        Err(callstack_core::Error::io("open", self.shown(), WITHOUT))
    }

    pub fn exists(&self) -> Result<bool, Failure> {
        Err(without_servers())
    }
}

#[cfg(not(feature = "postgres"))]
const WITHOUT: &str = "this program was built without PostgreSQL";

#[cfg(not(feature = "postgres"))]
fn without_servers() -> Failure {
    Failure::new(Exit::Failed, "no_postgres", WITHOUT)
        .next("build it with PostgreSQL: cargo install callstack-cli --features postgres")
}

#[cfg(test)]
mod tests {
    use super::ServerStack;

    #[test]
    #[cfg(feature = "postgres")]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("postgres://me:s@cret@host/d/team@home/s", "postgres://me@host/d/team@home/s"),
            ("postgres://me@host/d/s?%70assword=secret&sslmode=require", "postgres://me@host/d/s?sslmode=require"),
        ] {
            assert_eq!(ServerStack::new(url.into()).shown(), shown);
        }
    }

    #[test]
    fn of_wrong_urls_only_the_user_and_the_host_are_shown() {
        for (url, shown) in [
            ("postgres://host/d?password=s@cret", "postgres://host…"),
            ("postgres://host:5432/d?password=s@cret", "postgres://host…"),
            ("postgres://host/d?password=secret", "postgres://host…"),
            ("postgres://me:secret@host/d?password=secret", "postgres://me@host…"),
            ("postgres://me:sec@r/et@host/d/s?notify=true", "postgres://me…"),
            ("postgres://me:se?cret@host/d/s", "postgres://me…"),
            ("postgres://me@host/d/s?%zz=1&%=2&notify", "postgres://me@host…"),
            ("postgres://me:secret@host", "postgres://me@host…"),
            ("postgres://me:secret", "postgres://me…"),
            ("postgres:me:secret@host/d/s", "postgres://me@host…"),
            ("postgres:/me:secret@host/d/s", "postgres://me@host…"),
            ("postgres://", "postgres://…"),
        ] {
            assert_eq!(ServerStack::new(url.into()).shown(), shown, "{url}");
        }
    }
}

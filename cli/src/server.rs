//! Stacks on a server, which `--stack postgres://…` names. A build without the feature `postgres` refuses them.

use std::env;
use std::fs;
use std::io::BufRead;
use std::path::PathBuf;

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

/// True if what names a stack is the URL of a server.
pub fn is_url(given: &str) -> bool {
    given.starts_with("postgres://") || given.starts_with("postgresql://")
}

impl ServerStack {
    pub fn new(url: String) -> Self {
        Self { url }
    }

    /// The URL as the user has given it. It can have a password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL without its password, for messages.
    pub fn shown(&self) -> String {
        let Some((scheme, rest)) = self.url.split_once("://") else { return self.url.clone() };
        let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
        match authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':')) {
            Some((user, _)) => format!("{scheme}://{user}{}", &rest[authority.rfind('@').unwrap_or(0)..]),
            None => self.url.clone(),
        }
    }

    /// A folder of this machine's user for what a host keeps beside a stack, such as which conversation works in which frame.
    pub fn local_folder(&self) -> Result<PathBuf, Failure> {
        let state = env::var_os("XDG_STATE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let home = || env::home_dir().map(|home| home.join(".local/state"));
        let folder = state.or_else(home).unwrap_or_else(env::temp_dir).join("callstack").join(self.file_name());
        fs::create_dir_all(&folder).map_err(|error| Failure::of_file("make", folder.display(), &error))?;
        Ok(folder)
    }

    /// The URL without its password and options, as the name of a file.
    fn file_name(&self) -> String {
        let shown = self.shown();
        let place = shown.split('?').next().unwrap_or_default();
        place.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '-' }).collect()
    }
}

#[cfg(feature = "postgres")]
impl ServerStack {
    /// Opens the stack, which must exist.
    ///
    /// # Errors
    /// If it does not; the errors of the server.
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
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("postgres://me:secret@host/d/s", "postgres://me@host/d/s"),
            ("postgres://me:sec@ret@host/d/s?notify=true", "postgres://me@host/d/s?notify=true"),
            ("postgres://me@host:5433/d/s", "postgres://me@host:5433/d/s"),
            ("postgres://host:5433/d/s", "postgres://host:5433/d/s"),
            ("postgres://me:secret@host", "postgres://me@host"),
        ] {
            assert_eq!(ServerStack::new(url.into()).shown(), shown);
        }
    }
}

//! What an agent gets for one run: variables, arguments before the person's, and the entry of the stack's
//! server.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::lent_folder::LentFolder;
use super::upstreams::own;
use crate::caller::{self, Caller};
use crate::failure::Failure;
use crate::folder::{StackFolder, VARIABLE};
use crate::mcp::WATCHED;
use crate::proxy::Proxy;

/// The name of the server in the settings of every agent.
pub const SERVER: &str = "callstack";
/// Variables that send requests to a proxy of the network. Some agents use the proxy for HTTPS for all
/// requests: it would get the prompts, and the secret.
const NETWORK_PROXIES: [&str; 6] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
const NO_PROXIES: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// The address of the proxy, which no proxy of the network can reach.
const LOOPBACK: &str = "127.0.0.1";

/// Where an agent is run.
pub struct Scene<'a> {
    /// A folder that is gone after the run.
    pub files: &'a Path,
    /// The command of the stack's server.
    pub program: String,
    pub arguments: Vec<String>,
    /// The program of the agent.
    pub agent: &'a Path,
    /// The person's arguments for the agent.
    pub given: &'a [OsString],
    /// The variables of the stack of the run, no matter where the stack is or will be.
    pub place: Vec<(&'static str, OsString)>,
    /// Variables with which commands of the agent find the stack that the person has named.
    stack: Vec<(&'static str, OsString)>,
    /// The name of the conversation, for agents that do not name theirs.
    conversation: String,
    /// A proxy sees the requests of the agent.
    pub is_watched: bool,
    /// The title of the terminal shows the frame.
    pub has_title: bool,
}

impl<'a> Scene<'a> {
    /// # Errors
    /// If a path is not a text.
    pub fn new(
        files: &'a Path,
        folder: &StackFolder,
        agent: &'a Path,
        given: &'a [OsString],
        conversation: &Caller,
    ) -> Result<Self, Failure> {
        let program = env::current_exe().map_err(|error| Failure::of_file("find", "this program", &error))?;
        let named = folder.named_without_password()?;
        let mut arguments = vec!["mcp".to_owned()];
        let mut stack = Vec::new();
        if let Some(named) = named {
            arguments.extend(["--stack".to_owned(), named.clone()]);
            stack.push((VARIABLE, named.into()));
        }
        stack.extend(folder.password().map(|password| ("PGPASSWORD", password.into())));
        Ok(Self {
            files,
            program: program.to_string_lossy().into_owned(),
            arguments,
            agent,
            given,
            place: folder.variables_of_run()?,
            stack,
            conversation: conversation.to_string(),
            is_watched: false,
            has_title: false,
        })
    }

    /// A scene without a stack.
    #[cfg(test)]
    pub fn in_test(files: &'a Path, program: &Path, agent: &'a Path, given: &'a [OsString]) -> Self {
        let program = program.to_string_lossy().into_owned();
        let (arguments, place, stack) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            files,
            program,
            arguments,
            agent,
            given,
            place,
            stack,
            conversation: String::new(),
            is_watched: false,
            has_title: false,
        }
    }

    /// The entry of the server, as most agents write it, with more keys.
    pub fn entry(&self, more: Value) -> Value {
        let mut variables = json!({ caller::VARIABLE: self.conversation });
        if self.is_watched {
            variables[WATCHED] = "1".into();
        }
        let mut entry = json!({ "command": self.program, "args": self.arguments, "env": variables });
        if let (Value::Object(entry), Value::Object(more)) = (&mut entry, more) {
            entry.extend(more);
        }
        entry
    }

    /// Writes a file for this run. No other user may read it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn file(&self, name: &str, content: &Value) -> Result<PathBuf, Failure> {
        self.text_file(name, &content.to_string())
    }

    /// As [`Scene::file`], with a text.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn text_file(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.files.join(name);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|error| Failure::of_file("write", path.display(), &error))?;
        Ok(path)
    }

    /// The value of the last of these options that the person gives the agent, as `--name value` or
    /// `--name=value`.
    pub fn given_value(&self, options: &[&str]) -> Option<String> {
        let words: Vec<&str> = self.given.iter().filter_map(|given| given.to_str()).collect();
        let value = |(place, word): (usize, &&str)| match options.iter().find_map(|option| word.strip_prefix(option))? {
            "" => words.get(place + 1).map(|value| (*value).to_owned()),
            rest => rest.strip_prefix('=').map(str::to_owned),
        };
        words.iter().enumerate().filter_map(value).next_back()
    }

    /// True if the person gives the agent an option, as `--name` or `--name=value`.
    pub fn gives(&self, option: &str) -> bool {
        self.given
            .iter()
            .filter_map(|given| given.to_str())
            .any(|given| given.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
    }
}

/// What an agent gets for this run.
#[derive(Default)]
pub struct Launch {
    pub variables: Vec<(String, OsString)>,
    /// The arguments that come before those of the person.
    pub arguments: Vec<OsString>,
    /// What the person must know.
    pub notes: Vec<String>,
    /// A folder. What the agent writes into it is moved back after the run.
    pub lent: Option<LentFolder>,
}

impl Launch {
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Names the proxy in a variable, in place of the upstream.
    pub fn proxied_by(self, variable: &str, proxy: Option<&Proxy>) -> Self {
        match proxy {
            Some(proxy) => self.variable(variable, proxy.url()),
            None => self,
        }
    }

    /// Adds the stack that the person has named, and makes requests for the proxy take no other way.
    pub fn on(mut self, scene: &Scene<'_>) -> Self {
        self.variables.extend(scene.stack.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        if NETWORK_PROXIES.iter().any(|name| own(name).is_some()) {
            for name in NO_PROXIES {
                let others = own("NO_PROXY").or_else(|| own("no_proxy"));
                let all = others.map_or_else(|| LOOPBACK.to_owned(), |others| format!("{others},{LOOPBACK}"));
                self = self.variable(name, all);
            }
        }
        self
    }
}

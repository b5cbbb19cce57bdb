//! The tool `run_command`: runs a command until its end or its time limit, and without secrets in its
//! environment.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use tokio::time::timeout;

use super::Workspace;
use super::group::{Group, said, with_last_line};
use super::output::Output;

/// Maximum wait for the rest of the output of a command that has ended.
pub(super) const DRAIN: Duration = Duration::from_millis(500);
/// Longest time limit that a model can give, in seconds, unless the person gives a longer one for all
/// commands.
const LONGEST: u64 = 3_600;
/// Parts of the names of environment variables that contain secrets.
const SECRETS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// The environment variables of commands.
pub struct Environment(pub(super) Vec<(OsString, OsString)>);

impl Environment {
    /// The environment of this process without secrets, that is, without variables whose name suggests a
    /// secret, and without variables that contain the API key.
    pub fn without_secrets(key: Option<&str>) -> Self {
        let is_secret = |name: &OsStr, value: &OsStr| {
            let name = name.to_string_lossy().to_uppercase();
            let holds_key = key.is_some_and(|key| value.to_string_lossy().contains(key));
            // AUTH must be a separate word, because GIT_AUTHOR_NAME is not a secret.
            let is_auth = name.split('_').any(|word| word == "AUTH");
            holds_key || is_auth || SECRETS.iter().any(|secret| name.contains(secret))
        };
        Self(std::env::vars_os().filter(|(name, value)| !is_secret(name, value)).collect())
    }
}

/// The time limits of commands, in seconds.
#[derive(Clone, Copy)]
pub struct TimeLimit {
    /// The limit of a command for which the model gives none.
    pub default: u64,
}

impl TimeLimit {
    /// The longest limit that the model can give.
    pub fn longest(self) -> u64 {
        self.default.max(LONGEST)
    }
}

impl Workspace {
    /// Runs a command for at most `seconds`, or for the default time.
    pub(super) async fn run_command(&self, command: &str, seconds: Option<u64>) -> Result<String, String> {
        let seconds = seconds.unwrap_or(self.time_limit.default);
        let longest = self.time_limit.longest();
        if seconds == 0 || seconds > longest {
            return Err(format!(
                "`timeout` is {seconds}, but must be from 1 to {longest} seconds; run what never ends with `background`"
            ));
        }
        let mut group = self.start(command)?;
        let mut output = Output::default();
        let ended = timeout(Duration::from_secs(seconds), group.follow(|bytes| output.push(bytes))).await;
        group.kill();
        // A process that has left the group may keep the pipe open, so the wait is limited.
        let _ = timeout(DRAIN, group.drain(|bytes| output.push(bytes))).await;
        let end = match ended {
            Ok(ended) => said(ended),
            Err(_) => format!(
                "[killed after {seconds} seconds, with its process group; give it a longer `timeout`, or run it with \
                 `background`]"
            ),
        };
        Ok(with_last_line(&output.text(), &end))
    }

    pub(super) fn start(&self, command: &str) -> Result<Group, String> {
        let started = Group::start(command, &self.path, &self.environment.0);
        started.map_err(|error| format!("the command could not be started: {error}"))
    }
}

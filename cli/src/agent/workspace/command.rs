//! The tool `run_command`: runs a command in its own process group, which is killed when the command ends, and without
//! secrets in its environment.

use std::ffi::{OsStr, OsString};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::Workspace;
use super::output::Output;

/// Time limit of a command (specification, "Workspace Tools").
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// Maximum wait for the rest of the output of a command that has ended.
const DRAIN: Duration = Duration::from_millis(500);
/// Parts of the names of environment variables that contain secrets.
const SECRETS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];

/// The environment variables of commands.
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// The environment of this process without secrets, that is, without variables whose name suggests a secret, and
    /// without variables that contain the API key.
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

/// A process that leads its own process group. The group is killed when this is dropped.
struct Group {
    leader: Child,
    id: Option<Pid>,
}

impl Group {
    fn of(leader: Child) -> Self {
        let id = leader.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Self { leader, id }
    }

    /// Kills the remaining processes of the group. Only once, because the system can use the group's ID again.
    fn kill(&mut self) {
        if let Some(id) = self.id.take() {
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Workspace {
    pub(super) async fn run_command(&self, command: &str) -> Result<String, String> {
        let failed = |error: std::io::Error| format!("the command could not be started: {error}");
        let (reader, writer) = std::io::pipe().map_err(failed)?;
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).current_dir(&self.path).process_group(0).stdin(Stdio::null());
        shell.env_clear().envs(self.environment.0.iter().map(|(name, value)| (name, value)));
        // One pipe for output and errors keeps them in the order in which they were written.
        shell.stdout(writer.try_clone().map_err(failed)?).stderr(writer);
        let group = Group::of(shell.spawn().map_err(failed)?);
        // Closes this process's writing ends of the pipe, which `shell` holds.
        drop(shell);
        let mut reader = Receiver::from_owned_fd(reader.into()).map_err(failed)?;
        Ok(follow(group, &mut reader).await)
    }
}

/// Reads the output of a command until it has ended or reached the time limit. Returns the output, and a last line with
/// the exit status.
async fn follow(mut group: Group, reader: &mut Receiver) -> String {
    let mut output = Output::default();
    let ended = timeout(TIME_LIMIT, async {
        let mut is_open = true;
        loop {
            tokio::select! {
                status = group.leader.wait() => return status,
                read = read_some(reader, &mut output), if is_open => is_open = read,
            }
        }
    })
    .await;
    group.kill();
    // A process that has left the group may keep the pipe open, so the wait is limited.
    let _ = timeout(DRAIN, async { while read_some(reader, &mut output).await {} }).await;
    let end = match ended {
        Ok(Ok(status)) => said(status),
        Ok(Err(error)) => format!("[{error}]"),
        Err(_) => {
            format!("[killed after {} seconds, with its process group]", TIME_LIMIT.as_secs())
        }
    };
    let text = output.into_text();
    match text.is_empty() || text.ends_with('\n') {
        true => format!("{text}{end}"),
        false => format!("{text}\n{end}"),
    }
}

/// Reads a part of the output. Returns false at its end.
async fn read_some(reader: &mut Receiver, output: &mut Output) -> bool {
    let mut buffer = [0; 1 << 13];
    match reader.read(&mut buffer).await {
        Ok(0) | Err(_) => false,
        Ok(count) => {
            output.push(&buffer[..count]);
            true
        }
    }
}

fn said(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("[exit status {code}]"),
        None => format!("[{status}]"),
    }
}

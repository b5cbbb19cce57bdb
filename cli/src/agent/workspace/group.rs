//! A shell command in a process group of its own, and its output.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};

use crate::process_group::ProcessGroup;

/// A command, all processes that it has started in its process group, and their output.
pub(super) struct Group {
    command: Child,
    processes: ProcessGroup,
    output: Receiver,
}

impl Group {
    /// Starts a shell command in a folder, with only these environment variables.
    pub(super) fn start(command: &str, folder: &Path, environment: &[(OsString, OsString)]) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let mut processes = ProcessGroup::new()?;
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(command).current_dir(folder).process_group(processes.id()).stdin(Stdio::null());
        shell.env_clear().envs(environment.iter().map(|(name, value)| (name, value)));
        let (mark, value) = processes.variable();
        shell.env(mark, value);
        // One pipe for output and errors keeps them in the order in which they were written.
        shell.stdout(writer.try_clone()?).stderr(writer);
        let child = shell.spawn()?;
        // Closes this process's writing ends of the pipe.
        drop(shell);
        processes.watch(child.id().unwrap_or_default())?;
        Ok(Self { command: child, processes, output: Receiver::from_owned_fd(reader.into())? })
    }

    /// Reads the output until the command itself has ended. Other processes of the group may still run then.
    pub(super) async fn follow(&mut self, mut push: impl FnMut(&[u8])) -> io::Result<ExitStatus> {
        let mut is_open = true;
        let mut buffer = [0; 1 << 13];
        loop {
            tokio::select! {
                status = self.command.wait() => return status,
                read = self.output.read(&mut buffer), if is_open => match read {
                    Ok(0) | Err(_) => is_open = false,
                    Ok(count) => push(&buffer[..count]),
                },
            }
        }
    }

    /// Reads the output until its end. Processes that have left the group may keep it open.
    pub(super) async fn drain(&mut self, mut push: impl FnMut(&[u8])) {
        let mut buffer = [0; 1 << 13];
        while let Ok(count @ 1..) = self.output.read(&mut buffer).await {
            push(&buffer[..count]);
        }
    }

    /// Asks the processes of the group to end.
    pub(super) fn terminate(&self) {
        self.processes.terminate();
    }

    /// Kills the remaining processes of the group.
    pub(super) fn kill(&mut self) {
        self.processes.kill();
    }
}

/// The last line about a command that has ended.
pub(super) fn said(ended: io::Result<ExitStatus>) -> String {
    match ended.map(|status| (status.code(), status)) {
        Ok((Some(code), _)) => format!("[exit status {code}]"),
        Ok((None, status)) => format!("[{status}]"),
        Err(error) => format!("[{error}]"),
    }
}

/// An output, and a last line.
pub(super) fn with_last_line(output: &str, line: &str) -> String {
    match output.is_empty() || output.ends_with('\n') {
        true => format!("{output}{line}"),
        false => format!("{output}\n{line}"),
    }
}

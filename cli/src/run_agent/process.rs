//! The agent as a process: in the foreground, with the person's terminal, in the same process group.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use tokio::process::{Child, Command};

use super::launch::Launch;
use crate::exit::Exit;
use crate::failure::Failure;

/// The number that is added to the number of the signal that has ended a process, as shells do it.
#[cfg(unix)]
const SIGNALLED: i32 = 128;

/// The program with a name in `PATH`, or with a path.
///
/// # Errors
/// If there is none.
pub fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let given = Path::new(name);
    if given.components().count() > 1 {
        return match given.is_file() {
            true => Ok(given.to_owned()),
            false => Err(Failure::new(Exit::Failed, "no_agent", format!("there is no program {}", given.display()))),
        };
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] };
    let found = env::split_paths(&folders).find_map(|folder| {
        let ended = |ending: &&str| {
            let mut file = name.to_owned();
            file.push(ending);
            folder.join(file)
        };
        endings.iter().map(ended).find(|file| is_program(file))
    });
    let name = name.display();
    found.ok_or_else(|| {
        Failure::new(Exit::Failed, "no_agent", format!("there is no program `{name}` in PATH"))
            .next(format!("install it, or name its path: callstack run /path/to/{name}"))
    })
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// Runs the agent until it ends, and returns its exit code.
///
/// # Errors
/// If it cannot be started.
pub async fn run(program: &Path, launch: Launch, arguments: &[OsString]) -> Result<u8, Failure> {
    let failed = |error: io::Error| Failure::of_file("run", program.display(), &error);
    let signals = Signals::new().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(launch.arguments).args(arguments).envs(launch.variables);
    let agent = command.spawn().map_err(failed)?;
    Ok(code(signals.until_end(agent).await.map_err(failed)?))
}

#[cfg(unix)]
fn code(ended: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;

    let code = ended.code().or_else(|| ended.signal().map(|signal| SIGNALLED + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(Exit::Failed as u8)
}

#[cfg(not(unix))]
fn code(ended: ExitStatus) -> u8 {
    ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(Exit::Failed as u8)
}

/// The signals of this program while the agent runs. Signals of the terminal reach both, and the agent
/// decides what they mean. Other signals are passed on.
#[cfg(unix)]
struct Signals {
    interrupted: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
    ended: tokio::signal::unix::Signal,
    hung_up: tokio::signal::unix::Signal,
    child_changed: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupted: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            ended: signal(SignalKind::terminate())?,
            hung_up: signal(SignalKind::hangup())?,
            child_changed: signal(SignalKind::child())?,
        })
    }

    async fn until_end(mut self, mut agent: Child) -> io::Result<ExitStatus> {
        use rustix::process::{Pid, Signal, kill_process};

        let process = agent.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let send = |signal| process.map(|process| kill_process(process, signal));
        let has_terminal = io::stdin().is_terminal();
        loop {
            tokio::select! {
                ended = agent.wait() => return ended,
                // Without a terminal, the signal was sent only to this process.
                _ = self.interrupted.recv() => drop((!has_terminal).then(|| send(Signal::INT))),
                _ = self.quit.recv() => drop((!has_terminal).then(|| send(Signal::QUIT))),
                _ = self.ended.recv() => drop(send(Signal::TERM)),
                _ = self.hung_up.recv() => drop(send(Signal::HUP)),
                _ = self.child_changed.recv() => {
                    if process.is_some_and(is_stopped) {
                        // The shell waits for this process: it must see that the agent has stopped itself.
                        let _ = kill_process(rustix::process::getpid(), Signal::STOP);
                        send(Signal::CONT);
                    }
                }
            }
        }
    }
}

/// A process that has been stopped, and was not told to continue.
#[cfg(unix)]
fn is_stopped(process: rustix::process::Pid) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    waitid(WaitId::Pid(process), options).is_ok_and(|status| status.is_some_and(|status| status.stopped()))
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn until_end(self, mut agent: Child) -> io::Result<ExitStatus> {
        loop {
            tokio::select! {
                ended = agent.wait() => return ended,
                _ = tokio::signal::ctrl_c() => {}
            }
        }
    }
}

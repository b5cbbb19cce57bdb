//! The process group of a command. It is killed when the command ends, when this process gives it up, and
//! when this process itself ends, no matter how it ends.

use std::io::{self, PipeWriter, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::token::Token;

/// The variable that marks all processes of a group, also those that have made groups or sessions of their
/// own, as `timeout` and `setsid` do.
const MARK: &str = "CALLSTACK_PROCESS_GROUP";

/// What the watcher of a group does: it waits for the end of its input, kills what is marked, and then kills
/// the group to which it belongs. Only this process has the other end of the input, so the input is closed
/// when this process ends. A signal that asks the group to end does not end the watcher. The first line of
/// the input is the number of the command, which may have made a group of its own. The argument of the
/// watcher is the mark. A process that forks meanwhile is found by the next look. Systems without `/proc`
/// have no marks.
const WATCHER: &str = r#"trap '' HUP INT QUIT TERM USR1 USR2 ALRM; read -r command; read -r end
[ -z "$command" ] || kill -s KILL -- "-$command" 2>/dev/null
for look in 1 2 3 4 5; do
    marked=$(grep -slz "^$1\$" /proc/[0-9]*/environ)
    [ -n "$marked" ] || break
    for place in $marked; do place=${place#/proc/}; kill -s KILL "${place%/environ}" 2>/dev/null; done
done
kill -KILL 0"#;

/// The group of a command and of all processes that it has started there.
pub struct ProcessGroup {
    /// `None` when the group has been killed: from then on the system can use its ID again.
    id: Option<Pid>,
    /// The command, when the watcher knows it. It may have made a group of its own.
    command: Option<Pid>,
    /// The watcher kills the group when this is closed.
    life: Option<PipeWriter>,
    watcher: Child,
    mark: String,
}

impl ProcessGroup {
    /// A new group that contains only the watcher. A command that is started in the group is never without
    /// the watcher.
    ///
    /// # Errors
    /// If the watcher cannot be started.
    pub fn new() -> io::Result<Self> {
        let (end, life) = io::pipe()?;
        let mark = Token::random()?.to_string();
        let mut watcher = Command::new("sh");
        watcher.args(["-c", WATCHER, "watcher", &format!("{MARK}={mark}")]);
        // If this process is in another group, that group leaves this watcher alone, so that it kills its own
        // group.
        watcher.env_remove(MARK).process_group(0).stdin(end).stdout(Stdio::null()).stderr(Stdio::null());
        let watcher = watcher.spawn()?;
        let id = i32::try_from(watcher.id()).ok().and_then(Pid::from_raw);
        Ok(Self { id, command: None, life: Some(life), watcher, mark })
    }

    /// The variable with which a command of the group is to be started.
    pub fn variable(&self) -> (&'static str, &str) {
        (MARK, &self.mark)
    }

    /// The number of the group, for [`CommandExt::process_group`].
    pub fn id(&self) -> i32 {
        self.id.map_or(0, |id| id.as_raw_nonzero().get())
    }

    /// Tells the watcher which command was started in the group.
    ///
    /// # Errors
    /// If the watcher has gone.
    pub fn watch(&mut self, command: u32) -> io::Result<()> {
        self.command = i32::try_from(command).ok().and_then(Pid::from_raw);
        self.life.as_mut().map_or(Ok(()), |life| writeln!(life, "{command}"))
    }

    /// Asks the processes of the group to end, and the processes of a group that the command has made for
    /// itself.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        // If the command has made no group, there is no such group.
        for id in [self.command, self.id].into_iter().flatten() {
            let _ = kill_process_group(id, signal);
        }
    }

    /// Kills the remaining processes of the group, and those that have left it.
    pub fn kill(&mut self) {
        drop(self.life.take());
        (self.id, self.command) = (None, None);
        // The watcher kills them and itself, so this does not wait for long.
        let _ = self.watcher.wait();
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

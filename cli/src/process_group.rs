//! The process group of a command. It is killed when the command ends, when this process gives it up, and when this
//! process itself ends, however it ends.

use std::io::{self, PipeWriter};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// What the watcher of a group does: it waits for the end of its input, and kills the group to which it belongs. The
/// other end of its input is in this process alone, so it is closed when this process ends.
const WATCHER: &str = "read -r line; kill -KILL 0";

/// The group of a command and of all processes that it has started there.
pub struct ProcessGroup {
    /// `None` when the group has been killed: from then on the system can use its ID again.
    id: Option<Pid>,
    /// The watcher kills the group when this is closed.
    _life: PipeWriter,
    watcher: Child,
}

impl ProcessGroup {
    /// The group of a command that was started as the leader of a group, and for whose end nobody has waited yet.
    ///
    /// # Errors
    /// If the watcher cannot be started. The group is not killed then.
    pub fn of(leader: u32) -> io::Result<Self> {
        let id = i32::try_from(leader).ok();
        let (end, life) = io::pipe()?;
        let mut watcher = Command::new("sh");
        watcher.arg("-c").arg(WATCHER).process_group(id.unwrap_or_default());
        watcher.stdin(end).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { id: id.and_then(Pid::from_raw), _life: life, watcher: watcher.spawn()? })
    }

    /// Asks the processes of the group to end.
    pub fn terminate(&self) {
        if let Some(id) = self.id {
            let _ = kill_process_group(id, Signal::TERM);
        }
    }

    /// Kills the remaining processes of the group.
    pub fn kill(&mut self) {
        if let Some(id) = self.id.take() {
            let _ = kill_process_group(id, Signal::KILL);
            // It was in the group, so this does not wait for long.
            let _ = self.watcher.wait();
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

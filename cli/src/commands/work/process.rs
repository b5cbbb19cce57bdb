//! The command that works on a frame: how it is started, watched and stopped, and what it has written.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use crate::process_group::ProcessGroup;

/// If the output is longer than this, only its end of this size is kept, in bytes.
const KEPT_OUTPUT: u64 = 32_768;
/// Size of the end of the standard error that is kept, in bytes.
const KEPT_ERRORS: usize = 4_096;
/// How long a command that is stopped may tidy up.
const GRACE: Duration = Duration::from_secs(5);
/// How long to wait for the rest of the standard error: a process that has left the group can hold it open.
const REST: Duration = Duration::from_secs(1);

/// A running command. When this is dropped, the command and everything that it has started in its process
/// group are killed.
pub struct Process {
    child: Child,
    #[cfg(unix)]
    group: ProcessGroup,
    output: File,
    errors: Errors,
}

/// Why a command was not started.
#[derive(Debug)]
pub enum NotStarted {
    /// It cannot be started with what it gets for this frame: the system does not accept such an environment.
    Frame(io::Error),
    /// This machine cannot start it now, no matter which frame it is.
    Machine(io::Error),
}

impl From<io::Error> for NotStarted {
    fn from(error: io::Error) -> Self {
        Self::Machine(error)
    }
}

impl NotStarted {
    /// The reason for an error of the system that occurred when the program was to be started.
    fn of(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ArgumentListTooLong | io::ErrorKind::InvalidInput => Self::Frame(error),
            _ => Self::Machine(error),
        }
    }
}

/// The output of a command that has ended.
pub struct Written {
    /// The standard output, or its end.
    pub output: String,
    /// The end of the standard error.
    pub errors: String,
}

/// Checks that a command exists, before a frame is begun for it.
///
/// # Errors
/// If the system would not find it.
pub fn check(command: &[OsString]) -> io::Result<()> {
    let Some(program) = command.first().map(Path::new).filter(|_| cfg!(unix)) else { return Ok(()) };
    // As the system does it: a name without a folder is looked up.
    let is_there = match (program.as_os_str().as_encoded_bytes().contains(&b'/'), env::var_os("PATH")) {
        (true, _) => is_program(program),
        (false, Some(folders)) => env::split_paths(&folders).any(|folder| is_program(&folder.join(program))),
        // The system has folders of its own.
        (false, None) => true,
    };
    if is_there {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            "there is no such program, or it may not be run; a line for a shell needs sh -c LINE",
        ))
    }
}

/// True if a file can be started.
fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    let may_run = |data: &Metadata| std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = |_: &Metadata| true;
    path.metadata().is_ok_and(|data| data.is_file() && may_run(&data))
}

impl Process {
    /// Starts a command with this text as its standard input, and these variables in addition to its
    /// environment. What it writes to its standard error is passed on.
    ///
    /// # Errors
    /// If it cannot be started, or its files cannot be made.
    pub fn start(command: &[OsString], input: &str, variables: &[(&str, OsString)]) -> Result<Self, NotStarted> {
        let (program, arguments) = command.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        // Files never fill up as pipes do, so no thread has to write and read while the command runs.
        let (mut from, output) = (tempfile::tempfile()?, tempfile::tempfile()?);
        from.write_all(input.as_bytes())?;
        from.rewind()?;
        let mut process = Command::new(program);
        process.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
        process.stdin(from).stdout(output.try_clone()?).stderr(Stdio::piped());
        #[cfg(unix)]
        let mut group = ProcessGroup::new()?;
        #[cfg(unix)]
        {
            let (mark, value) = group.variable();
            process.env(mark, value);
            std::os::unix::process::CommandExt::process_group(&mut process, group.id());
        }
        let mut child = process.spawn().map_err(NotStarted::of)?;
        #[cfg(unix)]
        group.watch(child.id())?;
        let errors = Errors::follow(child.stderr.take());
        Ok(Self {
            child,
            #[cfg(unix)]
            group,
            output,
            errors,
        })
    }

    /// How the command has ended; `None` while it runs.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Asks the command to end, and kills it if it does not.
    pub fn stop(mut self) {
        #[cfg(unix)]
        self.group.terminate();
        let end = Instant::now() + if cfg!(unix) { GRACE } else { Duration::ZERO };
        while Instant::now() < end && matches!(self.ended(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        // What the command has started may tidy up as well: usually it holds the standard error.
        self.errors.wait(end.saturating_duration_since(Instant::now()));
    }

    /// The output of the command, after its end. Processes of its group that still run are killed. `lease`:
    /// the time that the frame stays with this worker. The wait for the end of the standard error takes a
    /// small part of this time.
    ///
    /// # Errors
    /// If its output cannot be read.
    pub fn written(mut self, lease: Duration) -> io::Result<Written> {
        self.kill();
        let length = self.output.seek(SeekFrom::End(0))?;
        let left_out = length.saturating_sub(KEPT_OUTPUT);
        self.output.seek(SeekFrom::Start(left_out))?;
        let mut kept = Vec::new();
        (&self.output).take(KEPT_OUTPUT).read_to_end(&mut kept)?;
        let kept = String::from_utf8_lossy(&kept);
        let output = match left_out {
            0 => kept.trim().to_owned(),
            _ => format!("[the first {left_out} bytes are left out]\n{}", kept.trim()),
        };
        Ok(Written { output, errors: self.errors.end(REST.min(lease / 3)) })
    }

    fn kill(&mut self) {
        #[cfg(unix)]
        self.group.kill();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The standard error of a command, which a thread passes on.
struct Errors {
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// Closed at the end of the standard error.
    is_open: Receiver<()>,
}

impl Errors {
    fn follow(errors: Option<ChildStderr>) -> Self {
        let kept = Arc::default();
        let (open, is_open) = channel();
        if let Some(errors) = errors {
            let kept = Arc::clone(&kept);
            thread::spawn(move || pass_on(errors, &kept, open));
        }
        Self { kept, is_open }
    }

    /// Waits until no process can write any more.
    fn wait(&self, limit: Duration) {
        // Nothing is ever sent. The end is known when the sender has gone.
        let _: Result<(), RecvTimeoutError> = self.is_open.recv_timeout(limit);
    }

    /// The end of what was written, after a wait for the rest of it.
    fn end(&self, limit: Duration) -> String {
        self.wait(limit);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous()).trim().to_owned()
    }
}

/// Passes the standard error of a command on to that of this program, and keeps its end.
fn pass_on(mut errors: ChildStderr, kept: &Mutex<VecDeque<u8>>, _open: Sender<()>) {
    let mut buffer = [0; 1 << 12];
    while let Ok(count @ 1..) = errors.read(&mut buffer) {
        // Fails only if no process reads it.
        let _ = io::stderr().write_all(&buffer[..count]);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&buffer[..count]);
        let excess = kept.len().saturating_sub(KEPT_ERRORS);
        kept.drain(..excess);
    }
}

//! In which frame each conversation works: a small file for each, in the folder `callers` of the stack. Servers and hooks are
//! many short processes, and each writes only the file of its own conversation, so they need no lock.
//!
//! The files are a convenience. A conversation whose file is lost names its frame by its handle.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use callstack_core::{Handle, Tree};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::caller::Caller;

/// The folder within that of the stack.
const FOLDER: &str = "callers";
/// How long the frame of a conversation that makes no more calls is remembered, and whose a call is.
const CONVERSATION_AGE: Duration = Duration::from_secs(90 * 24 * 3_600);
const CALL_AGE: Duration = Duration::from_secs(3_600);

/// The files of all conversations of a stack.
#[derive(Debug, Clone)]
pub struct Callers {
    folder: PathBuf,
}

/// The file of a conversation.
#[derive(Serialize, Deserialize)]
struct Conversation {
    caller: String,
    frame: Handle,
}

/// The file of a call, and that of a frame that was handed over.
#[derive(Serialize, Deserialize)]
struct Note {
    caller: String,
}

impl Callers {
    /// `stack`: the folder of the stack.
    pub fn new(stack: &Path) -> Self {
        Self { folder: stack.join(FOLDER) }
    }

    /// The frame in which a conversation works, as it was noted last.
    pub fn frame(&self, caller: &Caller) -> Option<Handle> {
        let found: Conversation = self.read(&self.conversation(caller))?;
        (found.caller == caller.as_str()).then_some(found.frame)
    }

    /// The open frame in which a conversation works: the nearest one from the one that it has entered last, or that has its ID.
    /// A subagent whose frame is closed works in none.
    pub fn open_frame(&self, caller: &Caller, tree: &Tree) -> Option<Handle> {
        match self.closed_task(caller, tree) {
            Some(_) => None,
            None => tree.nearest_open(self.entered(caller, tree).or_else(|| tree.by_id(caller.id()))?),
        }
    }

    /// The frame that was handed over to a conversation, if it is closed: its task is over.
    pub fn closed_task(&self, caller: &Caller, tree: &Tree) -> Option<Handle> {
        let is_over = |frame: &Handle| !tree.node(*frame).status().is_open() && self.is_handed_over(*frame);
        self.entered(caller, tree).filter(is_over)
    }

    fn entered(&self, caller: &Caller, tree: &Tree) -> Option<Handle> {
        self.frame(caller).filter(|frame| frame.index() < tree.len())
    }

    /// The conversation that has entered a frame last and not left it, if the host named it.
    pub fn worker(&self, frame: Handle) -> Option<Caller> {
        self.noted(&self.worker_file(frame)).filter(|worker| self.frame(worker) == Some(frame))
    }

    /// Notes that a conversation works in a frame from now on.
    pub fn enter(&self, caller: &Caller, frame: Handle) -> io::Result<()> {
        self.set_frame(caller, Some(frame))?;
        self.note(&self.worker_file(frame), Some(caller))
    }

    /// Notes the frame in which a conversation works; `None`: in none.
    pub fn set_frame(&self, caller: &Caller, frame: Option<Handle>) -> io::Result<()> {
        let path = self.conversation(caller);
        match frame {
            Some(frame) => self.write(&path, &Conversation { caller: caller.to_string(), frame }),
            None => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        }
    }

    /// Who makes the call with this ID, if a hook has noted it.
    pub fn of_call(&self, call: &str) -> Option<Caller> {
        self.noted(&self.call(call))
    }

    /// Notes who makes a call.
    pub fn note_call(&self, call: &str, caller: &Caller) -> io::Result<()> {
        self.note(&self.call(call), Some(caller))
    }

    /// True if the work in a frame was handed over to a subagent.
    pub fn is_handed_over(&self, frame: Handle) -> bool {
        self.handed_over(frame).exists()
    }

    /// The conversation that has handed over the work in a frame, if the host named it.
    pub fn handed_over_by(&self, frame: Handle) -> Option<Caller> {
        self.noted(&self.handed_over(frame))
    }

    /// Notes that a conversation hands over the work in a frame to a subagent.
    pub fn note_handed_over(&self, frame: Handle, caller: Option<&Caller>) -> io::Result<()> {
        self.note(&self.handed_over(frame), caller)
    }

    /// Notes that an agent was reminded of a frame. Returns true the first time.
    pub fn remind(&self, frame: Handle) -> bool {
        let path = self.folder.join(format!("reminded-{frame}.json"));
        !path.exists() && self.note(&path, None).is_ok()
    }

    fn noted(&self, path: &Path) -> Option<Caller> {
        let found: Note = self.read(path)?;
        let (host, id) = found.caller.split_once('/')?;
        Caller::of(host, id)
    }

    fn note(&self, path: &Path, caller: Option<&Caller>) -> io::Result<()> {
        self.write(path, &Note { caller: caller.map(Caller::to_string).unwrap_or_default() })
    }

    /// Removes the files of conversations and calls that are long over.
    pub fn forget_old(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        for entry in entries.flatten() {
            let is_call = entry.file_name().to_string_lossy().starts_with("call-");
            let limit = if is_call { CALL_AGE } else { CONVERSATION_AGE };
            let written = entry.metadata().and_then(|data| data.modified());
            if written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > limit)) {
                // Another server may have removed it already.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn conversation(&self, caller: &Caller) -> PathBuf {
        self.folder.join(format!("conversation-{}.json", name_of(caller.as_str())))
    }

    fn call(&self, call: &str) -> PathBuf {
        self.folder.join(format!("call-{}.json", name_of(call)))
    }

    fn worker_file(&self, frame: Handle) -> PathBuf {
        self.folder.join(format!("worker-{frame}.json"))
    }

    fn handed_over(&self, frame: Handle) -> PathBuf {
        self.folder.join(format!("handed-over-{frame}.json"))
    }

    fn read<T: for<'a> Deserialize<'a>>(&self, path: &Path) -> Option<T> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Replaces a file as a whole, so that nobody reads half of it.
    fn write<T: Serialize>(&self, path: &Path, value: &T) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(&serde_json::to_vec(value)?)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// A file name for any text: a part of its hash.
fn name_of(text: &str) -> String {
    Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tempfile::tempdir;

    use super::*;

    fn handle(number: usize) -> Handle {
        Handle::from_index(number).unwrap()
    }

    #[test]
    fn the_frame_of_each_conversation_is_remembered() {
        let folder = tempdir().unwrap();
        let callers = Callers::new(folder.path());
        let [one, other] = ["one", "other"].map(|id| Caller::of("codex", id).unwrap());
        assert_eq!(callers.frame(&one), None);
        callers.set_frame(&one, Some(handle(3))).unwrap();
        callers.set_frame(&other, Some(handle(4))).unwrap();
        callers.set_frame(&one, Some(handle(5))).unwrap();
        let again = Callers::new(folder.path());
        assert_eq!((again.frame(&one), again.frame(&other)), (Some(handle(5)), Some(handle(4))));
        callers.set_frame(&one, None).unwrap();
        callers.set_frame(&one, None).unwrap();
        assert_eq!((again.frame(&one), again.frame(&other)), (None, Some(handle(4))));
    }

    #[test]
    fn damaged_files_name_no_frame() {
        let folder = tempdir().unwrap();
        let callers = Callers::new(folder.path());
        let caller = Caller::of("codex", "one").unwrap();
        callers.set_frame(&caller, Some(handle(3))).unwrap();
        for damage in
            ["", "{", "[]", r#"{"caller": "codex/two", "frame": "f4"}"#, r#"{"caller": "codex/one", "frame": "x"}"#]
        {
            fs::write(callers.conversation(&caller), damage).unwrap();
            assert_eq!(callers.frame(&caller), None, "{damage}");
        }
    }

    #[test]
    fn a_reader_never_sees_half_a_file() {
        let folder = tempdir().unwrap();
        let callers = Callers::new(folder.path());
        let caller = Caller::of("codex", "one").unwrap();
        callers.set_frame(&caller, Some(handle(0))).unwrap();
        thread::scope(|scope| {
            let writer =
                scope.spawn(|| (0..500).for_each(|number| callers.set_frame(&caller, Some(handle(number))).unwrap()));
            while !writer.is_finished() {
                assert!(callers.frame(&caller).is_some());
            }
        });
    }

    #[test]
    fn calls_are_forgotten_before_conversations() {
        let folder = tempdir().unwrap();
        let callers = Callers::new(folder.path());
        let caller = Caller::of("claude", "ses").unwrap();
        callers.set_frame(&caller, Some(handle(3))).unwrap();
        callers.note_call("toolu_1", &caller).unwrap();
        callers.note_call("toolu_2", &caller).unwrap();
        let set_age = |path: &Path, age: Duration| {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        };
        set_age(&callers.conversation(&caller), CALL_AGE * 2);
        set_age(&callers.call("toolu_1"), CALL_AGE * 2);
        callers.forget_old();
        assert_eq!((callers.of_call("toolu_1"), callers.of_call("toolu_2")), (None, Some(caller.clone())));
        assert_eq!(callers.frame(&caller), Some(handle(3)));
        set_age(&callers.conversation(&caller), CONVERSATION_AGE * 2);
        callers.forget_old();
        assert_eq!(callers.frame(&caller), None);
    }
}

//! In which frame each conversation works: small files in the folder `callers` of the stack. Servers and hooks are many short
//! processes, and each writes only the files of its own conversation and frame, so they need no lock.
//!
//! The files are a convenience. A conversation whose file is lost names its frame by its handle. They name frames by their IDs
//! too, so that those of a stack that was here before are of no use. Links are not followed: the folder may come from a stranger.
//!
//! A way from frame to frame has a note for each, so the tree is asked between the notes and not held while they are read.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use callstack_core::{Handle, Stack, Tree};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::caller::Caller;

/// The folder within that of the stack.
const FOLDER: &str = "callers";
/// The beginnings of the names of the files: conversations, calls, and what is noted about frames.
const CONVERSATION: &str = "conversation-";
const CALL: &str = "call-";
const FRAME: [&str; 3] = ["handed-over-", "worker-", "reminded-"];
/// The file whose lock belongs to the conversation that enters a frame.
const LOCK: &str = "lock";
/// How long somebody waits for the lock, and the pause between two looks. Who has it needs it for a moment, unless it is stopped.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(2);
/// The beginning of the names of files that are being written.
const TEMPORARY: &str = ".tmp";
/// How long the frame of a conversation that makes no more calls is remembered, and whose a call is.
const CONVERSATION_AGE: Duration = Duration::from_secs(90 * 24 * 3_600);
const CALL_AGE: Duration = Duration::from_secs(3_600);
/// The largest file that is read, in bytes.
const LARGEST: u64 = 32 << 10;
/// The longest way back of a conversation that is followed, in frames.
const LONGEST_WAY: usize = 1_000;

/// The files of all conversations of a stack.
#[derive(Debug, Clone)]
pub struct Callers {
    folder: PathBuf,
}

/// A file: a conversation, and a frame. In the file of a conversation it is the one in which the conversation works. In the file of a
/// frame it is the one from which the conversation has come there.
#[derive(Default, Serialize, Deserialize)]
struct Note {
    caller: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frame: Option<Handle>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    id: String,
}

/// The lock of the conversation that enters a frame. To close its file would not be enough: a program that is being started has it too,
/// for a moment.
pub struct Alone(File);

impl Drop for Alone {
    fn drop(&mut self) {
        // Fails only if the file system is gone.
        let _ = self.0.unlock();
    }
}

impl Note {
    fn of(caller: &Caller, frame: Option<Handle>, tree: &Tree) -> Self {
        let id = frame.map(|frame| tree.node(frame).session_id().to_owned()).unwrap_or_default();
        Self { caller: caller.to_string(), frame, id }
    }

    /// The frame, if it is one of this stack.
    fn frame(&self, tree: &Tree) -> Option<Handle> {
        let frame = self.frame.filter(|frame| frame.index() < tree.len())?;
        (tree.node(frame).session_id() == self.id).then_some(frame)
    }
}

impl Callers {
    /// `stack`: the folder of the stack.
    pub fn new(stack: &Path) -> Self {
        Self { folder: stack.join(FOLDER) }
    }

    /// Notes that are read and written nowhere, for a stack that does not exist.
    pub fn nowhere() -> Self {
        // No file can be made below an empty path.
        Self { folder: PathBuf::new() }
    }

    /// The frame that a conversation has entered last and not left. It may be closed by now.
    pub fn entered(&self, caller: &Caller, tree: &Tree) -> Option<Handle> {
        self.read(&self.conversation(caller)).filter(|note| note.caller == caller.as_str())?.frame(tree)
    }

    /// The frame of a conversation: the one that it has entered last and not left, or else the one in which a host with its own stack has it. It may be closed by
    /// now.
    pub fn own_frame(&self, caller: &Caller, tree: &Tree) -> Option<Handle> {
        // A host with its own stack gives a session a frame, and its conversation can be in one below.
        let of_host = || tree.by_id(caller.id()).map(|own| tree.in_conversation(caller.id()).pop().unwrap_or(own));
        self.entered(caller, tree).or_else(of_host)
    }

    /// The open frame in which a conversation works. `None` if its frame is closed: the frame above it is the work of others, perhaps.
    pub fn open_frame(&self, caller: &Caller, tree: &Tree) -> Option<Handle> {
        self.own_frame(caller, tree).filter(|frame| tree.node(*frame).status().is_open())
    }

    /// Notes that a conversation works in a frame from now on, and from which one it has come. If it was on its way back, it goes on
    /// with that. If it comes from none, it will be in none after this frame: what another conversation that was here goes back to is not
    /// its own.
    pub fn enter(&self, caller: &Caller, frame: Handle, stack: &Stack) -> io::Result<()> {
        let is_call = |from: &Handle| {
            !stack.read(|tree| tree.is_ancestor(frame, *from))
                && !self.way_back(caller, *from, stack).any(|place| place == frame)
        };
        let from = stack.read(|tree| self.open_frame(caller, tree)).filter(is_call);
        let from = from.or_else(|| self.way_back(caller, frame, stack).nth(1));
        let [entered, left] = [Some(frame), from].map(|place| stack.read(|tree| Note::of(caller, place, tree)));
        self.write(&self.conversation(caller), &entered)?;
        self.write(&self.worker_of(&entered.id), &left)
    }

    /// Lets a conversation that has closed its frame go on in the nearest open one from which it came, if that is free, and returns it.
    /// `None`: it is in no frame. The frame above the closed one can be the work of others.
    pub fn go_back(
        &self,
        caller: &Caller,
        closed: Handle,
        stack: &Stack,
        is_free: impl Fn(Handle) -> bool,
    ) -> Option<Handle> {
        let is_open = |frame: &Handle| stack.read(|tree| tree.node(*frame).status().is_open());
        let open = self.way_back(caller, closed, stack).skip(1).find(is_open);
        match open.filter(|frame| is_free(*frame)) {
            Some(back) => self.enter(caller, back, stack).ok().map(|()| back),
            None => {
                // If the note stays, the next call is told that the frame is closed.
                let _ = self.forget(caller);
                None
            }
        }
    }

    /// A frame in which a conversation is, and those to which it goes back from there. The way ends at a frame that another one has
    /// entered since: what is noted there is the way of that one.
    fn way_back<'a>(&'a self, caller: &'a Caller, from: Handle, stack: &'a Stack) -> impl Iterator<Item = Handle> + 'a {
        let before = |frame: &Handle| {
            let note = self.read(&self.worker_of(&id_of(*frame, stack)))?;
            stack.read(|tree| note.frame(tree)).filter(|_| note.caller == caller.as_str())
        };
        std::iter::successors(Some(from), before).take(LONGEST_WAY)
    }

    /// Notes that a conversation works in no frame.
    pub fn forget(&self, caller: &Caller) -> io::Result<()> {
        if !self.is_folder() {
            return Ok(());
        }
        match fs::remove_file(self.conversation(caller)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Keeps the other conversations from entering a frame until the lock is dropped. `None` if somebody has had it for too long,
    /// or if it cannot be had here.
    pub fn alone(&self) -> Option<Alone> {
        self.make_folder().ok()?;
        let path = self.folder.join(LOCK);
        if fs::symlink_metadata(&path).is_ok_and(|data| !data.is_file()) {
            return None;
        }
        let file = File::options().create(true).truncate(false).write(true).open(path).ok()?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Some(Alone(file)),
                Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_PATIENCE => thread::sleep(LOCK_PAUSE),
                Err(_) => return None,
            }
        }
    }

    /// The conversation that works in a frame, or goes back to it from those that it has entered since, if the host named it.
    pub fn worker(&self, frame: Handle, stack: &Stack) -> Option<Caller> {
        let worker = self.noted(&self.worker_of(&id_of(frame, stack)))?;
        let entered = stack.read(|tree| self.entered(&worker, tree))?;
        let is_on_its_way = self.way_back(&worker, entered, stack).any(|place| place == frame);
        is_on_its_way.then_some(worker)
    }

    /// True if a conversation was the last one to enter a frame, also if it works elsewhere now.
    pub fn has_worked(&self, caller: &Caller, frame: Handle, tree: &Tree) -> bool {
        self.noted(&self.worker_of(tree.node(frame).session_id())).as_ref() == Some(caller)
    }

    /// True if the work in a frame was handed over to a subagent.
    pub fn is_handed_over(&self, frame: Handle, tree: &Tree) -> bool {
        self.read(&self.handed_over(tree.node(frame).session_id())).is_some()
    }

    /// The conversation that has handed over the work in a frame, if the host named it.
    pub fn handed_over_by(&self, frame: Handle, tree: &Tree) -> Option<Caller> {
        self.noted(&self.handed_over(tree.node(frame).session_id()))
    }

    /// Notes that a conversation hands over the work in a frame to a subagent. Whoever has worked there before does so no more.
    pub fn hand_over(&self, frame: Handle, caller: Option<&Caller>, tree: &Tree) -> io::Result<()> {
        let (id, nobody) = (tree.node(frame).session_id(), Note::default());
        let note = Note { caller: caller.map(Caller::to_string).unwrap_or_default(), ..Note::default() };
        self.write(&self.worker_of(id), &nobody)?;
        self.write(&self.handed_over(id), &note)
    }

    /// Notes that an agent was reminded of a frame. Returns true the first time.
    pub fn remind(&self, frame: Handle, tree: &Tree) -> bool {
        let [.., reminded] = FRAME;
        let path = self.file(reminded, tree.node(frame).session_id());
        self.read(&path).is_none() && self.write(&path, &Note::default()).is_ok()
    }

    /// The conversation that makes the call with this ID, if a hook has noted it.
    pub fn of_call(&self, call: &str) -> Option<Caller> {
        self.noted(&self.file(CALL, call))
    }

    /// Notes who makes a call.
    pub fn note_call(&self, call: &str, caller: &Caller) -> io::Result<()> {
        self.write(&self.file(CALL, call), &Note { caller: caller.to_string(), ..Note::default() })
    }

    /// Removes the files of conversations and calls that are long over.
    pub fn forget_old(&self) {
        if !self.is_folder() {
            return;
        }
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let now = SystemTime::now();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(limit) = age_limit(&name.to_string_lossy()) else { continue };
            let written = entry.metadata().and_then(|data| data.modified());
            if written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age > limit)) {
                // Another server may have removed it already.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn conversation(&self, caller: &Caller) -> PathBuf {
        self.file(CONVERSATION, caller.as_str())
    }

    fn handed_over(&self, id: &str) -> PathBuf {
        let [handed_over, ..] = FRAME;
        self.file(handed_over, id)
    }

    fn worker_of(&self, id: &str) -> PathBuf {
        let [_, worker, _] = FRAME;
        self.file(worker, id)
    }

    /// The file about a text: its name contains a part of the text's hash.
    fn file(&self, kind: &str, text: &str) -> PathBuf {
        let hash: String = Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{kind}{hash}.json"))
    }

    fn noted(&self, path: &Path) -> Option<Caller> {
        let found = self.read(path)?;
        let (host, id) = found.caller.split_once('/')?;
        Caller::of(host, id)
    }

    /// True if the folder is one, and no link to one.
    fn is_folder(&self) -> bool {
        fs::symlink_metadata(&self.folder).is_ok_and(|data| data.is_dir())
    }

    fn read(&self, path: &Path) -> Option<Note> {
        // A pipe would wait for its other end, and a device would never end.
        if !self.is_folder() || !fs::symlink_metadata(path).is_ok_and(|data| data.is_file()) {
            return None;
        }
        let mut text = Vec::new();
        File::open(path).ok()?.take(LARGEST).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn make_folder(&self) -> io::Result<()> {
        if self.is_folder() {
            return Ok(());
        }
        match fs::create_dir(&self.folder) {
            // Another server was faster.
            Err(_) if self.is_folder() => Ok(()),
            made => made,
        }
    }

    /// Replaces a file as a whole, so that nobody reads half of it.
    fn write(&self, path: &Path, note: &Note) -> io::Result<()> {
        self.make_folder()?;
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.folder)?;
        file.write_all(&serde_json::to_vec(note)?)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn id_of(frame: Handle, stack: &Stack) -> String {
    stack.read(|tree| tree.node(frame).session_id().to_owned())
}

/// How long a file with this name is kept; `None` if it is not of this folder.
fn age_limit(name: &str) -> Option<Duration> {
    let begins_with = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    if begins_with(&[CALL, TEMPORARY]) {
        return Some(CALL_AGE);
    }
    (begins_with(&[CONVERSATION]) || begins_with(&FRAME)).then_some(CONVERSATION_AGE)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use callstack_core::{NewFrame, PopStatus, Stack};
    use tempfile::{TempDir, tempdir};

    use super::*;

    fn handle(number: usize) -> Handle {
        Handle::from_index(number).unwrap()
    }

    /// A folder, and a stack with a root f1 and frames below it.
    fn stack(frames: usize) -> (TempDir, Callers, Stack) {
        let folder = tempdir().unwrap();
        let callers = Callers::new(folder.path());
        let stack = Stack::in_memory();
        let root = stack.push(NewFrame::new("Root").id("root").root()).unwrap();
        (1..frames).for_each(|number| {
            stack.push(NewFrame::new("Part").id(format!("part{number}")).below(root)).unwrap();
        });
        (folder, callers, stack)
    }

    #[test]
    fn the_frame_of_each_conversation_is_remembered() {
        let (folder, callers, stack) = stack(4);
        let [one, other] = ["one", "other"].map(|id| Caller::of("codex", id).unwrap());
        let again = Callers::new(folder.path());
        let entered = || [&one, &other].map(|caller| stack.read(|tree| again.entered(caller, tree)));
        assert_eq!(entered(), [None, None]);
        for (caller, frame) in [(&one, 1), (&other, 2), (&one, 3)] {
            callers.enter(caller, handle(frame), &stack).unwrap();
        }
        assert_eq!(entered(), [Some(handle(3)), Some(handle(2))]);
        let workers = [3, 0, 1].map(|frame| again.worker(handle(frame), &stack));
        assert_eq!(workers, [Some(one.clone()), None, Some(one.clone())], "it goes back to f2");
        callers.forget(&one).unwrap();
        callers.forget(&one).unwrap();
        assert_eq!(entered(), [None, Some(handle(2))]);
    }

    #[test]
    fn a_frame_that_others_have_closed_leads_to_no_other_one() {
        let (_folder, callers, stack) = stack(2);
        let caller = Caller::of("codex", "one").unwrap();
        callers.enter(&caller, handle(1), &stack).unwrap();
        assert_eq!(stack.read(|tree| callers.open_frame(&caller, tree)), Some(handle(1)));
        stack.pop("f2", PopStatus::Completed, "Done").unwrap();
        assert_eq!(stack.read(|tree| callers.open_frame(&caller, tree)), None);
        let owner = Caller::of("opencode", "part1").unwrap();
        assert_eq!(stack.read(|tree| callers.open_frame(&owner, tree)), None, "it never entered its frame");
    }

    #[test]
    fn a_conversation_goes_back_to_where_it_came_from() {
        let (_folder, callers, stack) = stack(4);
        let [one, other] = ["one", "other"].map(|id| Caller::of("codex", id).unwrap());
        let back = |caller: &Caller, closed| callers.go_back(caller, closed, &stack, |_| true);
        let enter = |caller: &Caller, frame| callers.enter(caller, frame, &stack).unwrap();
        // The other one comes from nowhere, though the frame is below that of the first one.
        enter(&one, handle(0));
        enter(&other, handle(1));
        stack.pop("f2", PopStatus::Completed, "Done").unwrap();
        assert_eq!(back(&other, handle(1)), None);
        assert_eq!(stack.read(|tree| callers.entered(&other, tree)), None);
        // Frames on the way that are closed by now are left out.
        enter(&one, handle(2));
        enter(&one, handle(3));
        enter(&one, handle(3));
        for frame in ["f3", "f4"] {
            stack.pop(frame, PopStatus::Completed, "Done").unwrap();
        }
        assert_eq!(back(&one, handle(3)), Some(handle(0)));
        assert_eq!(callers.worker(handle(0), &stack), Some(one.clone()));
    }

    #[test]
    fn who_takes_over_gets_no_frame_above() {
        let (_folder, callers, stack) = stack(3);
        let [one, other] = ["one", "other"].map(|id| Caller::of("codex", id).unwrap());
        let enter = |caller: &Caller, frame| callers.enter(caller, frame, &stack).unwrap();
        let worker = |frame| callers.worker(frame, &stack);
        enter(&one, handle(0));
        enter(&one, handle(1));
        assert_eq!((worker(handle(1)), worker(handle(0))), (Some(one.clone()), Some(one.clone())));
        enter(&other, handle(1));
        assert_eq!((worker(handle(1)), worker(handle(0))), (Some(other.clone()), None));
        // To enter it once more changes nothing.
        enter(&other, handle(1));
        stack.pop("f2", PopStatus::Completed, "Done").unwrap();
        let back = |caller: &Caller| callers.go_back(caller, handle(1), &stack, |_| true);
        assert_eq!(back(&one), None, "another one was the last in its frame");
        assert_eq!(back(&other), None, "it came from nowhere");
    }

    #[test]
    fn who_takes_over_goes_back_to_its_own_frame_if_that_is_free() {
        let (_folder, callers, stack) = stack(3);
        let [one, other] = ["one", "other"].map(|id| Caller::of("codex", id).unwrap());
        let enter = |caller: &Caller, frame| callers.enter(caller, frame, &stack).unwrap();
        enter(&one, handle(1));
        enter(&other, handle(2));
        enter(&other, handle(1));
        stack.pop("f2", PopStatus::Completed, "Done").unwrap();
        let back = |is_free: bool| callers.go_back(&other, handle(1), &stack, |_| is_free);
        assert_eq!(back(true), Some(handle(2)));
        enter(&other, handle(1));
        assert_eq!(back(false), None);
    }

    #[test]
    fn the_tree_is_not_held_while_a_way_is_followed() {
        let (_folder, callers, stack) = stack(3);
        let one = Caller::of("codex", "one").unwrap();
        for frame in [0, 1, 2] {
            callers.enter(&one, handle(frame), &stack).unwrap();
        }
        stack.pop("f3", PopStatus::Completed, "Done").unwrap();
        // A command is refused while the tree is held.
        let is_free = |frame: Handle| stack.add_decision(frame, "It is free").is_ok();
        assert_eq!(callers.go_back(&one, handle(2), &stack, is_free), Some(handle(1)));
    }

    #[test]
    fn a_frame_on_the_way_back_is_not_entered_from_below() {
        let (_folder, callers, stack) = stack(3);
        let one = Caller::of("codex", "one").unwrap();
        for frame in [0, 1, 2, 1, 0] {
            callers.enter(&one, handle(frame), &stack).unwrap();
        }
        let workers = [0, 1, 2].map(|frame| callers.worker(handle(frame), &stack));
        assert_eq!(workers, [Some(one.clone()), None, None], "it has left the others");
        stack.pop("f1", PopStatus::Completed, "Done").unwrap();
        assert_eq!(callers.go_back(&one, handle(0), &stack, |_| true), None);
    }

    #[test]
    fn the_notes_of_another_stack_are_of_no_use() {
        let (_folder, callers, stack) = stack(2);
        let caller = Caller::of("codex", "one").unwrap();
        callers.enter(&caller, handle(1), &stack).unwrap();
        stack.read(|tree| {
            callers.hand_over(handle(1), None, tree).unwrap();
            assert!(callers.is_handed_over(handle(1), tree) && callers.remind(handle(1), tree));
            assert!(!callers.remind(handle(1), tree));
        });
        let other = Stack::in_memory();
        other.push(NewFrame::new("Root").id("other").root()).unwrap();
        other.push(NewFrame::new("Part").id("another")).unwrap();
        other.read(|tree| {
            assert_eq!(callers.entered(&caller, tree), None);
            assert!(!callers.is_handed_over(handle(1), tree) && callers.remind(handle(1), tree));
        });
    }

    #[test]
    fn damaged_files_name_no_frame() {
        let (_folder, callers, stack) = stack(2);
        let caller = Caller::of("codex", "one").unwrap();
        callers.enter(&caller, handle(1), &stack).unwrap();
        let other = r#"{"caller": "codex/two", "frame": "f2", "id": "part1"}"#;
        for damage in ["", "{", "[]", other, r#"{"caller": "codex/one", "frame": "f9", "id": "part1"}"#] {
            fs::write(callers.conversation(&caller), damage).unwrap();
            assert_eq!(stack.read(|tree| callers.entered(&caller, tree)), None, "{damage}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;

        let (folder, callers, stack) = stack(2);
        let elsewhere = tempdir().unwrap();
        let caller = Caller::of("codex", "one").unwrap();
        let old = elsewhere.path().join("conversation-of-mine.json");
        fs::write(&old, "mine").unwrap();
        let time = SystemTime::now() - 2 * CONVERSATION_AGE;
        File::options().write(true).open(&old).unwrap().set_modified(time).unwrap();
        symlink(elsewhere.path(), folder.path().join(FOLDER)).unwrap();
        callers.forget_old();
        assert!(callers.enter(&caller, handle(1), &stack).is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1, "nothing is written or removed there");
        fs::remove_file(folder.path().join(FOLDER)).unwrap();
        callers.enter(&caller, handle(1), &stack).unwrap();
        let path = callers.conversation(&caller);
        fs::rename(&path, elsewhere.path().join("note.json")).unwrap();
        symlink(elsewhere.path().join("note.json"), &path).unwrap();
        assert_eq!(stack.read(|tree| callers.entered(&caller, tree)), None);
        let lock = folder.path().join(FOLDER).join(LOCK);
        symlink(elsewhere.path().join("made"), &lock).unwrap();
        assert!(callers.alone().is_none() && !elsewhere.path().join("made").exists());
        fs::remove_file(&lock).unwrap();
        // A pipe would wait for its other end.
        assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
        assert!(callers.alone().is_none());
        fs::remove_file(&lock).unwrap();
        let first = callers.alone();
        assert!(first.is_some() && callers.alone().is_none(), "one at a time");
        drop(first);
        assert!(callers.alone().is_some());
        let foreign = folder.path().join(FOLDER).join("thesis.txt");
        fs::write(&foreign, "mine").unwrap();
        File::options().write(true).open(&foreign).unwrap().set_modified(time).unwrap();
        callers.forget_old();
        assert!(foreign.exists());
    }

    #[test]
    fn a_reader_never_sees_half_a_file() {
        let (_folder, callers, stack) = stack(5);
        let caller = Caller::of("codex", "one").unwrap();
        let enter = |number: usize| callers.enter(&caller, handle(number), &stack).unwrap();
        enter(0);
        thread::scope(|scope| {
            let writer = scope.spawn(|| (0..500).for_each(|number| enter(number % 5)));
            while !writer.is_finished() {
                assert!(stack.read(|tree| callers.entered(&caller, tree)).is_some());
            }
        });
    }

    #[test]
    fn calls_are_forgotten_before_conversations() {
        let (_folder, callers, stack) = stack(2);
        let caller = Caller::of("claude", "ses").unwrap();
        let entered = || stack.read(|tree| callers.entered(&caller, tree));
        callers.enter(&caller, handle(1), &stack).unwrap();
        callers.note_call("toolu_1", &caller).unwrap();
        callers.note_call("toolu_2", &caller).unwrap();
        let set_age = |path: &Path, age: Duration| {
            File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
        };
        set_age(&callers.conversation(&caller), CALL_AGE * 2);
        set_age(&callers.file(CALL, "toolu_1"), CALL_AGE * 2);
        callers.forget_old();
        assert_eq!((callers.of_call("toolu_1"), callers.of_call("toolu_2")), (None, Some(caller.clone())));
        assert_eq!(entered(), Some(handle(1)));
        set_age(&callers.conversation(&caller), CONVERSATION_AGE * 2);
        callers.forget_old();
        assert_eq!(entered(), None);
    }
}

//! The folder of the stack that a command uses.

use std::env;
use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use callstack_core::{Stack, StackOptions};

use crate::exit::Exit;
use crate::failure::Failure;

/// The folders in which hosts keep a stack, relative to the folder of a project. The first one wins.
const USUAL: [&str; 2] = [".callstack", ".opencode/stack"];
/// The files by which a stack is recognized: its database, or the state that an earlier version or a tool has left.
const MARKS: [&str; 2] = [DATABASE, "state.json"];
const DATABASE: &str = "stack.db";

/// Number of frames above which `state.json` is left to processes that stay: writing it would take longer than all else.
const STATE_FILE_FRAMES: usize = 500;

/// The stack that the user means: a given folder, or the nearest one.
pub struct StackFolder {
    given: Option<PathBuf>,
    same_stack: SameStack,
}

/// How the commands that a message advises name the stack: they repeat `--stack` if the user gave it, because without it
/// they would concern another stack.
#[derive(Debug, Clone, Default)]
pub struct SameStack(Option<String>);

impl StackFolder {
    /// `given`: the value of `--stack` or `CALLSTACK_DIR`. An empty one counts as none. `is_repeated`: the commands that
    /// messages advise need it too, because it was given on the command line.
    pub fn new(given: Option<OsString>, is_repeated: bool) -> Self {
        let given = given.filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let named = given.as_ref().filter(|_| is_repeated).map(|folder| folder.to_string_lossy());
        // A name that no shell can write cannot be repeated.
        let option = named.and_then(|name| Some(format!("--stack {}", shlex::try_quote(&name).ok()?)));
        Self { given, same_stack: SameStack(option) }
    }

    /// For the messages of a command.
    pub fn same_stack(&self) -> SameStack {
        self.same_stack.clone()
    }

    /// Opens the stack to read it. No file of the stack is written: neither next to the database, nor at the end, when the
    /// write-ahead log would be moved into the database. The program ends after the command, which frees the memory faster.
    ///
    /// # Errors
    /// If there is no stack, or only the files of an earlier version; the errors of [`Stack::open`].
    pub fn open_to_read(&self) -> Result<ManuallyDrop<Stack>, Failure> {
        let folder = self.existing()?;
        if !folder.join(DATABASE).is_file() {
            let message = format!("{} has files of an earlier version, and no database yet", folder.display());
            return Err(Failure::new(Exit::Failed, "not_imported", message)
                .next("a command that changes the stack imports them, and keeps the originals in before-import/"));
        }
        Ok(ManuallyDrop::new(Stack::open(folder, StackOptions::default().mirror(false))?))
    }

    /// Opens the stack to change it.
    ///
    /// # Errors
    /// As [`StackFolder::open_to_read`].
    pub fn open_to_write(&self) -> Result<Stack, Failure> {
        Ok(Stack::open(self.existing()?, to_write())?)
    }

    /// As [`StackFolder::open_to_write`]. With `is_new` the stack is created if it is missing: in the given folder, else as
    /// `.callstack` in the working folder.
    ///
    /// # Errors
    /// As [`StackFolder::open_to_read`].
    pub fn open_or_create(&self, is_new: bool) -> Result<Stack, Failure> {
        if !is_new {
            return self.open_to_write();
        }
        let folder = self.given.clone().unwrap_or_else(|| USUAL[0].into());
        Ok(Stack::open(folder, to_write())?)
    }

    /// The path of the stack's folder.
    ///
    /// # Errors
    /// If there is none, with what to do next.
    pub fn existing(&self) -> Result<PathBuf, Failure> {
        let missing = |message: String| Failure::new(Exit::Failed, "no_stack", message);
        if let Some(given) = &self.given {
            return if is_stack(given) {
                Ok(given.clone())
            } else {
                let message = format!("{} contains no stack", given.display());
                Err(missing(message)
                    .next("name another folder with --stack, or begin a stack there: callstack push --new TITLE"))
            };
        }
        let here = env::current_dir().map_err(|error| Failure::of_file("find", "the working folder", &error))?;
        let nearest =
            here.ancestors().flat_map(|folder| USUAL.map(|usual| folder.join(usual))).find(|path| is_stack(path));
        nearest.ok_or_else(|| {
            let message = format!("there is no stack in {} or above it ({})", here.display(), USUAL.join(", "));
            missing(message)
                .next("name its folder with --stack or CALLSTACK_DIR, or begin one here: callstack push --new TITLE")
        })
    }
}

impl SameStack {
    /// An advice whose commands name the stack. It is a command, or a sentence with commands in backticks or behind a
    /// colon.
    pub fn named_in(&self, advice: &str) -> String {
        let Some(option) = &self.0 else { return advice.to_owned() };
        let named = format!("callstack {option} ");
        let advice = ["`", ": "].iter().fold(advice.to_owned(), |advice, before| {
            advice.replace(&format!("{before}callstack "), &format!("{before}{named}"))
        });
        match advice.strip_prefix("callstack ") {
            Some(rest) => named + rest,
            None => advice,
        }
    }
}

/// The options to change a stack and end.
fn to_write() -> StackOptions {
    StackOptions::default().state_file_frames(STATE_FILE_FRAMES)
}

fn is_stack(folder: &Path) -> bool {
    MARKS.iter().any(|mark| folder.join(mark).is_file())
}

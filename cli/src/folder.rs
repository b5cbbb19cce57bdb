//! The stack that a command uses: in a folder, or on a server.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
#[cfg(not(unix))]
use std::time::SystemTime;

use callstack_core::{Actor, Error, HolderKind, Stack, StackOptions};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::holding::own_hold;
use crate::output::note;
use crate::repository::in_main_checkout;
use crate::same_stack::SameStack;
use crate::server::ServerStack;
use crate::sessions::{self, SessionFiles};

/// The folders in which hosts keep a stack, relative to the folder of a project. The first one wins.
const USUAL: [&str; 3] = [".callstack", ".opencode/stack", ".pi/stack"];
/// The files by which a stack is recognized: its database, or the state that an earlier version or a tool has
/// left.
const MARKS: [&str; 2] = [DATABASE, "state.json"];
const DATABASE: &str = "stack.db";
/// The variable of the environment that names the stack.
pub const VARIABLE: &str = "CALLSTACK_DIR";
/// Its write-ahead log. The log is empty when no process has the database open.
const LOG: &str = "stack.db-wal";

/// Shortest time for which a change in a program that continues to run waits for a server, in milliseconds.
const SERVER_PATIENCE: u64 = 3_000;

/// The longest session whose page has what was said, in bytes.
const LONGEST_WITH_TEXTS: u64 = 32 << 20;

/// Number of frames above which `state.json` is left to processes that keep running: writing it would take
/// longer than everything else.
const STATE_FILE_FRAMES: usize = 500;

/// The stack that the person means: a given folder, or the nearest one.
pub struct StackFolder {
    given: Option<PathBuf>,
    /// The given stack is on a server.
    server: Option<ServerStack>,
    same_stack: SameStack,
    /// A session that is looked at in place of a stack.
    session: Option<SessionFiles>,
    /// The stack that was opened last.
    opened: Mutex<Option<Stack>>,
}

/// The database of a stack as a file: another file in the same place is different, even if it is a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatabaseFile {
    /// The device and the number of the file on it.
    #[cfg(unix)]
    number: (u64, u64),
    #[cfg(not(unix))]
    created: Option<SystemTime>,
}

impl StackFolder {
    /// `given`: the value of `--stack` or `CALLSTACK_DIR`. An empty value counts as none. `is_repeated`: the
    /// commands that messages advise need the value too, because it was given on the command line.
    pub fn new(given: Option<OsString>, is_repeated: bool) -> Self {
        let given = given.filter(|folder| !folder.is_empty());
        let url = given.as_ref().and_then(|given| given.to_str()).filter(|given| Stack::is_url(given));
        let server = url.map(|url| ServerStack::new(url.to_owned()));
        let named = given.as_ref().filter(|_| is_repeated).map(|folder| match &server {
            Some(server) => server.shown().into(),
            None => folder.to_string_lossy(),
        });
        let same_stack = named.map(|name| SameStack::named(&name)).unwrap_or_default();
        let given = given.filter(|_| server.is_none()).map(PathBuf::from);
        Self { given, server, same_stack, session: None, opened: Mutex::default() }
    }

    /// The same, but for looking at a session of an agent, if there is one.
    #[must_use]
    pub fn with_session(self, session: Option<SessionFiles>) -> Self {
        Self { session, ..self }
    }

    /// True if a session is looked at.
    pub fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// True if a page also has what was said: the page of a session whose texts fit into the memory.
    pub fn has_conversations(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.bytes() <= LONGEST_WITH_TEXTS)
    }

    /// Refuses to change a session.
    fn check_no_session(&self) -> Result<(), Failure> {
        let Some(session) = &self.session else { return Ok(()) };
        let message =
            format!("{} is a session of {}, which can only be looked at", session.path.display(), session.form.host());
        Err(Failure::new(Exit::Refused, "session", message).next("callstack import FILE makes it a part of a stack"))
    }

    /// The path of the folder that the caller has named, from the root of the file system, or the URL. `None`
    /// if the stack is to be searched for.
    ///
    /// # Errors
    /// If it cannot be written as text.
    pub fn named(&self) -> Result<Option<String>, Failure> {
        if let Some(server) = &self.server {
            return Ok(Some(server.url().to_owned()));
        }
        let Some(given) = &self.given else { return Ok(None) };
        let failed = |error: io::Error| Failure::of_file("find", given.display(), &error);
        let path = std::path::absolute(given).map_err(failed)?;
        let no_text = |_| Failure::new(Exit::Refused, "no_text", format!("{} is not text in UTF-8", given.display()));
        path.into_os_string().into_string().map(Some).map_err(no_text)
    }

    /// As [`StackFolder::named`], for a file that others may read: a URL is without its password.
    ///
    /// # Errors
    /// As [`StackFolder::named`].
    pub fn named_without_password(&self) -> Result<Option<String>, Failure> {
        match &self.server {
            Some(server) => Ok(Some(server.shown())),
            None => self.named(),
        }
    }

    /// The password of a server.
    #[cfg(feature = "proxy")]
    pub fn password(&self) -> Option<String> {
        self.server.as_ref().and_then(ServerStack::password)
    }

    /// The variables with which a command that this program starts finds the same stack, no matter in which
    /// folder the command works. A password is in a variable of its own, because commands print the other
    /// variable.
    ///
    /// # Errors
    /// As [`StackFolder::named`].
    pub fn variables(&self) -> Result<Vec<(&'static str, OsString)>, Failure> {
        self.variables_at(|| self.existing())
    }

    /// As [`StackFolder::variables`]; without a stack, the variables of the stack that would be made here.
    ///
    /// # Errors
    /// As [`StackFolder::named`].
    #[cfg(feature = "proxy")]
    pub fn variables_of_run(&self) -> Result<Vec<(&'static str, OsString)>, Failure> {
        let absolute = |path: PathBuf| {
            std::path::absolute(&path).map_err(|error| Failure::of_file("find", path.display(), &error))
        };
        self.variables_at(|| self.existing().or_else(|_| self.of_new()).and_then(absolute))
    }

    fn variables_at(
        &self,
        place: impl FnOnce() -> Result<PathBuf, Failure>,
    ) -> Result<Vec<(&'static str, OsString)>, Failure> {
        let place = match self.named_without_password()? {
            Some(named) => named.into(),
            None => place()?.into(),
        };
        let password =
            self.server.as_ref().and_then(ServerStack::password).map(|password| ("PGPASSWORD", password.into()));
        Ok([(VARIABLE, place)].into_iter().chain(password).collect())
    }

    /// For the messages of a command.
    pub fn same_stack(&self) -> SameStack {
        self.same_stack.clone()
    }

    /// Opens the stack to read it. No file of the stack is written: neither next to the database, nor at the
    /// end, when the write-ahead log would be moved into the database. The program ends after the command,
    /// which frees the memory faster.
    ///
    /// # Errors
    /// If there is no stack, or only the files of an earlier version; the errors of [`Stack::open`].
    pub fn open_to_read(&self) -> Result<ManuallyDrop<Stack>, Failure> {
        if let Some(session) = &self.session {
            let (opened, left_out) = sessions::open(session)?;
            left_out.into_iter().for_each(|left_out| note(&left_out));
            self.note_opened(&opened);
            return Ok(ManuallyDrop::new(opened));
        }
        if let Some(server) = &self.server {
            let opened = server.open(StackOptions::default().mirror(false))?;
            self.note_opened(&opened);
            return Ok(ManuallyDrop::new(opened));
        }
        let folder = self.existing()?;
        if !folder.join(DATABASE).is_file() {
            let message = format!("{} has files of an earlier version, and no database yet", folder.display());
            return Err(Failure::new(Exit::Failed, "not_imported", message)
                .next("a command that changes the stack imports them, and keeps the originals in before-import/"));
        }
        let opened = Stack::open(folder, StackOptions::default().mirror(false)).map_err(of_opening)?;
        self.note_opened(&opened);
        Ok(ManuallyDrop::new(opened))
    }

    /// Opens the stack to change it. In a command that `callstack work` has started, the changes are refused
    /// when the frame of the command was given to another worker; unless the command line names another
    /// stack.
    ///
    /// # Errors
    /// As [`StackFolder::open_to_read`].
    pub fn open_to_write(&self) -> Result<ChangedStack, Failure> {
        self.check_no_session()?;
        let opened = match &self.server {
            Some(server) => server.open(ChangedStack::options())?,
            None => ChangedStack::opened(&self.existing()?)?,
        };
        self.note_opened(&opened);
        Ok(self.changed(opened))
    }

    /// The stack, guarded by the hold of the worker that has started this program, unless the command line
    /// names another stack. Without such a hold a person gives the commands, and can take them back.
    fn guarded(&self, stack: Stack) -> Stack {
        match own_hold().filter(|_| self.is_of_worker()) {
            Some(hold) => stack.as_actor(&hold),
            None => stack.as_actor(Actor::new(HolderKind::Person, "")),
        }
    }

    /// True if the stack is the one that the worker has found that has started this program. The worker
    /// passes the stack on, or has found it in the same way as this program.
    fn is_of_worker(&self) -> bool {
        let passed_on = env::var_os(VARIABLE).filter(|place| !place.is_empty());
        let place = passed_on.or_else(|| Some(nearest(&working_folder().ok()?)?.into()));
        let of_worker = place.and_then(|place| Self::new(Some(place), false).named_without_password().ok().flatten());
        if !self.same_stack.is_named() {
            return true;
        }
        let Ok(named) = self.named_without_password() else { return false };
        // A folder can have several names.
        let folder = |place: Option<&String>| place.and_then(|place| fs::canonicalize(place).ok());
        let is_same_folder = || folder(named.as_ref()).is_some_and(|named| Some(named) == folder(of_worker.as_ref()));
        named == of_worker || is_same_folder()
    }

    fn changed(&self, stack: Stack) -> ChangedStack {
        ChangedStack::of(self.guarded(stack))
    }

    fn note_opened(&self, stack: &Stack) {
        stack.upkeep().repairs().iter().for_each(|repair| note(&repair.to_string()));
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(stack.clone());
    }

    /// The database that is in the folder now.
    ///
    /// # Errors
    /// As [`StackFolder::existing`]; if the file cannot be looked at.
    pub fn database_file(&self) -> Result<DatabaseFile, Failure> {
        if self.server.is_some() || self.session.is_some() {
            // The store notices when a server does not have the same stack any more.
            return Ok(DatabaseFile::default());
        }
        let path = self.existing()?.join(DATABASE);
        let data = fs::metadata(&path).map_err(|error| Failure::of_file("look at", path.display(), &error))?;
        Ok(DatabaseFile::of(&data))
    }

    /// Changes the stack in a program that continues to run: all that was opened for the change is closed
    /// again. Each call of the stack waits for other processes for at most `patience` milliseconds. `known`:
    /// the database that the program has shown.
    ///
    /// # Errors
    /// If another database is in the folder; as [`StackFolder::open_to_write`]; the errors of the change.
    pub fn change_once<T>(
        &self,
        patience: u64,
        known: DatabaseFile,
        change: impl FnOnce(&Stack) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.check_same(known)?;
        let options = ChangedStack::options().busy_timeout(patience);
        let stack = match &self.server {
            // A connection over a network takes some round trips.
            Some(server) => server.open(ChangedStack::options().busy_timeout(patience.max(SERVER_PATIENCE)))?,
            None => Stack::open(self.existing()?, options).map_err(of_opening)?,
        };
        // The folder can have been replaced before the database was opened.
        self.check_same(known)?;
        change(&self.guarded(stack))
    }

    fn check_same(&self, known: DatabaseFile) -> Result<(), Failure> {
        if self.database_file()? == known {
            return Ok(());
        }
        let message = "the folder contains another stack now";
        Err(Failure::new(Exit::Refused, "other_stack", message)
            .next("quit, and look at the stack again: `callstack watch`"))
    }

    /// Changes the stack. With `is_new` it is created if it is missing. A change that an empty stack refuses
    /// creates nothing.
    ///
    /// # Errors
    /// The errors of the change; as [`StackFolder::open_to_write`] and [`StackFolder::of_new`].
    pub fn change<T>(&self, is_new: bool, change: impl Fn(&Stack) -> Result<T, Failure>) -> Result<T, Failure> {
        self.check_no_session()?;
        if !is_new {
            let stack = self.open_to_write()?;
            return change(&stack);
        }
        let stack = match &self.server {
            Some(server) => {
                if !server.exists()? {
                    change(&Stack::in_memory())?;
                }
                server.open_or_make(ChangedStack::options())?
            }
            None => {
                let folder = self.of_new()?;
                if !is_stack(&folder) {
                    change(&Stack::in_memory())?;
                }
                ChangedStack::opened(&folder)?
            }
        };
        change(&self.changed(stack))
    }

    /// Opens the stack for a program that continues to run. `None` if there is no stack; with `is_new` it is
    /// created then.
    ///
    /// # Errors
    /// The errors of [`Stack::open`]; as [`StackFolder::of_new`].
    pub fn open_to_serve(&self, is_new: bool) -> Result<Option<Stack>, Failure> {
        if let Some(server) = &self.server {
            return match is_new || server.exists()? {
                true => Ok(Some(self.guarded(server.open_or_make(StackOptions::default())?))),
                false => Ok(None),
            };
        }
        let path = match self.existing() {
            Ok(path) => path,
            Err(_) if is_new => self.of_new()?,
            Err(_) => return Ok(None),
        };
        let stack = Stack::open(&path, StackOptions::default()).map_err(of_opening)?;
        Ok(Some(self.guarded(stack)))
    }

    /// Checks, without a change, that a program that continues to run can use the stack, or make one.
    ///
    /// # Errors
    /// As [`StackFolder::open_to_serve`], as far as that can be known before.
    #[cfg(feature = "proxy")]
    pub fn check_usable(&self) -> Result<(), Failure> {
        if self.server.is_some() {
            return self.open_to_serve(false).map(drop);
        }
        let (path, is_there) = match self.existing() {
            Ok(path) => (path, true),
            Err(_) => (self.of_new()?, false),
        };
        let failed = |error: io::Error| Failure::of_file("write", path.display(), &error);
        let database = path.join(DATABASE);
        if is_there && database.exists() {
            std::fs::OpenOptions::new().append(true).open(&database).map_err(failed)?;
            self.open_to_read().map(|opened| drop(ManuallyDrop::into_inner(opened)))?;
        }
        let absolute = std::path::absolute(&path).map_err(failed)?;
        let folder = absolute.ancestors().find(|folder| folder.exists()).unwrap_or(&absolute);
        tempfile::tempfile_in(folder).map(drop).map_err(failed)
    }

    /// Creates the stack that a history describes. It is made in a hidden folder, and moved to its own folder
    /// when it is complete, so that a history that is refused leaves nothing.
    ///
    /// # Errors
    /// If there is a stack already; if the events do not fit together; as [`StackFolder::of_new`].
    pub fn rebuild(&self, history: impl BufRead) -> Result<ChangedStack, Failure> {
        if let Some(server) = &self.server {
            return server.rebuild(history).map(ChangedStack::of).map_err(of_rebuilding);
        }
        let folder = self.of_new()?;
        let check_free = || match is_stack(&folder) {
            true => {
                let message = format!("{} contains a stack already", folder.display());
                Err(Failure::new(Exit::Refused, "not_empty", message).next("choose another folder for the new stack"))
            }
            false => Ok(()),
        };
        check_free()?;
        let failed = |error: io::Error| Failure::of_file("make a stack in", folder.display(), &error);
        // It is made within the folder if the folder exists, because a mounted folder is on another file
        // system than its surroundings.
        let path = std::path::absolute(&folder).map_err(failed)?;
        let place = path.ancestors().find(|place| place.is_dir()).unwrap_or(&path);
        let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(place).map_err(failed)?;
        let made = unfinished.path().join("stack");
        Stack::rebuild(&made, history, StackOptions::default().mirror(false))
            .and_then(Stack::close)
            .map_err(of_rebuilding)?;
        check_free()?;
        move_into(&made, &folder).map_err(|error| check_free().err().unwrap_or_else(|| failed(error)))?;
        ChangedStack::opened(&folder).map(ChangedStack::of)
    }

    /// The path of the folder in which `--new` creates a stack, unless the folder has one: the given folder,
    /// else `.callstack` in the working folder; in a worktree of a git repository, in the main checkout.
    ///
    /// # Errors
    /// If no folder is given, and commands in the working folder use another stack, which the new one would
    /// hide.
    fn of_new(&self) -> Result<PathBuf, Failure> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        let here = working_folder()?;
        match nearest(&here) {
            Some(found) if found != new_in(&here) => {
                let message = format!("a new stack here would hide the one in {}", found.display());
                let step = format!("leave out --new to use that one, or name the new one: --stack {} --new", USUAL[0]);
                Err(Failure::new(Exit::Refused, "hides_stack", message).next(step))
            }
            _ if in_main_checkout(&here).is_some() => Ok(new_in(&here)),
            _ => Ok(USUAL[0].into()),
        }
    }

    /// The stack's name for people: the path of its folder, or its URL without a password.
    ///
    /// # Errors
    /// As [`StackFolder::existing`].
    pub fn shown(&self) -> Result<String, Failure> {
        if let Some(session) = &self.session {
            return Ok(session.path.display().to_string());
        }
        match &self.server {
            Some(server) => Ok(server.shown()),
            None => Ok(self.existing()?.display().to_string()),
        }
    }

    /// True if the stack is on a server.
    pub fn is_on_server(&self) -> bool {
        self.server.is_some()
    }

    /// The folder with the files of the stack. `None`: it is on a server.
    ///
    /// # Errors
    /// As [`StackFolder::existing`].
    pub fn files(&self) -> Result<Option<PathBuf>, Failure> {
        if self.server.is_some() || self.session.is_some() { Ok(None) } else { self.existing().map(Some) }
    }

    /// True if there is a stack, as far as can be told without opening it.
    pub fn has_stack(&self) -> bool {
        self.server.is_some() || self.session.is_some() || self.existing().is_ok()
    }

    /// The path of the stack's folder, if the stack is not on a server.
    ///
    /// # Errors
    /// If there is none, with what to do next.
    pub fn existing(&self) -> Result<PathBuf, Failure> {
        self.check_no_session()?;
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
        let here = working_folder()?;
        nearest(&here).ok_or_else(|| {
            let main =
                in_main_checkout(&here).map(|twin| format!(", nor in {}", twin.main.display())).unwrap_or_default();
            let message = format!("there is no stack in {} or above it{main} ({})", here.display(), USUAL.join(", "));
            missing(message)
                .next("name its folder with --stack or CALLSTACK_DIR, or begin one here: callstack push --new TITLE, callstack plan --new --root TITLE, or callstack import --new FILE")
        })
    }
}

impl DatabaseFile {
    #[cfg(unix)]
    fn of(data: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;

        Self { number: (data.dev(), data.ino()) }
    }

    #[cfg(not(unix))]
    fn of(data: &fs::Metadata) -> Self {
        Self { created: data.created().ok() }
    }
}

/// Moves a closed stack to another folder, which can exist. Its database is in one file, and does not replace
/// a database: another process can have begun a stack there.
fn move_into(from: &Path, to: &Path) -> io::Result<()> {
    if !to.exists() {
        if let Some(above) = to.parent() {
            fs::create_dir_all(above)?;
        }
        return fs::rename(from, to);
    }
    if fs::metadata(from.join(LOG)).is_ok_and(|log| log.len() > 0) {
        return Err(io::Error::other("its write-ahead log could not be moved into the database"));
    }
    tempfile::TempPath::try_from_path(from.join(DATABASE))?
        .persist_noclobber(to.join(DATABASE))
        .map_err(|error| error.error)
}

fn working_folder() -> Result<PathBuf, Failure> {
    env::current_dir().map_err(|error| Failure::of_file("find", "the working folder", &error))
}

/// The stack that commands in a folder use: in the folder, or above it. A worktree of a git repository
/// without a stack of its own uses the stack of the main checkout.
fn nearest(here: &Path) -> Option<PathBuf> {
    let stack_in = |folder: &Path| USUAL.map(|usual| folder.join(usual)).into_iter().find(|path| is_stack(path));
    let above = |folder: &Path| folder.ancestors().find_map(stack_in);
    let Some(twin) = in_main_checkout(here) else { return above(here) };
    let is_within = |folder: &&Path| folder.starts_with(&twin.worktree);
    let own = here.ancestors().take_while(is_within).find_map(stack_in);
    own.or_else(|| above(&twin.folder)).or_else(|| above(&twin.worktree))
}

/// Where a stack is made for a folder. A repository has one stack, so the stack of a worktree is in the main
/// checkout.
fn new_in(here: &Path) -> PathBuf {
    in_main_checkout(here).map_or_else(|| here.to_owned(), |twin| twin.main).join(USUAL[0])
}

/// The failure of making a stack from a history. A wrong history is the person's mistake.
fn of_rebuilding(error: Error) -> Failure {
    match error {
        Error::Json { .. } | Error::History { .. } | Error::NotEmpty { .. } => {
            Failure::new(Exit::Refused, error.code(), error.to_string())
        }
        other => other.into(),
    }
}

/// The failure of opening a stack. If it was busy, the command has not begun.
fn of_opening(error: Error) -> Failure {
    Failure::from(error).before_change()
}

/// The beginning of the name of the folder in which a stack is made. It is left only if the program is
/// killed.
const UNFINISHED: &str = ".callstack-unfinished-";

/// A stack that a command changes. At the end of the command the stack is left to the end of the program.
pub struct ChangedStack(ManuallyDrop<Stack>);

impl ChangedStack {
    fn opened(folder: &Path) -> Result<Stack, Failure> {
        Stack::open(folder, Self::options()).map_err(of_opening)
    }

    fn of(stack: Stack) -> Self {
        Self(ManuallyDrop::new(stack))
    }

    fn options() -> StackOptions {
        StackOptions::default().state_file_frames(STATE_FILE_FRAMES)
    }
}

impl Deref for ChangedStack {
    type Target = Stack;

    fn deref(&self) -> &Stack {
        &self.0
    }
}

impl Drop for ChangedStack {
    fn drop(&mut self) {
        Stack::clone(&self.0).leave();
    }
}

fn is_stack(folder: &Path) -> bool {
    MARKS.iter().any(|mark| folder.join(mark).is_file())
}

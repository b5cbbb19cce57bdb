//! Where the hosts of agents keep their sessions.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use callstack_core::transcript::{Session, TranscriptForm};

use super::file::{is_of_program, leave_out_copies, open, plain_name};
use super::opencode::{self, Kept};
use crate::clock::now;
use crate::host_files::HostFiles;
use crate::repository::in_main_checkout;

/// How much of a file is read to learn its folder, in bytes.
const FOLDER_WITHIN: u64 = 1 << 20;

/// A session is over if it was not written for this time.
pub(super) const SILENCE: Duration = Duration::from_secs(120);

/// A session that a host keeps.
#[derive(Debug, Clone)]
pub struct FoundSession {
    pub form: TranscriptForm,
    pub path: PathBuf,
    /// Its ID, from the name of its file.
    pub id: String,
    /// When it was written last, in milliseconds since the Unix epoch, and how long it is.
    pub changed: u64,
    pub bytes: u64,
    /// The folder in which it has begun, if the place of its file tells that.
    pub folder: Option<PathBuf>,
    /// The place where OpenCode keeps it, together with other sessions.
    pub(super) kept: Option<Kept>,
}

impl FoundSession {
    /// A shorter beginning of an ID names no session.
    pub const SHORTEST_ID: usize = 4;

    /// True if the session has this ID, or an ID that begins with it.
    pub fn has_id(&self, id: &str) -> bool {
        let id = id.rsplit_once('/').map_or(id, |(_, id)| id);
        id.len() >= Self::SHORTEST_ID && self.id.starts_with(id) || self.id == id
    }

    /// The session in a file, from the name and place of the file.
    pub fn of(form: TranscriptForm, path: PathBuf) -> Option<Self> {
        let name = Path::new(plain_name(&path)).file_stem()?.to_str()?;
        let id = match form {
            TranscriptForm::Copilot => path.parent()?.file_name()?.to_str()?,
            // The ID comes after the time.
            TranscriptForm::Codex => name.get(name.len().checked_sub(36)?..)?,
            TranscriptForm::Gemini => name.rsplit_once('-')?.1,
            TranscriptForm::Pi => name.rsplit_once('_')?.1,
            _ => name,
        };
        let id = id.to_owned();
        let data = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let changed = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let changed = u64::try_from(changed.as_millis()).ok()?;
        Some(Self { form, path, id, changed, bytes: data.len(), folder: None, kept: None })
    }

    /// True if the file belongs to a subagent. Such a file is one of the files of its session.
    pub fn is_of_agent(&self) -> bool {
        self.form == TranscriptForm::Codex && is_of_program(&self.path)
    }

    /// True if something was written a short time ago.
    pub fn is_written(&self) -> bool {
        is_recent(self.changed)
    }

    /// Its key in an index: one file can have several sessions.
    pub fn key(&self) -> String {
        match self.form {
            TranscriptForm::OpenCode => format!("{}#{}", self.path.display(), self.id),
            _ => self.path.display().to_string(),
        }
    }

    /// What the beginning of the file tells about the session. `None`: nothing.
    pub fn head(&self) -> Option<Session> {
        let mut session = Session::new(self.form, &self.id);
        let reader = BufReader::new(open(&self.path, 0).ok()?.take(FOLDER_WITHIN));
        for line in reader.split(b'\n').take(40) {
            session.follow_line(0, &line.ok()?);
            if session.facts().folder.is_some() {
                break;
            }
        }
        Some(session)
    }
}

/// True if a time in milliseconds since the Unix epoch is a short time ago.
pub(super) fn is_recent(time: u64) -> bool {
    now().saturating_sub(time) < SILENCE.as_millis() as u64
}

/// The sessions of one host or of all hosts, without the sessions of subagents that have files of their own.
pub fn all(form: Option<TranscriptForm>) -> Vec<FoundSession> {
    use TranscriptForm::{Claude, Codex, Copilot, Gemini, OpenCode, Pi, Qwen};
    let wanted = |own: TranscriptForm| form.is_none_or(|form| form == own);
    let hosts = [
        (Claude, HostFiles::Claude, "projects", 2),
        (Codex, HostFiles::Codex, "sessions", 4),
        (Codex, HostFiles::Codex, "archived_sessions", 1),
        (Gemini, HostFiles::Gemini, "tmp", 3),
        (Qwen, HostFiles::Qwen, "projects", 3),
        (Copilot, HostFiles::Copilot, "session-state", 2),
        (Pi, HostFiles::Pi, "sessions", 2),
    ];
    let mut found = if wanted(OpenCode) { opencode::sessions() } else { Vec::new() };
    for (form, host, name, depth) in hosts.into_iter().filter(|(form, ..)| wanted(*form)) {
        let Some(folder) = host.folder() else { continue };
        let mut paths = Vec::new();
        files(&folder.join(name), depth, &mut paths);
        leave_out_copies(&mut paths);
        found.extend(
            paths.into_iter().filter(|path| is_main(form, path)).filter_map(|path| FoundSession::of(form, path)),
        );
    }
    found
}

/// As [`all`]; the session that was written last comes first.
pub fn latest_first(form: Option<TranscriptForm>) -> Vec<FoundSession> {
    let mut found = all(form);
    found.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.path.cmp(&b.path)));
    found
}

/// The files at most `depth` levels below a folder. Links are not followed.
pub fn files(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 1 => files(&entry.path(), depth - 1, found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

/// True if a file is the own file of a session, by the name and place of the file.
fn is_main(form: TranscriptForm, path: &Path) -> bool {
    let name = plain_name(path);
    let is_below = |folder: &str| path.parent().is_some_and(|parent| parent.ends_with(folder));
    match form {
        TranscriptForm::Claude => name.ends_with(".jsonl") && !name.starts_with("agent-"),
        TranscriptForm::Codex => name.starts_with("rollout-") && name.ends_with(".jsonl"),
        TranscriptForm::Gemini => name.starts_with("session-") && name.ends_with(".jsonl") && is_below("chats"),
        TranscriptForm::Qwen => name.ends_with(".jsonl") && is_below("chats"),
        TranscriptForm::Copilot => name == "events.jsonl",
        _ => name.ends_with(".jsonl"),
    }
}

/// The folder of the project: the folder of the repository, else the working folder.
pub fn project_folder() -> PathBuf {
    let working = env::current_dir().unwrap_or_default();
    let checkout = working.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned);
    checkout.unwrap_or(working)
}

/// True if a session was begun in a folder of the project, or in another checkout of its repository.
pub fn is_of_project(found: &FoundSession, project: &Path) -> bool {
    let told = || found.head().and_then(|session| session.facts().folder.clone()).map(PathBuf::from);
    let folder = found.folder.clone().or_else(told).or_else(|| noted_folder(found));
    let Some(folder) = folder else { return false };
    let is_below = |project: &Path| folder.starts_with(project);
    let real = fs::canonicalize(project).ok();
    is_below(project)
        || real.is_some_and(|real| is_below(&real))
        || in_main_checkout(&folder).is_some_and(|twin| twin.folder.starts_with(project))
}

/// Gemini CLI notes the folder of a project next to its chats.
fn noted_folder(found: &FoundSession) -> Option<PathBuf> {
    let noted = found.path.parent()?.parent()?.join(".project_root");
    fs::read_to_string(noted).ok().map(|folder| PathBuf::from(folder.trim()))
}

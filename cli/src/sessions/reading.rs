//! The files of a session, and how they are read.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use callstack_core::text::from_json;
use callstack_core::transcript::{AgentFile, Session, SessionFile, TranscriptForm};
use serde_json::Value;

use super::file::{HEAD, first_line, is_compressed, leave_out_copies, open, plain_name};
use super::found::{FoundSession, SILENCE, files, is_recent};
use super::opencode::{Kept, Stamp};
use crate::exit::Exit;
use crate::failure::Failure;

/// The longest document that is read, in bytes.
const LONGEST_DOCUMENT: u64 = 1 << 30;
/// The length of a part of a compressed file that is kept, in bytes.
const AHEAD: u64 = 4 << 20;
/// The length of a part of a file that is read at once, in bytes.
const BUFFER: usize = 1 << 15;
/// The maximum number of threads that are looked at to find those of subagents.
const MOST_THREADS: usize = 5_000;

/// The files of a session: its own file, and the files of its subagents.
#[derive(Debug, Clone)]
pub struct SessionFiles {
    pub form: TranscriptForm,
    pub path: PathBuf,
    /// Its ID, from the name of the file.
    pub id: String,
    /// The place where OpenCode keeps it, if it does not have a file of its own.
    kept: Option<Kept>,
    /// True if the caller says that no process writes the session any more, even if it was written a short
    /// time ago.
    is_over: bool,
}

/// How far each file was read.
#[derive(Debug, Default)]
pub struct Progress {
    /// The files of subagents that are known, with their numbers.
    files: Vec<(PathBuf, usize, u64)>,
    offset: u64,
    /// The length of all of them when they were read last, and whether the session was over.
    length: u64,
    stamp: Option<Stamp>,
    is_over: bool,
}

/// A file that is open only while a part of it is read: a session can have more subagents than a process may
/// have open files.
struct PartsOfFile {
    path: PathBuf,
    offset: u64,
    /// Decompressed bytes that were read before they were needed. A compressed file is decompressed from its
    /// beginning each time.
    ahead: VecDeque<u8>,
}

impl PartsOfFile {
    fn new(path: &Path, offset: u64) -> Self {
        Self { path: path.to_owned(), offset, ahead: VecDeque::new() }
    }
}

impl Read for PartsOfFile {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        if !is_compressed(&self.path) {
            let read = open(&self.path, self.offset)?.read(part)?;
            self.offset += read as u64;
            return Ok(read);
        }
        if self.ahead.is_empty() {
            let mut more = Vec::new();
            open(&self.path, self.offset)?.take(AHEAD).read_to_end(&mut more)?;
            self.offset += more.len() as u64;
            self.ahead = more.into();
        }
        self.ahead.read(part)
    }
}

/// The form of a session in a file. `None`: the form is not known.
pub fn form_of(path: &Path) -> Option<TranscriptForm> {
    // A pipe can be read only once.
    if !path.is_file() {
        return None;
    }
    let mut reader = BufReader::new(open(path, 0).ok()?.take(HEAD));
    let mut line = Vec::new();
    for _ in 0..8 {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            break;
        }
        if let Some(form) = TranscriptForm::of_line(&line) {
            return Some(form);
        }
    }
    // A document of several lines.
    let text = fs::read_to_string(path).ok().filter(|text| text.trim_start().starts_with('{'))?;
    Session::of_document(&text, "", None).map(|session| session.form())
}

impl SessionFiles {
    /// The session in a file.
    ///
    /// # Errors
    /// If it is not a session of a known form.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        match form_of(path) {
            Some(form) => Self::of_form(form, path),
            None => {
                let message = format!("{} is not a session of a known agent", path.display());
                let known: Vec<&str> = TranscriptForm::ALL.iter().map(|form| form.as_str()).collect();
                Err(Failure::new(Exit::Refused, "no_session", message).next(format!("known are: {}", known.join(", "))))
            }
        }
    }

    pub fn of_form(form: TranscriptForm, path: &Path) -> Result<Self, Failure> {
        let path = std::path::absolute(path).map_err(|error| Failure::of_file("find", path.display(), &error))?;
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let id = match form.is_document() {
            // Runs of one task have files with the same name.
            true => format!(
                "{name}-{:08x}",
                path.display()
                    .to_string()
                    .bytes()
                    .fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
            ),
            false => FoundSession::of(form, path.clone()).map_or(name, |found| found.id),
        };
        Ok(Self { form, path, id, kept: None, is_over: false })
    }

    /// A session that a host keeps.
    pub fn of_found(found: &FoundSession) -> Self {
        let kept = found.kept.clone();
        Self { form: found.form, path: found.path.clone(), id: found.id.clone(), kept, is_over: false }
    }

    /// The same, for a caller that knows that no process writes the session any more.
    #[must_use]
    pub fn over(self) -> Self {
        Self { is_over: true, ..self }
    }

    /// A session. Nothing of it has been read yet.
    pub fn session(&self) -> Session {
        Session::new(self.form, &self.id)
    }

    /// Reads what was added since the last time.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn read_on(&self, session: &mut Session, progress: &mut Progress) -> Result<(), Failure> {
        if let Some(kept) = &self.kept {
            return self.read_kept(kept, session, progress);
        }
        let known = [&self.path].into_iter().chain(progress.files.iter().map(|(path, ..)| path));
        let is_over = self.is_over || !known.clone().any(|path| is_written(path));
        let length: u64 = known.filter_map(|path| path.metadata().ok()).map(|data| data.len()).sum();
        if (length, is_over) == (progress.length, progress.is_over) && length > 0 {
            return Ok(());
        }
        (progress.length, progress.is_over) = (length, is_over);
        let failed = |error: io::Error| Failure::of_file("read", self.path.display(), &error);
        for (path, agent) in self.agents(session) {
            if !progress.files.iter().any(|(known, ..)| *known == path) {
                let number = session.add_agent(agent);
                progress.files.push((path, number, 0));
            }
        }
        let buffered = |reader: Box<dyn Read>| BufReader::with_capacity(BUFFER, reader);
        let own = open(&self.path, progress.offset).map_err(failed)?;
        let mut read = vec![SessionFile::new(0, buffered(own), progress.offset)];
        for (path, number, offset) in &progress.files {
            let parts = Box::new(PartsOfFile::new(path, *offset));
            read.push(SessionFile::new(*number, buffered(parts), *offset));
        }
        session.follow_files(&mut read, is_over).map_err(failed)?;
        progress.offset = read[0].offset();
        for (known, file) in progress.files.iter_mut().zip(&read[1..]) {
            known.2 = file.offset();
        }
        Ok(())
    }

    /// Reads a session of OpenCode, unless it has not changed since the last time.
    fn read_kept(&self, kept: &Kept, session: &mut Session, progress: &mut Progress) -> Result<(), Failure> {
        let stamp = kept.stamp(&self.id)?;
        let is_over = self.is_over || !is_recent(stamp.written);
        if progress.stamp == Some(stamp) && is_over == progress.is_over {
            return Ok(());
        }
        (progress.stamp, progress.is_over) = (Some(stamp), is_over);
        let content = kept.read(&self.id)?;
        let mut messages: Vec<(usize, Value)> = content.messages.into_iter().map(|message| (0, message)).collect();
        for (child, own) in content.children {
            let name = PathBuf::from(child.get("id").and_then(Value::as_str).unwrap_or_default());
            let known = progress.files.iter().find(|(known, ..)| *known == name).map(|(_, number, _)| *number);
            let number = known.unwrap_or_else(|| {
                let number = session.add_child(&child);
                progress.files.push((name, number, 0));
                number
            });
            messages.extend(own.into_iter().map(|message| (number, message)));
        }
        session.follow_messages(&content.session, &messages, is_over);
        Ok(())
    }

    /// The whole session as it is now. `entries`: see [`Session::with_entries`].
    ///
    /// # Errors
    /// The errors of reading.
    pub fn read(&self, entries: Option<Option<String>>) -> Result<Session, Failure> {
        self.read_now(entries).map(|(session, _)| session)
    }

    /// As [`SessionFiles::read`], and whether a process writes one of the files.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn read_now(&self, entries: Option<Option<String>>) -> Result<(Session, bool), Failure> {
        if self.is_document() {
            return Ok((self.document(entries)?, is_written(&self.path)));
        }
        let session = self.session();
        let mut session = match entries {
            Some(of) => session.with_entries(of),
            None => session,
        };
        let mut progress = Progress::default();
        self.read_on(&mut session, &mut progress)?;
        Ok((session, !progress.is_over))
    }

    /// True if the session is one JSON document.
    pub fn is_document(&self) -> bool {
        self.kept.is_none()
            && (self.form.is_document() || self.path.extension().is_some_and(|extension| extension == "json"))
    }

    /// True if it can be read as one JSON document, no matter in which form it is kept.
    pub fn has_document(&self) -> bool {
        self.kept.is_some() || self.is_document()
    }

    fn document(&self, entries: Option<Option<String>>) -> Result<Session, Failure> {
        Session::of_document(&self.document_text()?, &self.id, entries).ok_or_else(|| {
            let message = format!("{} cannot be read: it is cut, or is not a session", self.path.display());
            Failure::new(Exit::Failed, "no_session", message)
        })
    }

    /// The text of the document that the session is.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn document_text(&self) -> Result<String, Failure> {
        if let Some(kept) = &self.kept {
            return Ok(kept.read(&self.id)?.document().to_string());
        }
        let failed = |error: io::Error| Failure::of_file("read", self.path.display(), &error);
        let mut bytes = Vec::new();
        File::open(&self.path).map_err(failed)?.take(LONGEST_DOCUMENT).read_to_end(&mut bytes).map_err(failed)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Its own file, and the files of its subagents.
    pub fn paths(&self) -> Vec<PathBuf> {
        let agents = self.agents(&self.session());
        [self.path.clone()].into_iter().chain(agents.into_iter().map(|(path, _)| path)).collect()
    }

    /// The file with this number.
    pub fn file<'a>(&'a self, progress: &'a Progress, number: usize) -> &'a Path {
        let agent = progress.files.iter().find(|(_, known, _)| *known == number);
        agent.map_or(&self.path, |(path, ..)| path)
    }

    /// The length of its files, in bytes.
    pub fn bytes(&self) -> u64 {
        if let Some(kept) = &self.kept {
            return kept.read(&self.id).map_or(0, |content| content.bytes());
        }
        self.paths().iter().filter_map(|path| path.metadata().ok()).map(|data| data.len()).sum()
    }

    /// The files of the subagents that exist now.
    fn agents(&self, session: &Session) -> Vec<(PathBuf, AgentFile)> {
        let mut found = match self.form {
            TranscriptForm::Claude => self.agents_of_claude(),
            TranscriptForm::Codex => self.threads(&session.facts().id),
            TranscriptForm::Gemini => self.agents_of_gemini(),
            _ => Vec::new(),
        };
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    fn agents_of_claude(&self) -> Vec<(PathBuf, AgentFile)> {
        let mut paths = Vec::new();
        files(&self.path.with_extension("").join("subagents"), 4, &mut paths);
        let beside = self.path.parent().map(|folder| {
            let mut beside = Vec::new();
            files(folder, 1, &mut beside);
            beside.retain(|path| is_agent(path).is_some() && names_session(path, &self.id));
            beside
        });
        paths.extend(beside.into_iter().flatten());
        let agent = |path: PathBuf| {
            let id = is_agent(&path)?;
            let meta = fs::read_to_string(path.with_extension("meta.json")).unwrap_or_default();
            let meta: Value = from_json(&meta).unwrap_or_default();
            let text = |key: &str| meta.get(key).and_then(Value::as_str).map(str::to_owned);
            Some((path, AgentFile { id, call: text("toolUseId"), title: text("description") }))
        };
        paths.into_iter().filter_map(agent).collect()
    }

    /// The subagents have a folder with the ID of their session.
    fn agents_of_gemini(&self) -> Vec<(PathBuf, AgentFile)> {
        let Some(folder) = self.path.parent() else { return Vec::new() };
        let mut paths = Vec::new();
        files(folder, 2, &mut paths);
        // The name of the session's own file has the beginning of its ID.
        let is_of_session = |path: &PathBuf| {
            let name = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
            path.parent() != Some(folder) && name.is_some_and(|name| name.starts_with(&self.id))
        };
        paths.retain(is_of_session);
        let agent = |path: PathBuf| {
            let id = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.to_owned();
            Some((path, AgentFile { id, ..AgentFile::default() }))
        };
        paths.into_iter().filter_map(agent).collect()
    }

    /// The threads that this thread or one of its threads has started. They are among all other threads.
    fn threads(&self, id: &str) -> Vec<(PathBuf, AgentFile)> {
        let mut known = vec![if id.is_empty() { self.id.clone() } else { id.to_owned() }];
        // The folders of the days from the day of this thread on.
        let of_days = self.path.ancestors().nth(4).filter(|folder| folder.ends_with("sessions"));
        let Some(root) = of_days.or_else(|| self.path.parent()) else { return Vec::new() };
        let mut paths = Vec::new();
        files(root, if of_days.is_some() { 4 } else { 1 }, &mut paths);
        paths.retain(|path| path > &self.path && plain_name(path).ends_with(".jsonl"));
        leave_out_copies(&mut paths);
        paths.sort();
        let mut found = Vec::new();
        for path in paths.into_iter().take(MOST_THREADS) {
            let Some((thread, parent)) = spawned(&path) else { continue };
            if known.contains(&parent) {
                known.push(thread.clone());
                found.push((path, AgentFile { id: thread, ..AgentFile::default() }));
            }
        }
        if !found.is_empty() {
            let callers: Vec<PathBuf> =
                [self.path.clone()].into_iter().chain(found.iter().map(|(path, _)| path.clone())).collect();
            callers.iter().for_each(|caller| note_calls(caller, &mut found));
        }
        found
    }
}

/// The thread in a file of Codex that another thread has started, and that other thread.
pub(super) fn spawned(path: &Path) -> Option<(String, String)> {
    let head = first_line(path)?;
    let payload = head.get("payload")?;
    let parent = payload.pointer("/source/subagent/thread_spawn/parent_thread_id");
    let parent = parent.or_else(|| payload.get("parent_thread_id")).and_then(Value::as_str)?;
    Some((payload.get("id")?.as_str()?.to_owned(), parent.to_owned()))
}

/// Notes the calls in a thread of Codex that have started other threads.
fn note_calls(caller: &Path, threads: &mut [(PathBuf, AgentFile)]) {
    let Ok(file) = open(caller, 0) else { return };
    for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
        let text = String::from_utf8_lossy(&line);
        let named = threads
            .iter_mut()
            .filter(|(path, thread)| path != caller && thread.call.is_none() && text.contains(&thread.id));
        for (_, thread) in named {
            let payload = from_json::<Value>(&text).ok().and_then(|mut line| line.get_mut("payload").map(Value::take));
            let kind = payload.as_ref().and_then(|payload| payload.get("type")?.as_str());
            let key = match kind {
                Some("function_call_output" | "collab_agent_spawn_end") => "call_id",
                Some("sub_agent_activity") => "event_id",
                _ => continue,
            };
            thread.call = payload.as_ref().and_then(|payload| payload.get(key)?.as_str()).map(str::to_owned);
        }
    }
}

/// The ID of a subagent of Claude Code in a file. A copy of the conversation for a summary or a suggestion
/// does not count as a subagent.
fn is_agent(path: &Path) -> Option<String> {
    let id = path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
    let is_copy = ["acompact-", "aprompt_suggestion-", "aside_question-"].iter().any(|copy| id.starts_with(copy));
    (!is_copy).then(|| id.to_owned())
}

/// True if a file of a subagent names this session in its first line.
fn names_session(path: &Path, id: &str) -> bool {
    first_line(path).is_some_and(|line| line.get("sessionId").and_then(Value::as_str) == Some(id))
}

/// True if a file was written a short time ago.
fn is_written(path: &Path) -> bool {
    let changed = path.metadata().and_then(|data| data.modified());
    changed.is_ok_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|silence| silence < SILENCE))
}

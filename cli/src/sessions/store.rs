//! A session as the store of a stack: its events come from the files of the session, as they grow. Nothing
//! can be written into it.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use callstack_core::store::StoredLog;
use callstack_core::text::one_line;
use callstack_core::transcript::{LeftOut, Session};
use callstack_core::{Error, Event, EventQuery, Handle, HistoryReader, LogReader, MemoryStore, Result, Store};

use super::reading::{Progress, SessionFiles};
use crate::failure::Failure;
use crate::output::count;

/// The maximum number of lines whose places are given, if these lines were left out.
const PLACES: usize = 3;

/// The events of a session.
pub struct SessionStore {
    followed: Arc<Followed>,
    events: MemoryStore,
}

struct Followed {
    files: SessionFiles,
    reading: Mutex<(Session, Progress)>,
    log: Mutex<KeptLogs>,
}

/// The entries of logs that were read, with the tree at a revision: the entries of one frame, or of all
/// frames when a second frame was asked for.
#[derive(Default)]
struct KeptLogs {
    revision: u64,
    asked: Option<Handle>,
    is_whole: bool,
    entries: HashMap<Handle, Vec<String>>,
}

impl Followed {
    fn reading(&self) -> MutexGuard<'_, (Session, Progress)> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The events since the last call.
    fn news(&self) -> Result<Vec<Event>> {
        let mut reading = self.reading();
        let (session, progress) = &mut *reading;
        if !self.files.is_document() {
            self.files.read_on(session, progress).map_err(|failure| self.unreadable(&failure))?;
        }
        Ok(session.take_events())
    }

    fn unreadable(&self, failure: &Failure) -> Error {
        Error::io("read", self.files.path.display().to_string(), failure.message())
    }

    /// Passes the entries of the log of a frame to `each`. The session is read again for them.
    fn with_log<T>(&self, frame: Handle, each: impl FnOnce(&[String]) -> T) -> Result<T> {
        let (revision, id) = {
            let reading = self.reading();
            let tree = reading.0.tree();
            let id = (frame.index() < tree.len()).then(|| tree.node(frame).record().session_id.clone());
            (tree.revision(), id.unwrap_or_default())
        };
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.revision != revision {
            *log = KeptLogs { revision, ..KeptLogs::default() };
        }
        if !log.is_whole && log.asked != Some(frame) {
            log.is_whole = log.asked.is_some();
            let of = Some(id).filter(|_| !log.is_whole);
            let mut read = self.files.read(Some(of)).map_err(|failure| self.unreadable(&failure))?;
            log.entries.clear();
            for (at, entry) in read.take_entries() {
                // If the same files were read at other times, the frames can have other handles.
                let own = self.reading().0.tree().by_id(&read.tree().node(at).record().session_id);
                if let Some(own) = own {
                    log.entries.entry(own).or_default().push(entry.to_string());
                }
            }
            log.asked = Some(frame);
        }
        Ok(each(log.entries.get(&frame).map_or(&[], Vec::as_slice)))
    }
}

impl SessionStore {
    /// The store of a session, with the part of the session that exists now.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn open(files: SessionFiles) -> std::result::Result<Self, Failure> {
        let session = if files.is_document() { files.read(None)? } else { files.session() };
        let followed = Followed { files, reading: Mutex::new((session, Progress::default())), log: Mutex::default() };
        let mut store = Self { followed: Arc::new(followed), events: MemoryStore::new() };
        store.catch_up()?;
        Ok(store)
    }

    /// Which lines were not understood, if there are any.
    pub fn left_out(&self) -> Option<String> {
        let reading = self.followed.reading();
        let (session, progress) = &*reading;
        let facts = session.facts();
        let place = |left_out: &LeftOut| {
            let path = self.followed.files.file(progress, left_out.file);
            format!("at byte {} of {}", left_out.offset, path.display())
        };
        let places: Vec<String> = facts.left_out.iter().take(PLACES).map(place).collect();
        let places = if places.is_empty() { String::new() } else { format!(", such as {}", places.join(", ")) };
        let lines = count(facts.unknown, "line");
        let unknown =
            (facts.unknown > 0).then(|| format!("left out, because they were not understood: {lines}{places}"));
        let kinds: Vec<String> = facts.new_kinds.iter().map(|(kind, number)| format!("{kind} ({number})")).collect();
        let new = (!kinds.is_empty()).then(|| format!("lines of new kinds, left out: {}", one_line(&kinds.join(", "))));
        let told: Vec<String> = unknown.into_iter().chain(new).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    fn catch_up(&mut self) -> Result<bool> {
        let news = self.followed.news()?;
        self.events.append(&news)?;
        self.events.commit()?;
        Ok(!news.is_empty())
    }

    fn read_only(&self) -> Error {
        Error::read_only(self.followed.files.path.display().to_string())
    }
}

impl Store for SessionStore {
    fn begin(&mut self, _: Duration) -> Result<()> {
        Err(self.read_only())
    }

    fn read(
        &mut self,
        query: &EventQuery,
        patience: Duration,
        each: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        self.events.read(query, patience, each)
    }

    fn reader(&self) -> Option<Box<dyn HistoryReader>> {
        self.events.reader()
    }

    fn append(&mut self, _: &[Event]) -> Result<()> {
        Err(self.read_only())
    }

    fn logs(&self) -> Option<Arc<dyn LogReader>> {
        Some(self.followed.clone())
    }

    fn commit(&mut self) -> Result<()> {
        Err(self.read_only())
    }

    fn rollback(&mut self) {}

    fn has_news(&mut self, _: Duration) -> Result<bool> {
        self.catch_up()
    }

    fn sync(&mut self, _: Duration) -> Result<()> {
        Ok(())
    }
}

impl LogReader for Followed {
    fn count(&self, frame: Handle, _: Duration) -> Result<usize> {
        self.with_log(frame, <[String]>::len)
    }

    fn read(
        &self,
        frame: Handle,
        numbers: RangeInclusive<usize>,
        _: Duration,
        each: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        self.with_log(frame, |entries| {
            let wanted = entries.iter().zip(1..).filter(|(_, number)| numbers.contains(number));
            wanted.map(|(entry, _)| entry).try_for_each(|entry| each(entry))
        })?
    }

    fn list(&self, _: Duration) -> Result<Vec<StoredLog>> {
        Ok(Vec::new())
    }
}

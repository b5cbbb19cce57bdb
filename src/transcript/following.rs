//! The files of a session are followed together, their lines in the order of their times.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};

use serde_json::{Value as Json, json};

use super::LONGEST_TRANSCRIPT_LINE;
use super::document::{self, Records};
use super::form::TranscriptForm;
use super::line::text;
use super::opencode;
use super::session::{Session, SessionLine};

/// A file of a session, from the place at which the reading has stopped.
pub struct SessionFile<R> {
    /// Its number: 0, or what [`Session::add_agent`] has returned.
    file: usize,
    reader: R,
    /// The number of bytes that were read.
    offset: u64,
    next: Option<SessionLine>,
    time: u64,
}

impl<R: BufRead> SessionFile<R> {
    /// The file with this number. `offset`: the place of the reader in the file, in bytes.
    pub fn new(file: usize, reader: R, offset: u64) -> Self {
        Self { file, reader, offset, next: None, time: 0 }
    }

    /// The number of bytes of whole lines that were read: the next reading begins there.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the next line that says something.
    fn advance(&mut self, session: &mut Session, is_over: bool) -> io::Result<()> {
        let mut line = Vec::new();
        while self.next.is_none() {
            line.clear();
            let read = (&mut self.reader).take(LONGEST_TRANSCRIPT_LINE as u64).read_until(b'\n', &mut line)?;
            let is_whole = line.last() == Some(&b'\n');
            if read == 0 || !is_whole && read < LONGEST_TRANSCRIPT_LINE && !is_over {
                return Ok(());
            }
            let (begin, unknown) = (self.offset, session.facts().unknown);
            self.offset += read as u64;
            self.next = session.read_line(&line);
            if session.facts().unknown > unknown {
                session.note_left_out(self.file, begin);
            }
        }
        self.time = self.next.as_ref().and_then(SessionLine::time).unwrap_or(self.time).max(self.time);
        Ok(())
    }
}

impl Session {
    /// Follows the lines that the files have, in the order of their times. `is_over`: no process writes the
    /// session any more, so a last line without an end is read too. It needs constant memory, except for the
    /// tree.
    ///
    /// # Errors
    /// The errors of reading. What was read before stays.
    pub fn follow_files<R: BufRead>(&mut self, files: &mut [SessionFile<R>], is_over: bool) -> io::Result<()> {
        for file in files.iter_mut() {
            file.advance(self, is_over)?;
        }
        loop {
            let waiting = files.iter_mut().filter(|file| file.next.is_some());
            let Some(first) = waiting.min_by_key(|file| file.time) else { break };
            if let Some(line) = first.next.take() {
                self.follow(first.file, line);
            }
            first.advance(self, is_over)?;
        }
        self.settle(is_over);
        Ok(())
    }

    /// Adds a session of OpenCode as a subagent. `session`: the record of the session. Returns the subagent's
    /// number.
    pub fn add_child(&mut self, session: &Json) -> usize {
        self.add_agent(opencode::agent(session))
    }

    /// Follows a session of OpenCode in its database. `session`: its record. `messages`: all its messages
    /// with their parts (`{"info": {…}, "parts": […]}`), each with the number of its session: 0, or what
    /// [`Session::add_child`] has returned. The messages are read in the order of their times, up to the
    /// first one that can still change. What was followed before is left out. `is_over`: no process writes
    /// the session any more, so no message can change.
    pub fn follow_messages(&mut self, session: &Json, messages: &[(usize, Json)], is_over: bool) {
        let calls = opencode::calls_of_agents(messages.iter().map(|(_, message)| message));
        self.note_calls(&calls);
        // The last message of each session and role. An older message without an end never gets one, because
        // its program was killed.
        let begun = |message: &Json| message.pointer("/info/time/created").and_then(Json::as_u64).unwrap_or_default();
        let mut last: HashMap<(usize, &str), &Json> = HashMap::new();
        for (file, message) in messages {
            let known = last.entry((*file, text(&message["info"], "role"))).or_insert(message);
            *known = if begun(message) >= begun(known) { message } else { known };
        }
        let unfinished = last.into_values().filter(|message| !is_over && opencode::is_unfinished(message));
        let first = unfinished.map(begun).min();
        // A title that has changed is told again.
        let head = format!("session {}", text(session, "title"));
        let mut records = vec![(0, 0, head, json!({ "session": session }))];
        for (file, message) in messages {
            for record in opencode::records(message) {
                // A message that can still change is followed again after it has changed: it can be a mistake
                // that no process writes it any more.
                let state = if opencode::is_unfinished(message) { message.to_string() } else { String::new() };
                let name = format!("{}{}{state}", text(&record["info"], "id"), text(&record, "half"));
                let time = super::line::time(&record).unwrap_or_default();
                if first.is_none_or(|first| time < first) {
                    records.push((time, *file, name, record));
                }
            }
        }
        records.sort_by(|a, b| (a.0, a.1, &a.2).cmp(&(b.0, b.1, &b.2)));
        for (_, file, name, record) in records {
            if !self.is_followed(&name) {
                match self.read_record(&record) {
                    Some(line) => self.follow(file, line),
                    None => self.count_unknown(),
                }
            }
        }
        self.settle(is_over);
    }

    /// A session in one JSON document, such as an export of OpenCode, a `.traj` or an ATIF trajectory.
    /// `None`: it is not a known kind of session. `id`: its ID, if the document has none.
    pub fn of_document(text: &str, id: &str, with_entries: Option<Option<String>>) -> Option<Self> {
        let (form, Records { own, agents }) = document::read(text)?;
        let session = Session::new(form, id);
        let mut session = match with_entries {
            Some(of) => session.with_entries(of),
            None => session,
        };
        let mut lines: Vec<(u64, usize, SessionLine)> = Vec::new();
        session.take_records(0, &own, &mut lines);
        let last = lines.iter().map(|(time, ..)| *time).max().unwrap_or_default();
        for (agent, steps) in agents {
            let file = session.add_agent(agent);
            let first = lines.len();
            session.take_records(file, &steps, &mut lines);
            // Lines without times get the last time of the session's own lines: then it is known which call
            // has started their subagent.
            lines[first..].iter_mut().filter(|(time, ..)| *time == 0).for_each(|(time, ..)| *time = last);
        }
        lines.sort_by_key(|(time, ..)| *time);
        for (_, file, line) in lines {
            session.follow(file, line);
        }
        session.settle(true);
        Some(session)
    }

    fn take_records(&mut self, file: usize, records: &[Json], lines: &mut Vec<(u64, usize, SessionLine)>) {
        let mut last = 0;
        for record in records {
            match self.read_record(record) {
                Some(line) => {
                    last = line.time().unwrap_or(last).max(last);
                    lines.push((last, file, line));
                }
                None => self.count_unknown(),
            }
        }
    }
}

impl TranscriptForm {
    /// True if a session of this form is one JSON document, and not lines.
    pub fn is_document(self) -> bool {
        matches!(self, Self::OpenCode | Self::SweAgent | Self::Atif)
    }
}

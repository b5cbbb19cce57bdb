//! Where OpenCode keeps its sessions: in a database since version 1.2, before that in JSON files. Both have
//! the same records.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use callstack_core::text::from_json;
use callstack_core::transcript::TranscriptForm;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params};
use serde_json::{Value, json};

use super::found::{FoundSession, files};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_files::home;
use crate::output::note;

/// How long OpenCode may lock its database.
const PATIENCE: Duration = Duration::from_secs(2);
/// The maximum number of levels of subagents that are read.
const DEEPEST: usize = 16;

/// The columns of a session that are read: all versions of the database have them.
const COLUMNS: &str = "id, parent_id, directory, title, version, time_created, time_updated";

/// Where a session is kept.
#[derive(Debug, Clone)]
pub enum Kept {
    /// In this database.
    Database(PathBuf),
    /// In JSON files below this folder: the records of all sessions as they were when the folder was looked
    /// at.
    Files(PathBuf, Arc<Vec<(PathBuf, Value)>>),
}

/// This tells whether a session was written since then: a number that changes with each change, and the time
/// when something was written last, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    pub number: u64,
    pub written: u64,
}

/// A session with its subagents, as it is now. Each has its record and its messages with their parts,
/// `{"info": {…}, "parts": […]}`.
pub struct Content {
    pub session: Value,
    pub messages: Vec<Value>,
    pub children: Vec<(Value, Vec<Value>)>,
}

impl Content {
    /// The same as an export of OpenCode, with the subagents in it.
    pub fn document(self) -> Value {
        let export = |(info, messages): (Value, Vec<Value>)| json!({ "info": info, "messages": messages });
        let children: Vec<Value> = self.children.into_iter().map(export).collect();
        json!({ "info": self.session, "messages": self.messages, "children": children })
    }

    /// Its length, in bytes.
    pub fn bytes(&self) -> u64 {
        let all = self.messages.iter().chain(self.children.iter().flat_map(|(_, messages)| messages));
        all.map(|message| message.to_string().len() as u64).sum()
    }
}

/// The sessions that were not started as subagents.
pub fn sessions() -> Vec<FoundSession> {
    let mut found: Vec<FoundSession> = Vec::new();
    let mut known = HashSet::new();
    for kept in places() {
        match kept.sessions() {
            Ok(sessions) => {
                let sessions = sessions.into_iter().filter_map(|(path, session)| found_session(&kept, path, &session));
                // A session that was moved into the database is still among the files, and a session of a
                // moved project is in two folders.
                found.extend(sessions.filter(|new| known.insert(new.id.clone())));
            }
            Err(failure) => note(failure.message()),
        }
    }
    found
}

/// The databases of OpenCode, and the folder of its files.
fn places() -> Vec<Kept> {
    let data = env::var_os("XDG_DATA_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let Some(data) = data.or_else(|| Some(home()?.join(".local/share"))) else { return Vec::new() };
    let folder = data.join("opencode");
    let mut databases = Vec::new();
    files(&folder, 1, &mut databases);
    databases.retain(|path| is_database(path));
    databases.extend(env::var_os("OPENCODE_DB").filter(|path| path != ":memory:").map(|path| folder.join(path)));
    databases.sort();
    databases.dedup();
    let databases = databases.into_iter().filter(|path| path.is_file()).map(Kept::Database);
    let storage = folder.join("storage");
    let records = session_files(&storage);
    databases.chain([Kept::Files(storage, Arc::new(records))]).collect()
}

/// True if a file has the name of a database of OpenCode: its channels have one each.
pub fn is_database(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_prefix("opencode")
        .and_then(|rest| rest.strip_suffix(".db"))
        .is_some_and(|channel| channel.is_empty() || channel.starts_with('-'))
}

fn time(session: &Value, key: &str) -> u64 {
    session.pointer(&format!("/time/{key}")).and_then(Value::as_u64).unwrap_or_default()
}

impl Kept {
    /// The records of the sessions that no other session has started, each with the file in which it is.
    fn sessions(&self) -> Result<Vec<(PathBuf, Value)>, Failure> {
        match self {
            Self::Database(path) => {
                let (connection, is_whole) = open(path)?;
                if !is_whole {
                    note(&format!(
                        "{}: what is newest in it cannot be read, because its folder cannot be written; a copy of it and its -wal file can",
                        path.display()
                    ));
                }
                let sessions = rows(&connection, path, "WHERE parent_id IS NULL", "")?;
                Ok(sessions.into_iter().map(|session| (path.clone(), session)).collect())
            }
            Self::Files(_, all) => {
                let is_root = |session: &Value| session.get("parentID").is_none_or(Value::is_null);
                Ok(all.iter().filter(|(_, session)| is_root(session)).cloned().collect())
            }
        }
    }

    /// A session with its subagents.
    ///
    /// # Errors
    /// If it does not exist any more; the errors of reading.
    pub fn read(&self, id: &str) -> Result<Content, Failure> {
        let (mut sessions, messages): (Vec<Value>, Vec<Vec<Value>>) = match self {
            Self::Database(path) => {
                let connection = connect(path)?;
                // All is read at one moment, because OpenCode can write meanwhile.
                let failed = |error: rusqlite::Error| unreadable(path, &error);
                let moment = connection.unchecked_transaction().map_err(failed)?;
                let sessions = family(&moment, path, id)?;
                let read = |session: &Value| messages_of(&moment, text(session, "id")).map_err(failed);
                let messages = sessions.iter().map(read).collect::<Result<_, _>>()?;
                (sessions, messages)
            }
            Self::Files(folder, all) => {
                let of = |key: &'static str, id: &str| {
                    // A session without an ID has started nothing.
                    let all = if id.is_empty() { &[] } else { all.as_slice() };
                    let found = all.iter().filter(|(_, session)| text(session, key) == id);
                    Ok(found.map(|(_, session)| session.clone()).collect::<Vec<Value>>())
                };
                let mut sessions: Vec<Value> = of("id", id)?;
                add_children(&mut sessions, |parent| of("parentID", parent))?;
                let messages = sessions.iter().map(|session| message_files(folder, text(session, "id"))).collect();
                (sessions, messages)
            }
        };
        if sessions.is_empty() {
            let message = format!("there is no session `{id}` in {}", self.path().display());
            return Err(Failure::new(Exit::Refused, "unknown_session", message).next("callstack sessions --all"));
        }
        let session = sessions.remove(0);
        let mut messages = messages.into_iter();
        let own = messages.next().unwrap_or_default();
        Ok(Content { session, messages: own, children: sessions.into_iter().zip(messages).collect() })
    }

    /// The present stamp of a session with its subagents. It differs from an earlier stamp if something was
    /// written in between.
    ///
    /// # Errors
    /// The errors of reading.
    pub fn stamp(&self, id: &str) -> Result<Stamp, Failure> {
        let mut stamp = Stamp::default();
        let mut add = |updated: u64, number: u64| {
            stamp.written = stamp.written.max(updated);
            stamp.number = stamp.number.wrapping_mul(31).wrapping_add(updated ^ number);
        };
        match self {
            Self::Database(path) => {
                let connection = connect(path)?;
                for session in &family(&connection, path, id)? {
                    add(time(session, "updated"), text(session, "title").len() as u64);
                    for table in ["message", "part"] {
                        let query = format!("SELECT max(time_updated), count(*) FROM {table} WHERE session_id = ?1");
                        let counted = connection.query_row(&query, params![text(session, "id")], |row| {
                            Ok((
                                row.get::<_, Option<f64>>(0)?.unwrap_or_default() as u64,
                                row.get::<_, i64>(1)?.unsigned_abs(),
                            ))
                        });
                        let (updated, number) = counted.map_err(|error| unreadable(path, &error))?;
                        add(updated, number);
                    }
                }
            }
            Self::Files(..) => {
                let content = self.read(id)?;
                add(time(&content.session, "updated"), content.bytes());
            }
        }
        Ok(stamp)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Database(path) | Self::Files(path, _) => path,
        }
    }
}

/// The records of a session and its subagents in a database.
fn family(connection: &Connection, path: &Path, id: &str) -> Result<Vec<Value>, Failure> {
    let mut sessions = rows(connection, path, "WHERE id = ?1", id)?;
    add_children(&mut sessions, |parent| rows(connection, path, "WHERE parent_id = ?1", parent))?;
    Ok(sessions)
}

/// Adds the sessions that these sessions have started, and the sessions that those have started.
fn add_children(
    sessions: &mut Vec<Value>,
    children: impl Fn(&str) -> Result<Vec<Value>, Failure>,
) -> Result<(), Failure> {
    let mut level = 0..sessions.len();
    for _ in 0..DEEPEST {
        for place in level.clone() {
            let mut new = children(text(&sessions[place], "id"))?;
            new.retain(|new| !sessions.iter().any(|known| text(known, "id") == text(new, "id")));
            sessions.append(&mut new);
        }
        level = level.end..sessions.len();
    }
    Ok(())
}

fn found_session(kept: &Kept, path: PathBuf, session: &Value) -> Option<FoundSession> {
    let id = session.get("id")?.as_str().filter(|id| !id.is_empty())?.to_owned();
    let folder = session.get("directory").and_then(Value::as_str).map(PathBuf::from);
    // Its length is not known before it is read.
    let changed = time(session, "updated");
    let kept = Some(kept.clone());
    Some(FoundSession { form: TranscriptForm::OpenCode, path, id, changed, bytes: 1, folder, kept })
}

/// The records of all sessions in JSON files.
fn session_files(folder: &Path) -> Vec<(PathBuf, Value)> {
    let mut paths = Vec::new();
    files(&folder.join("session"), 2, &mut paths);
    paths.into_iter().filter_map(|path| record(&path).map(|session| (path, session))).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn record(path: &Path) -> Option<Value> {
    from_json::<Value>(&fs::read_to_string(path).ok()?).ok().filter(Value::is_object)
}

/// The messages of a session in JSON files, with their parts.
fn message_files(folder: &Path, session: &str) -> Vec<Value> {
    let listed = |folder: &Path| {
        let mut paths = Vec::new();
        files(folder, 1, &mut paths);
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        paths
    };
    let message = |path: PathBuf| {
        let mut info = record(&path)?;
        // The names are the names of the records, even if a migration has moved the records.
        let id = path.file_stem()?.to_str()?;
        info["id"] = id.into();
        let parts: Vec<Value> = listed(&folder.join("part").join(id)).iter().filter_map(|part| record(part)).collect();
        Some(json!({ "info": info, "parts": parts }))
    };
    listed(&folder.join("message").join(session)).into_iter().filter_map(message).collect()
}

fn connect(path: &Path) -> Result<Connection, Failure> {
    open(path).map(|(connection, _)| connection)
}

/// Opens a database to read it. False if the newest data in it cannot be read.
fn open(path: &Path) -> Result<(Connection, bool), Failure> {
    let opened_as = |name: &str| {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(name, flags)?;
        connection.busy_timeout(PATIENCE)?;
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
        Ok(connection)
    };
    let escaped: String = path
        .display()
        .to_string()
        .chars()
        .map(|character| match character {
            '%' => "%25".to_owned(),
            '?' => "%3f".to_owned(),
            '#' => "%23".to_owned(),
            _ => character.to_string(),
        })
        .collect();
    // If a folder cannot be written, only the main file can be read.
    let cannot_share = |error: &rusqlite::Error| {
        let code = error.sqlite_error_code();
        matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied))
    };
    let mut is_whole = true;
    let opened = match opened_as(&format!("file:{escaped}?mode=ro")) {
        Err(error) if cannot_share(&error) => {
            let log = PathBuf::from(format!("{}-wal", path.display()));
            is_whole = !log.metadata().is_ok_and(|data| data.len() > 0);
            opened_as(&format!("file:{escaped}?immutable=1"))
        }
        opened => opened,
    };
    opened.map(|connection| (connection, is_whole)).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &rusqlite::Error) -> Failure {
    Failure::new(Exit::Failed, "unreadable_session", format!("cannot read {}: {error}", path.display()))
}

/// The records of sessions, as an export has them.
fn rows(connection: &Connection, path: &Path, which: &str, id: &str) -> Result<Vec<Value>, Failure> {
    let read = || -> rusqlite::Result<Vec<Value>> {
        let order = "ORDER BY time_created, id";
        let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM session {which} {order}"))?;
        let session = |row: &Row<'_>| {
            let text = |name: &str| row.get::<_, Option<String>>(name);
            let number = |name: &str| row.get::<_, Option<f64>>(name).map(|time| time.unwrap_or_default() as u64);
            Ok(json!({
                "id": text("id")?, "parentID": text("parent_id")?, "directory": text("directory")?, "title": text("title")?,
                "version": text("version")?,
                "time": { "created": number("time_created")?, "updated": number("time_updated")? },
            }))
        };
        // A row that cannot be read does not affect the other rows.
        Ok(match statement.parameter_count() {
            0 => statement.query_map([], session)?.flatten().collect(),
            _ => statement.query_map(params![id], session)?.flatten().collect(),
        })
    };
    read().map_err(|error| unreadable(path, &error))
}

/// The messages of a session in the database, with their parts. What cannot be read is left out.
fn messages_of(connection: &Connection, session: &str) -> rusqlite::Result<Vec<Value>> {
    let mut statement =
        connection.prepare_cached("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id")?;
    let mut of_message = connection.prepare_cached("SELECT data FROM part WHERE message_id = ?1 ORDER BY id")?;
    let heads: Vec<(String, String)> = statement
        .query_map(params![session], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut messages = Vec::with_capacity(heads.len());
    for (id, data) in heads {
        let Some(mut info) = from_json::<Value>(&data).ok().filter(Value::is_object) else { continue };
        info["id"] = id.clone().into();
        let parts: Vec<String> = of_message.query_map(params![id], |row| row.get(0))?.flatten().collect();
        let parts: Vec<Value> = parts.iter().filter_map(|part| from_json(part).ok()).collect();
        messages.push(json!({ "info": info, "parts": parts }));
    }
    Ok(messages)
}

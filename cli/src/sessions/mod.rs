//! Sessions of agents on this machine: where their hosts keep them, and how a session is shown as if it were
//! a stack.

mod file;
mod found;
mod opencode;
mod reading;
mod store;

use std::path::Path;
use std::str::FromStr;

use callstack_core::transcript::TranscriptForm;
use callstack_core::{Stack, StackOptions};
use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;

pub use file::open as open_file;
pub use found::{FoundSession, all, is_of_project, latest_first, project_folder};
pub use reading::{SessionFiles, form_of};
use store::SessionStore;

/// A beginning of an ID that has this length is not the name of a frame.
const SUREST_ID: usize = 8;
/// The number of sessions that a message names.
const SHOWN: usize = 10;

/// The session that a command looks at in place of a stack.
#[derive(Args, Clone, Default)]
pub struct SessionChoice {
    /// Look at a session of an agent in place of a stack: its file, its ID or the beginning of it.
    #[arg(long, global = true, value_name = "SESSION", conflicts_with = "latest")]
    pub session: Option<String>,
    /// Look at the newest session of this project in place of a stack, of any agent or of one: claude, codex,
    /// gemini, qwen, copilot, opencode or pi.
    #[arg(long, global = true, value_name = "AGENT", num_args = 0..=1, require_equals = false, default_missing_value = "")]
    pub latest: Option<String>,
}

impl SessionChoice {
    /// The session that is chosen. `named`: the session that the command itself names.
    ///
    /// # Errors
    /// If there is no such session, or there are several.
    pub fn find(&self, named: Option<&str>) -> Result<Option<SessionFiles>, Failure> {
        if let Some(agent) = &self.latest {
            return latest(agent).map(Some);
        }
        match self.session.as_deref().or(named) {
            Some(name) => find(name).map(Some),
            None => Ok(None),
        }
    }
}

/// The session with this name: the path of its file, its ID, or the beginning of its ID.
///
/// # Errors
/// If there is none, or there are several.
pub fn find(name: &str) -> Result<SessionFiles, Failure> {
    let path = Path::new(name);
    if path.is_file() {
        return SessionFiles::of(path);
    }
    let mut matching: Vec<FoundSession> = all(None).into_iter().filter(|found| found.has_id(name)).collect();
    matching.sort_by_key(|found| std::cmp::Reverse(found.changed));
    match &matching[..] {
        [] => {
            let why = match (path.is_dir(), name.len() < FoundSession::SHORTEST_ID) {
                (true, _) => "that is a folder; name a file in it".to_owned(),
                (_, true) => {
                    format!("no such file, and a part of an ID needs at least {} characters", FoundSession::SHORTEST_ID)
                }
                _ => "no such file, and no ID that begins with it".to_owned(),
            };
            let message = format!("there is no session `{name}`: {why}");
            Err(Failure::new(Exit::Refused, "unknown_session", message).next("callstack sessions --all"))
        }
        [one] => Ok(SessionFiles::of_found(one)),
        several => {
            let shown: Vec<String> = several.iter().take(SHOWN).map(|found| found.id.clone()).collect();
            let more = several.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            let message =
                format!("the IDs of {} sessions begin with `{name}`: {}{more}", several.len(), shown.join(", "));
            Err(Failure::new(Exit::Refused, "ambiguous_session", message).next("write more of the ID"))
        }
    }
}

/// True if a name belongs to a session, and not to a frame: a file of a session, or a long ID that a host
/// has.
pub fn is_session(name: &str) -> bool {
    let path = Path::new(name);
    if path.is_file() {
        return reading::form_of(path).is_some();
    }
    let is_like_id =
        !name.is_empty() && name.chars().all(|character| character.is_ascii_hexdigit() || character == '-');
    is_like_id || is_known_id(name, FoundSession::SHORTEST_ID)
}

/// Checks that the sessions of an agent can be found, and not only read.
///
/// # Errors
/// If these sessions have to be named.
pub fn check_listed(form: TranscriptForm) -> Result<(), Failure> {
    if !matches!(form, TranscriptForm::Atif | TranscriptForm::SweAgent) {
        return Ok(());
    }
    let message = format!("sessions of {} are not looked for", form.as_str());
    Err(Failure::new(Exit::Refused, "not_listed", message).next("name the file"))
}

/// True if a name surely belongs to a session, where it could also belong to something else.
pub fn names_session(name: &str) -> bool {
    let path = Path::new(name);
    if path.is_file() {
        return reading::form_of(path).is_some();
    }
    is_known_id(name, SUREST_ID)
}

/// True if a host has a session with this ID, or with an ID that begins with it. `shortest`: the length of
/// the beginning.
fn is_known_id(name: &str, shortest: usize) -> bool {
    name.len() >= shortest && !name.contains(['/', ' ', '.']) && all(None).iter().any(|found| found.has_id(name))
}

fn latest(agent: &str) -> Result<SessionFiles, Failure> {
    let form = match agent {
        "" => None,
        name => Some(TranscriptForm::from_str(name).map_err(Failure::from)?),
    };
    form.map_or(Ok(()), check_listed)?;
    let found = latest_first(form);
    let project = project_folder();
    let of_project = found.iter().find(|found| !found.is_of_agent() && is_of_project(found, &project));
    match of_project {
        Some(found) => Ok(SessionFiles::of_found(found)),
        None => {
            let whose = form.map_or("an agent", TranscriptForm::host);
            let message = format!("there is no session of {whose} in this project");
            Err(Failure::new(Exit::Refused, "unknown_session", message).next("callstack sessions --all"))
        }
    }
}

/// A stack that shows a session and follows it as it grows, and what was left out of the session, if anything
/// was. It cannot be changed.
///
/// # Errors
/// The errors of reading.
pub fn open(files: &SessionFiles) -> Result<(Stack, Option<String>), Failure> {
    let store = SessionStore::open(files.clone())?;
    let left_out = store.left_out();
    Ok((Stack::with_store(store, StackOptions::default())?, left_out))
}

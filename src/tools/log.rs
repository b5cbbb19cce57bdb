//! The tools that page through the log of a frame and search it: for the agents of any host, and for the
//! agents in a run.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::caller::Caller;
use super::json::pretty;
use super::{AgentTool, MemoryCall, MemoryTool, Reply};
use crate::error::Error;
use crate::frame::Handle;
use crate::stack::Stack;
use crate::store::{LogLine, LogPage, LogQuery};

/// Number of lines in an answer, if the agent does not ask for fewer or more.
const LINES: usize = 20;
/// Maximum number of lines in an answer.
const MOST_LINES: usize = 100;
/// Maximum size of the lines in an answer, in bytes of JSON.
const LONGEST: usize = 12_000;
/// Limits to the texts of an entry, in characters. The first limit with which the lines fit is used.
const TEXT_LIMITS: [usize; 5] = [8_000, 2_000, 600, 200, 60];

/// Read the log of a frame: the messages of its session, also those from before a compaction. Without
/// arguments, the newest ones.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Log {
    /// Default: this session's frame.
    #[serde(rename = "frameID")]
    frame_id: Option<String>,
    /// First line, counted from 1.
    from: Option<usize>,
    /// Last line.
    to: Option<usize>,
    /// Only lines with this text, ignoring case.
    search: Option<String>,
    /// Number of lines, at most 100. Default 20.
    tail: Option<usize>,
}

impl AgentTool for Log {
    const NAME: &'static str = "stack_frame_log";
    const EXAMPLE: &'static str = r#"{"frameID": "f2", "search": "timeout", "tail": 5}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.named_or_own(self.frame_id.as_deref())?;
        caller.tell(&caller.in_title(frame), Vec::new());
        let Self { from, to, search, tail, .. } = self;
        let answer = json!({ "handle": frame, "path": caller.stack.log_file(frame) });
        LogRange { from, to, search, tail }.read(caller.stack, frame, answer).map(Reply::Text)
    }
}

/// Read what was said and done in another frame of this task. Without further arguments, the newest messages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFrameLog {
    /// Its handle, such as f2.
    frame: String,
    /// First line, counted from 1.
    from: Option<usize>,
    /// Last line.
    to: Option<usize>,
    /// Only lines with this text, ignoring case.
    search: Option<String>,
    /// Number of lines, at most 100. Default 20.
    tail: Option<usize>,
}

impl MemoryTool for ReadFrameLog {
    const NAME: &'static str = "read_frame_log";
    const EXAMPLE: &'static str = r#"{"frame": "f2", "search": "timeout", "tail": 5}"#;

    fn call(self) -> MemoryCall {
        let Self { frame, from, to, search, tail } = self;
        MemoryCall::ReadLog { frame, range: LogRange { from, to, search, tail } }
    }
}

/// Returns lines of the log of a frame. An agent names the frame, which has to belong to the run with this
/// root.
///
/// # Errors
/// As [`Stack::resolve`]; [`Error::Setting`] for a frame outside of the run; the errors of reading a log.
pub(super) fn read_in_run(stack: &Stack, run: Handle, frame: String, range: LogRange) -> Result<String, Error> {
    let found = stack.resolve_near(&frame, Some(run))?;
    if stack.look(|tree| tree.root(found)) != run {
        return Err(Error::Setting { name: "frame".into(), value: frame, expected: "a frame of this task" });
    }
    range.read(stack, found, json!({ "handle": found }))
}

/// The lines of a log that an agent asks for.
pub(super) struct LogRange {
    from: Option<usize>,
    to: Option<usize>,
    search: Option<String>,
    tail: Option<usize>,
}

impl LogRange {
    /// The newest lines, or the newest lines with some words.
    pub(super) fn newest(search: Option<String>) -> Self {
        Self { from: None, to: None, search, tail: None }
    }

    /// Adds the lines to an answer, as many as it can hold, and returns it as JSON.
    pub(super) fn read(self, stack: &Stack, frame: Handle, mut answer: Value) -> Result<String, Error> {
        let count = self.tail.unwrap_or(LINES).clamp(1, MOST_LINES);
        // A range without an end is read from its beginning; everything else from the end.
        let is_forward = self.from.is_some() && self.to.is_none() && self.search.is_none() && self.tail.is_none();
        let from = self.from.unwrap_or(1).max(1);
        let to = if is_forward { Some(from.saturating_add(count - 1)) } else { self.to };
        let query = LogQuery { from, to, search: self.search, tail: Some(count) };
        let page = stack.log(frame).read(&query)?;
        let lines = fitting(&page, query.search.as_deref(), is_forward);
        answer["total"] = page.total.into();
        if let (true, Some(last)) = (is_forward, lines.last()) {
            let next = number(last) + 1;
            answer["next"] = if next > page.total { Value::Null } else { json!({ "from": next }) };
        } else if let Some(first) = lines.first().map(number) {
            // If there are fewer lines than asked for, all earlier lines were looked at.
            let has_earlier = first > from && (lines.len() < page.lines.len() || page.lines.len() == count);
            answer["next"] = if has_earlier { json!({ "to": first - 1 }) } else { Value::Null };
        }
        if !page.damaged.is_empty() {
            answer["damagedLines"] = page.damaged.len().into();
        }
        answer["lines"] = lines.into();
        Ok(pretty(&answer))
    }
}

fn number(line: &Value) -> usize {
    line["line"].as_u64().unwrap_or_default() as usize
}

/// Returns the lines with texts so short that an answer holds them. If even that is too much, returns only
/// the first lines or the last lines.
fn fitting(page: &LogPage, search: Option<&str>, is_forward: bool) -> Vec<Value> {
    let needle = search.map(str::to_lowercase);
    let shortened = |limit| page.lines.iter().map(|line| shown(line, limit, needle.as_deref())).collect::<Vec<Value>>();
    let size = |line: &Value| pretty(line).len();
    let mut lines = Vec::new();
    for limit in TEXT_LIMITS {
        lines = shortened(limit);
        if lines.iter().map(size).sum::<usize>() <= LONGEST {
            return lines;
        }
    }
    let mut room = LONGEST;
    let mut fits = |line: &Value| {
        let rest = room.checked_sub(size(line));
        room = rest.unwrap_or(0);
        rest.is_some()
    };
    let count = match is_forward {
        true => lines.iter().take_while(|line| fits(line)).count(),
        false => lines.iter().rev().take_while(|line| fits(line)).count(),
    };
    let count = count.max(1).min(lines.len());
    let mut lines = if is_forward { lines[..count].to_vec() } else { lines.split_off(lines.len() - count) };
    if let [only] = &mut lines[..]
        && size(only) > LONGEST
    {
        *only = json!({ "line": number(only), "omitted": "it has too many parts; read the file" });
    }
    lines
}

/// Returns a line as the answer shows it: its number, then the entry with short texts. A text that is already
/// there as `text` is not repeated as a part.
fn shown(line: &LogLine, limit: usize, needle: Option<&str>) -> Value {
    let mut shown = Map::from_iter([("line".to_owned(), line.number.into())]);
    match &line.entry {
        Value::Object(entry) => {
            for (key, value) in entry {
                let value = match (key.as_str(), value) {
                    ("parts", Value::Array(parts)) => {
                        let others = parts.iter().filter(|part| part["type"] != "text");
                        others.map(|part| short(part, limit, needle)).collect()
                    }
                    (_, value) => short(value, limit, needle),
                };
                shown.insert(key.clone(), value);
            }
        }
        other => drop(shown.insert("entry".to_owned(), short(other, limit, needle))),
    }
    shown.into()
}

fn short(value: &Value, limit: usize, needle: Option<&str>) -> Value {
    match value {
        Value::String(text) => excerpt(text, limit, needle).into(),
        Value::Array(values) => values.iter().map(|value| short(value, limit, needle)).collect(),
        Value::Object(object) => {
            object.iter().map(|(key, value)| (key.clone(), short(value, limit, needle))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Returns at most `limit` characters of a text, from its beginning or, if it has the needle, from shortly
/// before it.
fn excerpt(text: &str, limit: usize, needle: Option<&str>) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let lower = needle.map(|needle| (needle, text.to_lowercase()));
    let found = lower.and_then(|(needle, lower)| Some(lower[..lower.find(needle)?].chars().count()));
    let start = found.unwrap_or(0).saturating_sub(limit / 4).min(count - limit);
    let part: String = text.chars().skip(start).take(limit).collect();
    let before = if start > 0 { "… " } else { "" };
    let after = if start + limit < count { " …" } else { "" };
    format!("{before}{part}{after} [{limit} of {count} characters]")
}

//! What a line of a transcript says, in one form for all hosts.

use serde_json::Value as Json;

use crate::frame::ModelRequest;
use crate::text::milliseconds;

/// What a line says.
#[derive(Default)]
pub(super) struct Line {
    /// Messages in the form of the wire.
    pub messages: Vec<Json>,
    pub turn: Turn,
    /// Who has written the words.
    pub by: By,
    /// What answers have used.
    pub requests: Vec<Request>,
    /// The same, from a count that the host repeats. It is used only if no answer has a record of its own.
    pub counts: Vec<Request>,
    /// The IDs of the calls that the line makes, and of the calls that have ended.
    pub calls: Vec<String>,
    pub outcomes: Vec<String>,
    /// The model of the requests that follow.
    pub model: Option<String>,
    /// What the line tells apart from the conversation.
    pub facts: Vec<Fact>,
    /// The thread that the line is about, if the line names one: lines of other threads are copies.
    pub thread: Option<String>,
    /// Its kind, if no known version of the host writes lines of this kind.
    pub new_kind: Option<String>,
    /// Its place in the thread.
    pub ordinal: Option<u64>,
    /// Its name, and the name of the line before it in its branch, for hosts in which a person can go back to
    /// an earlier line.
    pub node: Option<String>,
    pub after: Option<String>,
    /// The subagent that has said it, within the file of the session.
    pub agent: Option<String>,
    /// The model has ended its turn with this answer.
    pub is_last: bool,
}

/// Whose turn it is.
#[derive(Default)]
pub(super) enum Turn {
    /// Something outside the conversation.
    #[default]
    Aside,
    /// A part of an answer of the model, with the ID of the answer if the line has one.
    Answer(Option<String>),
    /// Outcomes of calls.
    Outcomes,
    /// What the person or the host has written.
    Words,
}

/// Who has written words, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum By {
    /// The person: this begins a new turn, if the turn before is over.
    #[default]
    Person,
    /// The person, while the agent works.
    PersonMeanwhile,
    /// The host: for example hints, and the summary of a compaction.
    Host,
}

/// What a line tells apart from the conversation.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fact {
    /// The ID of the session.
    Session(String),
    /// The session or the thread that this one belongs to: the one that has started it, or the one that it
    /// continues.
    Parent(String),
    /// The folder of the project.
    Folder(String),
    /// The version of the host.
    Version(String),
    /// A title of the session; a title by the person takes precedence.
    Title { title: String, by_person: bool },
    /// What the person has written, if the messages have more than that.
    Prompt(String),
    /// A turn begins: a turn that had not ended was interrupted.
    Begun,
    /// Lines before this place in the thread are copies of lines of another thread.
    OwnFrom(u64),
    /// The person has gone back to before this line; if this line is not known, to before all lines.
    Rewound(String),
    /// The person has taken back this number of turns, the last ones.
    RolledBack(u64),
    /// The turn has ended.
    Ended(End),
    /// The host has compacted the conversation: its length before that in tokens, and the summary, as far as
    /// they are known.
    Compacted { tokens: u64, summary: String },
    /// The subagent that a call has started, and whether it continues after the call has ended.
    Agent { call: String, id: String, goes_on: bool },
    /// A subagent has ended. It is named by its ID or by the call that has started it.
    AgentEnded { agent: String, end: End, result: String },
}

/// How a turn has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Done,
    /// The session continued without an end of the turn.
    Left,
    /// By the person.
    Interrupted,
    /// By an error.
    Failed(String),
}

/// What an answer has used.
pub(super) struct Request {
    /// The ID of the answer.
    pub id: String,
    pub used: ModelRequest,
    /// The time of the line.
    pub time: u64,
}

impl Request {
    pub fn new(id: &str, used: ModelRequest) -> Self {
        Self { id: id.to_owned(), used, time: 0 }
    }
}

impl Line {
    /// Something outside the conversation.
    pub fn aside() -> Self {
        Self::default()
    }

    /// Something outside the conversation, if its kind is one of the known kinds. In these, `*` stands for
    /// any ending.
    pub fn of_kind(kind: &str, known: &[&str]) -> Self {
        let is_known = |known: &&str| known.strip_suffix('*').map_or(kind == *known, |begin| kind.starts_with(begin));
        let new_kind = (!known.iter().any(is_known)).then(|| kind.to_owned());
        Self { new_kind, ..Self::default() }
    }

    /// Facts outside the conversation.
    pub fn of(facts: Vec<Fact>) -> Self {
        Self { facts, ..Self::default() }
    }
}

/// A fact, if its text says something.
pub(super) fn fact(make: impl FnOnce(String) -> Fact, text: &str) -> Option<Fact> {
    (!text.trim().is_empty()).then(|| make(text.to_owned()))
}

/// Times from 2000 to 2200. Other times are mistakes.
const POSSIBLE: std::ops::Range<u64> = 946_684_800_000..7_258_118_400_000;

/// What each line of some hosts says about the session.
pub(super) fn about(line: &Json) -> impl Iterator<Item = Fact> {
    let facts = [
        fact(Fact::Session, text(line, "sessionId")),
        fact(Fact::Folder, text(line, "cwd")),
        fact(Fact::Version, text(line, "version")),
    ];
    facts.into_iter().flatten()
}

/// The time of a line in milliseconds since the Unix epoch, if it has one.
pub(super) fn time(value: &Json) -> Option<u64> {
    let stamp = value.get("timestamp")?;
    let time = stamp.as_str().and_then(milliseconds).or_else(|| {
        let number = stamp.as_f64().filter(|number| *number > 0.0)?;
        // Hosts write seconds or milliseconds.
        Some(if number < 1e11 { number * 1e3 } else { number } as u64)
    });
    time.filter(|time| POSSIBLE.contains(time))
}

/// The text at a key; empty if there is none.
pub(super) fn text<'a>(value: &'a Json, key: &str) -> &'a str {
    value.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// The number at a key; 0 if there is none.
pub(super) fn number(value: &Json, key: &str) -> u64 {
    let given = value.get(key).unwrap_or(&Json::Null);
    let lenient = || given.as_str().map_or_else(|| given.as_f64(), |text| text.trim().parse().ok());
    // Larger numbers are mistakes, too.
    given.as_u64().or_else(|| Some(lenient()? as u64)).filter(|number| *number < 1 << 53).unwrap_or_default()
}

/// The elements of the list at a key.
pub(super) fn list<'a>(value: &'a Json, key: &str) -> impl Iterator<Item = &'a Json> {
    value.get(key).and_then(Json::as_array).into_iter().flatten()
}

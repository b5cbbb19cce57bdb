//! Holders: who works on a frame, and until when.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{FrameRef, FrameStatus, Handle, Results, shown};

/// The kind of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum HolderKind {
    /// A host runs the frame in a session of its own: a call.
    Host,
    /// A worker without sessions: a program that holds one frame after the other.
    Worker,
    /// The conversation of an agent.
    Conversation,
    /// A person, or a program that works by hand.
    #[default]
    Person,
}

impl HolderKind {
    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            HolderKind::Host => "host",
            HolderKind::Worker => "worker",
            HolderKind::Conversation => "conversation",
            HolderKind::Person => "person",
        }
    }

    /// True if a program runs on behalf of the holder. It would continue to run in addition to the actor that
    /// takes the frame over.
    pub const fn is_running(self) -> bool {
        matches!(self, HolderKind::Host | HolderKind::Worker)
    }
}

impl fmt::Display for HolderKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Who works on a frame, or worked on it last.
///
/// In JSON: `{"kind": "worker", "name": "build-1", "generation": 2, "until": 1795293166903, "since":
/// 1795293106903, "tries": 1}`. A frame that was let go also has `"released": {"at": 1795293110000, "how":
/// "putBack", "until": 1795293111000}`. A key that is missing when the JSON is read counts as empty or 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Holder {
    /// The kind.
    pub kind: HolderKind,
    /// The name: for a worker the name that it gave, for a host an ID that each open stack has for itself,
    /// for a conversation its ID. Empty for a person or program that has taken the frame in hand and has
    /// given no name.
    pub name: String,
    /// The number of this holder among the holders of the frame, counted from 1. An actor with an older
    /// generation has lost the frame.
    pub generation: u64,
    /// The end of the lease, in milliseconds since the Unix epoch, unless it is renewed before. Absent: there
    /// is no lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// The time since which the holder has the frame, in milliseconds since the Unix epoch.
    pub since: u64,
    /// The session or conversation that has given the frame to the holder; for a call, the calling session.
    /// Empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub caller: String,
    /// How often workers have begun the frame and have not ended it, this time included, since it was planned
    /// or last answered. A time after which the frame was put back or let go does not count.
    #[serde(skip_serializing_if = "is_zero")]
    pub tries: u64,
    /// How often workers have put the frame back, since it was planned or last answered.
    #[serde(skip_serializing_if = "is_zero")]
    pub put_backs: u64,
    /// True: the holder was told once that the frame is still in progress.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reminded: bool,
    /// A fingerprint of the volatile part of the context that a conversation was told last. The conversation
    /// is not told the same text again. Empty: none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub told: String,
    /// The advice that the holder was given once: `push`, `pop`. It is not given the same advice again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advised: Vec<String>,
    /// How the holder has let the frame go. Absent: the holder still has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released: Option<Released>,
}

/// What the holder of a frame was told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Told {
    /// That the frame is still in progress.
    StillOpen,
    /// The volatile part of the context, as a fingerprint of the text; empty: the conversation does not know
    /// any such text any more.
    Context(String),
    /// To push, or to pop: the word for it.
    Advice(&'static str),
}

/// True if a time is in the future, and is not so far ahead that only a wrong clock can have named it.
fn lasts(until: u64, now: u64) -> bool {
    until > now && until - now <= Holder::LONGEST_LEASE + Holder::CLOCK_DIFFERENCE
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// When and how a frame was let go.
///
/// In JSON: `{"at": 1795293110000, "how": "putBack", "until": 1795293111000}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Released {
    /// The time, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub at: u64,
    /// How.
    #[serde(flatten)]
    pub how: Release,
}

/// How a frame is let go. In JSON: `{"how": "ended"}`, `{"how": "putBack", "until": 1795293111000}`, `{"how":
/// "interrupted"}`, `{"how": "stopped", "reason": "Too slow"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Release {
    /// The holder has ended its work, or does not continue it.
    Ended {},
    /// The holder resumes the work later, or another holder of its kind does.
    PutBack {
        /// No worker gets the frame before this time, in milliseconds since the Unix epoch.
        until: u64,
    },
    /// The holder was silent until the end of its lease. Its work can be resumed.
    Interrupted {},
    /// Another actor has stopped, ended, blocked or taken the frame.
    Stopped {
        /// The reason, or what the frame has become.
        reason: String,
    },
}

impl Holder {
    /// The longest lease, in milliseconds: a day.
    pub const LONGEST_LEASE: u64 = 86_400_000;
    /// By how much clocks may differ, in milliseconds: an hour. A lease that ends later than the longest one
    /// that could have begun by then counts as ended.
    pub const CLOCK_DIFFERENCE: u64 = 3_600_000;
    /// Maximum length of the name of a holder, in characters.
    pub const LONGEST_NAME: usize = 1_000;

    /// True if the holder has the frame at this time. A lease that ends later than the longest one that could
    /// begin now was given by a clock that is far ahead. It counts as ended, because no actor can wait for
    /// that clock.
    pub fn holds(&self, now: u64) -> bool {
        self.released.is_none() && self.until.is_none_or(|until| lasts(until, now))
    }

    /// True if the holder has the frame, or will have it again because it was only silent until the end of
    /// its lease.
    pub(crate) fn is_on_it(&self) -> bool {
        self.released.as_ref().is_none_or(|released| released.how == Release::Interrupted {})
    }

    /// True if the frame is the whole task of a conversation, and another conversation has given it that
    /// task: the holder is a subagent.
    pub fn is_delegated(&self) -> bool {
        self.kind == HolderKind::Conversation && (self.name.is_empty() || !self.caller.is_empty())
    }

    /// True if the holder has let the frame go, and the frame therefore waits until a later time.
    pub fn is_put_back(&self, now: u64) -> bool {
        match self.released {
            Some(Released { how: Release::PutBack { until }, .. }) => lasts(until, now),
            _ => false,
        }
    }

    /// The time from which on a frame that workers have begun is free for the next one. `None`: not before the
    /// holder lets it go.
    pub(crate) fn free_from(&self) -> Option<u64> {
        match self.released {
            Some(Released { how: Release::PutBack { until }, .. }) => Some(until),
            Some(_) => Some(0),
            None => self.until,
        }
    }

    /// The time since which the frame has no holder.
    pub(crate) fn free_since(&self) -> u64 {
        match &self.released {
            Some(Released { how: Release::PutBack { until }, .. }) => *until,
            Some(Released { at, .. }) => self.until.map_or(*at, |until| until.min(*at)),
            None => self.until.unwrap_or(u64::MAX),
        }
    }

    /// The holder as a part of a sentence, such as ``worker `build-1` ``.
    pub fn described(&self) -> String {
        match (self.kind, self.name.trim().is_empty()) {
            // Its ID says nothing to a reader.
            (HolderKind::Host, _) => "a host".to_owned(),
            (HolderKind::Conversation, true) => "a subagent".to_owned(),
            (_, true) => "a person who works by hand".to_owned(),
            (kind, false) => {
                let name = self.name.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect::<String>();
                format!("{kind} `{}`", shown(&name))
            }
        }
    }
}

/// The actor that gives a command: each command of [`Stack::as_actor`](crate::Stack::as_actor) is checked for
/// this actor.
///
/// In JSON: `{"kind": "conversation", "name": "codex/1"}`, with `"takesOver": true` if it takes over frames
/// that others hold. A [`Hold`] is an actor too: `{"handle": "f3", "kind": "worker", "name": "build-1",
/// "generation": 2}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", from = "FlatActor")]
#[non_exhaustive]
pub struct Actor {
    /// The kind.
    pub kind: HolderKind,
    /// The name.
    pub name: String,
    /// The session or conversation for which the actor works. The first frame that the actor begins counts as
    /// a task that this session or conversation has given to it. Empty: none.
    pub caller: String,
    /// The hold that the actor needs: without it, its commands are refused.
    pub hold: Option<Hold>,
    /// True: the actor may end and begin frames that a person or a conversation holds.
    pub takes_over: bool,
    /// True: the frame that the actor begins is the task of a subagent whose name is not known yet.
    pub hands_over: bool,
}

/// Who gives commands: a hold, or the kind and the name of an actor.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Actor"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FlatActor {
    /// The kind.
    kind: HolderKind,
    /// The name.
    name: String,
    /// The session or conversation for which the actor works.
    #[serde(default)]
    caller: String,
    /// Of a hold: its frame.
    handle: Option<Handle>,
    /// Of a hold: its generation.
    #[serde(default)]
    generation: u64,
    /// Of a hold: the end of its lease. Ignored.
    #[serde(default, rename = "until")]
    _until: u64,
    /// Of a hold: its tries. Ignored.
    #[serde(default, rename = "tries")]
    _tries: u64,
    /// True: the actor may end and begin what a person or a conversation holds.
    #[serde(default)]
    takes_over: bool,
    /// True: what the actor begins is the task of a subagent whose name is not known yet.
    #[serde(default)]
    hands_over: bool,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Actor {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        FlatActor::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        FlatActor::json_schema(generator)
    }
}

impl From<FlatActor> for Actor {
    fn from(flat: FlatActor) -> Self {
        let FlatActor { kind, name, caller, handle, generation, takes_over, hands_over, .. } = flat;
        let hold = handle.map(|handle| Hold { handle, kind, name: name.clone(), generation, until: 0, tries: 0 });
        Self { kind, name, caller, hold, takes_over, hands_over }
    }
}

impl Actor {
    /// An actor of this kind and name.
    pub fn new(kind: HolderKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into(), ..Self::default() }
    }

    /// Sets the session or conversation for which the actor works: it is a subagent of that one.
    #[must_use]
    pub fn caller(self, caller: impl Into<String>) -> Self {
        Self { caller: caller.into(), ..self }
    }

    /// Sets the hold that the actor needs: without it, its commands are refused.
    #[must_use]
    pub fn hold(self, hold: &Hold) -> Self {
        Self { hold: Some(hold.clone()), ..self }
    }

    /// Whether the actor may end and begin frames that a person or a conversation holds. Work that a worker
    /// or a host runs is stopped first: [`Stack::stop`](crate::Stack::stop).
    #[must_use]
    pub fn taking_over(self, takes_over: bool) -> Self {
        Self { takes_over, ..self }
    }

    /// Whether the frame that the actor begins is the task of a subagent whose name is not known yet. The
    /// next actor that begins the frame has it.
    #[must_use]
    pub fn handing_over(self, hands_over: bool) -> Self {
        Self { hands_over, ..self }
    }

    /// The frame whose hold the actor needs: without it, its commands are refused. `None`: the actor needs no
    /// hold.
    pub fn frame(&self) -> Option<Handle> {
        self.hold.as_ref().map(|hold| hold.handle)
    }

    /// True if the holder of a frame is this actor. A worker proves it by its hold.
    pub(crate) fn is(&self, frame: Handle, holder: &Holder) -> bool {
        let has_name = !self.name.is_empty() && self.kind != HolderKind::Worker;
        let is_named = has_name && self.kind == holder.kind && self.name == holder.name;
        is_named || self.hold.as_ref().is_some_and(|hold| hold.handle == frame && hold.is(holder))
    }
}

impl From<&Hold> for Actor {
    fn from(hold: &Hold) -> Self {
        Self { kind: hold.kind, name: hold.name.clone(), hold: Some(hold.clone()), ..Self::default() }
    }
}

/// A frame for a worker to hold: [`Work::hold`](crate::stack::Work::hold).
///
/// In JSON: `{"name": "build-1", "lease": 60000, "below": "f1"}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct NewHold {
    /// The name of the worker. It should differ from the names of other workers, and must not be blank.
    pub name: String,
    /// The length of the lease in milliseconds: from 1 to [`Holder::LONGEST_LEASE`].
    pub lease: u64,
    /// Only frames below this one. `None`: all frames.
    #[serde(default)]
    pub below: Option<FrameRef>,
    /// Exactly this frame. `None`: the first one that is free.
    #[serde(default)]
    pub frame: Option<FrameRef>,
}

fn worker() -> HolderKind {
    HolderKind::Worker
}

impl NewHold {
    /// A hold of the first frame that is free, for the worker with this name and for this number of
    /// milliseconds.
    pub fn new(name: impl Into<String>, lease: u64) -> Self {
        Self { name: name.into(), lease, below: None, frame: None }
    }

    /// Holds only a frame below this one.
    #[must_use]
    pub fn below(mut self, frame: impl Into<FrameRef>) -> Self {
        self.below = Some(frame.into());
        self
    }

    /// Holds exactly this frame.
    #[must_use]
    pub fn frame(mut self, frame: impl Into<FrameRef>) -> Self {
        self.frame = Some(frame.into());
        self
    }
}

/// A frame with its holder. The holder proves with it that the frame is still its own.
///
/// In JSON: `{"handle": "f3", "kind": "worker", "name": "build-1", "generation": 2, "until": 1795293166903,
/// "tries": 1}`. When the JSON is read, a proof needs the handle, the kind, the name and the generation; the
/// other keys can be left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// The frame.
    pub handle: Handle,
    /// The kind of the holder.
    #[serde(default = "worker")]
    pub kind: HolderKind,
    /// The name of the holder.
    pub name: String,
    /// The generation: see [`Holder::generation`].
    pub generation: u64,
    /// The end of the lease, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub until: u64,
    /// How often the frame was begun without an end: see [`Holder::tries`].
    #[serde(default)]
    pub tries: u64,
}

impl Hold {
    /// True if the holder of the frame is the holder that this hold proves.
    pub(crate) fn is(&self, holder: &Holder) -> bool {
        self.generation == holder.generation && self.kind == holder.kind && self.name == holder.name
    }

    /// The frame with its holder.
    pub(crate) fn of(handle: Handle, holder: &Holder) -> Self {
        let Holder { kind, ref name, generation, until, tries, .. } = *holder;
        Self { handle, kind, name: name.clone(), generation, until: until.unwrap_or_default(), tries }
    }
}

/// How the work on a frame ends for its holder: [`Work::finish`](crate::stack::Work::finish).
///
/// In JSON: `{"end": "done", "results": "12 tests", "resultsCompacted": "tested"}`, `{"end": "failed",
/// "results": "It does not compile"}`, `{"end": "asks", "question": "Which rate?"}`, `{"end": "later",
/// "wait": 60000}`. `resultsCompacted` and `wait` can be left out, and so can the `results` so far of a
/// question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "FlatFinish")]
#[non_exhaustive]
pub enum Finish {
    /// The frame is completed. If parts that were planned below it are left, the frame is put back instead
    /// until the parts are done, and the results are its results so far.
    Done(Results),
    /// The frame has failed.
    Failed(Results),
    /// The frame is blocked: it waits for a person.
    Asks {
        /// What the frame needs, and who can give it.
        question: String,
        /// The results so far, if there are any.
        results: Option<Results>,
    },
    /// The frame is put back.
    Later {
        /// How long the frame waits, in milliseconds, at most [`Holder::LONGEST_LEASE`]. `None`: a second
        /// after the first time, twice as long after each further time, at most a minute.
        wait: Option<u64>,
    },
}

/// How the work on a frame ends for its holder.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Finish"))]
#[serde(tag = "end", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum FlatFinish {
    /// The frame is completed. If frames were planned below it, it is put back until they are done.
    Done {
        /// The results in full.
        results: String,
        /// A short form for the contexts of other frames. Default: the full results are used.
        #[serde(default)]
        results_compacted: String,
    },
    /// The frame has failed.
    Failed {
        /// The results in full: why it has failed.
        results: String,
        /// A short form for the contexts of other frames. Default: the full results are used.
        #[serde(default)]
        results_compacted: String,
    },
    /// The frame is blocked: it waits for an answer.
    Asks {
        /// What the frame needs, and who can give it.
        question: String,
        /// The results so far, in full. Default: the frame keeps its results.
        results: Option<String>,
        /// A short form of the results so far. Default: the full ones are used.
        #[serde(default)]
        results_compacted: String,
    },
    /// The frame is put back.
    Later {
        /// How long it waits, in milliseconds, at most 86400000. Default: a second after its first time,
        /// twice as long after each further one, at most a minute.
        wait: Option<u64>,
    },
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Finish {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        FlatFinish::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        FlatFinish::json_schema(generator)
    }
}

impl From<FlatFinish> for Finish {
    fn from(flat: FlatFinish) -> Self {
        let of = |full: String, compacted: String| Results { full, compacted };
        match flat {
            FlatFinish::Done { results, results_compacted } => Finish::Done(of(results, results_compacted)),
            FlatFinish::Failed { results, results_compacted } => Finish::Failed(of(results, results_compacted)),
            FlatFinish::Asks { question, results, results_compacted } => {
                Finish::Asks { question, results: results.map(|results| of(results, results_compacted)) }
            }
            FlatFinish::Later { wait } => Finish::Later { wait },
        }
    }
}

/// How the work on a frame has ended.
///
/// In JSON: `{"status": "completed"}`, or `{"status": "in_progress", "until": 1795293167903}` for a frame
/// that was put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Finished {
    /// The status of the frame: in_progress if it was put back.
    pub status: FrameStatus,
    /// The time before which no worker gets the frame, if it was put back, in milliseconds since the Unix
    /// epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

/// What is left to do: the numbers of unfinished frames, each counted once.
///
/// In JSON: `{"free": 3, "held": 2, "later": 0, "waiting": 40, "begun": 1, "blocked": 0, "assigned": 0}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct WorkLeft {
    /// Frames that a worker can hold now.
    pub free: usize,
    /// Frames that workers hold.
    pub held: usize,
    /// Frames that workers have put back, and that wait until a later time.
    pub later: usize,
    /// Frames that wait for others: planned ones, and begun ones that have split their work.
    pub waiting: usize,
    /// Frames in progress that are not in the hands of a worker: a person, a conversation or a host works on
    /// them.
    pub begun: usize,
    /// Blocked frames that wait for an answer, or for an actor that resumes them.
    pub blocked: usize,
    /// Frames that could be held, but are assigned to others: workers of other names get them only if they
    /// name the frame.
    pub assigned: usize,
}

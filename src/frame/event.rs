//! Events: the history of a tree. Each event records one change; revisions number them in order.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{
    Chunk, Frame, FrameEdit, FrameLimits, FrameStatus, Handle, Holder, Identity, Message, ModelRequest, RegisterValues,
    Release, RunSettings, SummaryRequest, TranscriptPosition, TreeBefore,
};

/// One change to one frame. A tree changes only by events: applying all events of a tree to an empty
/// tree gives an equal tree.
///
/// ```json
/// {"revision": 7, "time": 1795293106903, "handle": "f2", "kind": "statusChanged", "status": "completed",
///  "results": "JWT with refresh tokens", "resultsCompacted": "JWT"}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StackEvent"))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Position in the history: 1 for the first event of a tree, 2 for the second, and so on.
    pub revision: u64,
    /// Time of the change, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The frame that changed.
    pub handle: Handle,
    /// The change. In JSON its fields are at the top level of the event.
    #[serde(flatten)]
    pub change: Change,
}

/// The change that an [`Event`] makes. In JSON the key `kind` names the variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Change {
    /// The frame was created: pushed, planned, created for a session, or imported.
    Added {
        /// The record of the frame at its creation.
        frame: Box<Frame>,
    },
    /// This frame and all frames with higher handles come from one import. Their starts and finishes
    /// are ordered by their times, not by their handles.
    Imported {
        /// Keys of the imported state that this version does not know. Omitted in JSON if empty.
        #[serde(skip_serializing_if = "Map::is_empty")]
        extra: Map<String, Value>,
    },
    /// The frame got dependencies on frames that were added later in the same command.
    DependenciesAdded {
        /// IDs of the frames that it depends on.
        depends_on: Vec<String>,
    },
    /// A placeholder frame got its title and criteria, or its present title and criteria were set for good.
    Identified {
        /// The new title and criteria.
        identity: Identity,
        /// True: the frame remains a placeholder. Omitted in JSON if false.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        provisional: bool,
    },
    /// The frame was activated, blocked, resumed or popped.
    StatusChanged {
        /// The new status.
        status: FrameStatus,
        /// The full results, if the change sets them.
        #[serde(skip_serializing_if = "Option::is_none")]
        results: Option<String>,
        /// The compacted results, if the change sets them.
        #[serde(skip_serializing_if = "Option::is_none")]
        results_compacted: Option<String>,
    },
    /// The frame got intermediate results and remains open.
    Summarized {
        /// The full results so far.
        results: String,
        /// The compacted results so far.
        results_compacted: String,
    },
    /// The frame was blocked in the same command, and waits for this.
    Asked {
        /// What the frame needs, and who can give it. Empty if that was not said.
        question: String,
        /// True if no question was asked: the work was interrupted or stopped. Omitted in JSON if false.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        interruption: bool,
    },
    /// The blocked frame was answered. It can be resumed.
    Answered {
        /// The answer.
        answer: String,
        /// The status that a frame gets if it has waited to begin: planned; or, if the frame is not work,
        /// completed or in_progress. Omitted in JSON for other frames, which stay blocked until they are
        /// resumed.
        #[serde(skip_serializing_if = "Option::is_none")]
        becomes: Option<FrameStatus>,
    },
    /// An actor holds the frame from now on; or the lease of its holder has another end, and then the
    /// generation stays the same.
    Held {
        /// The holder.
        holder: Box<Holder>,
    },
    /// The holder of the frame has let it go, or has lost it.
    Released {
        /// How.
        release: Release,
    },
    /// The frames that run at or below this frame were stopped. Hosts begin no queued frames there.
    Stopped {
        /// The reason.
        reason: String,
    },
    /// A summary of the frame's conversation was requested, or the request has ended.
    SummaryRequested {
        /// The request. Absent: it has ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        request: Option<Box<SummaryRequest>>,
    },
    /// The frame was removed from the plan.
    Invalidated {
        /// The reason.
        reason: String,
    },
    /// The frame got another ID.
    IdReplaced {
        /// The new ID.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// The frame's log is another file from now on.
    LogPathSet {
        /// The new path of the log, relative to the stack's folder or absolute.
        log_path: String,
    },
    /// The frame's own log was renamed together with its ID.
    LogMoved {
        /// Path of the log from now on, relative to the stack's folder.
        log_path: String,
    },
    /// The conversation of the parent received the results of the frame.
    Delivered {},
    /// The conversation of the frame was compacted or started again: it no longer holds the results of the
    /// children.
    Forgotten {},
    /// An artifact was recorded.
    ArtifactAdded {
        /// The artifact, usually a path.
        artifact: String,
    },
    /// A decision was recorded.
    DecisionAdded {
        /// The decision.
        decision: String,
    },
    /// The frame became the active frame, or stopped being it and no frame is active.
    ActiveChanged {
        /// True: this frame is active. False: this frame was active, and now no frame is.
        active: bool,
    },
    /// A chunk was allocated on the frame's heap.
    ChunkAllocated {
        /// The chunk.
        chunk: Box<Chunk>,
    },
    /// A chunk of the frame got new content.
    ChunkWritten {
        /// The chunk's name.
        name: String,
        /// The new content.
        content: String,
        /// The step of the run in which the chunk was written; 0 outside runs.
        step: u64,
    },
    /// A chunk of the frame was freed.
    ChunkFreed {
        /// The chunk's name.
        name: String,
    },
    /// Registers of the frame got new values.
    RegistersChanged {
        /// The new values. Registers that are not listed keep theirs.
        registers: RegisterValues,
    },
    /// The frame became the root of a run: an agent that manages its own memory works in it.
    RunStarted {
        /// The settings of the run.
        run: RunSettings,
        /// The host's description of the agent's other tools, a section of its system prompt. Empty: it has
        /// none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tools: String,
    },
    /// A model pushed the frame by a tool call. The results of the frame will answer that tool call.
    Called {
        /// ID of the tool call.
        call: String,
    },
    /// Messages were added to the frame's conversation.
    MessagesAdded {
        /// The new messages, oldest first.
        messages: Vec<Message>,
    },
    /// The planned frame was edited, or a person has corrected the words or the priority of an open frame.
    /// Other frames only get another place: an import of files restores the order of siblings in this way.
    Edited {
        /// The changed fields. They name frames by their handles.
        edit: Box<FrameEdit>,
        /// The values before, if the frame had begun: work may have been done by them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        was: Option<Box<FrameEdit>>,
    },
    /// A model was asked in the frame's session. Contexts do not show it.
    UsageRecorded {
        /// The request.
        model_request: Box<ModelRequest>,
    },
    /// The limits on what the frame may do and spend from now on.
    LimitsSet {
        /// All limits of the frame.
        limits: Box<FrameLimits>,
    },
    /// The host has told what a conversation of the frame has cost so far.
    CostRecorded {
        /// The ID of the conversation.
        conversation: String,
        /// The cost of all its requests, in millionths of a US dollar. It replaces the cost that was recorded
        /// before.
        cost_micro_usd: u64,
    },
    /// The transcript of a conversation was read up to this position. What it says is in the logs and the
    /// usage of frames; this frame is one of them.
    TranscriptRead {
        /// The name of the conversation.
        conversation: String,
        /// Where the reading has stopped.
        position: Box<TranscriptPosition>,
    },
    /// The completed frame turned out to be wrong: it is in_progress again. Its results are those so far.
    Reopened {
        /// What is wrong.
        reason: String,
    },
    /// A person has given a command. It consists of the events before this one, from a revision on. The last
    /// commands can be taken back.
    Commanded {
        /// What the command was, such as `pop`.
        command: String,
        /// The name of the person; empty if the person has given none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        by: String,
        /// The state of the tree before the command. `None`: the command cannot be taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Box<TreeBefore>>,
    },
    /// The command of a person was taken back.
    Undone {
        /// The revision of its event `commanded`.
        commanded: u64,
        /// What the command was, such as `pop`.
        command: String,
    },
    /// The frame is again in the state before a command that was taken back.
    Restored {
        /// Keys of the frame's record with their values; null for a key that it does not have.
        values: Map<String, Value>,
        /// The edit that gives the frame its former place and dependencies back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edit: Option<Box<FrameEdit>>,
    },
    /// The file from which the frame was imported has changed, and the frame has changed with it; or only the
    /// facts that are known of the file have changed.
    Reimported {
        /// Keys of the frame's record with their new values; null for a key that it does not have any more.
        values: Map<String, Value>,
        /// The edit that gives the frame its new place and its new dependencies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edit: Option<Box<FrameEdit>>,
    },
}

impl Change {
    /// The names of all kinds: the values of the JSON key `kind`.
    pub const KINDS: &[&str] = &[
        "added",
        "imported",
        "dependenciesAdded",
        "identified",
        "statusChanged",
        "invalidated",
        "idReplaced",
        "logPathSet",
        "artifactAdded",
        "decisionAdded",
        "activeChanged",
        "summarized",
        "chunkAllocated",
        "chunkWritten",
        "chunkFreed",
        "registersChanged",
        "runStarted",
        "called",
        "messagesAdded",
        "logMoved",
        "delivered",
        "forgotten",
        "asked",
        "answered",
        "held",
        "released",
        "summaryRequested",
        "edited",
        "stopped",
        "usageRecorded",
        "limitsSet",
        "costRecorded",
        "transcriptRead",
        "reopened",
        "commanded",
        "undone",
        "restored",
        "reimported",
    ];

    /// The name of the variant: the value of the JSON key `kind`.
    pub const fn kind(&self) -> &'static str {
        let place = match self {
            Change::Added { .. } => 0,
            Change::Imported { .. } => 1,
            Change::DependenciesAdded { .. } => 2,
            Change::Identified { .. } => 3,
            Change::StatusChanged { .. } => 4,
            Change::Invalidated { .. } => 5,
            Change::IdReplaced { .. } => 6,
            Change::LogPathSet { .. } => 7,
            Change::ArtifactAdded { .. } => 8,
            Change::DecisionAdded { .. } => 9,
            Change::ActiveChanged { .. } => 10,
            Change::Summarized { .. } => 11,
            Change::ChunkAllocated { .. } => 12,
            Change::ChunkWritten { .. } => 13,
            Change::ChunkFreed { .. } => 14,
            Change::RegistersChanged { .. } => 15,
            Change::RunStarted { .. } => 16,
            Change::Called { .. } => 17,
            Change::MessagesAdded { .. } => 18,
            Change::LogMoved { .. } => 19,
            Change::Delivered {} => 20,
            Change::Forgotten {} => 21,
            Change::Asked { .. } => 22,
            Change::Answered { .. } => 23,
            Change::Held { .. } => 24,
            Change::Released { .. } => 25,
            Change::SummaryRequested { .. } => 26,
            Change::Edited { .. } => 27,
            Change::Stopped { .. } => 28,
            Change::UsageRecorded { .. } => 29,
            Change::LimitsSet { .. } => 30,
            Change::CostRecorded { .. } => 31,
            Change::TranscriptRead { .. } => 32,
            Change::Reopened { .. } => 33,
            Change::Commanded { .. } => 34,
            Change::Undone { .. } => 35,
            Change::Restored { .. } => 36,
            Change::Reimported { .. } => 37,
        };
        Change::KINDS[place]
    }
}

/// The keys of an event that are read directly: opening a stack reads every event of its history, and these
/// are in most of them. Serde would buffer an internally tagged enum before it reads it.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Key {
    Revision,
    Time,
    Handle,
    Kind,
    Frame,
    Status,
    Active,
    Results,
    ResultsCompacted,
    Messages,
    Chunk,
    #[serde(untagged)]
    Other(String),
}

/// The name of a kind that this version knows, or the unknown name.
struct Kind(Result<&'static str, String>);

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Kind;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a kind of events")
            }

            fn visit_str<E>(self, name: &str) -> Result<Kind, E> {
                let known = Change::KINDS.iter().find(|known| **known == name);
                Ok(Kind(known.copied().ok_or_else(|| name.to_owned())))
            }
        }
        deserializer.deserialize_str(Name)
    }
}

/// Written by hand, because derived code would buffer every event: the keys of [`Change`] are at the top
/// level, and `kind` names the variant.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EventVisitor)
    }
}

struct EventVisitor;

impl<'de> Visitor<'de> for EventVisitor {
    type Value = Event;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
        let (mut revision, mut time, mut handle, mut kind) = (None, None, None, None);
        let mut fields = Fields::default();
        while let Some(key) = map.next_key()? {
            match key {
                Key::Revision => revision = Some(map.next_value()?),
                Key::Time => time = Some(map.next_value()?),
                Key::Handle => handle = Some(map.next_value()?),
                Key::Kind => kind = Some(map.next_value::<Kind>()?),
                Key::Frame => fields.frame = map.next_value()?,
                Key::Status => fields.status = map.next_value()?,
                Key::Active => fields.active = map.next_value()?,
                Key::Results => fields.results = map.next_value()?,
                Key::ResultsCompacted => fields.results_compacted = map.next_value()?,
                Key::Messages => fields.messages = map.next_value()?,
                Key::Chunk => fields.chunk = map.next_value()?,
                Key::Other(key) => drop(fields.others.insert(key, map.next_value()?)),
            }
        }
        let revision = revision.ok_or_else(|| A::Error::missing_field("revision"))?;
        let time = time.ok_or_else(|| A::Error::missing_field("time"))?;
        let handle = handle.ok_or_else(|| A::Error::missing_field("handle"))?;
        let Kind(kind) = kind.ok_or_else(|| A::Error::missing_field("kind"))?;
        let change = match &kind {
            Ok(kind) => fields.change(kind).map_err(|problem| format!("event {revision} of kind `{kind}` {problem}")),
            Err(kind) => Err(format!("event {revision} has the kind `{kind}`, which this version does not know")),
        };
        Ok(Event { revision, time, handle, change: change.map_err(A::Error::custom)? })
    }
}

/// The fields of an event in addition to the fields that all events have.
#[derive(Default)]
struct Fields {
    frame: Option<Box<Frame>>,
    status: Option<FrameStatus>,
    active: Option<bool>,
    results: Option<String>,
    results_compacted: Option<String>,
    messages: Option<Vec<Message>>,
    chunk: Option<Box<Chunk>>,
    others: Map<String, Value>,
}

impl Fields {
    /// The change of this kind, or what is wrong with the event.
    fn change(mut self, kind: &str) -> Result<Change, String> {
        Ok(match kind {
            "added" => Change::Added { frame: given("frame", self.frame)? },
            "imported" => Change::Imported { extra: self.or_default("extra")? },
            "dependenciesAdded" => Change::DependenciesAdded { depends_on: self.required("dependsOn")? },
            "identified" => Change::Identified {
                identity: self.required("identity")?,
                provisional: self.or_default("provisional")?,
            },
            "statusChanged" => Change::StatusChanged {
                status: given("status", self.status)?,
                results: self.results,
                results_compacted: self.results_compacted,
            },
            "invalidated" => Change::Invalidated { reason: self.required("reason")? },
            "idReplaced" => Change::IdReplaced { session_id: self.required("sessionID")? },
            "logPathSet" => Change::LogPathSet { log_path: self.required("logPath")? },
            "logMoved" => Change::LogMoved { log_path: self.required("logPath")? },
            "delivered" => Change::Delivered {},
            "forgotten" => Change::Forgotten {},
            "asked" => {
                Change::Asked { question: self.required("question")?, interruption: self.or_default("interruption")? }
            }
            "answered" => Change::Answered { answer: self.required("answer")?, becomes: self.or_default("becomes")? },
            "held" => Change::Held { holder: self.required("holder")? },
            "released" => Change::Released { release: self.required("release")? },
            "stopped" => Change::Stopped { reason: self.required("reason")? },
            "summaryRequested" => Change::SummaryRequested { request: self.or_default("request")? },
            "artifactAdded" => Change::ArtifactAdded { artifact: self.required("artifact")? },
            "decisionAdded" => Change::DecisionAdded { decision: self.required("decision")? },
            "activeChanged" => Change::ActiveChanged { active: given("active", self.active)? },
            "summarized" => Change::Summarized {
                results: given("results", self.results)?,
                results_compacted: given("resultsCompacted", self.results_compacted)?,
            },
            "chunkAllocated" => Change::ChunkAllocated { chunk: given("chunk", self.chunk)? },
            "chunkWritten" => Change::ChunkWritten {
                name: self.required("name")?,
                content: self.required("content")?,
                step: self.or_default("step")?,
            },
            "chunkFreed" => Change::ChunkFreed { name: self.required("name")? },
            "registersChanged" => Change::RegistersChanged { registers: self.required("registers")? },
            "runStarted" => Change::RunStarted { run: self.required("run")?, tools: self.or_default("tools")? },
            "called" => Change::Called { call: self.required("call")? },
            "messagesAdded" => Change::MessagesAdded { messages: given("messages", self.messages)? },
            "edited" => Change::Edited { edit: self.required("edit")?, was: self.optional("was")? },
            "usageRecorded" => Change::UsageRecorded { model_request: self.required("modelRequest")? },
            "limitsSet" => Change::LimitsSet { limits: self.required("limits")? },
            "costRecorded" => Change::CostRecorded {
                conversation: self.required("conversation")?,
                cost_micro_usd: self.required("costMicroUsd")?,
            },
            "transcriptRead" => Change::TranscriptRead {
                conversation: self.required("conversation")?,
                position: self.required("position")?,
            },
            "reopened" => Change::Reopened { reason: self.required("reason")? },
            "commanded" => Change::Commanded {
                command: self.required("command")?,
                by: self.or_default("by")?,
                before: self.optional("before")?,
            },
            "undone" => Change::Undone { commanded: self.required("commanded")?, command: self.required("command")? },
            "restored" => Change::Restored { values: self.required("values")?, edit: self.optional("edit")? },
            "reimported" => Change::Reimported { values: self.required("values")?, edit: self.optional("edit")? },
            _ => return Err("cannot be read".to_owned()),
        })
    }

    /// The value of a key that the kind can have; null counts as no value.
    fn optional<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>, String> {
        let value = self.others.remove(key).filter(|value| !value.is_null());
        value.map(T::deserialize).transpose().map_err(|error| format!("has an unreadable `{key}`: {error}"))
    }

    fn or_default<T: DeserializeOwned + Default>(&mut self, key: &str) -> Result<T, String> {
        self.optional(key).map(Option::unwrap_or_default)
    }

    fn required<T: DeserializeOwned>(&mut self, key: &str) -> Result<T, String> {
        given(key, self.optional(key)?)
    }
}

/// The value of a key that the kind must have.
fn given<T>(key: &str, value: Option<T>) -> Result<T, String> {
    value.ok_or_else(|| format!("has no `{key}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FrameBefore, MemoryModel, Register, ToolCall};

    #[test]
    fn every_kind_is_written_under_its_name_and_read_again() {
        let text = || "text".to_owned();
        let changes = [
            Change::Added { frame: Box::new(Frame { session_id: text(), ..Frame::default() }) },
            Change::Imported { extra: Map::from_iter([(text(), Value::Null)]) },
            Change::DependenciesAdded { depends_on: vec![text()] },
            Change::Identified { identity: Identity { title: text(), ..Identity::default() }, provisional: true },
            Change::StatusChanged { status: FrameStatus::Failed, results: Some(text()), results_compacted: None },
            Change::Invalidated { reason: text() },
            Change::IdReplaced { session_id: text() },
            Change::LogPathSet { log_path: text() },
            Change::ArtifactAdded { artifact: text() },
            Change::DecisionAdded { decision: text() },
            Change::ActiveChanged { active: true },
            Change::Summarized { results: text(), results_compacted: text() },
            Change::ChunkAllocated { chunk: Box::new(Chunk { name: text(), allocated_step: 3, ..Chunk::default() }) },
            Change::ChunkWritten { name: text(), content: text(), step: 5 },
            Change::ChunkFreed { name: text() },
            Change::RegistersChanged { registers: [(Register::Plan, text())].into() },
            Change::RunStarted {
                run: RunSettings { memory: MemoryModel::Registers, ..RunSettings::default() },
                tools: text(),
            },
            Change::Called { call: text() },
            Change::MessagesAdded {
                messages: vec![
                    Message::User { text: text() },
                    Message::Assistant {
                        text: text(),
                        calls: vec![ToolCall { id: text(), name: text(), arguments: "{".into() }],
                    },
                    Message::Tool { call: text(), name: text(), text: text(), is_error: true },
                ],
            },
            Change::LogMoved { log_path: text() },
            Change::Delivered {},
            Change::Forgotten {},
            Change::Asked { question: text(), interruption: true },
            Change::Answered { answer: text(), becomes: Some(FrameStatus::Planned) },
            Change::Held { holder: Box::new(Holder { name: text(), generation: 2, ..Holder::default() }) },
            Change::Released { release: Release::PutBack { until: 9 } },
            Change::SummaryRequested {
                request: Some(Box::new(SummaryRequest { note: Some(text()), ..SummaryRequest::default() })),
            },
            Change::Edited {
                edit: Box::new(FrameEdit::default().title("text").depends_on(["f1"]).root().last()),
                was: Some(Box::new(FrameEdit::default().title("text before").priority(None))),
            },
            Change::Stopped { reason: text() },
            Change::UsageRecorded { model_request: Box::new(ModelRequest { output: 7, ..ModelRequest::new("text") }) },
            Change::LimitsSet { limits: Box::new(FrameLimits::default().max_tokens(Some(5))) },
            Change::CostRecorded { conversation: text(), cost_micro_usd: 12 },
            Change::TranscriptRead {
                conversation: text(),
                position: Box::new(TranscriptPosition { offset: 12, ..TranscriptPosition::default() }),
            },
            Change::Reopened { reason: text() },
            Change::Commanded {
                command: text(),
                by: text(),
                before: Some(Box::new(TreeBefore {
                    frames: vec![FrameBefore { frame: Handle::from_index(1).unwrap(), values: Map::new(), edit: None }],
                    added: None,
                    active: Handle::from_index(1),
                })),
            },
            Change::Undone { commanded: 6, command: text() },
            Change::Restored {
                values: Map::from_iter([("status".to_owned(), "planned".into())]),
                edit: Some(Box::new(FrameEdit::default().root())),
            },
            Change::Reimported {
                values: Map::from_iter([("title".to_owned(), "text".into())]),
                edit: Some(Box::new(FrameEdit::default().last())),
            },
        ];
        assert_eq!(changes.each_ref().map(Change::kind), *Change::KINDS);
        for change in changes {
            let event = Event { revision: 7, time: 8, handle: Handle::from_index(8).unwrap(), change };
            let json = serde_json::to_value(&event).unwrap();
            assert_eq!(json["kind"], event.change.kind());
            assert_eq!(json["handle"], "f9");
            assert_eq!(serde_json::from_value::<Event>(json).unwrap(), event);
            let line = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
        }
    }
}

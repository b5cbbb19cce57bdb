//! Events: what has happened to a tree, one change each, in the order of their revisions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Chunk, Frame, FrameStatus, Handle, Identity, Message, RegisterValues, RunSettings};

/// One change to one frame. Events are the only way a tree changes: applying the events of a tree
/// to an empty one gives the same tree again.
///
/// ```json
/// {"revision": 7, "time": 1795293106903, "handle": "f2", "kind": "statusChanged", "status": "completed",
///  "results": "JWT with refresh tokens", "resultsCompacted": "JWT"}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "FlatEvent")]
pub struct Event {
    /// Place in the history: 1 for the first event of a tree, then one more each.
    pub revision: u64,
    /// When it happened, in milliseconds since the epoch.
    pub time: u64,
    /// The frame that changed.
    pub handle: Handle,
    /// What changed.
    #[serde(flatten)]
    pub change: Change,
}

/// What an [`Event`] changes. In JSON the key `kind` names the variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Change {
    /// The frame came into being: pushed, planned, made for a session, or imported.
    Added {
        /// The frame as it was then.
        frame: Box<Frame>,
    },
    /// This frame and those after it came in one import: their starts and finishes are ordered by
    /// their times, not by their handles.
    Imported {
        /// Keys of the imported state that this version does not know.
        #[serde(skip_serializing_if = "Map::is_empty")]
        extra: Map<String, Value>,
    },
    /// Dependencies on frames that were added later in the same command.
    DependenciesAdded {
        /// Their IDs.
        depends_on: Vec<String>,
    },
    /// A placeholder got its title and criteria.
    Identified {
        /// What it is called from now on.
        identity: Identity,
    },
    /// The frame was activated, blocked, resumed or popped.
    StatusChanged {
        /// The status from now on.
        status: FrameStatus,
        /// Results, if the change brought any.
        #[serde(skip_serializing_if = "Option::is_none")]
        results: Option<String>,
        /// Their dense form.
        #[serde(skip_serializing_if = "Option::is_none")]
        results_compacted: Option<String>,
    },
    /// The frame goes on, with these results so far.
    Summarized {
        /// What has been achieved, in full.
        results: String,
        /// The same, dense.
        results_compacted: String,
    },
    /// The frame was taken out of the plan.
    Invalidated {
        /// Why.
        reason: String,
    },
    /// The frame has another ID.
    IdReplaced {
        /// The ID from now on.
        #[serde(rename = "sessionID")]
        session_id: String,
    },
    /// The frame's log is another file.
    LogPathSet {
        /// Path of the log from now on, relative to the stack's folder or absolute.
        log_path: String,
    },
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
    /// The frame became the active one, or no frame is active any more.
    ActiveChanged {
        /// True: this frame is active. False: it was, and none is now.
        active: bool,
    },
    /// The frame has a new chunk on the heap.
    ChunkAllocated {
        /// The chunk.
        chunk: Box<Chunk>,
    },
    /// A chunk of the frame has other content.
    ChunkWritten {
        /// The chunk's name.
        name: String,
        /// Its content from now on.
        content: String,
        /// The step of the run; 0 outside of runs.
        step: u64,
    },
    /// A chunk of the frame is gone.
    ChunkFreed {
        /// The chunk's name.
        name: String,
    },
    /// Registers of the frame have other values.
    RegistersChanged {
        /// The values from now on; registers that are not named stay.
        registers: RegisterValues,
    },
    /// The frame is the root of a run: an agent works in it that manages its own memory.
    RunStarted {
        /// What the run was started with.
        run: RunSettings,
        /// The host's description of the agent's other tools, a section of its system prompt. Empty: it has none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tools: String,
    },
    /// The frame was pushed by a model's call, which waits for its results.
    Called {
        /// ID of the call.
        call: String,
    },
    /// Messages were added to the frame's conversation.
    MessagesAdded {
        /// The messages, in order.
        messages: Vec<Message>,
    },
}

impl Change {
    /// The names of all kinds, as `kind` has them in JSON.
    pub const KINDS: [&str; 19] = [
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
    ];

    /// The name of the variant, as `kind` has it in JSON.
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
        };
        Change::KINDS[place]
    }
}

/// An event as its JSON stands, all kinds in one. An enum with its tag inside would have to be
/// buffered before it can be read, and an open reads every event there is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FlatEvent {
    revision: u64,
    time: u64,
    handle: Handle,
    kind: String,
    frame: Option<Box<Frame>>,
    #[serde(default)]
    extra: Map<String, Value>,
    depends_on: Option<Vec<String>>,
    identity: Option<Identity>,
    status: Option<FrameStatus>,
    results: Option<String>,
    results_compacted: Option<String>,
    reason: Option<String>,
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
    log_path: Option<String>,
    artifact: Option<String>,
    decision: Option<String>,
    active: Option<bool>,
    chunk: Option<Box<Chunk>>,
    name: Option<String>,
    content: Option<String>,
    #[serde(default)]
    step: u64,
    registers: Option<RegisterValues>,
    run: Option<RunSettings>,
    #[serde(default)]
    tools: String,
    call: Option<String>,
    messages: Option<Vec<Message>>,
}

impl TryFrom<FlatEvent> for Event {
    type Error = String;

    fn try_from(event: FlatEvent) -> Result<Self, String> {
        let FlatEvent { revision, time, handle, kind, .. } = event;
        let lacks = |key: &str| format!("event {revision} of kind `{kind}` has no `{key}`");
        let change = match kind.as_str() {
            "added" => Change::Added { frame: event.frame.ok_or_else(|| lacks("frame"))? },
            "imported" => Change::Imported { extra: event.extra },
            "dependenciesAdded" => {
                Change::DependenciesAdded { depends_on: event.depends_on.ok_or_else(|| lacks("dependsOn"))? }
            }
            "identified" => Change::Identified { identity: event.identity.ok_or_else(|| lacks("identity"))? },
            "statusChanged" => Change::StatusChanged {
                status: event.status.ok_or_else(|| lacks("status"))?,
                results: event.results,
                results_compacted: event.results_compacted,
            },
            "invalidated" => Change::Invalidated { reason: event.reason.ok_or_else(|| lacks("reason"))? },
            "idReplaced" => Change::IdReplaced { session_id: event.session_id.ok_or_else(|| lacks("sessionID"))? },
            "logPathSet" => Change::LogPathSet { log_path: event.log_path.ok_or_else(|| lacks("logPath"))? },
            "artifactAdded" => Change::ArtifactAdded { artifact: event.artifact.ok_or_else(|| lacks("artifact"))? },
            "decisionAdded" => Change::DecisionAdded { decision: event.decision.ok_or_else(|| lacks("decision"))? },
            "activeChanged" => Change::ActiveChanged { active: event.active.ok_or_else(|| lacks("active"))? },
            "summarized" => Change::Summarized {
                results: event.results.ok_or_else(|| lacks("results"))?,
                results_compacted: event.results_compacted.ok_or_else(|| lacks("resultsCompacted"))?,
            },
            "chunkAllocated" => Change::ChunkAllocated { chunk: event.chunk.ok_or_else(|| lacks("chunk"))? },
            "chunkWritten" => Change::ChunkWritten {
                name: event.name.ok_or_else(|| lacks("name"))?,
                content: event.content.ok_or_else(|| lacks("content"))?,
                step: event.step,
            },
            "chunkFreed" => Change::ChunkFreed { name: event.name.ok_or_else(|| lacks("name"))? },
            "registersChanged" => {
                Change::RegistersChanged { registers: event.registers.ok_or_else(|| lacks("registers"))? }
            }
            "runStarted" => Change::RunStarted { run: event.run.ok_or_else(|| lacks("run"))?, tools: event.tools },
            "called" => Change::Called { call: event.call.ok_or_else(|| lacks("call"))? },
            "messagesAdded" => Change::MessagesAdded { messages: event.messages.ok_or_else(|| lacks("messages"))? },
            _ => return Err(format!("event {revision} is of the kind `{kind}`, which this version does not know")),
        };
        Ok(Event { revision, time, handle, change })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{MemoryModel, Register, ToolCall};

    #[test]
    fn every_kind_is_written_under_its_name_and_read_again() {
        let text = || "text".to_owned();
        let changes = [
            Change::Added { frame: Box::new(Frame { session_id: text(), ..Frame::default() }) },
            Change::Imported { extra: Map::from_iter([(text(), Value::Null)]) },
            Change::DependenciesAdded { depends_on: vec![text()] },
            Change::Identified { identity: Identity { title: text(), ..Identity::default() } },
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
        ];
        assert_eq!(changes.each_ref().map(Change::kind), Change::KINDS);
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

    #[test]
    fn runs_of_older_histories_have_no_tools() {
        let line = r#"{"revision":2,"time":8,"handle":"f1","kind":"runStarted","run":{"memory":"heap"}}"#;
        let expected = Change::RunStarted { run: RunSettings::default(), tools: String::new() };
        let event = serde_json::from_str::<Event>(line).unwrap();
        assert_eq!(event.change, expected);
        assert!(!serde_json::to_string(&event).unwrap().contains("tools"));
    }
}

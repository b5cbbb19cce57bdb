//! Records that only the C interface and the clients generated from it have. In Rust their fields are
//! arguments.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::context::{self, CacheStatistics};
use crate::error::Error;
use crate::frame::{
    Change, Chunk, Frame, FrameRef, FrameStatus, Handle, Identity, PopStatus, Repair, Results, RunSettings,
};
use crate::import::{PlanChange, PlanConflict, Problem};
use crate::stack::{Mirroring, StackOptions};
use crate::store::{Durability, MirrorStatus};
use crate::tree::Tree;
use crate::vocabulary::ToolNames;

/// Options of a stack in a folder.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "StackOptions")]
pub(super) struct FolderOptions {
    /// The failures that an acknowledged command survives. `"normal"` (default): the death of the process. A
    /// power loss can remove the last commands. `"full"`: a power loss too.
    durability: Durability,
    /// How long one call waits in total, in milliseconds: for commands of other threads, for other processes,
    /// and for the locks of files. Then it fails with `busy`. Default 10000.
    busy_timeout: Option<u64>,
    /// When `state.json` and `frames/` beside the database are written. `"later"` (default): by `flush`, by
    /// `poll` in small portions, and at the end of the stack, not by commands. `"withCommands"`: each command
    /// also writes the files of the frames that it has changed. `"off"`: never. `true` means `"later"`,
    /// `false` means `"off"`.
    mirror: Option<MirroringChoice>,
    /// In stacks with more frames than this, only `flush` and other processes write `state.json`. For
    /// programs that make one change and end. Default: it is always written.
    state_file_frames: Option<usize>,
    /// How many frames of finished trees stay in memory at most. The others are read from the database when
    /// they are needed. Default 4096.
    finished_frames: Option<usize>,
    /// How tokens are counted: `"approx"` (default: an estimate), `"chars4"` (one token for four characters),
    /// or `"o200k"` (exact; only in a library with the feature `tokenizer`, otherwise the error is
    /// `setting`).
    #[schemars(with = "CounterName")]
    counter: Option<String>,
}

impl TryFrom<FolderOptions> for StackOptions {
    type Error = Error;

    fn try_from(options: FolderOptions) -> Result<Self, Error> {
        let defaults = options_with(options.counter.as_deref())?;
        Ok(Self {
            durability: options.durability,
            busy_timeout: options.busy_timeout.unwrap_or(defaults.busy_timeout),
            mirror: options.mirror.map_or(defaults.mirror, Mirroring::from),
            state_file_frames: options.state_file_frames.unwrap_or(defaults.state_file_frames),
            finished_frames: options.finished_frames.unwrap_or(defaults.finished_frames),
            ..defaults
        })
    }
}

/// When files are written, by name or as a yes or no.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum MirroringChoice {
    Named(Mirroring),
    Whether(bool),
}

impl From<MirroringChoice> for Mirroring {
    fn from(choice: MirroringChoice) -> Self {
        match choice {
            MirroringChoice::Named(named) => named,
            MirroringChoice::Whether(is_on) => is_on.into(),
        }
    }
}

/// Options of a stack in memory.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct MemoryOptions {
    /// How tokens are counted: as in `StackOptions`.
    #[schemars(with = "CounterName")]
    counter: Option<String>,
    /// Whether the stack keeps its events for `history`, as stacks in folders do. Default false.
    pub(super) history: bool,
}

impl MemoryOptions {
    pub(super) fn stack_options(&self) -> Result<StackOptions, Error> {
        options_with(self.counter.as_deref())
    }
}

/// Options of a stack that is made from a state.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct StateOptions {
    /// How tokens are counted: as in `StackOptions`.
    #[schemars(with = "CounterName")]
    counter: Option<String>,
}

impl StateOptions {
    pub(super) fn stack_options(&self) -> Result<StackOptions, Error> {
        options_with(self.counter.as_deref())
    }
}

/// The schema of the names of token counters. An unknown name is an error of its own, not one of the JSON.
struct CounterName;

impl JsonSchema for CounterName {
    fn schema_name() -> Cow<'static, str> {
        "CounterName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": ["approx", "chars4", "o200k"] })
    }
}

/// Returns the default options with the token counter of this name.
fn options_with(counter: Option<&str>) -> Result<StackOptions, Error> {
    let options = StackOptions::default();
    Ok(match counter {
        Some(name) => options.counter(context::counter(name)?),
        None => options,
    })
}

/// Which finished trees lose their events.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompactionLimits {
    /// Trees in which nothing is unfinished and whose last event is older than this time, in milliseconds
    /// since the Unix epoch.
    pub(super) before: u64,
}

/// Figures about a stack.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackInfo<'a> {
    /// Number of events that the tree has seen.
    pub(super) revision: u64,
    /// Number of frames.
    pub(super) frames: usize,
    /// The active frame; null if there is none.
    pub(super) active: Option<Handle>,
    /// Statistics of the cache of contexts.
    pub(super) cache: CacheStatistics,
    /// The state of the files beside the database; null if the stack keeps none.
    pub(super) mirror: Option<MirrorStatus>,
    /// Problems that were repaired in the files or the state from which the stack was made.
    pub(super) repairs: Vec<&'a Repair>,
}

/// What a placeholder is made with.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct Placeholder {
    /// The title. Default: `Session` and the first 8 characters of the ID.
    pub(super) title: Option<String>,
    /// The frame above the placeholder. Default: none, the placeholder is a root.
    pub(super) parent: Option<FrameRef>,
}

fn results(full: &str, compacted: &str) -> Results {
    Results::new(full).compacted(compacted)
}

/// The title and the criteria of a frame.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Identity")]
pub(super) struct NewIdentity {
    /// Short name, two to five words.
    title: String,
    /// The conditions that hold when the frame is done.
    #[serde(default)]
    success_criteria: String,
    /// A short form of the criteria, for contexts. Default: the full criteria are used.
    #[serde(default)]
    success_criteria_compacted: String,
}

impl From<NewIdentity> for Identity {
    fn from(identity: NewIdentity) -> Self {
        let NewIdentity { title, success_criteria, success_criteria_compacted } = identity;
        Self { title, success_criteria, success_criteria_compacted }
    }
}

/// How a frame is popped.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Pop {
    /// The new status. `"blocked"` is `block` without a question: the results say what the frame waits for.
    pub(super) status: PopStatus,
    /// The results in full. Default: empty.
    #[serde(default)]
    results: String,
    /// A short form for the contexts of other frames. Default: the full results are used.
    #[serde(default)]
    results_compacted: String,
    /// The planned frame that begins in the same command. `true`: the first planned sibling that can begin
    /// then, if there is one. Default: no frame begins.
    #[serde(default)]
    pub(super) next: Option<NextFrame>,
}

impl Pop {
    pub(super) fn results(&self) -> Results {
        results(&self.results, &self.results_compacted)
    }
}

/// The frame that begins when another one is popped: a reference, or `true` for the first planned sibling
/// that can begin.
pub(super) enum NextFrame {
    /// This frame.
    Frame(FrameRef),
    /// `true`: the first planned sibling that can begin. `false`: none.
    First(bool),
}

impl JsonSchema for NextFrame {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "NextFrame".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let frame = generator.subschema_for::<FrameRef>();
        json_schema!({ "anyOf": [frame, { "type": "boolean" }] })
    }
}

impl<'de> Deserialize<'de> for NextFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = NextFrame;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a reference to a frame, or true")
            }

            fn visit_bool<E>(self, is_first: bool) -> Result<NextFrame, E> {
                Ok(NextFrame::First(is_first))
            }

            fn visit_str<E>(self, frame: &str) -> Result<NextFrame, E> {
                Ok(NextFrame::Frame(frame.into()))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

/// How a frame is completed.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Completion {
    /// The results in full.
    results: String,
    /// A short form for the contexts of other frames. Default: the full results are used.
    #[serde(default)]
    results_compacted: String,
    /// The planned frame that begins in the same command. Default: none.
    #[serde(default)]
    pub(super) next: Option<FrameRef>,
}

impl Completion {
    pub(super) fn results(&self) -> Results {
        results(&self.results, &self.results_compacted)
    }
}

/// What a blocked frame waits for.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Block {
    /// What the frame needs, and who can give it. Empty: the results say it.
    pub(super) question: String,
    /// The results so far, in full. Default: the frame keeps the results that it has.
    #[serde(default)]
    results: String,
    /// A short form of the results. Default: the full results are used.
    #[serde(default)]
    results_compacted: String,
}

impl Block {
    /// The results, unless they are blank.
    pub(super) fn results(&self) -> Option<Results> {
        let results = results(&self.results, &self.results_compacted);
        Some(results).filter(|results| !results.dense().trim().is_empty())
    }
}

/// Results of an open frame so far.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ResultsSoFar {
    /// The results in full. Must not be empty.
    results: String,
    /// A short form for the contexts of other frames. Default: the full results are used.
    #[serde(default)]
    results_compacted: String,
}

impl ResultsSoFar {
    pub(super) fn results(&self) -> Results {
        results(&self.results, &self.results_compacted)
    }
}

/// The answer of an import.
#[derive(Serialize, JsonSchema)]
pub(super) struct Imported {
    /// The new frames.
    pub(super) handles: Vec<Handle>,
    /// The parts of the plan that could not be read or did not fit. They were left out or changed.
    pub(super) problems: Vec<Problem>,
    /// The frames that were imported before and have changed.
    pub(super) changes: Vec<PlanChange>,
    /// The fields on which the stack and the file differ. They keep the values of the stack.
    pub(super) conflicts: Vec<PlanConflict>,
    /// Number of frames that were imported before and have not changed.
    pub(super) unchanged: usize,
}

/// A new lease of a hold.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Renewal {
    /// The length of the lease from now on, in milliseconds: from 1 to 86400000.
    pub(super) lease: u64,
}

/// What a conversation of a frame has cost so far.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewCost {
    /// The ID of the conversation.
    pub(super) conversation: String,
    /// The cost of all its requests so far, in millionths of a US dollar.
    pub(super) cost_micro_usd: u64,
}

/// A frame with its handle.
#[derive(Serialize)]
pub(super) struct HandledFrame {
    handle: Handle,
    #[serde(flatten)]
    frame: Frame,
}

/// The schema names the record of the frame; a derived one would repeat all of its keys.
impl JsonSchema for HandledFrame {
    fn schema_name() -> Cow<'static, str> {
        "Frame".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let record = generator.subschema_for::<Frame>();
        let mut handle = generator.subschema_for::<Handle>();
        handle.insert("description".to_owned(), "The handle.".into());
        let mut schema = json_schema!({
            "description": "A frame with its handle.",
            "properties": { "handle": handle },
            "required": ["handle"],
        });
        schema.ensure_object().extend(record.as_object().cloned().unwrap_or_default());
        schema
    }
}

impl HandledFrame {
    pub(super) fn of(tree: &Tree, handle: Handle) -> Self {
        Self { handle, frame: tree.frame(handle) }
    }
}

/// Selects frames.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct FrameQuery {
    /// How the frames are selected. Default: `"all"`.
    pub(super) relation: Relation,
    /// The frame of the relation, for `ancestors`, `children`, `siblings` and `subtree`.
    frame: Option<FrameRef>,
    /// Only frames with this status.
    status: Option<FrameStatus>,
}

/// How frames are selected: from all trees, or by their relation to one frame.
#[derive(Deserialize, JsonSchema, Clone, Copy, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) enum Relation {
    /// All frames.
    #[default]
    All,
    /// The roots.
    Roots,
    /// The planned frames that can begin, in the order of the plan: they and the planned frames above them
    /// have what they need, no frame above them has ended, and none of their parts is left.
    Ready,
    /// The frames that are in progress although the host that ran them does not exist any more.
    Interrupted,
    /// The frames above the frame, from its parent up to the root.
    Ancestors,
    /// The children of the frame, in their order.
    Children,
    /// The siblings of the frame, in their order, without the frame itself.
    Siblings,
    /// The frame and all frames below it: parents before their children, depth first.
    Subtree,
}

impl FrameQuery {
    pub(super) fn frames(&self, tree: &Tree, interrupted: &[Handle]) -> Result<Vec<Handle>, Error> {
        let frame = || match &self.frame {
            Some(frame) => tree.resolve(frame),
            None => Err(Error::Empty { field: "frame" }),
        };
        let needs_none =
            matches!(self.relation, Relation::All | Relation::Roots | Relation::Ready | Relation::Interrupted);
        if needs_none && self.frame.is_some() {
            return Err(Error::json("query", "`frame` needs a `relation` to it, such as `children` or `subtree`"));
        }
        let mut frames: Vec<Handle> = match self.relation {
            Relation::All => tree.handles().collect(),
            Relation::Roots => tree.roots().to_vec(),
            Relation::Ready => tree.ready().collect(),
            Relation::Interrupted => interrupted.to_vec(),
            Relation::Ancestors => tree.ancestors(frame()?).collect(),
            Relation::Children => tree.children(frame()?).to_vec(),
            Relation::Siblings => tree.siblings(frame()?).collect(),
            Relation::Subtree => tree.subtree(frame()?).collect(),
        };
        frames.retain(|handle| self.status.is_none_or(|status| tree.node(*handle).status() == status));
        Ok(frames)
    }
}

/// The new content of a chunk.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChunkContent {
    /// The name of the chunk.
    pub(super) name: String,
    /// The new text, up to 100,000 characters.
    pub(super) content: String,
}

/// A chunk that a frame sees, and the frame that owns it.
#[derive(Serialize, JsonSchema)]
pub(super) struct VisibleChunk<'a> {
    /// The frame that owns the chunk.
    pub(super) handle: Handle,
    /// The chunk.
    pub(super) chunk: &'a Chunk,
}

/// The answer to a tool call of a run.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RunAnswer {
    /// The ID of the tool call, such as `call_1`.
    pub(super) call: String,
    /// The answer, for the model.
    pub(super) answer: String,
    /// Whether the call has failed and the answer is the reason. Default false.
    #[serde(default)]
    pub(super) is_error: bool,
}

/// Selects tools for agents.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ToolQuery {
    /// The host's names of the tools. The descriptions mention other tools by these names. Default: the
    /// default names.
    pub(super) names: Option<ToolNames>,
    /// The tools with which an agent in a run with these settings manages its memory.
    pub(super) memory: Option<RunSettings>,
    /// All tools, although the stack says which ones the host offers. Default false.
    pub(super) all: bool,
}

/// A tool call of an agent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolRequest {
    /// The default name of the tool. Tools that the host does not offer to its agents work too.
    pub(super) name: String,
    /// The arguments: an object, or its JSON as the model has written it. Default: none.
    #[serde(default)]
    arguments: ToolArguments,
}

/// The arguments of a tool call.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum ToolArguments {
    /// The JSON as the model has written it.
    Text(String),
    /// An object. Other values are refused by the tool.
    Value(serde_json::Value),
}

impl Default for ToolArguments {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl ToolRequest {
    /// The arguments as JSON.
    pub(super) fn arguments(&self) -> String {
        match &self.arguments {
            ToolArguments::Text(text) => text.clone(),
            ToolArguments::Value(value) => value.to_string(),
        }
    }
}

/// The schema of the kinds of events. An unknown kind is an error of its own, not one of the JSON.
struct EventKind;

impl JsonSchema for EventKind {
    fn schema_name() -> Cow<'static, str> {
        "EventKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "enum": Change::KINDS, "description": "The kind of an event: what has changed." })
    }
}

/// Selects events of a history.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "EventQuery")]
pub(super) struct HistoryQuery {
    /// Only events after this revision. Default 0.
    pub(super) since: u64,
    /// Only events up to this revision. Default: all.
    pub(super) until: Option<u64>,
    /// Only events of this frame.
    pub(super) frame: Option<FrameRef>,
    /// Only events of this kind, such as `decisionAdded`.
    #[schemars(with = "Option<EventKind>")]
    pub(super) kind: Option<String>,
    /// At most this number of events, the oldest ones.
    pub(super) limit: Option<usize>,
}

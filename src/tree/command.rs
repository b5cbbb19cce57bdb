//! Commands: the requested changes of a tree.

use serde_json::Value;

use crate::frame::{
    Finish, Frame, FrameEdit, FrameLimits, FrameRef, FrameStatus, Hold, Identity, ModelRequest, NewChunk, NewFrame,
    NewHold, Parent, PopStatus, RegisterValues, Release, Results, SummaryRequest, Told, TranscriptPosition,
};

/// A part of the transcript of a conversation that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TranscriptRead {
    /// A frame of those in whose logs it is, or if it is in none, any frame.
    pub frame: FrameRef,
    /// The name of the conversation.
    pub conversation: String,
    /// How far it was read before, in bytes. `None`: it was not read.
    pub before: Option<u64>,
    /// How far it was read.
    pub position: Box<TranscriptPosition>,
}

impl TranscriptRead {
    /// A part that was read on from there.
    pub fn new(
        frame: impl Into<FrameRef>,
        conversation: impl Into<String>,
        before: Option<u64>,
        position: TranscriptPosition,
    ) -> Self {
        Self { frame: frame.into(), conversation: conversation.into(), before, position: Box::new(position) }
    }
}

/// A requested change of a tree. [`decide`](super::decide) checks it and returns the events that carry it out.
/// [`Stack`](crate::Stack) and the types that it returns have a method for each command, and
/// [`Stack::execute`](crate::Stack::execute) takes any of them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Create a frame with the status in_progress and make it the active frame.
    Push(NewFrame),
    /// Create a frame with the status planned.
    Plan(NewFrame),
    /// Create several planned children of one frame, all or none. A child may depend on any other child of the list, also on
    /// a later one, by its ID or its title. The `parent` and `caller` of the children are ignored.
    PlanChildren {
        /// The parent of all children.
        parent: Parent,
        /// ID of the calling session, in whose tree [`Parent::Auto`] finds the parent.
        caller: Option<String>,
        /// The children, in their order as siblings.
        children: Vec<NewFrame>,
    },
    /// Create a placeholder frame with the status in_progress for a session, unless the session has a frame. The frame
    /// becomes the active frame if there is none. Its title and criteria can be set until it has been identified for
    /// good: by [`Command::Identify`], or, if it has criteria, when a frame is pushed, planned or imported below it.
    Ensure {
        /// The session's ID.
        session_id: String,
        /// The title. `None` or blank: `Session ` and the first 8 characters of the ID.
        title: Option<String>,
        /// The parent, which may have any status; `None` makes the frame a root.
        parent: Option<FrameRef>,
    },
    /// Set the title and criteria of a placeholder frame.
    Identify {
        /// The frame.
        frame: FrameRef,
        /// The title and criteria.
        identity: Identity,
        /// False: they are set for good. True: nobody has chosen them, so the frame remains a placeholder, and they can
        /// be set again.
        provisional: bool,
    },
    /// Start a planned frame: its status becomes in_progress, and it becomes the active frame. Neither its parent nor
    /// its dependencies are checked.
    Activate {
        /// The frame.
        frame: FrameRef,
    },
    /// Do the same as [`Command::Activate`], if the frame has what it needs: [`Tree::check_ready`](super::Tree::check_ready).
    Begin {
        /// The frame.
        frame: FrameRef,
    },
    /// Replace the ID of a frame. The handle does not change. The frame's own log is renamed with it.
    ReplaceId {
        /// The frame.
        frame: FrameRef,
        /// The new ID.
        session_id: String,
    },
    /// Change the status, as [`FrameStatus::can_become`] allows. A frame that becomes in_progress becomes the active
    /// frame. The status invalidated does the same as [`Command::Invalidate`].
    SetStatus {
        /// The frame.
        frame: FrameRef,
        /// The new status.
        status: FrameStatus,
        /// Full results. `None`: the frame keeps its results. For the status invalidated: the reason.
        results: Option<String>,
        /// Compacted results. `None`: the frame keeps them. Not used for the status invalidated.
        results_compacted: Option<String>,
    },
    /// Make a blocked frame in_progress and active again.
    Resume {
        /// The frame.
        frame: FrameRef,
    },
    /// Finish a frame with results; or block it, as [`Command::Block`] without a question. If the active frame is this frame
    /// or a frame below it, the nearest open ancestor becomes the active frame.
    Pop {
        /// The frame.
        frame: FrameRef,
        /// The new status.
        status: PopStatus,
        /// Its results.
        results: Results,
    },
    /// Do the same as [`Command::Pop`], and begin a planned frame, which becomes the active one.
    PopAndBegin {
        /// The frame that ends.
        frame: FrameRef,
        /// Its new status.
        status: PopStatus,
        /// Its results.
        results: Results,
        /// The frame that begins. `None`: the first planned sibling that can begin; nothing begins if there is none.
        next: Option<FrameRef>,
    },
    /// Do the same as [`Command::Pop`] with completed, unless frames below it are open or planned.
    Complete {
        /// The frame that ends.
        frame: FrameRef,
        /// Its results.
        results: Results,
        /// The planned frame that begins. `None`: none.
        next: Option<FrameRef>,
    },
    /// Block a frame: it waits for something from outside. The active frame changes as by [`Command::Pop`].
    Block {
        /// The frame.
        frame: FrameRef,
        /// What it needs, and from whom. `None` or blank: the results say it.
        question: Option<String>,
        /// The results so far. `None`: the frame keeps those that it has. Without a question the results are the question.
        results: Option<Results>,
        /// True: nobody asks; the work was interrupted, and the question says why.
        interruption: bool,
    },
    /// Answer a blocked frame. It stays blocked until it is resumed.
    Answer {
        /// The frame.
        frame: FrameRef,
        /// The answer. It must not be blank.
        answer: String,
    },
    /// Answer a blocked frame and go on with it, in one step: if somebody else goes on with it, there is no answer either.
    AnswerAndResume {
        /// The frame.
        frame: FrameRef,
        /// The answer. It must not be blank.
        answer: String,
    },
    /// Record that a host runs a frame in its session from now on. A planned or blocked frame becomes in_progress. Of
    /// several hosts that try, one succeeds.
    BeginCall {
        /// The frame.
        frame: FrameRef,
        /// The ID of the session, if it was created for the frame. It becomes the frame's ID.
        session_id: Option<String>,
        /// ID of the calling session.
        caller: String,
        /// The host.
        host: String,
        /// The length of its lease in milliseconds: from 1 to [`Holder::LONGEST_LEASE`](crate::frame::Holder::LONGEST_LEASE).
        lease: u64,
        /// The limits of a root that has none of its own.
        limits: Box<FrameLimits>,
    },
    /// Work on a frame in the conversation of a session that has another frame of its own. A planned or blocked frame becomes
    /// in_progress, and the frame becomes the active one. Its ID becomes that of
    /// [`Frame::id_in_conversation`]. Of several conversations that try, one succeeds.
    Enter {
        /// The frame.
        frame: FrameRef,
        /// ID of the session.
        session_id: String,
    },
    /// Record that the call of a frame has ended.
    EndCall {
        /// The frame.
        frame: FrameRef,
        /// The host that runs the frame. If it is another one by now, nothing changes.
        host: String,
        /// True: the host ends, and has not ended the call. A frame that is in_progress was interrupted.
        interrupted: bool,
    },
    /// Give a frame that is free to a worker. A planned or blocked frame becomes in_progress; the active frame stays.
    /// If no frame is free, nothing changes.
    Hold(NewHold),
    /// Give a holder more time for a frame: the lease ends so many milliseconds from now.
    Renew {
        /// The frame and its holder.
        hold: Hold,
        /// The length of the lease, as [`NewHold::lease`].
        lease: u64,
    },
    /// Let a frame go. It stays in_progress.
    Release {
        /// The frame and its holder.
        hold: Hold,
        /// How.
        release: Release,
    },
    /// Record that the holder of a frame was interrupted, if its lease has ended.
    Interrupt {
        /// The frame.
        frame: FrameRef,
    },
    /// Give the actor of the command more time for all that it holds, if half of its lease is over.
    RenewAll,
    /// Let begin what has waited to begin until a time that has come.
    EndWaits,
    /// Record what the holder of a frame was told. Nothing happens if it was told the same before.
    Tell {
        /// The frame.
        frame: FrameRef,
        /// What it was told.
        told: Told,
    },
    /// End the work of a holder on its frame, which must be in_progress.
    Finish {
        /// The frame and its holder.
        hold: Hold,
        /// How it ends.
        finish: Finish,
    },
    /// Block the frames that hosts run, workers have and conversations work in, from this frame downwards: they stop, and can be resumed.
    Stop {
        /// The frame. `None`: all of them.
        frame: Option<FrameRef>,
        /// The reason. It must not be blank.
        reason: String,
    },
    /// Record a request for a summary of a frame's conversation, or its end.
    RequestSummary {
        /// The frame, which must be open.
        frame: FrameRef,
        /// The request. `None`: it has ended.
        request: Option<SummaryRequest>,
    },
    /// Record that the conversation of the frame's parent has received the results of the frame, which is completed or
    /// failed.
    Deliver {
        /// The frame.
        frame: FrameRef,
    },
    /// Record that the conversation of the frame was compacted or begun anew.
    Forget {
        /// The frame.
        frame: FrameRef,
    },
    /// Invalidate a frame and all planned frames below it: they are removed from the plan.
    Invalidate {
        /// The frame.
        frame: FrameRef,
        /// The reason. It must not be blank.
        reason: String,
    },
    /// Invalidate several frames for one reason, all or none, and the planned frames below them. A frame that an earlier one of the list takes
    /// along is no error.
    InvalidateAll {
        /// The frames; one at least.
        frames: Vec<FrameRef>,
        /// The reason. It must not be blank.
        reason: String,
        /// True: also what is in progress or blocked below them.
        open_too: bool,
    },
    /// Record what a frame has made and decided, and its results so far. All of it is one commit.
    Record {
        /// The frame.
        frame: FrameRef,
        /// What is recorded.
        records: Records,
    },
    /// Record a request to a model in the frame's session. Contexts do not change.
    RecordUsage {
        /// The frame, in any status.
        frame: FrameRef,
        /// The request.
        request: Box<ModelRequest>,
    },
    /// Make an open frame the active frame.
    SetActive {
        /// The frame.
        frame: FrameRef,
    },
    /// Allocate a chunk on the heap of a frame. The frame and all frames below it see the chunk.
    AllocateChunk {
        /// The frame that owns the chunk.
        frame: FrameRef,
        /// The chunk.
        chunk: NewChunk,
    },
    /// Replace the content of a chunk.
    WriteChunk {
        /// A frame that sees the chunk.
        frame: FrameRef,
        /// The chunk's name.
        name: String,
        /// The new content.
        content: String,
    },
    /// Free a chunk: remove it from the heap.
    FreeChunk {
        /// A frame that sees the chunk.
        frame: FrameRef,
        /// The chunk's name.
        name: String,
    },
    /// Set registers of a frame. A value that exceeds its register's limit is cut.
    UpdateRegisters {
        /// The frame.
        frame: FrameRef,
        /// The new values. Registers that are not listed keep their values.
        registers: RegisterValues,
    },
    /// Set the path of the frame's full log.
    SetLogPath {
        /// The frame.
        frame: FrameRef,
        /// Path of the log, absolute or relative to the stack's folder. It must not be blank.
        log_path: String,
    },
    /// Record what a conversation has said and used, as one commit.
    RecordConversation {
        /// For each frame, what was said in it: lines for its log, as for [`Command::AppendLog`].
        logs: Vec<(FrameRef, Vec<Value>)>,
        /// The frame in which a model was asked, and the requests.
        usage: Vec<(FrameRef, ModelRequest)>,
        /// The part of a transcript from which it comes. If somebody else has read on meanwhile, nothing is recorded.
        transcript: Option<TranscriptRead>,
    },
    /// Append lines to the frame's own log, `logs/{id}.jsonl` in the stack's folder.
    AppendLog {
        /// The frame.
        frame: FrameRef,
        /// The lines, each a JSON value nested at most 100 levels deep.
        entries: Vec<Value>,
    },
    /// Add frames as they are, all or none, for example an imported plan. Frames name their parent and dependencies by
    /// ID; these can be frames of the tree or any frames of the list.
    Import {
        /// The frames. Siblings keep their order, except that a new attempt stands behind the one before it.
        frames: Vec<Frame>,
    },
    /// Begin a failed or blocked frame anew: create a planned sibling with the same title, criteria and dependencies, as
    /// its next attempt. A blocked frame fails; it keeps its results and what it waits for. The planned frames below it
    /// are invalidated. From then on the newest attempt counts in its place, also for the frames that depend on it.
    Retry {
        /// The frame.
        frame: FrameRef,
        /// ID of the new frame.
        session_id: String,
        /// What the new attempt must do differently, or the answer to what the frame waits for. `None` or blank: nothing.
        note: Option<String>,
        /// True: nobody works on the frame any more, so it can also be in_progress. Then it fails.
        is_interrupted: bool,
    },
    /// Edit a planned frame: its title, criteria and dependencies, its parent, and its order among its siblings. The frames
    /// below it move with it.
    Edit {
        /// The frame.
        frame: FrameRef,
        /// What changes.
        edit: FrameEdit,
    },
    /// Set what a frame may do and spend. Limits that are not given stay as they are.
    SetLimits {
        /// The frame, in any status.
        frame: FrameRef,
        /// The new limits.
        limits: FrameLimits,
    },
    /// Record what a conversation of a frame has cost so far. It replaces what was recorded of the conversation before.
    RecordCost {
        /// The frame, in any status.
        frame: FrameRef,
        /// The ID of the conversation.
        conversation: String,
        /// The cost of all its requests, in millionths of a US dollar.
        cost_micro_usd: u64,
    },
    /// Let a completed frame that turned out to be wrong go on. Its results are those so far; what depends on it and is planned waits
    /// again.
    Reopen {
        /// The frame. Those above it must be open.
        frame: FrameRef,
        /// What is wrong. It must not be blank; the context of the frame shows it.
        reason: String,
    },
    /// Take back the last command of the person who gives this one, if nothing has been built on it.
    Undo,
}

impl Command {
    /// What persons call this command. `None`: programs give it, or it only records something, so that there is nothing to take back.
    pub(super) fn of_person(&self) -> Option<&'static str> {
        Some(match self {
            Command::Push { .. } => "push",
            Command::Plan { .. } | Command::PlanChildren { .. } => "plan",
            Command::Import { .. } => "import",
            Command::Identify { .. } | Command::Edit { .. } => "edit",
            Command::SetStatus { status: FrameStatus::Invalidated, .. } => "invalidate",
            Command::Invalidate { .. } | Command::InvalidateAll { .. } => "invalidate",
            Command::Activate { .. } | Command::Begin { .. } | Command::SetActive { .. } => "activate",
            Command::Resume { .. } => "activate",
            Command::SetStatus { status: FrameStatus::InProgress, .. } => "activate",
            Command::SetStatus { .. } | Command::Pop { .. } | Command::Complete { .. } => "pop",
            Command::PopAndBegin { .. } | Command::Block { .. } => "pop",
            Command::Answer { .. } | Command::AnswerAndResume { .. } => "answer",
            Command::Record { records, .. } if records.results.is_some() => "summarize",
            Command::Record { records, .. } if !records.decisions.is_empty() => "decide",
            Command::Record { .. } => "artifact",
            Command::AllocateChunk { .. } | Command::WriteChunk { .. } | Command::FreeChunk { .. } => "heap",
            Command::UpdateRegisters { .. } => "registers",
            Command::SetLimits { .. } => "limits",
            Command::Retry { .. } => "retry",
            Command::Reopen { .. } => "reopen",
            Command::Stop { .. } => "stop",
            _ => return None,
        })
    }
}

/// What [`Command::Record`] records of a frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Records {
    /// What the frame has made: paths as a rule. One that the frame has already is not recorded again.
    pub artifacts: Vec<String>,
    /// What was decided, each with its reason.
    pub decisions: Vec<String>,
    /// The results so far, in place of those before. Only an open frame has some.
    pub results: Option<Results>,
}

impl Records {
    /// Only what the frame has made.
    pub fn of_artifacts(artifacts: Vec<String>) -> Self {
        Self { artifacts, ..Self::default() }
    }

    /// Only the results so far.
    pub fn of_results(results: impl Into<Results>) -> Self {
        Self { results: Some(results.into()), ..Self::default() }
    }
}

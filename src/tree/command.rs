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
    /// One of the frames whose logs have this part. If no log has it, any frame.
    pub frame: FrameRef,
    /// The name of the conversation.
    pub conversation: String,
    /// How far the transcript was read before, in bytes. `None`: it was not read before.
    pub before: Option<u64>,
    /// How far the transcript is read now.
    pub position: Box<TranscriptPosition>,
}

impl TranscriptRead {
    /// A part that was read from `before` up to `position`.
    pub fn new(
        frame: impl Into<FrameRef>,
        conversation: impl Into<String>,
        before: Option<u64>,
        position: TranscriptPosition,
    ) -> Self {
        Self { frame: frame.into(), conversation: conversation.into(), before, position: Box::new(position) }
    }
}

/// A requested change of a tree. [`decide`](super::decide) checks it and returns the events that carry it
/// out. [`Stack`](crate::Stack) and the types that it returns have a method for each command, and
/// [`Stack::execute`](crate::Stack::execute) takes any of them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Create a frame with the status in_progress and make it the active frame.
    Push(NewFrame),
    /// Create a frame with the status planned.
    Plan(NewFrame),
    /// Create several planned children of one frame, all or none. A child may depend on any other child of
    /// the list, also on a later one, by its ID or its title. The `parent` and `caller` of the children are
    /// ignored.
    PlanChildren {
        /// The parent of all children.
        parent: Parent,
        /// ID of the calling session, in whose tree [`Parent::Auto`] finds the parent.
        caller: Option<String>,
        /// The children, in their order as siblings.
        children: Vec<NewFrame>,
    },
    /// Create a placeholder frame with the status in_progress for a session, unless the session has a frame.
    /// The frame becomes the active frame if there is none. Its title and criteria can be set until it has
    /// been identified for good: by [`Command::Identify`], or, if it has criteria, when a frame is pushed,
    /// planned or imported below it.
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
        /// False: they are set for good. True: no person or program has chosen them, so the frame remains a
        /// placeholder, and they can be set again.
        provisional: bool,
    },
    /// Start a planned frame: its status becomes in_progress, and it becomes the active frame. Neither its
    /// parent nor its dependencies are checked.
    Activate {
        /// The frame.
        frame: FrameRef,
    },
    /// Do the same as [`Command::Activate`], if the frame has what it needs:
    /// [`Tree::check_ready`](super::Tree::check_ready).
    Begin {
        /// The frame.
        frame: FrameRef,
    },
    /// Replace the ID of a frame. The handle does not change. The frame's own log is renamed together with
    /// it.
    ReplaceId {
        /// The frame.
        frame: FrameRef,
        /// The new ID.
        session_id: String,
    },
    /// Change the status, as [`FrameStatus::can_become`] allows. A frame that becomes in_progress becomes the
    /// active frame. The status invalidated does the same as [`Command::Invalidate`].
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
    /// Resume an open frame: it becomes in_progress and active, and the actor becomes its holder.
    Resume {
        /// The frame.
        frame: FrameRef,
    },
    /// Finish a frame with results, or block it, which does the same as [`Command::Block`] without a
    /// question. If the active frame is this frame or a frame below it, the nearest open ancestor becomes the
    /// active frame.
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
        /// The frame that begins. `None`: the first planned sibling that can begin; nothing begins if there
        /// is none.
        next: Option<FrameRef>,
    },
    /// Do the same as [`Command::Pop`] with completed, unless frames below it are open or planned.
    Complete {
        /// The frame that ends.
        frame: FrameRef,
        /// Its results.
        results: Results,
        /// The planned frame that begins. `None`: no frame begins.
        next: Option<FrameRef>,
    },
    /// Block a frame: it waits for something from outside. The active frame changes as by [`Command::Pop`].
    Block {
        /// The frame.
        frame: FrameRef,
        /// What the frame needs, and who can give it. `None` or blank: the results say it.
        question: Option<String>,
        /// The results so far. `None`: the frame keeps its present results. Without a question the results
        /// are the question.
        results: Option<Results>,
        /// True: no question is asked; the work was interrupted, and the question says why.
        interruption: bool,
    },
    /// Answer a blocked frame. It stays blocked until it is resumed.
    Answer {
        /// The frame.
        frame: FrameRef,
        /// The answer. It must not be blank.
        answer: String,
    },
    /// Answer a blocked frame and resume it, in one step: if another actor resumes it first, the answer is
    /// not recorded either.
    AnswerAndResume {
        /// The frame.
        frame: FrameRef,
        /// The answer. It must not be blank.
        answer: String,
    },
    /// Record that a host runs a frame in its session from now on. A planned or blocked frame becomes
    /// in_progress. If several hosts try, one succeeds.
    BeginCall {
        /// The frame.
        frame: FrameRef,
        /// The ID of the session, if it was created for the frame. It becomes the frame's ID.
        session_id: Option<String>,
        /// ID of the calling session.
        caller: String,
        /// The host.
        host: String,
        /// The length of its lease in milliseconds: from 1 to
        /// [`Holder::LONGEST_LEASE`](crate::frame::Holder::LONGEST_LEASE).
        lease: u64,
        /// The limits that a root gets where it has no limits of its own.
        limits: Box<FrameLimits>,
    },
    /// Work on a frame in the conversation of a session that has another frame of its own. A planned or
    /// blocked frame becomes in_progress, and the frame becomes the active one. Its ID becomes
    /// [`Frame::id_in_conversation`]. If several conversations try, one succeeds.
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
        /// The host that runs the frame. If another host runs it by now, nothing changes.
        host: String,
        /// True: the host ends without having ended the call. A frame that is in_progress was interrupted.
        interrupted: bool,
    },
    /// Give a frame that is free to a worker. A planned or blocked frame becomes in_progress; the active
    /// frame stays. If no frame is free, nothing changes.
    Hold(NewHold),
    /// Extend the lease of a holder for a frame: the lease ends this number of milliseconds from now.
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
    /// Extend the leases of all frames that the actor of the command holds, if half of the lease is over.
    RenewAll,
    /// Let the frames begin that have waited until a time, if that time has come.
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
    /// Block the frames that hosts run, workers have and conversations work in, from this frame downwards:
    /// they stop, and can be resumed.
    Stop {
        /// The frame. `None`: all of them.
        frame: Option<FrameRef>,
        /// The reason. It must not be blank.
        reason: String,
    },
    /// Record a request for a summary of a frame's conversation, or the end of such a request.
    RequestSummary {
        /// The frame, which must be open.
        frame: FrameRef,
        /// The request. `None`: it has ended.
        request: Option<SummaryRequest>,
    },
    /// Record that the conversation of the frame's parent has received the results of the frame, which is
    /// completed or failed.
    Deliver {
        /// The frame.
        frame: FrameRef,
    },
    /// Record that the conversation of the frame was compacted or started again.
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
    /// Invalidate several frames for one reason, all or none, and the planned frames below them. It is not an
    /// error if a frame was already invalidated together with an earlier frame of the list.
    InvalidateAll {
        /// The frames; one at least.
        frames: Vec<FrameRef>,
        /// The reason. It must not be blank.
        reason: String,
        /// True: also the frames below them that are in progress or blocked.
        open_too: bool,
    },
    /// Record what a frame has made and decided, and its results so far. All of this is one commit.
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
    /// Record what was said in a conversation and which requests it used, as one commit.
    RecordConversation {
        /// For each frame, what was said in it: lines for its log, as for [`Command::AppendLog`].
        logs: Vec<(FrameRef, Vec<Value>)>,
        /// The frame in which a model was asked, and the requests.
        usage: Vec<(FrameRef, ModelRequest)>,
        /// The part of a transcript from which the records come. If another process has read further in the
        /// meantime, nothing is recorded.
        transcript: Option<TranscriptRead>,
    },
    /// Append lines to the frame's own log, `logs/{id}.jsonl` in the stack's folder.
    AppendLog {
        /// The frame.
        frame: FrameRef,
        /// The lines, each a JSON value nested at most 100 levels deep.
        entries: Vec<Value>,
    },
    /// Add frames as they are, all or none, for example an imported plan. Frames name their parent and
    /// dependencies by ID; these can be frames of the tree or any frames of the list.
    Import {
        /// The frames. Siblings keep their order, except that a new attempt comes directly after the one
        /// before it.
        frames: Vec<Frame>,
    },
    /// Retry a failed or blocked frame: create a planned sibling with the same title, criteria and
    /// dependencies, as its next attempt. A blocked frame fails; it keeps its results and what it waits for.
    /// The planned frames below it are invalidated. From then on the newest attempt counts instead of the
    /// frame, also for the frames that depend on it.
    Retry {
        /// The frame.
        frame: FrameRef,
        /// ID of the new frame.
        session_id: String,
        /// What the new attempt must do differently, or the answer to what the frame waits for. `None` or
        /// blank: nothing.
        note: Option<String>,
        /// True: no worker or agent works on the frame any more, so it can also be in_progress. Then it
        /// fails.
        is_interrupted: bool,
    },
    /// Edit a planned frame: its title, criteria and dependencies, its parent, and its order among its
    /// siblings. The frames below it move with it.
    Edit {
        /// The frame.
        frame: FrameRef,
        /// What changes.
        edit: FrameEdit,
    },
    /// Set what a frame may do and spend. Limits that are not given do not change.
    SetLimits {
        /// The frame, in any status.
        frame: FrameRef,
        /// The new limits.
        limits: FrameLimits,
    },
    /// Record the cost of a conversation of a frame so far. It replaces the cost that was recorded for the
    /// conversation before.
    RecordCost {
        /// The frame, in any status.
        frame: FrameRef,
        /// The ID of the conversation.
        conversation: String,
        /// The cost of all its requests, in millionths of a US dollar.
        cost_micro_usd: u64,
    },
    /// Resume a completed frame that turned out to be wrong. Its results become its results so far. The
    /// planned frames that depend on it wait again.
    Reopen {
        /// The frame. The frames above it must be open.
        frame: FrameRef,
        /// What is wrong. It must not be blank; the context of the frame shows it.
        reason: String,
    },
    /// Take back the last command of the person who gives this command, if no later work is built on it.
    Undo,
}

impl Command {
    /// The name that persons use for this command. `None`: programs give the command, or it only records
    /// something, so there is nothing to take back.
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
    /// What the frame has made, usually paths. An artifact that the frame has already is not recorded again.
    pub artifacts: Vec<String>,
    /// The decisions, each with its reason.
    pub decisions: Vec<String>,
    /// The results so far. They replace the earlier ones. Only an open frame has results so far.
    pub results: Option<Results>,
}

impl Records {
    /// Records with only the artifacts of the frame.
    pub fn of_artifacts(artifacts: Vec<String>) -> Self {
        Self { artifacts, ..Self::default() }
    }

    /// Records with only the results so far.
    pub fn of_results(results: impl Into<Results>) -> Self {
        Self { results: Some(results.into()), ..Self::default() }
    }
}

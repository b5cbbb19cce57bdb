//! Commands: what callers ask of a tree.

use serde_json::Value;

use crate::frame::{
    Frame, FrameRef, FrameStatus, Identity, NewChunk, NewFrame, Parent, PopStatus, RegisterValues, Results,
};

/// One thing asked of a tree. [`decide`](super::decide) says whether it can be done, and by which
/// events. [`Stack`](crate::Stack) has a method for each.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// Make a frame that is worked on at once, and make it the active one.
    Push(NewFrame),
    /// Make a frame for later.
    Plan(NewFrame),
    /// Make several planned children of one frame, all or none. A child may depend on those
    /// before it in the list, by their IDs. The children's own `parent` is not used.
    PlanChildren {
        /// Where they go.
        parent: Parent,
        /// ID of the session that makes the call.
        caller: Option<String>,
        /// The children, in order.
        children: Vec<NewFrame>,
    },
    /// Make a placeholder frame for a session, unless the session has a frame.
    Ensure {
        /// The session's ID.
        session_id: String,
        /// A title. `None`: `Session <first 8 of the ID>`.
        title: Option<String>,
        /// The parent; `None` makes a root.
        parent: Option<FrameRef>,
    },
    /// Give a placeholder frame its title and criteria, once.
    Identify {
        /// The frame.
        frame: FrameRef,
        /// What it is called from now on.
        identity: Identity,
    },
    /// Begin a planned frame, and make it the active one.
    Activate {
        /// The frame.
        frame: FrameRef,
    },
    /// Give a frame another ID.
    ReplaceId {
        /// The frame.
        frame: FrameRef,
        /// The ID from now on.
        session_id: String,
    },
    /// Change the status as the table of transitions allows, with results or without.
    SetStatus {
        /// The frame.
        frame: FrameRef,
        /// The status from now on.
        status: FrameStatus,
        /// Results, if there are any to record.
        results: Option<String>,
        /// Their dense form.
        results_compacted: Option<String>,
    },
    /// Finish a frame with results.
    Pop {
        /// The frame.
        frame: FrameRef,
        /// How it ended.
        status: PopStatus,
        /// Its results.
        results: Results,
    },
    /// Record what has been achieved so far by a frame that goes on.
    Summarize {
        /// The frame.
        frame: FrameRef,
        /// Its results so far.
        results: Results,
    },
    /// Take a frame, and what is planned below it, out of the plan.
    Invalidate {
        /// The frame.
        frame: FrameRef,
        /// Why.
        reason: String,
    },
    /// Record an artifact; one that is there already is not recorded again.
    AddArtifact {
        /// The frame.
        frame: FrameRef,
        /// The artifact, usually a path.
        artifact: String,
    },
    /// Record a decision.
    AddDecision {
        /// The frame.
        frame: FrameRef,
        /// The decision.
        decision: String,
    },
    /// Make an open frame the active one.
    SetActive {
        /// The frame.
        frame: FrameRef,
    },
    /// Put a new chunk on the heap of a frame, where it and all frames below it see it.
    AllocateChunk {
        /// The frame that it belongs to.
        frame: FrameRef,
        /// The chunk.
        chunk: NewChunk,
    },
    /// Replace the content of a chunk.
    WriteChunk {
        /// A frame that sees it.
        frame: FrameRef,
        /// The chunk's name.
        name: String,
        /// Its content from now on.
        content: String,
    },
    /// Take a chunk off the heap.
    FreeChunk {
        /// A frame that sees it.
        frame: FrameRef,
        /// The chunk's name.
        name: String,
    },
    /// Put values into registers of a frame. What is too long for a register is cut.
    UpdateRegisters {
        /// The frame.
        frame: FrameRef,
        /// The values; registers that are not named stay.
        registers: RegisterValues,
    },
    /// Name the file that holds the frame's full log.
    SetLogPath {
        /// The frame.
        frame: FrameRef,
        /// Path of the log, absolute or relative to the stack's folder.
        log_path: String,
    },
    /// Add lines to the frame's own log, `logs/{id}.jsonl` in the stack's folder.
    AppendLog {
        /// The frame.
        frame: FrameRef,
        /// The lines, each a JSON value nested at most 100 levels deep.
        entries: Vec<Value>,
    },
    /// Add frames as they are, all or none: a plan from elsewhere. Parents and dependencies are
    /// named by ID and may stand anywhere in the list.
    Import {
        /// The frames; among siblings the order counts.
        frames: Vec<Frame>,
    },
}

//! Tools that start, finish and show frames.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::caller::Caller;
use super::json::{pretty, with_references};
use super::popping::{self, Ended, Next};
use super::{AgentTool, InConversation, Reply, acting};
use crate::error::Error;
use crate::frame::{FrameRef, FrameStatus, Handle, Identity, Results};
use crate::session::calls::{CallPlace, listed};
use crate::text::escape_hidden;
use crate::tree::{OutlineOptions, Tree};
use crate::vocabulary::ToolRole;

/// Run a sub-task in a child frame; its results are this tool's answer. The child sees this frame, not this
/// conversation.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Push {
    /// Two to five words.
    title: String,
    /// Conditions that can be checked.
    success_criteria: String,
    /// The same in one short line.
    #[serde(default)]
    #[schemars(!default)]
    success_criteria_compacted: String,
    /// In full: what to do, what is known, what to return.
    #[serde(default)]
    task: String,
    /// Handles or titles of frames whose results it needs. It begins after those that run.
    #[serde(default)]
    depends_on: Vec<String>,
    /// In a session of its own, without waiting for the results.
    #[serde(default)]
    background: bool,
    /// Milliseconds; 0: none.
    time_limit: Option<u64>,
}

impl AgentTool for Push {
    const NAME: &'static str = "stack_frame_push";
    const EXAMPLE: &'static str = r#"{"title": "Parse the options", "successCriteria": "All flags of the README are read; errors name the flag; tests pass", "successCriteriaCompacted": "flags read, errors named, tests"}"#;
    const IN_CONVERSATION: InConversation = InConversation {
        description: Some(
            "Begin a sub-task in a child frame of your frame, and work in it from now on until you pop it.",
        ),
        without: &["timeLimit", "successCriteriaCompacted", "task"],
        example: Some(
            r#"{"title": "Parse the options", "successCriteria": "All flags of the README are read; errors name the flag; tests pass"}"#,
        ),
        ..InConversation::NONE
    };

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let works_here = !self.background && caller.works_here();
        let parent = if works_here { caller.parent()? } else { caller.parent_beside()? };
        caller.turn(|turn| turn.check_depth(parent))?;
        // Planned first: if the host dies before it has created the session, the planned frame can be started
        // later.
        let words = [self.title, self.success_criteria, self.success_criteria_compacted, self.task];
        let (new, awaited) = acting::new_frame(caller, words, &self.depends_on, parent)?;
        if !self.background && !works_here {
            let session_id = caller.session_id;
            caller.turn(|turn| turn.check_wait(session_id, &awaited))?;
        }
        let frame = caller.stack.plan(new)?;
        if works_here {
            let session_id = caller.session_id;
            caller.turn(|turn| turn.planned(session_id, [frame]));
            if caller.stack.look(|tree| tree.unfinished_dependencies(frame).next().is_some()) {
                let text = caller.in_the_plan(frame, "planned");
                return Ok(caller.placed(text));
            }
            return caller.begin_here(frame, true);
        }
        caller.call(frame, caller.options(self.background, self.time_limit).awaits_dependencies(true))
    }
}

/// Finish a frame. Its caller gets the results, later frames resultsCompacted.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Pop {
    /// Default: this session's frame.
    #[serde(rename = "frameID")]
    frame_id: Option<String>,
    /// completed: the criteria are met; failed: they cannot be; blocked: the work waits for an answer.
    status: Ended,
    /// blocked: what it needs, and who can give it. The results are then those so far.
    question: Option<String>,
    /// The results in full.
    results: String,
    /// In a few short sentences: what exists now, where, and how it is used.
    #[serde(default)]
    #[schemars(!default)]
    results_compacted: String,
    /// A planned frame to begin in the same call; "true": the first that can begin.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    next: Option<Next>,
    /// Despite unfinished frames below it.
    #[serde(default)]
    anyway: bool,
}

impl AgentTool for Pop {
    const NAME: &'static str = "stack_frame_pop";
    const EXAMPLE: &'static str = r#"{"status": "completed", "results": "The parser in src/options.rs reads all flags; 12 tests", "resultsCompacted": "src/options.rs: Options::parse(args)"}"#;
    const IN_CONVERSATION: InConversation = InConversation {
        description: Some(
            "Finish your frame, and go back to the one above. Of the work in it you keep the results, decisions and artifacts, \
             nothing else.",
        ),
        arguments: &["next"],
        optional: &[("resultsCompacted", "If they are longer than a paragraph: the same in a few short sentences.")],
        example: Some(
            r#"{"status": "completed", "results": "Options::parse(args) in src/options.rs reads all flags; 12 tests"}"#,
        ),
        ..InConversation::NONE
    };

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let (stack, own) = (caller.stack, caller.own_frame());
        let asked = acting::Pop {
            frame: self.frame_id,
            status: self.status,
            results: Results::new(self.results).compacted(self.results_compacted),
            question: self.question,
            next: self.next.unwrap_or_default(),
            anyway: self.anyway,
        };
        let popped = acting::pop(caller, asked)?;
        let frame = popped.handle;
        let is_own = own == Some(frame);
        caller.finished(&[frame]);
        caller.left();
        let status = caller.stack.look(|tree| tree.node(frame).status());
        // The caller has written the results itself, so its conversation holds them.
        if status.is_finished() && popped.parent.is_some() && popped.parent == caller.own() {
            caller.stack.deliver(frame)?;
        }
        // If each frame has a session, the call that waits for this frame tells it.
        let ended = if caller.call_place() == CallPlace::Conversation { vec![frame] } else { Vec::new() };
        caller.tell(&stack.look(|tree| popping::title(tree, &popped)), ended);
        let mut text = stack.look(|tree| popping::told(tree, &popped));
        if let Some(next) = popped.next {
            let begun = caller.enter(next)?.retried();
            text.push_str(&format!("\n{}", caller.begun(begun, false)));
            return Ok(caller.placed(text));
        }
        let is_blocked = status == FrameStatus::Blocked;
        text.push_str(&match popped.parent {
            None if is_blocked => " No parent can answer: ask the user, and end your turn now.".to_owned(),
            None if !popped.still_open.is_empty() => {
                " It is the root frame: no other agent finishes or invalidates what is open.".to_owned()
            }
            None => " It is the root frame: no parent waits for its results.".to_owned(),
            Some(parent) if is_own => {
                let received = if is_blocked { "learns what it waits for" } else { "receives the results" };
                format!(" {} {received}; end your turn now.", caller.name(parent))
            }
            Some(parent) if caller.own() == Some(parent) => caller.advice_after(frame),
            Some(parent) => format!(" Its parent is {}.", caller.name(parent)),
        });
        Ok(caller.placed(text))
    }
}

/// Answer a blocked frame. If this host runs its session, the frame resumes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// Handle or title.
    #[serde(rename = "frameID")]
    frame_id: String,
    /// What the frame needs to know.
    answer: String,
}

impl AgentTool for Answer {
    const NAME: &'static str = "stack_frame_answer";
    const EXAMPLE: &'static str = r#"{"frameID": "f2", "answer": "20 %"}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.resolve(&self.frame_id)?;
        caller.stack.answer(frame, self.answer)?;
        let mut text = format!("{} is answered.", caller.name(frame));
        // If the frame is worked on in a conversation, only that conversation can resume it.
        let is_in_conversation = caller.stack.look(|tree| tree.node(frame).record().conversation().is_some());
        if let Some(activate) = caller.tools().get(ToolRole::Activate).filter(|_| is_in_conversation) {
            text.push_str(&format!(" Resume it: {activate} {frame}."));
        }
        Ok(Reply::Text(text))
    }
}

/// Show the frames of this task with their status, and which of them are running.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {
    /// Also the trees of other sessions.
    #[serde(default)]
    all: bool,
}

impl AgentTool for Status {
    const NAME: &'static str = "stack_status";
    const EXAMPLE: &'static str = "{}";
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let own = caller.own();
        let mut text = match own {
            Some(own) => {
                let status = caller.stack.look(|tree| tree.node(own).status());
                format!("This session works on {}, which is {status}.\n", caller.name(own))
            }
            None => "This session has no frame.\n".to_owned(),
        };
        let served = caller.served().filter(|_| !self.all);
        let [running, queued]: [Vec<Handle>; 2] = caller.turn(|turn| {
            let is_shown = |frame: &Handle| served.is_none_or(|own| turn.tree.root(own) == turn.tree.root(*frame));
            let calls = &turn.sessions.calls;
            let queued: Vec<Handle> = calls.queued().filter(is_shown).collect();
            let running = calls.frames().filter(|frame| is_shown(frame) && !queued.contains(frame)).collect();
            [running, queued]
        });
        for (label, frames) in [("Running now", running), ("Queued", queued)] {
            if !frames.is_empty() {
                text.push_str(&format!("{label}: {}.\n", listed(&frames)));
            }
        }
        text.push_str(&caller.outline(self.all, OutlineOptions::default())?.text);
        Ok(Reply::Text(text))
    }
}

/// Draw the tree of frames, with a legend and statistics.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ShowTree {
    /// false: only the frame of this session and those below it.
    #[serde(default = "yes")]
    show_full: bool,
    /// Also the trees of other sessions.
    #[serde(default)]
    all: bool,
    /// Show only this frame (handle or title) and those below it.
    #[serde(rename = "rootID")]
    root_id: Option<String>,
    /// Also show criteria, results, artifacts and decisions.
    #[serde(default)]
    show_details: bool,
}

fn yes() -> bool {
    true
}

impl AgentTool for ShowTree {
    const NAME: &'static str = "stack_tree";
    const EXAMPLE: &'static str = r#"{"rootID": "f2", "showDetails": true}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let own = if self.show_full { None } else { caller.own().map(FrameRef::from) };
        let root = self.root_id.map(FrameRef::from).or(own);
        let options = OutlineOptions { root, details: self.show_details, ..OutlineOptions::default() };
        let outline = caller.outline(self.all, options)?;
        caller.tell(&outline.counted(" frames"), Vec::new());
        Ok(Reply::Text(outline.text))
    }
}

/// Show all of a frame: criteria, results, artifacts, decisions, times, log path, other attempts.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Details {
    /// Handle or title.
    #[serde(rename = "frameID")]
    frame_id: String,
}

impl AgentTool for Details {
    const NAME: &'static str = "stack_frame_details";
    const EXAMPLE: &'static str = r#"{"frameID": "f2"}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.resolve(&self.frame_id)?;
        caller.tell(&caller.in_title(frame), Vec::new());
        let record = caller.stack.frame(frame)?;
        let (parent, previous, next) = caller.stack.look(|tree| {
            let node = tree.node(frame);
            (node.parent(), node.retry_of(), node.retried_as())
        });
        let children = caller.stack.read(|tree| tree.children(frame).to_vec())?;
        let mut shown = with_references(&record);
        // An agent needs only the name of the holder.
        match record.held_by() {
            Some(holder) => shown["holder"] = holder.described().into(),
            None => drop(shown.as_object_mut().and_then(|shown| shown.remove("holder"))),
        }
        if record.log_path.is_some() {
            shown["logPath"] = caller.stack.log_file(frame).into();
        }
        let mut details = json!({ "handle": frame, "parent": parent, "children": children, "frame": shown });
        for (key, other) in [("retryOf", previous), ("retriedAs", next)] {
            if let Some(other) = other {
                details[key] = json!(other);
            }
        }
        Ok(Reply::Text(pretty(&details)))
    }
}

/// Record what the work has made. Files that tools write are recorded automatically.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddArtifact {
    /// Path, URL or name.
    artifact: String,
    /// Default: this session's frame.
    #[serde(rename = "frameID")]
    frame_id: Option<String>,
}

impl AgentTool for AddArtifact {
    const NAME: &'static str = "stack_add_artifact";
    const EXAMPLE: &'static str = r#"{"artifact": "src/options.rs"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.named_or_own(self.frame_id.as_deref())?;
        let is_new = caller.stack.add_artifact(frame, self.artifact)?;
        let recorded = if is_new { "the artifact is recorded" } else { "the artifact was already recorded" };
        let text = format!("{}: {recorded}.", caller.name(frame));
        Ok(caller.placed(text))
    }
}

/// Record a decision that later work depends on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddDecision {
    /// The decision and its reason.
    decision: String,
    /// Default: this session's frame.
    #[serde(rename = "frameID")]
    frame_id: Option<String>,
}

impl AgentTool for AddDecision {
    const NAME: &'static str = "stack_add_decision";
    const EXAMPLE: &'static str = r#"{"decision": "Configuration: reject unknown keys, so that typos are reported"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.named_or_own(self.frame_id.as_deref())?;
        caller.stack.add_decision(frame, self.decision)?;
        let text = format!("{}: the decision is recorded.", caller.name(frame));
        Ok(caller.placed(text))
    }
}

/// Set for good what a frame is about. Otherwise that of a session follows the user's words until something
/// is planned or pushed below it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Identify {
    /// Two to five words.
    title: String,
    /// Conditions that can be checked.
    success_criteria: String,
    /// The same in one short line.
    #[serde(default)]
    success_criteria_compacted: String,
    /// Default: this session's frame.
    #[serde(rename = "frameID")]
    frame_id: Option<String>,
}

impl AgentTool for Identify {
    const NAME: &'static str = "stack_frame_identify";
    const EXAMPLE: &'static str = r#"{"title": "Build the shop", "successCriteria": "Customers can pay for what is in their cart; all tests pass"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.named_or_own(self.frame_id.as_deref())?;
        let identity = Identity {
            title: self.title,
            success_criteria: self.success_criteria,
            success_criteria_compacted: self.success_criteria_compacted,
        };
        caller.stack.identify(frame, identity)?;
        Ok(Reply::Text(format!("This is {}: its title and criteria are set.", caller.name(frame))))
    }
}

/// Show the whole state as JSON, for programs. Agents use stack_tree.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetState {}

impl AgentTool for GetState {
    const NAME: &'static str = "stack_get_state";
    const EXAMPLE: &'static str = "{}";
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        Ok(Reply::Text(escape_hidden(&caller.stack.read(Tree::state)?.to_json()).into_owned()))
    }
}

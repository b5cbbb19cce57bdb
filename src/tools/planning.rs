//! Tools that plan frames, start planned frames, and remove frames from the plan.

use schemars::JsonSchema;
use serde::Deserialize;

use super::beginning::{self, new_frame};
use super::caller::Caller;
use super::{AgentTool, InConversation, Reply, acting};
use crate::error::Error;
use crate::frame::{FrameEdit, FrameRef, FrameStatus, Handle, NewFrame, Priority};
use crate::session::calls::listed;

/// Plan a frame, to be worked on later.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Plan {
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
    /// Default: this session's frame.
    #[serde(rename = "parentSessionID")]
    parent: Option<String>,
    /// Handles or titles of frames whose results it needs.
    #[serde(default)]
    depends_on: Vec<String>,
}

impl AgentTool for Plan {
    const NAME: &'static str = "stack_frame_plan";
    const IN_CONVERSATION: InConversation = InConversation {
        without: &["successCriteriaCompacted"],
        example: Some(
            r#"{"title": "Write the docs", "successCriteria": "Every command of the README works as written"}"#,
        ),
        ..InConversation::NONE
    };
    const EXAMPLE: &'static str = r#"{"title": "Write the docs", "successCriteria": "Every command of the README works as written", "successCriteriaCompacted": "README commands work"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let words = [self.title, self.success_criteria, self.success_criteria_compacted, self.task];
        let parent = caller.named_parent(self.parent)?;
        let frame = caller.stack.plan(NewFrame { parent, ..new_frame(words, self.depends_on) })?;
        let session_id = caller.session_id;
        caller.turn(|turn| turn.planned(session_id, [frame]));
        tell_plan(caller, &[frame]);
        Ok(Reply::Text(caller.in_the_plan(frame, "planned")))
    }
}

/// Tells people of frames that were planned, such as `3 frames below f1`.
fn tell_plan(caller: &mut Caller<'_>, planned: &[Handle]) {
    let parent = caller.stack.look(|tree| planned.first().and_then(|first| tree.node(*first).parent()));
    let what = match planned {
        [one] => caller.in_title(*one),
        _ => format!("{} frames", planned.len()),
    };
    let below = parent.map_or(String::new(), |parent| format!(" below {parent}"));
    caller.tell(&format!("{what}{below}"), Vec::new());
}

/// Plan frames, to be worked on in this order.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PlanChildren {
    /// Default: this session's frame.
    #[serde(rename = "parentSessionID")]
    parent: Option<String>,
    /// The frames, in order.
    #[schemars(length(min = 1))]
    children: Vec<Child>,
    /// Begin the first that can, in the same call.
    #[serde(default)]
    begin: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Child {
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
    /// Frames whose results it needs, also of this list.
    #[serde(default)]
    depends_on: Vec<String>,
}

impl Child {
    pub(super) fn new_frame(self) -> NewFrame {
        let words = [self.title, self.success_criteria, self.success_criteria_compacted, self.task];
        new_frame(words, self.depends_on)
    }
}

impl AgentTool for PlanChildren {
    const NAME: &'static str = "stack_frame_plan_children";
    const IN_CONVERSATION: InConversation = InConversation {
        arguments: &["begin"],
        without: &["successCriteriaCompacted"],
        example: Some(
            r#"{"children": [{"title": "Schema", "successCriteria": "Tables for users and orders exist, with tests"}, {"title": "Routes", "successCriteria": "CRUD for both, tested", "dependsOn": ["Schema"]}]}"#,
        ),
        ..InConversation::NONE
    };
    const EXAMPLE: &'static str = r#"{"children": [{"title": "Schema", "successCriteria": "Tables for users and orders exist, with tests", "successCriteriaCompacted": "tables, tests"}, {"title": "Routes", "successCriteria": "CRUD for both, tested", "successCriteriaCompacted": "CRUD, tests", "dependsOn": ["Schema"]}]}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        if self.children.is_empty() {
            return Err(Error::Empty { field: "children" });
        }
        let parent = caller.named_parent(self.parent)?;
        if self.begin {
            caller.check_works_here("begin", "true")?;
            let above = caller.resolved(&parent)?;
            caller.turn(|turn| turn.check_depth(above))?;
        }
        let children = self.children.into_iter().map(Child::new_frame).collect();
        let planned = caller.stack.plan_children(parent, children)?;
        let session_id = caller.session_id;
        caller.turn(|turn| turn.planned(session_id, planned.iter().copied()));
        tell_plan(caller, &planned);
        let text = match planned[..] {
            [one] => format!("Planned {}.", caller.name(one)),
            _ => format!("Planned {}, in this order.", in_order(&planned)),
        };
        let first = caller.stack.look(|tree| beginning::first(tree, &planned));
        let callable =
            first.filter(|first| self.begin && caller.turn(|turn| turn.check_callable(*first, session_id)).is_ok());
        if let Some(first) = callable {
            let begun = caller.enter(first)?;
            let text = format!("{text}\n{}", caller.begun(begun, true));
            return Ok(caller.placed(text));
        }
        if self.begin {
            return Ok(caller.placed(format!("{text} None of them can begin yet.")));
        }
        let tools = caller.tools();
        let next = first.map_or(String::new(), |first| format!(" {}", beginning::begin_with(first, &tools)));
        Ok(Reply::Text(format!("{text}{next}")))
    }
}

/// Frames that were planned one after the other: the first and the last of several.
fn in_order(planned: &[Handle]) -> String {
    match planned {
        [first, _, .., last] if last.index() - first.index() == planned.len() - 1 => format!("{first} to {last}"),
        _ => listed(planned),
    }
}

/// Change what a planned frame is, or its place.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Edit {
    /// Handle or title.
    #[serde(rename = "sessionID")]
    session_id: String,
    /// New title.
    title: Option<String>,
    /// New criteria.
    success_criteria: Option<String>,
    /// In one line.
    success_criteria_compacted: Option<String>,
    /// 0 first, 4 last.
    #[schemars(with = "Option<i64>")]
    priority: Option<Priority>,
    /// The whole new list.
    depends_on: Option<Vec<String>>,
    /// New parent.
    #[serde(rename = "parentSessionID")]
    parent: Option<String>,
    /// Sibling; "" for last.
    before: Option<String>,
}

impl AgentTool for Edit {
    const NAME: &'static str = "stack_frame_edit";
    const EXAMPLE: &'static str = r#"{"sessionID": "f5", "dependsOn": ["f3", "Schema"], "before": "f4"}"#;
    const USES_PLACE: bool = false;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.resolve(&self.session_id)?;
        let edit = FrameEdit {
            title: self.title,
            success_criteria: self.success_criteria,
            success_criteria_compacted: self.success_criteria_compacted,
            priority: self.priority.map(Some),
            depends_on: self.depends_on.map(|names| names.into_iter().map(FrameRef::from).collect()),
            parent: self.parent.map(|name| Some(FrameRef::from(name))),
            before: self.before.map(|name| (!name.is_empty()).then(|| FrameRef::from(name))),
            ..FrameEdit::default()
        };
        caller.stack.edit(frame, edit)?;
        Ok(Reply::Text(caller.in_the_plan(frame, "edited")))
    }
}

/// Run a planned frame, or resume one that was interrupted or blocked, or retry a failed one; its results are
/// this tool's answer.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Activate {
    /// Handle or title.
    #[serde(rename = "sessionID")]
    session_id: String,
    /// What a blocked frame waits for; what is wrong with a completed one; with retry, what to do
    /// differently.
    answer: Option<String>,
    /// Begin a failed, blocked or interrupted frame again, in a new frame that knows why it failed.
    #[serde(default)]
    retry: bool,
    /// In a session of its own, without waiting for the results.
    #[serde(default)]
    background: bool,
    /// Milliseconds; 0: none.
    time_limit: Option<u64>,
    /// Despite open dependencies.
    #[serde(default)]
    anyway: bool,
}

impl AgentTool for Activate {
    const NAME: &'static str = "stack_frame_activate";
    const EXAMPLE: &'static str = r#"{"sessionID": "f2"}"#;
    const USES_PLACE: bool = false;
    const IN_CONVERSATION: InConversation = InConversation {
        description: Some(
            "Begin a planned frame, or resume one that was interrupted or blocked, or retry a failed one, and work in it \
             from now on until you pop it.",
        ),
        without: &["timeLimit"],
        ..InConversation::NONE
    };

    fn run(mut self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let frame = caller.resolve(&self.session_id)?;
        let session_id = caller.session_id;
        let status = caller.stack.look(|tree| tree.node(frame).status());
        let is_here = !self.background && caller.works_here();
        let enters = is_here && caller.can_enter(frame);
        // As long as the frame above has not begun, it does not matter what this one waits for.
        caller.turn(|turn| match self.retry {
            true => turn.check_retriable(frame, session_id),
            false => turn.check_begun_above(frame),
        })?;
        caller
            .stack
            .look(|tree| beginning::check_ready(tree, frame, self.retry, self.answer.is_some(), self.anyway))?;
        let mut used = String::new();
        if status == FrameStatus::Completed
            && !self.retry
            && let Some(reason) = self.answer.take()
        {
            caller.turn(|turn| turn.check_reopenable(frame, session_id, enters))?;
            used = beginning::used_by(&caller.stack.reopen(frame, reason)?);
        }
        if self.retry {
            let retried = caller.stack.retry(frame, self.answer)?;
            if status.is_open() {
                caller.finished(&[frame]);
                caller.left();
            }
            if is_here {
                return caller.begin_here(retried.handle, false);
            }
            return caller.call(retried.handle, caller.options(self.background, self.time_limit));
        }
        if enters {
            // It can be in the frame, or in one below it.
            let is_in = caller.turn(|turn| turn.is_own(frame, session_id));
            if !is_in {
                caller.turn(|turn| turn.check_callable(frame, session_id))?;
            }
            if let Some(answer) = self.answer {
                caller.stack.answer(frame, answer)?;
            }
            return caller.begin_here(frame, false).map(|reply| reply.and(&used));
        }
        if let Some(answer) = self.answer {
            // An answer to a frame that cannot resume would be refused together with the call.
            caller.turn(|turn| turn.check_callable(frame, session_id))?;
            caller.stack.answer(frame, answer)?;
        }
        let reply = caller.call(frame, caller.options(self.background, self.time_limit))?;
        Ok(reply.and(&used))
    }
}

/// Remove a frame, and the planned ones below it, from the plan. Open ones below it are reported and
/// continue.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Invalidate {
    /// Default: this session's frame.
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
    /// Why it is removed.
    reason: String,
}

impl AgentTool for Invalidate {
    const NAME: &'static str = "stack_frame_invalidate";
    const EXAMPLE: &'static str = r#"{"sessionID": "f4", "reason": "The provider does the caching for us"}"#;

    fn run(self, caller: &mut Caller<'_>) -> Result<Reply, Error> {
        let (_, done, text) = acting::invalidate(caller, self.session_id.as_deref(), self.reason)?;
        caller.finished(&done.invalidated);
        caller.left();
        Ok(caller.placed(text))
    }
}

//! The frames of subagents: a host that starts a subagent for a call of a conversation says so here. A
//! subagent works in a frame of its own, below the frame of its session, or in the frame that its prompt
//! hands over.

use std::collections::BTreeSet;

use serde_json::Value;

use super::caller::{Conversation, SubagentReports, frame_in_prompt, is_handed_over, place};
use crate::error::Result;
use crate::frame::{Actor, FrameStatus, Handle, Holder, HolderKind, Identity, PopStatus};
use crate::session::title_of;
use crate::stack::Stack;
use crate::text::from_json;
use crate::tree::Tree;

impl Conversation<'_> {
    /// The prompt of a subagent that is about to start, with everything that it needs if the prompt hands
    /// over a frame. `None`: the prompt hands no frame over. `has_tools`: the subagent can call these tools.
    pub fn agent_prompted(&self, prompt: &str, has_tools: bool) -> Option<String> {
        let frame = self.stack.look(|tree| {
            // A worker subagent cannot look anything up, so its prompt need not have the exact words.
            let loosely = || if has_tools { None } else { self.meant_by(tree, prompt) };
            frame_handed_over(tree, prompt).or_else(loosely)
        })?;
        // What the agent has written around the line that names the frame stays.
        let line = self.task_line(frame);
        Some(match prompt.split_once(&line) {
            Some((before, behind)) => format!("{before}{}{behind}", self.prompt(frame, has_tools)),
            None => format!("{}\n\n{prompt}", self.prompt(frame, has_tools)),
        })
    }

    /// Makes a frame for the subagent that is this conversation. It makes none if the frame in which the
    /// subagent works is known already, or if the subagent's session has handed over a frame that no subagent
    /// has entered. The frame has the title until [`Conversation::agent_named`] says what the subagent is
    /// for. Returns the frame that was made.
    ///
    /// # Errors
    /// The storage errors.
    pub fn agent_begun(&self, title: &str) -> Result<Option<Handle>> {
        let Some(agent) = self.stack.actor().filter(|agent| is_subagent(agent)) else { return Ok(None) };
        let is_known = self.stack.look(|tree| {
            let waits =
                |frame: Handle| tree.node(frame).record().held_by().is_some_and(|holder| is_for(holder, &agent.caller));
            tree.place_of(&agent.name).is_some() || tree.held().any(waits)
        });
        if is_known { Ok(None) } else { self.frame_of(agent, title) }
    }

    /// What a subagent that begins in a frame of its own is told: what the frames above it are for, and what
    /// is beside it.
    ///
    /// # Errors
    /// As [`Stack::context`].
    pub fn agent_context(&self, frame: Handle) -> Result<String> {
        let context = self.stack.context_again(frame, self.settings)?;
        Ok(format!(
            "Your work is frame {} of the call stack, below that of the agent that has started you. What you do is in your prompt; this is around \
             it. Your last answer finishes the frame.\n{}",
            self.name(frame),
            context.stable
        ))
    }

    /// The frame that waits for a subagent of this conversation and whose handle a prompt names, or the only
    /// frame that waits.
    fn meant_by(&self, tree: &Tree, prompt: &str) -> Option<Handle> {
        let own = self.caller?;
        let waits = |frame: &Handle| {
            let record = tree.node(*frame).record();
            record.status == FrameStatus::InProgress && record.held_by().is_some_and(|holder| is_for(holder, own))
        };
        let waiting: Vec<Handle> = tree.held().filter(waits).collect();
        let words = prompt.split(|character: char| !character.is_ascii_alphanumeric());
        let named: BTreeSet<Handle> =
            words.filter_map(|word| word.parse().ok()).filter(|frame| waiting.contains(frame)).collect();
        match (named.first(), &waiting[..]) {
            (Some(named_one), _) if named.len() == 1 => Some(*named_one),
            (None, [only]) => Some(*only),
            _ => None,
        }
    }

    /// The stack for the subagent of this conversation that works in the frame which a call names, if the
    /// host does not say which agent calls. `None`: the call is one of the conversation itself.
    pub(super) fn of_named_agent(&self, arguments: &str) -> Option<Stack> {
        let own = self.caller.filter(|_| self.reports == SubagentReports::EndsWithoutCallers)?;
        let arguments: Value = from_json(arguments).ok()?;
        let named = self.stack.resolve(arguments["frame"].as_str()?).ok()?;
        let agent = self.stack.look(|tree| {
            let holder = |frame: Handle| tree.node(frame).record().held_by();
            let is_agents = |holder: &&Holder| {
                holder.kind == HolderKind::Conversation && holder.caller == own && !holder.name.is_empty()
            };
            tree.lineage(named).find_map(|frame| holder(frame).filter(is_agents).map(|holder| holder.name.clone()))
        })?;
        Some(self.of_agent(&Actor::new(HolderKind::Conversation, agent).caller(own)))
    }

    /// Enters the frame that a call names, if it was handed over to a subagent and no subagent has entered
    /// it: the caller is that subagent. A subagent that names no frame gets its own, if it was not known at
    /// its beginning whether a frame was handed over to it.
    pub(super) fn take_up(&self, tool: &str, arguments: &str) -> Result<()> {
        let Some(actor) = self.stack.actor().filter(|_| self.caller.is_some()) else { return Ok(()) };
        let named =
            from_json::<Value>(arguments).ok().and_then(|arguments| Some(arguments["frame"].as_str()?.to_owned()));
        let Some(named) = named else {
            let is_told = self.tells_all_of_agents() && is_subagent(actor);
            return if is_told { self.frame_of(actor, "subagent").map(drop) } else { Ok(()) };
        };
        let works = matches!(tool, "push" | "plan" | "record" | "pop");
        let frame = self.stack.resolve(named).ok().filter(|_| works);
        let is_free = |frame: &Handle| {
            self.stack.look(|tree| {
                let record = tree.node(*frame).record();
                let waits = |holder: &Holder| awaits_subagent(holder) && holder.caller != actor.name;
                record.status == FrameStatus::InProgress && record.held_by().is_some_and(waits)
            })
        };
        match frame.filter(is_free) {
            Some(frame) => self.stack.resume(frame),
            None => Ok(()),
        }
    }

    /// Names the frame of a subagent by the call of this conversation that has started it: its description in
    /// a few words, and its prompt. The host can tell this before or after the beginning of the subagent. If
    /// the prompt hands over a frame, the subagent works in that frame.
    ///
    /// # Errors
    /// The storage errors; [`Error::Held`](crate::Error::Held) if another actor works in the frame that the
    /// prompt hands over.
    pub fn agent_named(&self, agent: &Actor, description: &str, prompt: &str) -> Result<()> {
        let (made, handed_over) = self.stack.look(|tree| (tree.by_id(&agent.name), frame_handed_over(tree, prompt)));
        let handed_over = handed_over.filter(|frame| Some(*frame) != made);
        if let Some(frame) = handed_over {
            let entered = self.stack.look(|tree| tree.place_of(&agent.name));
            if entered == made && self.status(frame) == FrameStatus::InProgress {
                self.of_agent(agent).resume(frame)?;
            }
            return match made.filter(|made| self.status(*made).is_open()) {
                Some(made) => self.of_agent(agent).invalidate(made, format!("The subagent works in {frame}")).map(drop),
                None => Ok(()),
            };
        }
        let title = match (description, prompt) {
            ("", "") => "subagent".to_owned(),
            ("", prompt) => title_of(prompt),
            (description, _) => description.to_owned(),
        };
        match self.frame_of(agent, &title)? {
            // Its first request may have named it already.
            Some(made) if self.is_unnamed(made) => {
                let identity =
                    Identity { title, success_criteria: prompt.to_owned(), success_criteria_compacted: String::new() };
                self.stack.identify(made, identity)
            }
            _ => Ok(()),
        }
    }

    /// Makes a frame for the subagent that is this conversation, if only its first request is known, or
    /// enters the frame that its prompt hands over. Nothing happens if its host has told about it, or if it
    /// has worked before.
    ///
    /// # Errors
    /// As [`Conversation::agent_named`].
    pub(super) fn agent_seen(&self, prompt: &str) -> Result<()> {
        let Some(agent) = self.stack.actor().filter(|agent| is_subagent(agent)) else { return Ok(()) };
        let is_known = |tree: &Tree| tree.by_id(&agent.name).is_some() || tree.last_entry(&agent.name).is_some();
        match self.stack.read(is_known)? {
            true => Ok(()),
            false => self.agent_named(agent, &title_of(prompt), prompt),
        }
    }

    /// Finishes the frames of the subagent that is this conversation, with its last answer. Without an answer
    /// the subagent has failed. `prompt`: the prompt with which it was started, if the host tells that. It
    /// names the frame that was handed over, because the subagent may not have entered that frame.
    ///
    /// # Errors
    /// The storage errors.
    pub fn agent_ended(&self, prompt: &str, answer: &str) -> Result<()> {
        match answer.trim() {
            "" => self.end_agent(prompt, PopStatus::Failed, "The subagent has ended without an answer."),
            said => self.end_agent(prompt, PopStatus::Completed, said),
        }
    }

    /// The subagent that is this conversation has failed for this reason, and so have its frames. If this is
    /// a conversation that has started a subagent: the frame that this prompt hands over has failed.
    ///
    /// # Errors
    /// As [`Conversation::agent_ended`].
    pub fn agent_failed(&self, prompt: &str, reason: &str) -> Result<()> {
        let reason = if reason.trim().is_empty() { "The subagent has failed." } else { reason.trim() };
        if self.stack.actor().is_some_and(is_subagent) {
            return self.end_agent(prompt, PopStatus::Failed, reason);
        }
        let handed_over = self.stack.look(|tree| frame_handed_over(tree, prompt));
        match handed_over.filter(|frame| self.status(*frame) == FrameStatus::InProgress) {
            Some(frame) => self
                .as_actor(|actor| actor.taking_over(true))
                .pop(frame, PopStatus::Failed, reason.to_owned())
                .map(drop),
            None => Ok(()),
        }
    }

    fn end_agent(&self, prompt: &str, status: PopStatus, results: &str) -> Result<()> {
        let Some(agent) = self.stack.actor().filter(|agent| is_subagent(agent)) else { return Ok(()) };
        if let Some(frame) =
            self.stack.look(|tree| frame_handed_over(tree, prompt)).filter(|frame| self.waits_for(*frame, agent))
        {
            self.stack.resume(frame)?;
        }
        // At its beginning it could not be told whether a frame of its session was handed over to it. If it
        // still has no frame, its frame is made now.
        let made = self.frame_of(agent, "subagent")?;
        let (task, below) = self.stack.look(|tree| {
            let Some(entered) = tree.place_of(&agent.name) else { return (None, Vec::new()) };
            let is_own = |frame: Handle| {
                let holder = tree.node(frame).record().holder.as_deref();
                holder.is_some_and(|holder| holder.name == agent.name)
            };
            let task = tree.lineage(entered).find(|frame| is_handed_over(tree, *frame) && is_own(*frame));
            let mut below: Vec<Handle> =
                tree.lineage(entered).take_while(|frame| task.is_some_and(|task| *frame != task)).collect();
            // Frames that it has begun and left.
            let others = task.into_iter().flat_map(|task| tree.descendants(task)).filter(|frame| is_own(*frame));
            below.extend(others.filter(|frame| !below.contains(frame)).collect::<Vec<_>>().into_iter().rev());
            (task, below)
        });
        if let Some(made) = made.filter(|made| task.is_some_and(|task| task != *made) && self.status(*made).is_open()) {
            self.stack.invalidate(made, format!("The subagent has worked in {}", task.unwrap_or(made)))?;
        }
        // The agent may have ended in a part of its task.
        let Some(task) = task.or(made) else { return Ok(()) };
        for frame in below {
            if self.status(frame) == FrameStatus::InProgress {
                self.stack.pop(frame, status, format!("The subagent has ended; its answer is in {task}."))?;
            }
        }
        if self.status(task) == FrameStatus::InProgress {
            self.stack.pop(task, status, results)?;
        }
        // Frames that it has begun in addition to its task.
        for frame in self.stack.look(|tree| tree.way_back(&agent.name)) {
            self.stack.pop(frame, status, format!("The subagent has ended; its answer is in {task}."))?;
        }
        Ok(())
    }

    /// The frame that was made for a subagent, below the frame of its session. `None` if its session has no
    /// frame, or if the subagent works in a frame that existed before.
    fn frame_of(&self, agent: &Actor, title: &str) -> Result<Option<Handle>> {
        let (made, parent) = self.stack.look(|tree| {
            let session = Actor::new(HolderKind::Conversation, agent.caller.as_str());
            let has_entered = tree.last_entry(&agent.name).is_some();
            (tree.by_id(&agent.name), place(tree, &session).filter(|_| !has_entered))
        });
        let Some(parent) = parent.filter(|_| made.is_none()) else { return Ok(made) };
        // The frame of the session stays its own: the subagent works beside it.
        self.of_agent(agent).ensure(&agent.name, Some(title), Some(parent.into())).map(Some)
    }

    /// The stack for a subagent of the session.
    fn of_agent(&self, agent: &Actor) -> Stack {
        self.as_actor(|own| match &own.hold {
            Some(hold) => agent.clone().hold(hold),
            None => agent.clone(),
        })
    }

    /// True if the session of a subagent has handed a frame over, and no subagent has entered it.
    fn waits_for(&self, frame: Handle, agent: &Actor) -> bool {
        let waits =
            |tree: &Tree| tree.node(frame).record().held_by().is_some_and(|holder| is_for(holder, &agent.caller));
        self.status(frame) == FrameStatus::InProgress && self.stack.look(waits)
    }

    fn is_unnamed(&self, frame: Handle) -> bool {
        self.status(frame) != FrameStatus::Invalidated && self.stack.look(|tree| tree.node(frame).record().placeholder)
    }

    pub(super) fn status(&self, frame: Handle) -> FrameStatus {
        self.stack.look(|tree| tree.node(frame).status())
    }
}

/// True if a conversation works for another conversation.
fn is_subagent(actor: &Actor) -> bool {
    actor.kind == HolderKind::Conversation && !actor.name.is_empty() && !actor.caller.is_empty()
}

/// True if a frame is held for a subagent of this session.
fn is_for(holder: &Holder, session: &str) -> bool {
    awaits_subagent(holder) && holder.caller == session
}

/// True if a frame is held for a subagent whose name is not known yet.
fn awaits_subagent(holder: &Holder) -> bool {
    holder.name.is_empty() && holder.is_delegated()
}

/// The frame that a prompt hands over, if its work is not finished.
fn frame_handed_over(tree: &Tree, prompt: &str) -> Option<Handle> {
    let is_task = |frame: &Handle| {
        frame.index() < tree.len() && is_handed_over(tree, *frame) && !tree.node(*frame).status().is_finished()
    };
    frame_in_prompt(prompt).filter(is_task)
}

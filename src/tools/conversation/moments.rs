//! What a conversation is told at certain moments, by a host that has hooks for them: when it begins, when
//! the person writes, before a compaction, and at the end of a turn.

use super::Conversation;
use crate::error::Result;
use crate::frame::{FrameStatus, Handle, Hold, Release, Results, Told};
use crate::session::calls::listed;
use crate::session::compaction::{Message, Summary, judge};
use crate::text::{beginning, fnv_of, one_line};
use crate::tree::{Command, Records};

/// Maximum number of frames that wait for answers which a conversation is told about, and maximum length of a
/// question, in characters.
const LISTED: usize = 6;
const LONGEST_QUESTION: usize = 200;

impl Conversation<'_> {
    /// The text for a conversation that begins, is resumed, or was compacted. It is the context of its frame,
    /// or else the state of the work of others, with the context of the frame that the conversation can
    /// resume. `None`: there is nothing to tell.
    ///
    /// # Errors
    /// [`Error::BudgetTooSmall`](crate::Error::BudgetTooSmall); the storage errors.
    pub fn begun(&self) -> Result<Option<String>> {
        if let Some(own) = self.place() {
            let context = self.stack.context_again(own, self.settings)?;
            let name = self.name(own);
            self.note_told(own, &context.volatile);
            return Ok(Some(format!(
                "You are in frame {name} of the call stack (tools of callstack).\n{}",
                context.xml
            )));
        }
        let Some(standing) = self.standing() else { return Ok(None) };
        let Some(frame) = self.left_behind() else { return Ok(Some(standing)) };
        let context = self.stack.context(frame, self.settings)?;
        Ok(Some(format!("{standing}\nThe context of {}:\n{}", self.name(frame), context.xml)))
    }

    /// A short text for a conversation that is in no frame: what is open or planned in the stack, and how the
    /// conversation can continue it. `None`: nothing is open or planned.
    pub fn standing(&self) -> Option<String> {
        let open = self.open_frames();
        let (mut next, ready) = (Vec::new(), self.ready_frame());
        if open.is_empty() && ready.is_none() {
            return None;
        }
        if let Some(frame) = self.left_behind() {
            next.push(format!(
                "No agent works on {}: activate {{\"frame\": \"{frame}\"}} resumes it, if that is what the user wants.",
                self.name(frame)
            ));
        } else if self.is_anything_held() {
            next.push(
                "Other conversations work in them: if one has ended, activate its frame with takeOver.".to_owned(),
            );
        } else if let Some(frame) = ready {
            next.push(format!(
                "The next of the plan is {}: activate {{\"frame\": \"{frame}\"}} begins it, if that is what the user wants.",
                self.name(frame)
            ));
        }
        let (answered, asking): (Vec<Handle>, Vec<Handle>) = self.stack.look(|tree| {
            // A frame that waits to begin has no agent that asks.
            let has_begun = |frame: &Handle| !tree.node(*frame).record().waits_to_begin();
            let blocked = tree.with_status(FrameStatus::Blocked).filter(has_begun);
            blocked.partition(|frame| tree.node(*frame).record().pending_answer().is_some())
        });
        if !answered.is_empty() {
            next.push(format!("Answered in the meantime, so that activate resumes them: {}.", listed(&answered)));
        }
        if let Some(first) = asking.first() {
            let waits_for =
                self.stack.look(|tree| one_line(beginning(tree.node(*first).record().waits_for(), LONGEST_QUESTION)));
            next.push(format!(
                "Waiting for an answer: {}. {first} asks: {waits_for}",
                listed(&asking[..asking.len().min(LISTED)])
            ));
        }
        next.push("For other work, push begins a task.".to_owned());
        let what = if open.is_empty() { "has planned work." } else { "has work that is not finished." };
        Some(format!("The call stack of this project (tools of callstack) {what}{open} {}", next.join(" ")))
    }

    /// The first planned frame that can begin.
    fn ready_frame(&self) -> Option<Handle> {
        self.stack.look(|tree| tree.ready().next())
    }

    /// True if an actor works on a frame in progress.
    fn is_anything_held(&self) -> bool {
        let now = self.stack.now();
        self.stack.look(|tree| {
            let is_held = |frame: Handle| tree.holder(frame, now).is_some();
            tree.with_status(FrameStatus::InProgress).any(is_held)
        })
    }

    /// The conversation ends, or its program does. Other actors can resume its frames at once, and so can the
    /// conversation itself if it comes back before they do.
    ///
    /// # Errors
    /// The storage errors.
    pub fn ended(&self) -> Result<()> {
        let Some(caller) = self.caller else { return Ok(()) };
        let held: Vec<Hold> = self.stack.look(|tree| {
            let own = tree.way_back(caller).into_iter();
            own.filter_map(|frame| Some(Hold::of(frame, tree.node(frame).record().held_by()?))).collect()
        });
        let interrupt = |hold| Command::Release { hold, release: Release::Interrupted {} };
        held.into_iter().try_for_each(|hold| self.stack.execute(interrupt(hold)).map(drop))
    }

    /// The newest frame in progress on which no actor works, and below which no frame is in progress.
    fn left_behind(&self) -> Option<Handle> {
        let now = self.stack.now();
        self.stack.look(|tree| {
            let is_left = |handle: &Handle| {
                if tree.node(*handle).record().no_work.is_some() {
                    return false;
                }
                let holder = tree.node(*handle).record().held_by();
                let is_busy = |below: Handle| tree.node(below).status() == FrameStatus::InProgress;
                !holder.is_some_and(|holder| holder.holds(now)) && !tree.descendants(*handle).any(is_busy)
            };
            tree.with_status(FrameStatus::InProgress)
                .filter(is_left)
                .max_by_key(|handle| tree.node(*handle).record().updated_at)
        })
    }

    /// The text in addition to what the person has written: what changes in the context of the frame, if it
    /// has changed since the conversation was last told it. `None`: it has not changed, or the conversation
    /// is in no frame. `keeps_texts`: the host tells about a compaction ([`Conversation::compacting`],
    /// [`Conversation::begun`]). For other hosts it is not known whether the conversation still has the text.
    ///
    /// # Errors
    /// As [`Conversation::begun`].
    pub fn prompted(&self, keeps_texts: bool) -> Result<Option<String>> {
        let Some(own) = self.place() else { return Ok(None) };
        let context = self.stack.context_again(own, self.settings)?;
        let is_new = self.note_told(own, &context.volatile);
        Ok((is_new || !keeps_texts).then(|| context.volatile.clone()))
    }

    /// Notes what the conversation was told about its frame. False: it was told the same last time.
    fn note_told(&self, own: Handle, text: &str) -> bool {
        let told = Told::Context(if text.is_empty() { String::new() } else { format!("{:016x}", fnv_of(text)) });
        let noted = self.stack.execute(Command::Tell { frame: own.into(), told });
        // If it could not be noted, the text is told twice rather than not at all.
        let is_held = self.stack.look(|tree| tree.node(own).record().held_by().is_some());
        !is_held || noted.map_or(true, |events| !events.is_empty())
    }

    /// Records the files that a tool of the conversation has changed.
    ///
    /// # Errors
    /// The storage errors.
    pub fn wrote(&self, artifacts: Vec<String>) -> Result<()> {
        match self.place().filter(|_| !artifacts.is_empty()) {
            Some(own) => self.stack.record(own, Records::of_artifacts(artifacts)).map(drop),
            None => Ok(()),
        }
    }

    /// What the summary of a compaction must keep. `None`: the conversation is in no frame.
    pub fn compacting(&self) -> Option<String> {
        let own = self.place()?;
        // The summary replaces what the conversation was told.
        self.note_told(own, "");
        Some(format!(
            "You are in frame {} of the call stack. The stack keeps the plan, the criteria, and the results and decisions that are \
             recorded; the context of the frame is added again after this. The summary must keep what is recorded nowhere: what was \
             tried and why it failed, what is half done, and what comes next.",
            self.name(own)
        ))
    }

    /// The conversation was compacted: the summary becomes the results so far of its frame, unless it says
    /// less than the frame knows.
    ///
    /// # Errors
    /// The storage errors.
    pub fn compacted(&self, summary: &str) -> Result<()> {
        let Some(own) = self.place() else { return Ok(()) };
        let judged = self.stack.look(|tree| judge(&[Message::summary(summary)], tree.node(own).record()));
        let Ok(Summary { text, compacted, .. }) = judged else { return Ok(()) };
        let results = Results::new(text).compacted(compacted);
        self.stack.summarize(own, results)
    }

    /// What an agent that ends its turn with an open frame is told. `None`: nothing, or the agent was told
    /// before. It is said once to each holder of a frame, in every session.
    pub fn stopping(&self) -> Option<String> {
        let own = self.place()?;
        let is_due = self.status(own) == FrameStatus::InProgress
            && self
                .stack
                .execute(Command::Tell { frame: own.into(), told: Told::StillOpen })
                .is_ok_and(|events| !events.is_empty());
        is_due.then(|| {
            format!(
                "Frame {} is still in progress. If its criteria are met, pop it with its results. If it waits for an answer, pop it as \
                 blocked with the question. To resume it later, record what exists as resultsSoFar. This is said once.",
                self.name(own)
            )
        })
    }
}

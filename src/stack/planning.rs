//! Commands that add frames, name them, and change the plan.

use super::Stack;
use super::results::{EditedPlan, first_handle, frames_with, unfinished_dependents};
use crate::error::{Error, Result};
use crate::frame::{Change, Frame, FrameEdit, FrameRef, Handle, Identity, NewFrame, PLANNED_PREFIX, Parent};
use crate::import::{self, ExportedPlan, Imported, PlanTextError, PlanUpdate};
use crate::transcript::{self, Session, TakenSession};
use crate::tree::{Command, Commit, Draft, Tree, decide_all, decide_together};

impl Stack {
    /// Creates a frame with the status in_progress and makes it the active frame. Without [`NewFrame::below`]
    /// and [`NewFrame::root`], its parent is found as [`Parent::Auto`] says. If the parent uses registers,
    /// the frame inherits some of them. A frame without an ID gets one of the form `plan-…`.
    ///
    /// # Errors
    /// - [`Error::DuplicateId`] if another frame has the ID.
    /// - [`Error::Empty`] if the ID or the title is blank; [`Error::TooLong`] for an ID of more than
    ///   [`Frame::LONGEST_ID`] characters.
    /// - [`Error::UnknownFrame`] or [`Error::AmbiguousFrame`] for the parent or a dependency.
    /// - [`Error::ParentClosed`] or [`Error::ParentPlanned`] if the parent is not in_progress or blocked.
    /// - [`Error::Dependency`] if the frame depends on one of its ancestors.
    /// - [`Error::Full`] if the tree has [`Handle::LIMIT`] frames.
    pub fn push(&self, frame: NewFrame) -> Result<Handle> {
        self.execute_made(|| Command::Push(self.with_id(frame))).map(first_handle)
    }

    /// Creates a frame with the status planned. A frame without an ID gets one of the form `plan-…`.
    ///
    /// # Errors
    /// As [`Stack::push`], except [`Error::ParentPlanned`]: the parent may be planned.
    pub fn plan(&self, frame: NewFrame) -> Result<Handle> {
        self.execute_made(|| Command::Plan(self.with_id(frame))).map(first_handle)
    }

    /// Creates several planned children of one parent, all or none, and returns their handles in the order of
    /// the list. With [`Parent::Root`] they become roots. A child may depend on any other child of the list,
    /// also on a later one, by its title or its ID ([`Stack::planned_id`] makes one beforehand). The `parent`
    /// and `caller` of the children are ignored.
    ///
    /// # Errors
    /// As [`Stack::plan`], for any of the children; [`Error::Child`] says which one. [`Error::DuplicateId`]
    /// also if two children have the same ID; [`Error::AmbiguousFrame`] also if two have the title that a
    /// dependency names; [`Error::Dependency`] also if dependencies form a circle.
    pub fn plan_children(&self, parent: impl Into<Parent>, children: Vec<NewFrame>) -> Result<Vec<Handle>> {
        let parent = parent.into();
        let events = self.execute_made(|| {
            let children = children.into_iter().map(|child| self.with_id(child)).collect();
            Command::PlanChildren { parent, caller: None, children }
        })?;
        Ok(frames_with(&events, |change| matches!(change, Change::Added { .. })))
    }

    /// Adds frames as they are, all or none, for example a plan read by [`crate::import`]. Returns the
    /// handles in the order of creation: the order of the list, except that parents come before their
    /// children. The frames have no logs here, so a `logPath` is left out; [`import::frames`] has reported
    /// it.
    ///
    /// # Errors
    /// - [`Error::Empty`] if an ID is blank; [`Error::TooLong`] if it has more than [`Frame::LONGEST_ID`]
    ///   characters; [`Error::DuplicateId`] if an ID is taken or occurs twice.
    /// - [`Error::UnknownFrame`] if a parent or a dependency does not exist.
    /// - [`Error::RetryLink`] if a `retryOf` names no failed sibling in the list, or a frame has two next
    ///   attempts.
    /// - [`Error::ParentCircle`] if parents form a circle; [`Error::Dependency`] if dependencies do, or if a
    ///   frame depends on itself, an ancestor or a descendant.
    /// - [`Error::Full`] if the tree would have more than [`Handle::LIMIT`] frames.
    pub fn import(&self, frames: Vec<Frame>) -> Result<Vec<Handle>> {
        let events = self.execute(Command::Import { frames })?;
        self.end_waits();
        Ok(frames_with(&events, |change| matches!(change, Change::Added { .. })))
    }

    /// Adds the frames of a plan that [`import::frames`] has read. If the plan was imported before, brings
    /// its frames up to date: all or none. New entries are added, changed entries edited, closed entries
    /// finished, removed entries invalidated. What was begun here stays as it is. What was changed on both
    /// sides stays too, and [`PlanUpdate::conflicts`] names it. What is missing in a file that has lost most
    /// of its plan also stays. A new entry whose dependencies cannot be here waits. `below`: where the top of
    /// the plan is; `None`: where it was, or it has roots.
    ///
    /// ```
    /// use callstack_core::{FrameStatus, Stack, import};
    ///
    /// let stack = Stack::in_memory();
    /// let plan = |status: &str| {
    ///     import::frames(&format!(r#"{{"id": "app-1", "title": "Set up", "status": "{status}", "close_reason": "cargo new"}}"#))
    /// };
    /// let first = stack.bring_up_to_date(&plan("open")?, None)?;
    /// assert_eq!(first.added.len(), 2);
    /// let second = stack.bring_up_to_date(&plan("closed")?, None)?;
    /// assert_eq!((second.added.len(), second.changes.len()), (0, 1));
    /// assert_eq!(stack.frame("app-1")?.status, FrameStatus::Completed);
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// - As [`Stack::import`]; [`Error::DuplicateId`] also if the plan seems to be another one with the same
    ///   IDs ([`Imported::is_same_plan`] says that it is not).
    /// - [`Error::UnknownFrame`] or [`Error::AmbiguousFrame`] for `below`; [`Error::ParentClosed`] if that
    ///   frame has ended.
    pub fn bring_up_to_date(&self, plan: &Imported, below: Option<FrameRef>) -> Result<PlanUpdate> {
        let mut update = PlanUpdate::default();
        let actor = self.actor.as_deref();
        let plan = &*self.with_last_plan_file(plan)?;
        self.commit(
            || (),
            |tree, (), now| {
                let below = below.map(|below| open(tree, &below)).transpose()?;
                let (commit, made) = decide_together(tree, actor, Some("import"), now, |draft| {
                    import::bring_up_to_date(draft, plan, below)
                })?;
                update = made;
                Ok(commit)
            },
        )?;
        self.end_waits();
        self.note_plan_file(plan)?;
        Ok(update)
    }

    /// Changes the plan below a frame, or the whole plan, to what an edited text says: all or nothing, as one
    /// command that can be taken back. `before` is the text of [`import::plan_text`] that was edited.
    ///
    /// ```
    /// use callstack_core::{NewFrame, Stack, import};
    ///
    /// let stack = Stack::in_memory();
    /// let shop = stack.push(NewFrame::new("Shop"))?;
    /// let cart = stack.plan(NewFrame::new("Cart").below(shop))?;
    /// let before = stack.read(|tree| import::plan_text(tree, Some(shop)))?;
    /// assert_eq!(before, "- [ ] Cart (f2)\n");
    /// let edited = stack.edit_plan(Some(shop), &before, "- [ ] Load test\n- [ ] Shopping cart (f2)\n")?.unwrap();
    /// assert_eq!((edited.planned.len(), edited.edited), (1, vec![cart]));
    /// assert!(stack.edit_plan(Some(shop), &before, "")?.is_err(), "the frame is not as in that text any more");
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`decide`](crate::tree::decide): the plan cannot be like this. The inner error: the text cannot be
    /// understood, or a frame that it changes has changed since `before`.
    pub fn edit_plan(
        &self,
        below: Option<Handle>,
        before: &str,
        after: &str,
    ) -> Result<std::result::Result<EditedPlan, PlanTextError>> {
        let mut problem = None;
        let events = self.commit(
            || (),
            |tree, (), now| match import::plan_commands(tree, below, before, after) {
                Ok(commands) => decide_all(tree, self.actor.as_deref(), "plan", self.with_ids(commands), now),
                Err(error) => {
                    problem = Some(error);
                    Ok(Commit::default())
                }
            },
        )?;
        if let Some(problem) = problem {
            return Ok(Err(problem));
        }
        let with = |is: fn(&Change) -> bool| {
            let mut frames = frames_with(&events, is);
            frames.sort_unstable();
            frames.dedup();
            frames
        };
        let planned = with(|change| matches!(change, Change::Added { .. }));
        let edited = with(|change| matches!(change, Change::Edited { .. }));
        let edited = edited.into_iter().filter(|frame| planned.binary_search(frame).is_err()).collect();
        let invalidated = with(|change| matches!(change, Change::Invalidated { .. }));
        let dependents = unfinished_dependents(&self.inner.tree.read(), &invalidated);
        Ok(Ok(EditedPlan { planned, edited, invalidated, dependents }))
    }

    /// Commands whose new frames have IDs.
    fn with_ids(&self, commands: Vec<Command>) -> Vec<Command> {
        let with_id = |command| match command {
            Command::Plan(frame) => Command::Plan(self.with_id(frame)),
            other => other,
        };
        commands.into_iter().map(with_id).collect()
    }

    /// Makes a session of an agent a part of the stack: its frames with their times, requests and results.
    /// Work that had not ended is blocked, so that an agent or a person resumes it. If the session is in the
    /// stack already, only what is new is added. Frames on which work has continued in the stack stay as they
    /// are.
    ///
    /// ```
    /// use callstack_core::Stack;
    /// use callstack_core::transcript::{Session, TranscriptForm};
    ///
    /// let mut session = Session::new(TranscriptForm::Claude, "8d1f");
    /// session.follow_line(0, br#"{"type": "user", "message": {"role": "user", "content": "Build the shop."}}"#);
    /// session.settle(true);
    /// let stack = Stack::in_memory();
    /// assert_eq!(stack.take_over(&session)?.added.len(), 2);
    /// assert!(stack.take_over(&session)?.added.is_empty());
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Full`] if the tree would have more than [`Handle::LIMIT`] frames; the errors of every command
    /// (see [`Stack`]).
    pub fn take_over(&self, session: &Session) -> Result<TakenSession> {
        let mut taken = TakenSession::default();
        let actor = self.actor.as_deref();
        self.commit(
            || (),
            |tree, (), now| {
                let added = session.tree().len();
                if tree.len().saturating_add(added) > Handle::LIMIT {
                    return Err(Error::Full { limit: Handle::LIMIT });
                }
                let (commit, made) = decide_together(tree, actor, Some("import"), now, |draft| {
                    Ok(transcript::take_over(draft, session))
                })?;
                // The session's file may tell something impossible; nothing is written then.
                let mut trial = tree.clone();
                for event in &commit.events {
                    trial.checked(|trial| trial.check_next(event))??;
                    trial.apply(event);
                }
                taken = made;
                Ok(commit)
            },
        )?;
        Ok(taken)
    }

    /// As [`Stack::bring_up_to_date`], without making the changes: returns what it would do.
    ///
    /// # Errors
    /// As [`Stack::bring_up_to_date`].
    pub fn compare_plan(&self, plan: &Imported, below: Option<FrameRef>) -> Result<PlanUpdate> {
        let plan = &*self.with_last_plan_file(plan)?;
        self.read(|tree| import::compare(tree, plan, below.map(|below| open(tree, &below)).transpose()?))?
    }

    /// Notes that an export was written into its file, so that the next import knows what the file says.
    ///
    /// # Errors
    /// [`Error::HoldLost`] if the actor has lost the hold without which it may do nothing; those of the
    /// store.
    pub fn note_export(&self, exported: &ExportedPlan) -> Result<()> {
        let actor = self.actor.as_deref();
        let note = |tree: &Tree, (), now| {
            let note = |draft: &mut Draft<'_>| {
                import::note_export(draft, exported);
                Ok(())
            };
            decide_together(tree, actor, None, now, note).map(|(commit, ())| commit)
        };
        self.commit(|| (), note).map(drop)
    }

    /// Returns the frame of a session. If the session has no frame, creates a placeholder frame with the
    /// status in_progress, which becomes the active frame if there is none. Without a title, the placeholder
    /// is called `Session ` and the first 8 characters of the ID.
    ///
    /// # Errors
    /// [`Error::Empty`] if the ID is blank; [`Error::UnknownFrame`] or [`Error::AmbiguousFrame`] for the
    /// parent; [`Error::Full`].
    pub fn ensure(&self, session_id: &str, title: Option<&str>, parent: Option<FrameRef>) -> Result<Handle> {
        self.check_working()?;
        if let Some(handle) = self.read(|tree| tree.by_id(session_id))? {
            return Ok(handle);
        }
        let command = Command::Ensure { session_id: session_id.to_owned(), title: title.map(str::to_owned), parent };
        self.execute(command)?;
        self.resolve(FrameRef::Id(session_id.to_owned()))
    }

    /// Sets the title and criteria of a placeholder frame for good. Those of a placeholder that has criteria
    /// are also set for good when a frame is pushed, planned or imported below it.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the title is blank;
    /// [`Error::IdentityFixed`] if the frame is not a placeholder.
    pub fn identify(&self, frame: impl Into<FrameRef>, identity: Identity) -> Result<()> {
        self.execute(Command::Identify { frame: frame.into(), identity, provisional: false }).map(drop)
    }

    /// Edits a planned frame: its title, criteria and dependencies, its parent, and its order among its
    /// siblings. The frames below it move with it. An edit that changes nothing is not an error.
    ///
    /// # Errors
    /// - [`Error::NotPlanned`] if the frame has begun, or is invalidated.
    /// - [`Error::Empty`] if the title is blank.
    /// - [`Error::UnknownFrame`] or [`Error::AmbiguousFrame`] for the frame, the parent, a dependency or the
    ///   sibling.
    /// - [`Error::ParentClosed`] if the new parent is completed, failed or invalidated;
    ///   [`Error::ParentCircle`] if it is the frame or below it.
    /// - [`Error::NotSibling`] if the frame would stand before one with another parent.
    /// - [`Error::RetryLink`] if the frame is the next attempt of another one and would get another parent.
    /// - [`Error::Dependency`] if dependencies would form a circle, or a frame would depend on one above or
    ///   below it.
    pub fn edit(&self, frame: impl Into<FrameRef>, edit: FrameEdit) -> Result<()> {
        self.execute(Command::Edit { frame: frame.into(), edit })?;
        // A frame that only holds other frames together may be done without the frame that was moved.
        self.end_waits();
        Ok(())
    }

    /// Replaces the ID of a frame. Its handle does not change, and its log is renamed with it.
    ///
    /// # Errors
    /// [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Empty`] if the new ID is blank,
    /// [`Error::TooLong`] if it has more than [`Frame::LONGEST_ID`] characters; [`Error::DuplicateId`] if
    /// another frame has it.
    pub fn replace_id(&self, frame: impl Into<FrameRef>, session_id: impl Into<String>) -> Result<()> {
        self.execute(Command::ReplaceId { frame: frame.into(), session_id: session_id.into() }).map(drop)
    }

    fn with_id(&self, mut frame: NewFrame) -> NewFrame {
        if frame.session_id.is_none() {
            frame.session_id = Some(self.planned_id());
        }
        frame
    }

    /// Generates the ID of a frame that has no session yet. Frames without an ID get such an ID; a caller
    /// needs this only to name a frame before it is created.
    pub fn planned_id(&self) -> String {
        self.fresh_id(PLANNED_PREFIX)
    }
}

/// The frame of a reference, which must be open or planned.
fn open(tree: &Tree, frame: &FrameRef) -> Result<Handle> {
    let handle = tree.resolve(frame)?;
    match tree.node(handle).status() {
        status if status.is_unfinished() => Ok(handle),
        status => Err(Error::ParentClosed { handle, status }),
    }
}

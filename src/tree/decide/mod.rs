//! The first half of a change: checks a command against a tree and returns the events that carry it out.

mod adding;
mod calls;
mod editing;
mod holding;
mod lifecycle;
mod limiting;
mod memory;
mod recording;
mod undoing;

use super::{Command, Commit, Draft, TranscriptRead, Tree};
use crate::error::{Error, Result};
use crate::frame::{Actor, Change, Event, Frame, FrameRef, FrameStatus, Handle, Holder, HolderKind};

pub(crate) use memory::known_chunk;
pub use undoing::MOST_TAKEN_BACK;
pub(crate) use undoing::TAKEN_BACK;

/// Checks a command against a tree and returns the commit that carries it out. The commit is empty if the
/// tree is already in the state that the command asks for. The tree does not change.
///
/// `now` is the time of the events, in milliseconds since the Unix epoch. In contrast to the methods of
/// [`Stack`](crate::Stack), a new frame must have an ID here, because nothing generates one.
///
/// # Errors
/// The reason why the command is refused:
///
/// - [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]: a reference to a frame, of any command.
/// - [`Error::Empty`]: an ID, title, reason, artifact, decision, log path, chunk name, answer or summary is
///   blank.
/// - [`Error::DuplicateId`], [`Error::ParentClosed`], [`Error::ParentPlanned`], [`Error::Dependency`],
///   [`Error::ParentCircle`], [`Error::Full`]: commands that create frames; [`Error::DuplicateId`] also for
///   [`Command::ReplaceId`].
/// - [`Error::NotPlanned`], [`Error::NotSibling`]: [`Command::Edit`], which can also fail with the errors of
///   the commands that create frames. [`Error::Child`]: a child of [`Command::PlanChildren`].
/// - [`Error::Transition`], [`Error::NotOpen`], [`Error::ResultsFixed`], [`Error::NotFinished`],
///   [`Error::NotBlocked`], [`Error::IdentityFixed`], [`Error::NotRetriable`]: the frame's status, or its
///   identity, does not allow the command.
/// - [`Error::NotReady`]: [`Command::Begin`], the next frame of [`Command::PopAndBegin`] and
///   [`Command::Complete`], and a frame that is not work.
/// - [`Error::PartsLeft`]: [`Command::Complete`] over work that has not ended.
/// - [`Error::Held`]: a frame that another actor holds, for commands that begin or resume it, and in
///   [`decide_as`] also for commands that end, block or invalidate it.
/// - [`Error::NotFree`], [`Error::HoldLost`], [`Error::Setting`]: the commands for holds.
/// - [`Error::ToolsExceed`], [`Error::Setting`]: limits, for the commands that set them.
/// - [`Error::NothingToUndo`], [`Error::NotUndone`]: [`Command::Undo`].
/// - [`Error::RetryLink`]: a `retryOf` of [`Command::Import`] that is not possible; another parent for an
///   attempt by [`Command::Edit`].
/// - [`Error::ChunkExists`], [`Error::UnknownChunk`], [`Error::TooLong`], [`Error::NotOneLine`]: commands for
///   chunks.
/// - [`Error::TooLong`]: also an ID with more than [`Frame::LONGEST_ID`](crate::Frame::LONGEST_ID)
///   characters, or a name with more than [`Holder::LONGEST_NAME`](crate::frame::Holder::LONGEST_NAME).
/// - [`Error::Json`]: an entry of [`Command::AppendLog`] is nested more than 100 levels deep.
pub fn decide(tree: &Tree, command: Command, now: u64) -> Result<Commit> {
    decide_as(tree, None, command, now)
}

/// Same as [`decide`], for a command of an actor. Frames that other actors hold belong to these actors, and
/// the actor holds the frames that it begins. A person without a name is a caller that uses the stack
/// directly. Commands of persons are recorded so that they can be taken back.
///
/// # Errors
/// Same as [`decide`]; [`Error::HoldLost`] if the actor has lost the hold that its commands need.
pub fn decide_as(tree: &Tree, actor: Option<&Actor>, command: Command, now: u64) -> Result<Commit> {
    let name = command.of_person();
    let draft = decided(tree, actor, command, now)?;
    Ok(finished(draft, person(actor), name))
}

/// The actor, if it is a person.
fn person(actor: Option<&Actor>) -> Option<&Actor> {
    actor.filter(|actor| actor.kind == HolderKind::Person)
}

/// The draft of a command, without the note that a person has given the command.
fn decided<'a>(tree: &'a Tree, actor: Option<&Actor>, command: Command, now: u64) -> Result<Draft<'a>> {
    let mut draft = draft_of(tree, actor, now)?;
    let person = person(actor);
    let looks_at_groups = matches!(command, Command::EndWaits);
    match command {
        Command::Push(frame) => draft.push_frame(frame)?,
        Command::Plan(frame) => draft.plan_frame(frame)?,
        Command::PlanChildren { parent, caller, children } => {
            draft.plan_children(parent, caller.as_deref(), children)?;
        }
        Command::Ensure { session_id, title, parent } => draft.ensure(session_id, title, parent)?,
        Command::Import { frames } => draft.import(frames)?,
        Command::Identify { frame, identity, provisional } => {
            draft.identify(tree.resolve(&frame)?, identity, provisional)?;
        }
        Command::Activate { frame } => draft.begin(tree.resolve(&frame)?)?,
        Command::Begin { frame } => draft.begin_ready(tree.resolve(&frame)?)?,
        Command::SetStatus { frame, status: FrameStatus::Invalidated, results, .. } => {
            draft.invalidate(tree.resolve(&frame)?, results.unwrap_or_default())?;
        }
        Command::SetStatus { frame, status, results, results_compacted } => {
            draft.set_status(tree.resolve(&frame)?, status, results, results_compacted)?;
        }
        Command::Resume { frame } => draft.resume(tree.resolve(&frame)?)?,
        Command::Pop { frame, status, results } => draft.pop(tree.resolve(&frame)?, status, results)?,
        Command::PopAndBegin { frame, status, results, next } => {
            let next = next.map(|next| tree.resolve(&next)).transpose()?;
            draft.pop_and_begin(tree.resolve(&frame)?, status, results, next)?;
        }
        Command::Complete { frame, results, next } => {
            let next = next.map(|next| tree.resolve(&next)).transpose()?;
            draft.complete(tree.resolve(&frame)?, results, next)?;
        }
        Command::Block { frame, question, results, interruption } => {
            draft.block(tree.resolve(&frame)?, question, results, interruption)?;
        }
        Command::Answer { frame, answer } => draft.answer(tree.resolve(&frame)?, answer)?,
        Command::AnswerAndResume { frame, answer } => {
            draft.answer_and_resume(tree.resolve(&frame)?, answer)?;
        }
        Command::Invalidate { frame, reason } => draft.invalidate(tree.resolve(&frame)?, reason)?,
        Command::InvalidateAll { frames, reason, open_too } => {
            let frames = frames.iter().map(|frame| tree.resolve(frame)).collect::<Result<Vec<_>>>()?;
            draft.invalidate_all(&frames, &reason, open_too)?;
        }
        Command::SetActive { frame } => draft.set_active(tree.resolve(&frame)?)?,
        Command::ReplaceId { frame, session_id } => draft.replace_id(tree.resolve(&frame)?, session_id)?,
        Command::BeginCall { frame, session_id, caller, host, lease, limits } => {
            draft.begin_call(tree.resolve(&frame)?, session_id, caller, host, lease, &limits)?;
        }
        Command::Enter { frame, session_id } => draft.enter(tree.resolve(&frame)?, &session_id)?,
        Command::EndCall { frame, host, interrupted } => draft.end_call(tree.resolve(&frame)?, &host, interrupted),
        Command::Hold(hold) => draft.hold(hold)?,
        Command::Renew { hold, lease } => draft.renew(&hold, lease)?,
        Command::Release { hold, release } => draft.release(&hold, release)?,
        Command::Interrupt { frame } => draft.interrupt(tree.resolve(&frame)?),
        Command::RenewAll => draft.renew_all(),
        Command::EndWaits => draft.end_waits(),
        Command::Tell { frame, told } => draft.tell(tree.resolve(&frame)?, told),
        Command::Finish { hold, finish } => draft.finish_hold(&hold, finish)?,
        Command::Stop { frame, reason } => draft.stop(frame, &reason)?,
        Command::RequestSummary { frame, request } => draft.request_summary(tree.resolve(&frame)?, request)?,
        Command::Deliver { frame } => draft.deliver(tree.resolve(&frame)?)?,
        Command::Forget { frame } => draft.forget(tree.resolve(&frame)?),
        Command::Record { frame, records } => draft.record(tree.resolve(&frame)?, records)?,
        Command::RecordUsage { frame, request } => draft.record_usage(tree.resolve(&frame)?, request),
        Command::SetLogPath { frame, log_path } => draft.set_log_path(tree.resolve(&frame)?, log_path)?,
        // Hooks that run at the same time read the same part.
        Command::RecordConversation { transcript: Some(ref read), .. } if was_read_since(tree, read) => {
            return Ok(draft);
        }
        Command::RecordConversation { logs, usage, transcript } => {
            for (frame, entries) in logs {
                draft.append_entries(tree.resolve(&frame)?, entries)?;
            }
            for (frame, request) in usage {
                draft.record_usage(tree.resolve(&frame)?, Box::new(request));
            }
            if let Some(TranscriptRead { frame, conversation, position, .. }) = transcript {
                draft.push(tree.resolve(&frame)?, Change::TranscriptRead { conversation, position });
            }
        }
        Command::AppendLog { frame, entries } => draft.append_entries(tree.resolve(&frame)?, entries)?,
        Command::AllocateChunk { frame, chunk } => draft.allocate_chunk(tree.resolve(&frame)?, chunk)?,
        Command::WriteChunk { frame, name, content } => draft.write_chunk(tree.resolve(&frame)?, name, content)?,
        Command::FreeChunk { frame, name } => draft.free_chunk(tree.resolve(&frame)?, name)?,
        Command::Retry { frame, session_id, note, is_interrupted } => {
            draft.retry(tree.resolve(&frame)?, session_id, note, is_interrupted)?;
        }
        Command::Edit { frame, edit } => draft.edit(tree.resolve(&frame)?, edit)?,
        Command::SetLimits { frame, limits } => draft.set_limits(tree.resolve(&frame)?, &limits)?,
        Command::RecordCost { frame, conversation, cost_micro_usd } => {
            draft.record_cost(tree.resolve(&frame)?, conversation, cost_micro_usd)?;
        }
        Command::Reopen { frame, reason } => draft.reopen(tree.resolve(&frame)?, reason)?,
        Command::Undo if actor.is_some() && person.is_none() => return Err(Error::NothingToUndo {}),
        Command::Undo => draft.undo(person.map_or("", |person| &person.name))?,
        Command::UpdateRegisters { frame, registers } => draft.update_registers(tree.resolve(&frame)?, &registers),
    }
    draft.finish_groups(looks_at_groups);
    Ok(draft)
}

/// Executes a command that must not be refused, for tests.
#[cfg(test)]
pub(crate) fn execute(tree: &mut Tree, command: Command) {
    let commit = decide(tree, command, 1).unwrap();
    commit.events.iter().for_each(|event| tree.apply(event));
}

/// Decides several commands of an actor as one commit. Each command is decided on the tree after the commands
/// before it. Returns the errors of the commands that are refused, with their places in the list; these
/// commands change nothing.
#[cfg(feature = "session")]
pub(crate) fn decide_each(
    tree: &Tree,
    actor: Option<&Actor>,
    commands: Vec<Command>,
    now: u64,
) -> (Commit, Vec<(usize, Error)>) {
    let (mut refused, mut places) = (Vec::new(), 0..);
    let decide = |tree: &Tree, command| {
        let place = places.next().unwrap_or_default();
        Ok(decide_as(tree, actor, command, now).unwrap_or_else(|error| {
            refused.push((place, error));
            Commit::default()
        }))
    };
    let commit = in_turn(tree, actor, commands, decide).unwrap_or_default();
    (commit, refused)
}

/// Decides several commands of an actor as one command with this name: all or none. Each command is decided
/// on the tree after the commands before it.
///
/// # Errors
/// Same as [`decide_as`], for the first command that is refused.
pub(crate) fn decide_all(
    tree: &Tree,
    actor: Option<&Actor>,
    name: &str,
    commands: Vec<Command>,
    now: u64,
) -> Result<Commit> {
    let decide = |tree: &Tree, command| Ok(finished(decided(tree, actor, command, now)?, None, None));
    let mut draft = draft_of(tree, actor, now)?;
    draft.append(in_turn(tree, actor, commands, decide)?);
    Ok(finished(draft, person(actor), Some(name)))
}

/// Decides several commands as one commit. Each command is decided on the tree after the commands before it.
fn in_turn(
    tree: &Tree,
    actor: Option<&Actor>,
    commands: Vec<Command>,
    mut decide: impl FnMut(&Tree, Command) -> Result<Commit>,
) -> Result<Commit> {
    let mut all = Commit::default();
    // A copy of the tree with the first events. It is made when a command has to be decided on it, because it
    // costs more than most commands.
    let mut changed: Option<(Tree, usize)> = None;
    // Commands of persons are noted together with the state before them, and commands with a hold are
    // checked.
    let is_free = actor.is_none_or(|actor| actor.hold.is_none() && actor.kind != HolderKind::Person);
    for command in commands {
        let own = own_frame(&command).filter(|_| is_free);
        let added = own.and_then(|own| added_as(&all.events, own));
        let commit = match added {
            // The first text of a session is about its new frame.
            Some((handle, frame)) => {
                let mut commit = decide(&alone(frame), command)?;
                commit.events.iter_mut().for_each(|event| event.handle = handle);
                commit
            }
            None if is_as_before(tree, &all.events, own) => decide(tree, command)?,
            None => {
                let (copy, applied) = changed.get_or_insert_with(|| (tree.clone(), 0));
                all.events[*applied..].iter().for_each(|event| copy.apply(event));
                *applied = all.events.len();
                decide(copy, command)?
            }
        };
        let next = tree.revision() + all.events.len() as u64;
        all.events.extend((next + 1..).zip(commit.events).map(|(revision, event)| Event { revision, ..event }));
        all.log.extend(commit.log);
    }
    Ok(all)
}

/// The frame of a command that reads nothing but this frame.
fn own_frame(command: &Command) -> Option<&FrameRef> {
    match command {
        Command::Identify { frame, .. } | Command::RecordUsage { frame, .. } | Command::Record { frame, .. } => {
            Some(frame)
        }
        Command::RecordConversation { logs, usage, transcript: None } if logs.is_empty() => {
            let ((first, _), others) = usage.split_first()?;
            others.iter().all(|(frame, _)| frame == first).then_some(first)
        }
        _ => None,
    }
}

/// True for a change that is not read by any command that reads only its own frame.
fn is_beside(change: &Change) -> bool {
    matches!(change, Change::UsageRecorded { .. } | Change::ActiveChanged { .. } | Change::Held { .. })
}

/// The frame with an ID that one of the events has added, if no event has changed it since.
fn added_as<'a>(events: &'a [Event], named: &FrameRef) -> Option<(Handle, &'a Frame)> {
    let FrameRef::Id(id) = named else { return None };
    let (place, handle, frame) = events.iter().enumerate().rev().find_map(|(place, event)| match &event.change {
        Change::Added { frame } if frame.session_id == *id => Some((place, event.handle, &**frame)),
        _ => None,
    })?;
    let since = &events[place + 1..];
    since.iter().all(|event| event.handle != handle || is_beside(&event.change)).then_some((handle, frame))
}

/// True if a command can be decided on the tree before the events, because they change nothing that it reads.
/// `own`: the frame of a command that reads nothing else.
fn is_as_before(tree: &Tree, events: &[Event], own: Option<&FrameRef>) -> bool {
    let is_of_usage = |event: &Event| matches!(event.change, Change::UsageRecorded { .. });
    let replaces_id = |event: &Event| matches!(event.change, Change::IdReplaced { .. } | Change::Added { .. });
    if events.iter().all(is_of_usage) {
        return true;
    }
    let Some(own) = own.filter(|_| !events.iter().any(replaces_id)).and_then(|own| tree.resolve(own).ok()) else {
        return false;
    };
    events.iter().all(|event| event.handle != own || is_beside(&event.change))
}

/// A tree that has only this frame.
fn alone(frame: &Frame) -> Tree {
    let alone = Frame { parent_session_id: None, depends_on: Vec::new(), ..frame.clone() };
    Tree::from_frames(&mut [alone]).0
}

/// Decides a change that is not a single command, such as the import of a plan that has changed. `name` is
/// the name that persons use for the change if they can take it back. The change itself ends the frames that
/// only hold others together.
///
/// # Errors
/// Same as [`decide_as`]; the errors of `make`.
pub(crate) fn decide_together<T>(
    tree: &Tree,
    actor: Option<&Actor>,
    name: Option<&str>,
    now: u64,
    make: impl FnOnce(&mut Draft<'_>) -> Result<T>,
) -> Result<(Commit, T)> {
    let mut draft = draft_of(tree, actor, now)?;
    let made = make(&mut draft)?;
    Ok((finished(draft, person(actor), name), made))
}

/// An empty draft for a command of an actor.
fn draft_of<'a>(tree: &'a Tree, actor: Option<&Actor>, now: u64) -> Result<Draft<'a>> {
    if let Some(actor) = actor {
        tree.check_hold(actor)?;
        check_length("name", &actor.name, Holder::LONGEST_NAME)?;
    }
    let mut draft = Draft::new(tree, now);
    draft.is_person = actor.is_some_and(|actor| actor.kind == HolderKind::Person);
    // A person without a name is a caller that uses the stack directly.
    draft.actor = actor.filter(|actor| !(draft.is_person && actor.name.is_empty())).cloned();
    Ok(draft)
}

/// The commit of a draft that has all events of its command.
fn finished(mut draft: Draft<'_>, person: Option<&Actor>, name: Option<&str>) -> Commit {
    if let (Some(person), Some(name)) = (person, name) {
        draft.note_command(name, &person.name);
    }
    draft.renew_beside();
    draft.finish()
}

/// True if another process has read further in a transcript.
fn was_read_since(tree: &Tree, read: &TranscriptRead) -> bool {
    tree.transcript(&read.conversation).map(|(_, position)| position.offset) != read.before
}

fn not_empty(field: &'static str, text: &str) -> Result<()> {
    if text.trim().is_empty() { Err(Error::Empty { field }) } else { Ok(()) }
}

/// Refuses a name that is empty, or has more characters than the limit.
fn check_name(field: &'static str, name: &str, limit: usize) -> Result<()> {
    not_empty(field, name)?;
    check_length(field, name, limit)
}

/// Refuses a text that has more characters than the limit.
fn check_length(field: &'static str, text: &str, limit: usize) -> Result<()> {
    // The characters are counted only if the text can be too long: a character has at least one byte.
    if text.len() <= limit {
        return Ok(());
    }
    match text.chars().count() {
        length if length > limit => Err(Error::TooLong { field, length, limit }),
        _ => Ok(()),
    }
}

//! Collects frames and problems while a file is read, and makes a valid plan from them.

use std::collections::{HashMap, HashSet};

use super::{Imported, Problem, handle_form};
use crate::frame::{Frame, FrameStatus, Handle, Question};
use crate::text::FreeNames;
use crate::tree::Tree;

/// The end of the message about a link that is cut.
const LEFT_OUT: &str = "; left out";
/// The end of the message about a frame without its parent.
const KEPT_AS_ROOT: &str = "kept as a root";

/// A kind of frame that holds tasks together without being an entry of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Plan,
    Tag,
    Heading,
    List,
}

impl Group {
    const ALL: [Self; 4] = [Self::Plan, Self::Tag, Self::Heading, Self::List];

    fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Tag => "tag",
            Self::Heading => "heading",
            Self::List => "list",
        }
    }
}

/// True if a frame is not an entry of a plan, but holds entries together.
pub(super) fn is_made(frame: &Frame) -> bool {
    frame.no_work.as_deref().is_some_and(|word| Group::ALL.iter().any(|group| group.word() == word))
}

/// Collects frames and problems while a file is read.
#[derive(Default)]
pub(super) struct Collector {
    pub(super) frames: Vec<Frame>,
    /// The places of the frames in that list, by ID.
    pub(super) places: HashMap<String, usize>,
    /// Why frames must not begin, by their places.
    waits: HashMap<usize, Wait>,
    /// The places of the records that hold nothing together, no matter what is below them.
    pub(super) records: HashSet<usize>,
    /// The places of frames that are not work, and that are over when a person says so, if other frames
    /// depend on them.
    pub(super) told_when_over: HashSet<usize>,
    names: FreeNames,
    /// The places of the frames that are not tasks of the file, but parents of its tasks; ascending.
    made: Vec<usize>,
    problems: Vec<Problem>,
    is_incomplete: bool,
    /// True if a frame waits that has begun without what it depends on. Task Master hands out the parts of
    /// such tasks.
    pub(super) is_strict: bool,
}

/// Why a frame must not begin.
#[derive(Default)]
struct Wait {
    reasons: Vec<String>,
    /// The time that ends the wait, if nothing else is in the way.
    until: Option<u64>,
    /// Number of reasons that no time ends.
    lasting: usize,
    /// True if it was begun elsewhere.
    begun: bool,
}

impl Collector {
    pub(super) fn report(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem { place: place.into(), message: message.into() });
    }

    /// Reports an entry of the file that cannot be read, and is left out.
    pub(super) fn lose(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.is_incomplete = true;
        self.report(place, message);
    }

    /// Adds a frame, and returns its place. If its ID is already used, the frame gets another one.
    pub(super) fn add(&mut self, mut frame: Frame, place: &str) -> usize {
        if self.places.contains_key(&frame.session_id) {
            let taken = frame.session_id.clone();
            let is_free = |id: &str| !self.places.contains_key(id);
            frame.session_id = self.names.next(&taken, 2, |number| format!("{taken} ({number})"), is_free);
            self.report(place, format!("the ID `{taken}` is used twice; kept as `{}`", frame.session_id));
        }
        self.problems.extend(handle_form(&frame.session_id));
        self.places.insert(frame.session_id.clone(), self.frames.len());
        self.frames.push(frame);
        self.frames.len() - 1
    }

    /// Adds a frame that is not a task of the file, but the parent of tasks: see [`Collector::finish`].
    pub(super) fn add_made(&mut self, mut frame: Frame, group: Group, place: &str) -> usize {
        frame.no_work = Some(group.word().to_owned());
        self.made.push(self.frames.len());
        self.add(frame, place)
    }

    /// The frame at a place must not begin before a person answers. The reason is a sentence.
    pub(super) fn wait(&mut self, place: usize, reason: impl Into<String>) {
        let wait = self.waits.entry(place).or_default();
        wait.lasting += 1;
        wait.reasons.push(reason.into());
    }

    /// True if the frame at a place must not begin.
    pub(super) fn waits_at(&self, place: usize) -> bool {
        self.waits.contains_key(&place)
    }

    /// The same until a time, for a frame that was begun elsewhere.
    pub(super) fn goes_on_at(&mut self, place: usize, until: u64, reason: impl Into<String>) {
        self.wait_until(place, until, reason);
        self.waits.entry(place).or_default().begun = true;
    }

    /// The frame at a place must not begin before a time, in milliseconds since the Unix epoch.
    pub(super) fn wait_until(&mut self, place: usize, until: u64, reason: impl Into<String>) {
        let wait = self.waits.entry(place).or_default();
        wait.until = wait.until.max(Some(until));
        wait.reasons.push(reason.into());
    }

    /// Removes invalid links, orders parents before children, and gives all frames their statuses:
    ///
    /// - A frame that must not begin is blocked, with the reasons as its question.
    /// - A frame that is not work holds its parts together: it is in progress until the parts are done.
    ///   Without parts it is blocked if other frames depend on it. Otherwise it is out of the plan, because
    ///   no worker does it.
    /// - A parent that was made for tasks is left out if it has no tasks.
    pub(super) fn finish(mut self) -> Imported {
        let links: Vec<Vec<String>> = self.frames.iter().map(|frame| frame.depends_on.clone()).collect();
        let parents: Vec<Option<String>> = self.frames.iter().map(|frame| frame.parent_session_id.clone()).collect();
        let (tree, indexes, repairs) = Tree::from_frames(&mut self.frames);
        self.problems.extend(repairs.into_iter().map(Problem::from));
        let frames = tree.state().frames;
        let is_busy = vec![false; frames.len()];
        let mut plan = Plan { tree: &tree, frames, is_busy };
        let place = |handle: Handle| indexes[handle.index()];
        for handle in tree.handles() {
            self.cut_links_wait(&plan, handle, place(handle), &links[place(handle)]);
            self.cut_parent_waits(&plan, handle, place(handle), parents[place(handle)].as_deref());
        }
        if self.is_strict {
            for handle in tree.handles().filter(|handle| plan.has_begun_early(*handle)) {
                let id = plan.frames[handle.index()].session_id.clone();
                self.report(id, "is in progress, but depends on what is not done; it waits until a person answers");
                self.wait(place(handle), "It is in progress elsewhere, and depends on what is not done.");
            }
        }
        // Parts come before the frame that holds them together.
        let empty: HashSet<Handle> = tree
            .handles()
            .filter(|handle| self.made.binary_search(&place(*handle)).is_ok() && tree.children(*handle).is_empty())
            .collect();
        for handle in tree.handles().collect::<Vec<_>>().into_iter().rev() {
            if self.told_when_over.contains(&place(handle)) && !tree.dependents(handle).is_empty() {
                self.wait(place(handle), plan.when_over(handle));
            }
            let wait = self.waits.remove(&place(handle)).filter(|_| !plan.is_over(handle));
            let ends_alone = !self.told_when_over.contains(&place(handle));
            plan.settle(handle, wait, self.records.contains(&place(handle)), ends_alone);
            if let Some(above) = tree.node(handle).parent() {
                // A frame that has failed is not done.
                let is_done = plan.is_over(handle) && plan.frames[handle.index()].status != FrameStatus::Failed;
                plan.is_busy[above.index()] |= plan.is_busy[handle.index()] || !is_done;
            }
        }
        tree.handles().for_each(|handle| plan.report_ended_above(handle, &mut self.problems));
        for handle in tree.handles() {
            plan.wait_for_those_above(handle);
        }
        let mut handles = tree.handles();
        plan.frames.retain(|_| handles.next().is_some_and(|frame| !empty.contains(&frame)));
        Imported {
            frames: plan.frames,
            problems: self.problems,
            is_incomplete: self.is_incomplete,
            ..Imported::default()
        }
    }

    /// A frame that is its own parent, or in a circle of parents, waits for a person, and so does everything
    /// below it.
    fn cut_parent_waits(&mut self, plan: &Plan<'_>, handle: Handle, place: usize, parent: Option<&str>) {
        let Some(parent) = parent.filter(|_| plan.tree.node(handle).parent().is_none()) else { return };
        if plan.is_over(handle) {
            return;
        }
        let id = plan.frames[handle.index()].session_id.clone();
        for problem in self.problems.iter_mut().filter(|problem| problem.place == id) {
            if problem.message.ends_with(KEPT_AS_ROOT) {
                problem.message += ", and waits";
            }
        }
        self.wait(
            place,
            match parent == id {
                true => "It is its own parent.".to_owned(),
                false => format!("It would be below `{parent}`, and `{parent}` below it."),
            },
        );
    }

    /// A frame whose dependency was cut, because it can never be met, waits for a person. What is below a
    /// frame comes before that frame anyway.
    fn cut_links_wait(&mut self, plan: &Plan<'_>, handle: Handle, place: usize, links: &[String]) {
        let frame = &plan.frames[handle.index()];
        let tree = plan.tree;
        // No worker does a record, so a frame that needs a record does not come after it.
        let is_done =
            |other: &Handle| plan.frames[other.index()].no_work.is_none() || !tree.children(*other).is_empty();
        let is_below = |id: &str| {
            tree.by_id(id).filter(is_done).is_some_and(|other| other != handle && tree.is_ancestor(handle, other))
        };
        let kept: HashSet<&String> = frame.depends_on.iter().collect();
        let is_met = |id: &str| {
            let is_completed = |other: Handle| plan.frames[other.index()].status == FrameStatus::Completed;
            tree.by_id(id).is_some_and(is_completed)
        };
        let is_cut = |id: &&String| !kept.contains(id) && !is_below(id) && !is_met(id);
        let cut: HashSet<&String> = links.iter().filter(is_cut).collect();
        if cut.is_empty() || plan.is_over(handle) {
            return;
        }
        let mut named: Vec<&str> = cut.iter().map(|id| id.as_str()).collect();
        named.sort_unstable();
        for problem in self.problems.iter_mut().filter(|problem| problem.place == frame.session_id) {
            if let Some(message) = problem.message.strip_suffix(LEFT_OUT)
                && message.split('`').any(|part| named.binary_search(&part).is_ok())
            {
                problem.message = format!("{message}; it waits");
            }
        }
        for id in named {
            let reason = match id == frame.session_id {
                true => "It would wait for itself.".to_owned(),
                false => format!("It would wait for `{id}`, and `{id}` for it."),
            };
            self.wait(place, reason);
        }
    }
}

/// The plan whose frames get their statuses.
struct Plan<'a> {
    tree: &'a Tree,
    frames: Vec<Frame>,
    /// For each frame, whether something below it is unfinished, as far as the frames already have their
    /// statuses.
    is_busy: Vec<bool>,
}

impl Plan<'_> {
    fn is_over(&self, handle: Handle) -> bool {
        !self.frames[handle.index()].status.is_unfinished()
    }

    /// True if a dependency of the frame is not completed.
    fn needs(&self, handle: Handle) -> bool {
        let is_completed = |other: Handle| self.frames[other.index()].status == FrameStatus::Completed;
        !self.tree.newest_dependencies(handle).all(is_completed)
    }

    /// True if a frame has begun although something that it depends on is not done.
    fn has_begun_early(&self, handle: Handle) -> bool {
        self.frames[handle.index()].status == FrameStatus::InProgress && self.needs(handle)
    }

    /// Why other frames wait for a frame that is not work.
    fn when_over(&self, handle: Handle) -> String {
        let word = self.frames[handle.index()].no_work.as_deref().unwrap_or_default();
        format!("It is not work for an agent ({word}). Answer when it is over.")
    }

    /// Gives a frame its status. The frames below it already have theirs. `ends_alone`: a frame that is not
    /// work ends with what it depends on.
    fn settle(&mut self, handle: Handle, wait: Option<Wait>, is_record: bool, ends_alone: bool) {
        if self.is_over(handle) {
            return;
        }
        let has_parts = self.is_busy[handle.index()];
        let has_dependents = !self.tree.dependents(handle).is_empty();
        let is_completed = |part: &Handle| self.frames[part.index()].status == FrameStatus::Completed;
        let parts = self.tree.children(handle);
        let has_dependents_or_ends = has_dependents || ends_alone;
        let needed = || ends_alone && self.tree.newest_dependencies(handle).next().is_some();
        let is_any_done = parts.iter().any(is_completed) || needed() || !(parts.is_empty() || has_dependents);
        let is_done = !is_record && !has_parts && is_any_done;
        // A frame that is done but waits is over when a person answers.
        let is_group =
            !is_record && (has_parts || (has_dependents_or_ends && self.needs(handle)) || (is_done && wait.is_some()));
        let when_over = self.when_over(handle);
        let frame = &mut self.frames[handle.index()];
        match frame.no_work {
            Some(_) if is_group => frame.status = FrameStatus::InProgress,
            Some(_) if is_done => frame.status = FrameStatus::Completed,
            Some(_) if has_dependents => ask(frame, when_over, None),
            Some(_) => {
                frame.status = FrameStatus::Invalidated;
                frame.invalidated_at = Some(frame.updated_at);
                frame.invalidation_reason = Some("no work".to_owned());
            }
            None => {}
        }
        // A planned frame waits for its dependencies, and so do its parts.
        if is_group && self.frames[handle.index()].no_work.is_some() && self.needs(handle) {
            self.frames[handle.index()].status = FrameStatus::Planned;
        }
        // A record waits only for its own reason: no time ends the wait.
        let is_alone = self.frames[handle.index()].no_work.is_some() && !is_group;
        if let Some(Wait { reasons, until, lasting, begun }) = wait.filter(|_| !self.is_over(handle) && !is_alone) {
            let frame = &mut self.frames[handle.index()];
            ask(frame, reasons.join(" "), until.filter(|_| lasting == 0));
            let wait = frame.questions.last_mut();
            wait.into_iter().for_each(|wait| wait.begun = begun && wait.until.is_some());
        }
    }

    /// Makes a frame that was begun elsewhere wait if a frame above it has ended, or waits for others: no
    /// worker begins what is below such a frame either.
    fn wait_for_those_above(&mut self, handle: Handle) {
        if self.frames[handle.index()].status != FrameStatus::InProgress {
            return;
        }
        let above = self.tree.ancestors(handle).find_map(|above| {
            let frame = &self.frames[above.index()];
            let why = match frame.status {
                FrameStatus::Planned if self.needs(above) => "waits for others",
                FrameStatus::Completed => "is completed",
                FrameStatus::Failed => "has failed",
                FrameStatus::Invalidated => "is out of the plan",
                _ => return None,
            };
            Some(format!("It is in progress elsewhere, and `{}` above it {why}.", frame.session_id))
        });
        if let Some(reason) = above {
            ask(&mut self.frames[handle.index()], reason, None);
        }
    }

    /// Reports a frame that no worker begins, because the frame above it has ended.
    fn report_ended_above(&self, handle: Handle, problems: &mut Vec<Problem>) {
        let above = self.tree.node(handle).parent().map(|parent| &self.frames[parent.index()]);
        let Some(above) = above.filter(|above| !above.status.is_unfinished() && !self.is_over(handle)) else { return };
        let message = match above.status {
            FrameStatus::Completed => "is completed; it waits until that is reopened",
            _ => "is out of the plan; it waits",
        };
        let message = format!("the frame above it, `{}`, {message}", above.session_id);
        problems.push(Problem { place: self.frames[handle.index()].session_id.clone(), message });
    }
}

/// Blocks a frame that has not begun.
fn ask(frame: &mut Frame, question: String, until: Option<u64>) {
    frame.status = FrameStatus::Blocked;
    let asked_at = frame.updated_at;
    frame.questions = vec![Question { question, asked_at, unbegun: true, until, ..Question::default() }];
}

//! Goes through a conversation: finds to which frame each item belongs, and what the conversation says about
//! each frame.
//!
//! A frame's stretch runs from after the answer of the call that began the frame to the answer of the call
//! that finished it. A frame that was left and resumed has several stretches. Calls of one message are read
//! in their order: what is after a push belongs to the pushed frame, and what is after a pop belongs to the
//! frame above.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use super::FoldedStatus;
use super::conversation::{Call, Item, Kind, arguments};
use crate::frame::Handle;
use crate::json::{Value, each_string};
use crate::vocabulary::calls::CallRole;
use crate::vocabulary::{Ended, Told};

/// What a tool of the stack has answered.
pub(crate) struct Answer<'a> {
    /// The string that contains the answer, alone or with what the host has added.
    pub value: Value<'a>,
    pub text: String,
}

/// A frame in one of the stacks that a conversation has seen, one after the other: handles begin at the start
/// again in each stack.
pub(crate) type Key = (usize, Handle);

/// A part of the conversation that belongs to a frame.
pub(crate) struct Segment {
    pub frame: Key,
    /// The segment around it.
    pub parent: Option<usize>,
    /// The call that has begun it. `None`: it began before this conversation, or with the person's words.
    pub begin: Option<usize>,
    /// For a task that began with the person's words: the first item after the words.
    pub task: Option<usize>,
    /// The frame to which it belongs, as the call has said, if that is not the frame around it. `None`
    /// within: it is not known here which frame that is.
    pub belongs_to: Option<Option<Key>>,
}

/// What the conversation says about a frame.
#[derive(Default)]
pub(crate) struct Known {
    /// How it has ended. `None`: it is open.
    pub status: Option<FoldedStatus>,
    /// The call that has finished or blocked it.
    pub end: Option<usize>,
    /// The first call that has begun another frame after the end of a blocked frame.
    passed: Option<usize>,
    /// The call that has blocked it cannot be seen any more.
    is_hidden: bool,
    /// After a blocked frame has resumed: the call that resumed it, and the call that had blocked it.
    resumed: Option<(usize, usize)>,
    /// The calls from which to which the frame was folded, although it is not folded now.
    pub was_folded: Vec<(usize, usize)>,
    pub segments: Vec<usize>,
    /// The last call that has begun it.
    begun_at: Option<usize>,
    /// The handle with the title, if the conversation has said them.
    name: Option<String>,
    pub decisions: Vec<String>,
    pub artifacts: Vec<String>,
    recorded: HashSet<String>,
    pub results_so_far: Option<String>,
}

/// The state of the way through a conversation.
pub(crate) struct Walk<'a, 'b> {
    pub items: &'b [Item<'a>],
    pub pairs: &'b [Option<usize>],
    pub segments: Vec<Segment>,
    /// The segment of each item.
    pub of_item: Vec<Option<usize>>,
    pub frames: HashMap<Key, Known>,
    pub answers: HashMap<usize, Answer<'a>>,
    /// The segment in which the conversation was after an answer.
    pub behind: HashMap<usize, usize>,
    /// The number of the stack whose handles the conversation names.
    stack: usize,
    /// After the end of the last task, or after a summary: the first item, and the first segment.
    since_task: (usize, usize),
    /// The segments in which the conversation is, the outermost one first.
    path: Vec<usize>,
    /// The place of each frame on the path.
    on_path: HashMap<Key, usize>,
    /// The blocked frames after which no other frame has begun.
    blocked: Vec<Key>,
}

impl<'a, 'b> Walk<'a, 'b> {
    /// Goes through all items.
    pub fn through(items: &'b [Item<'a>], pairs: &'b [Option<usize>]) -> Self {
        Self::on_from(&[], items, pairs)
    }

    /// Goes through the items of a conversation that is in these frames when the items begin. The outermost
    /// frame is first.
    pub fn on_from(path: &[Handle], items: &'b [Item<'a>], pairs: &'b [Option<usize>]) -> Self {
        let mut walk = Self {
            items,
            pairs,
            segments: Vec::new(),
            of_item: Vec::with_capacity(items.len()),
            frames: HashMap::new(),
            answers: HashMap::new(),
            behind: HashMap::new(),
            stack: 0,
            since_task: (0, 0),
            path: Vec::new(),
            on_path: HashMap::new(),
            blocked: Vec::new(),
        };
        for frame in path {
            let parent = walk.path.last().copied();
            walk.enter(Segment { frame: (walk.stack, *frame), parent, begin: None, task: None, belongs_to: None });
        }
        (0..items.len()).for_each(|place| walk.step(place));
        walk
    }

    /// The frames in which the conversation is at its end, the outermost one first.
    pub fn path(&self) -> Vec<Handle> {
        self.path.iter().filter_map(|segment| self.in_stack(*segment)).collect()
    }

    /// A frame that the conversation has ended, although it has not said that it was in this frame.
    pub fn ended_unseen(&self) -> Option<Handle> {
        let ended = |(frame, known): (&Key, &Known)| {
            (frame.0 == self.stack && known.end.is_some() && known.segments.is_empty()).then_some(frame.1)
        };
        self.frames.iter().filter_map(ended).min()
    }

    /// The frame in which the conversation was at an item. `None` also for a frame of another stack.
    pub fn frame_of(&self, place: usize) -> Option<Handle> {
        self.in_stack(self.of_item[place]?)
    }

    /// The frame in which the conversation is at its end.
    pub fn place(&self) -> Option<Handle> {
        self.in_stack(*self.path.last()?)
    }

    /// The frame of a segment, in the stack that the conversation has named last.
    fn in_stack(&self, segment: usize) -> Option<Handle> {
        let (stack, frame) = self.segments[segment].frame;
        (stack == self.stack).then_some(frame)
    }

    /// Takes one item.
    fn step(&mut self, place: usize) {
        let segment = match &self.items[place].kind {
            // An outcome goes with its call, and so does what a tool has shown with the outcome.
            Kind::Outcome(_) => self.pairs[place].and_then(|call| self.of_item[call]),
            Kind::Shown => place.checked_sub(1).and_then(|before| self.of_item[before]),
            _ => self.path.last().copied(),
        };
        self.of_item.push(segment);
        let call = match &self.items[place].kind {
            Kind::Call(call) => call,
            Kind::Summary => {
                self.since_task = (place + 1, self.segments.len());
                return self.begin_anew();
            }
            _ => return,
        };
        let Some(role) = call.role else { return };
        let Some(answer) = self.answer(place) else {
            return self.note_beginnings(place);
        };
        let Some(told) = Told::read(&answer.text) else { return };
        let (begins, second, is_sure) = (told.begins_place(), told.second(), !told.is_of_nobody());
        let end = told.end(self.name_of(call, &told).as_deref()).map(FoldedStatus::from);
        let name = told.place.map(|place| told.name_of(place));
        let (subject, now, parent) = ((self.stack, told.subject), told.place, told.parent_of_place());
        let now = now.map(|frame| (self.stack, frame));
        self.answers.insert(place, answer);
        match (role, end) {
            (CallRole::Push, _) if now == Some(subject) => {
                // A new frame has a handle that is new, in the same stack.
                if self.frames.contains_key(&subject) {
                    self.stack += 1;
                }
                self.begin((self.stack, subject.1), Belongs::of_push(call), place);
            }
            (CallRole::Activate, _) if now == Some(subject) => self.begin(subject, Belongs::To(parent), place),
            (CallRole::Pop | CallRole::Invalidate, Some(status)) if has_arguments(call) => {
                // A caller that the stack does not know is told the frame above the frame that it has named,
                // and that frame can be elsewhere.
                let is_around = self.on_path.contains_key(&subject);
                let known = self.frames.get(&subject);
                let was_here = known.is_some_and(|known| known.name.is_some());
                let has_begun = known.is_some_and(|known| !known.segments.is_empty() || known.begun_at.is_some());
                if let Some(second) = second {
                    self.known((self.stack, second)).begun_at = Some(place);
                }
                if role == CallRole::Pop && !is_around && !has_begun {
                    // Nothing else contains its results.
                    self.of_item[place] = None;
                }
                self.end(subject, status, now, place);
                if now.is_none() && is_sure {
                    match self.known(subject).begun_at {
                        // The call has also begun another frame, which was folded before.
                        _ if second.is_some() => self.since_task = (place + 1, self.segments.len()),
                        Some(begun_at) => self.since_task = (begun_at + 1, self.segments.len()),
                        None if status != FoldedStatus::Blocked && (was_here || names_no_frame(call)) => {
                            self.end_task(subject, place)
                        }
                        None => {}
                    }
                }
                match now {
                    Some(next) if begins => {
                        // The call stays, as the beginning of the next frame.
                        self.of_item[place] = self.path.last().copied();
                        self.begin(next, Belongs::To(parent), place);
                    }
                    now if is_around || is_sure => self.go_to(now),
                    _ => {}
                }
            }
            // The frame was folded before, or has run in a session of its own.
            (CallRole::Push | CallRole::Activate, Some(_)) => {
                self.beside(place);
                self.known(subject).begun_at = Some(place);
                if now.is_none() && is_sure {
                    self.since_task = (place + 1, self.segments.len());
                }
            }
            _ => {
                if role == CallRole::Record {
                    self.record(subject, call, place);
                }
                self.left_unseen(now.filter(|_| is_sure), place);
            }
        }
        if let Some(segment) = self.path.last() {
            self.behind.insert(place, *segment);
        }
        if let (Some(now), Some(name)) = (now, name) {
            self.known((self.stack, now.1)).name = Some(name);
        }
    }

    /// The name, with the title, of the frame that a call is about, if the conversation says it.
    fn name_of(&self, call: &Call<'_>, told: &Told<'_>) -> Option<String> {
        if call.role == Some(CallRole::Push) {
            let title = arguments(call).get("title").and_then(Json::as_str).map(str::trim).map(str::to_owned);
            return title.map(|title| format!("{} ({title})", told.subject));
        }
        self.frames.get(&(self.stack, told.subject)).and_then(|known| known.name.clone())
    }

    /// The provider drops what is before a summary. So nothing can be said any more about what is before it.
    fn begin_anew(&mut self) {
        let frames: Vec<Key> = self.path.iter().map(|segment| self.segments[*segment].frame).collect();
        self.leave(0);
        for frame in frames {
            let parent = self.path.last().copied();
            self.enter(Segment { frame, parent, begin: None, task: None, belongs_to: None });
        }
    }

    /// The answer of a call of one of the stack's tools, unless it was refused.
    fn answer(&self, call: usize) -> Option<Answer<'a>> {
        let Kind::Outcome(outcome) = &self.items[self.pairs[call]?].kind else { return None };
        // Some wires say it in the outcome, with an `error` entry instead of the output.
        let content = outcome.content.filter(|content| !outcome.is_error && content.get("error").is_none())?;
        let mut found = None;
        each_string(content, |value| {
            if found.is_none() {
                found = value.string().filter(|text| Told::read(text).is_some()).map(|text| Answer { value, text });
            }
        });
        found
    }

    /// Notes a call that has begun a frame whose stretch was folded before, except for the call that has
    /// ended the frame.
    fn note_beginnings(&mut self, place: usize) {
        let Some(Kind::Outcome(outcome)) = self.pairs[place].map(|outcome| &self.items[outcome].kind) else { return };
        let mut begun = Vec::new();
        if let Some(content) = outcome.content.filter(|_| !outcome.is_error) {
            each_string(content, |value| begun.extend(value.string().iter().flat_map(|text| Told::ended_below(text))));
        }
        if !begun.is_empty() && self.path.is_empty() {
            self.since_task = (place + 1, self.segments.len());
        }
        for frame in begun {
            self.known((self.stack, frame)).begun_at = Some(place);
        }
    }

    fn known(&mut self, frame: Key) -> &mut Known {
        self.frames.entry(frame).or_default()
    }

    /// Leaves all segments of the path from this place to its end.
    fn leave(&mut self, place: usize) {
        for segment in self.path.drain(place..) {
            self.on_path.remove(&self.segments[segment].frame);
        }
    }

    fn enter(&mut self, segment: Segment) {
        self.on_path.insert(segment.frame, self.path.len());
        self.path.push(self.segments.len());
        let (frame, number) = (segment.frame, self.segments.len());
        self.known(frame).segments.push(number);
        self.segments.push(segment);
    }

    fn begin(&mut self, frame: Key, belongs: Belongs, place: usize) {
        for blocked in std::mem::take(&mut self.blocked) {
            self.known(blocked).passed.get_or_insert(place);
        }
        let known = self.known(frame);
        if let (Some(FoldedStatus::Blocked), Some(end)) = (known.status, known.end) {
            known.resumed = Some((place, end));
            known.was_folded.extend(known.passed.filter(|passed| *passed < place).map(|passed| (passed, place)));
        }
        (known.status, known.end, known.passed, known.is_hidden) = (None, None, None, false);
        known.begun_at = Some(place);
        let around = self.on_path.get(&frame).copied();
        match around.filter(|around| *around + 1 < self.path.len() || self.segments[self.path[*around]].begin.is_some())
        {
            Some(around) => self.leave(around + 1),
            None => {
                // A frame in which the conversation was before the frame began has a beginning now.
                self.leave(around.unwrap_or(self.path.len()));
                let parent = self.path.last().copied();
                let is_other = |key: &Key| parent.is_some_and(|parent| self.segments[parent].frame != *key);
                let belongs_to = match belongs {
                    Belongs::To(named) => named.map(|named| (self.stack, named)).filter(is_other).map(Some),
                    Belongs::NoFrame => parent.map(|_| None),
                };
                self.enter(Segment { frame, parent, begin: Some(place), task: None, belongs_to });
            }
        }
    }

    fn end(&mut self, frame: Key, status: FoldedStatus, now: Option<Key>, place: usize) {
        let known = self.known(frame);
        (known.status, known.end, known.passed) = (Some(status), Some(place), None);
        if status == FoldedStatus::Blocked {
            self.blocked.push(frame);
        }
        let Some(around) = self.on_path.get(&frame).copied() else { return };
        // The conversation stays in a frame that has begun within the frame that has ended. The inner frame
        // continues next to the ended one, and the call that has begun the inner frame moves with it.
        let inner = now.and_then(|now| self.on_path.get(&now).copied()).filter(|inner| *inner > around);
        let stay: Vec<usize> = inner.map_or(Vec::new(), |inner| self.path[around + 1..=inner].to_vec());
        if !stay.is_empty() {
            self.of_item[place] = Some(self.path[around]);
        }
        self.leave(around);
        let parent = self.path.last().copied();
        if let Some(outermost) = stay.first().copied() {
            self.segments[outermost].parent = parent;
            if let Some(begin) = self.segments[outermost].begin {
                self.of_item[begin] = parent;
                if let Some(of_outcome) = self.pairs[begin].and_then(|outcome| self.of_item.get_mut(outcome)) {
                    *of_outcome = parent;
                }
            }
        }
        for segment in stay {
            self.on_path.insert(self.segments[segment].frame, self.path.len());
            self.path.push(segment);
        }
    }

    /// The conversation has ended its own frame and is in none. If no call has begun that frame, the frame
    /// began with the person's words. Its stretch is everything from these words on. The call that has ended
    /// the frame stays, because it has the results.
    fn end_task(&mut self, frame: Key, place: usize) {
        let (first, first_segment) = std::mem::replace(&mut self.since_task, (place + 1, self.segments.len()));
        // A summary that is just before also tells the task.
        let tells_task = |item: &usize| matches!(self.items[*item].kind, Kind::Words | Kind::Summary);
        let Some(words) = (first.saturating_sub(1)..place).find(tells_task) else { return };
        let message = self.items[words].message;
        let is_summary = matches!(self.items[words].kind, Kind::Summary);
        let behind = (words + 1..place).find(|item| is_summary || self.items[*item].message != message);
        let Some(start) = behind else { return };
        let number = self.segments.len();
        let is_within =
            |segment: &&mut Segment| segment.parent.is_none() && segment.begin.is_none_or(|begin| begin >= start);
        for segment in self.segments[first_segment..].iter_mut().filter(is_within) {
            segment.parent = Some(number);
        }
        self.of_item[start..place]
            .iter_mut()
            .filter(|segment| segment.is_none())
            .for_each(|segment| *segment = Some(number));
        self.of_item[place] = None;
        self.known(frame).segments.push(number);
        self.segments.push(Segment { frame, parent: None, begin: None, task: Some(start), belongs_to: None });
        self.since_task.1 = self.segments.len();
    }

    /// The conversation is in a frame that it has not begun just now, or in none.
    fn go_to(&mut self, frame: Option<Key>) {
        match frame.map(|frame| (frame, self.on_path.get(&frame).copied())) {
            None => self.leave(0),
            Some((_, Some(around))) => self.leave(around + 1),
            Some((frame, None)) => {
                let (stack, number) = frame;
                let is_earlier = |segment: &usize| {
                    let (of, around) = self.segments[*segment].frame;
                    of == stack && around < number
                };
                // The answer of the call that has begun it was lost: it is below the frames that were there before.
                let kept = self.path.iter().take_while(|segment| is_earlier(segment)).count();
                self.leave(kept);
                let parent = self.path.last().copied();
                self.enter(Segment { frame, parent, begin: None, task: None, belongs_to: None });
            }
        }
    }

    /// A call that was made together with the call that has begun the current frame, and that has run another
    /// frame in a session of its own: that other frame belongs next to the current one.
    fn beside(&mut self, place: usize) {
        if self.is_with_beginning(place) {
            self.of_item[place] = self.path.last().and_then(|segment| self.segments[*segment].parent);
        }
    }

    /// True if a call was made together with the call that has begun the current frame.
    fn is_with_beginning(&self, place: usize) -> bool {
        self.path.last().and_then(|segment| self.segments[*segment].begin).is_some_and(|begin| {
            self.items[begin].message == self.items[place].message
                || self.pairs[begin].is_some_and(|outcome| place < outcome)
        })
    }

    /// An answer says that the conversation is in a frame around the one in which it seems to be: it has gone there with
    /// a call that cannot be seen any more. Calls that are made together are answered in any order.
    fn left_unseen(&mut self, now: Option<Key>, place: usize) {
        let around = now.and_then(|now| self.on_path.get(&now).copied());
        if let Some(around) = around.filter(|_| !self.is_with_beginning(place)) {
            self.leave(around + 1);
        }
    }

    fn record(&mut self, frame: Key, call: &Call<'a>, place: usize) {
        let frame = match self.on_path.get(&frame) {
            // What is recorded in a frame around belongs to that frame.
            Some(around) => {
                self.of_item[place] = Some(self.path[*around]);
                frame
            }
            // What a frame has returned does not change any more. So what is recorded in it later is returned
            // by the frame in which the recording was done.
            None if self.frames.get(&frame).is_some_and(|known| known.status.is_some()) => {
                let Some(here) = self.path.last() else { return };
                self.segments[*here].frame
            }
            None => frame,
        };
        let arguments = arguments(call);
        let texts = |many: &str, one: &str| -> Vec<String> {
            let many = arguments.get(many).and_then(Json::as_array).into_iter().flatten();
            many.chain(arguments.get(one)).filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let known = self.known(frame);
        known.decisions.extend(texts("decisions", "decision"));
        for artifact in texts("artifacts", "artifact") {
            if known.recorded.insert(artifact.clone()) {
                known.artifacts.push(artifact);
            }
        }
        let so_far = arguments.get("resultsSoFar").and_then(Json::as_str).filter(|text| !text.trim().is_empty());
        known.results_so_far = so_far.map(str::to_owned).or(known.results_so_far.take());
    }

    /// For each segment, the outermost folded segment that contains it or is it. What happened to a frame
    /// within a folded stretch of another frame cannot be seen any more: the frame has not resumed there, and
    /// what it waits for is returned.
    pub fn folded(&mut self) -> Vec<Option<usize>> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.segments.len()];
        for (place, segment) in self.segments.iter().enumerate() {
            if let Some(parent) = segment.parent {
                children[parent].push(place);
            }
        }
        // For each segment, the frames that have a call in the segment that counts for them.
        let mut told_in: HashMap<usize, Vec<Key>> = HashMap::new();
        for (frame, known) in &self.frames {
            let calls = known.end.into_iter().chain(known.resumed.into_iter().flat_map(|(call, end)| [call, end]));
            for segment in calls.filter_map(|call| self.of_item[call]) {
                told_in.entry(segment).or_default().push(*frame);
            }
        }
        let mut is_inside = vec![false; self.segments.len()];
        let mut waiting: Vec<usize> = (0..self.segments.len()).filter(|segment| self.is_folded(*segment)).collect();
        while let Some(segment) = waiting.pop() {
            if std::mem::replace(&mut is_inside[segment], true) {
                continue;
            }
            waiting.extend(&children[segment]);
            for frame in told_in.get(&segment).into_iter().flatten() {
                self.look_again(*frame, &is_inside);
                let own = &self.frames[frame].segments;
                waiting.extend(own.iter().copied().filter(|segment| !is_inside[*segment] && self.is_folded(*segment)));
            }
        }
        let mut folded: Vec<Option<usize>> = vec![None; self.segments.len()];
        // A task is found at its end, after everything within it. Everything else is found after what is
        // around it.
        let is_task = |place: &usize| self.segments[*place].task.is_some();
        let (tasks, others): (Vec<usize>, Vec<usize>) = (0..self.segments.len()).partition(is_task);
        for place in tasks.into_iter().chain(others) {
            let around = self.segments[place].parent.and_then(|parent| folded[parent]);
            folded[place] = around.or_else(|| self.is_folded(place).then_some(place));
        }
        folded
    }

    /// What a conversation says about a frame to a reader who does not see what is inside a folded stretch.
    fn look_again(&mut self, frame: Key, is_inside: &[bool]) {
        let is_gone = |call: usize| self.of_item[call].is_some_and(|segment| is_inside[segment]);
        let Some(known) = self.frames.get_mut(&frame) else { return };
        if known.status.is_none()
            && let Some((_, end)) = known.resumed.take_if(|(call, _)| is_gone(*call))
        {
            (known.status, known.end, known.is_hidden) = (Some(FoldedStatus::Blocked), Some(end), true);
        }
        known.is_hidden |= known.status == Some(FoldedStatus::Blocked) && known.end.is_some_and(is_gone);
    }

    /// For each decision to fold, the calls from which to which it goes: what was thought between them was
    /// thought before what is there now. With the segment, if that is the outermost segment of a fold.
    pub fn decisions<'c>(
        &'c self,
        folded: &'c [Option<usize>],
    ) -> impl Iterator<Item = (Option<usize>, usize, usize)> + 'c {
        let outermost = (0..self.segments.len()).filter(|segment| folded[*segment] == Some(*segment));
        let folds = outermost.filter_map(|segment| {
            let known = self.frames.get(&self.segments[segment].frame)?;
            let task = self.segments[segment].task.map(|start| start.saturating_sub(1));
            Some((
                Some(segment),
                self.segments[segment].begin.or(task)?,
                known.passed.filter(|_| !known.is_hidden).or(known.end)?,
            ))
        });
        let unfolds = self.frames.values().flat_map(|known| &known.was_folded);
        folds.chain(unfolds.map(|(from, to)| (None, *from, *to)))
    }

    fn is_folded(&self, segment: usize) -> bool {
        let Segment { frame, begin, task, .. } = self.segments[segment];
        let is_whole = begin.is_some() || task.is_some();
        let Some(known) = self.frames.get(&frame).filter(|_| is_whole) else { return false };
        match (known.status, known.end) {
            // The work may resume at once, and needs what was said.
            (Some(FoldedStatus::Blocked), _) => known.is_hidden || known.passed.is_some(),
            (status, _) => status.is_some(),
        }
    }
}

impl From<Ended> for FoldedStatus {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Completed => Self::Completed,
            Ended::Failed => Self::Failed,
            Ended::Blocked => Self::Blocked,
            Ended::Invalidated => Self::Invalidated,
        }
    }
}

/// The frame to which the new frame belongs, as the call that begins it has said.
enum Belongs {
    /// To this frame, or with `None` to the frame around it.
    To(Option<Handle>),
    /// To a frame that is not known here.
    NoFrame,
}

impl Belongs {
    fn of_push(call: &Call<'_>) -> Self {
        let arguments = arguments(call);
        match arguments.get("frame").and_then(Json::as_str).map(str::trim).filter(|name| !name.is_empty()) {
            None => Self::To(None),
            Some(name) => name.parse().map_or(Self::NoFrame, |frame| Self::To(Some(frame))),
        }
    }
}

/// True if a call is about the frame in which the conversation is: the call names no frame.
fn names_no_frame(call: &Call<'_>) -> bool {
    let arguments = arguments(call);
    let is_given = |value: &Json| !value.is_null() && value.as_str() != Some("");
    !["frame", "frameID", "sessionID"].iter().any(|key| arguments.get(key).is_some_and(is_given))
}

/// True if the arguments of a call can be read: they contain what a frame has returned.
fn has_arguments(call: &Call<'_>) -> bool {
    arguments(call).is_object()
}

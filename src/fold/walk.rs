//! The way through a conversation: to which frame each item belongs, and what the conversation says about each frame.
//!
//! A frame's stretch runs from behind the answer of the call that began it to the answer of the call that finished it. A frame
//! that was left and gone on with has several. Calls of one message are read in their order: what stands behind a push belongs
//! to the pushed frame, what stands behind a pop to the frame above.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use super::FoldedStatus;
use super::conversation::{Call, Item, Kind, arguments};
use super::json::{Value, each_string};
use crate::frame::Handle;
use crate::vocabulary::Told;
use crate::vocabulary::calls::CallRole;

/// What a tool of the stack has answered.
pub(super) struct Answer<'a> {
    /// The string that has the answer in it, alone or with what the host has added.
    pub value: Value<'a>,
    pub text: String,
}

/// A part of the conversation that belongs to a frame.
pub(super) struct Segment {
    pub frame: Handle,
    /// The one around it.
    pub parent: Option<usize>,
    /// The call that has begun it. `None`: it began before this conversation.
    pub begin: Option<usize>,
    /// The frame to which the call has said that it belongs, if that is not the one around it.
    pub belongs_to: Option<Handle>,
}

/// What the conversation says about a frame.
#[derive(Default)]
pub(super) struct Known {
    /// How it has ended. `None`: it is open.
    pub status: Option<FoldedStatus>,
    /// The call that has finished or blocked it.
    pub end: Option<usize>,
    /// The call that has blocked it is not seen any more.
    is_hidden: bool,
    /// After a blocked frame has gone on: the call by which it did, and the one that had blocked it.
    resumed: Option<(usize, usize)>,
    segments: Vec<usize>,
    pub decisions: Vec<String>,
    pub artifacts: Vec<String>,
    recorded: HashSet<String>,
    pub results_so_far: Option<String>,
}

/// The way through a conversation.
pub(super) struct Walk<'a, 'b> {
    pub items: &'b [Item<'a>],
    pub pairs: &'b [Option<usize>],
    pub segments: Vec<Segment>,
    /// The segment of each item.
    pub of_item: Vec<Option<usize>>,
    pub frames: HashMap<Handle, Known>,
    pub answers: HashMap<usize, Answer<'a>>,
    /// The segments in which the conversation is, the outermost one first.
    path: Vec<usize>,
    /// The place of each frame on the path.
    on_path: HashMap<Handle, usize>,
    /// The last call that has begun a frame.
    last_begin: usize,
}

impl<'a, 'b> Walk<'a, 'b> {
    /// Goes through all items.
    pub fn through(items: &'b [Item<'a>], pairs: &'b [Option<usize>]) -> Self {
        let mut walk = Self {
            items,
            pairs,
            segments: Vec::new(),
            of_item: Vec::with_capacity(items.len()),
            frames: HashMap::new(),
            answers: HashMap::new(),
            path: Vec::new(),
            on_path: HashMap::new(),
            last_begin: 0,
        };
        (0..items.len()).for_each(|place| walk.step(place));
        walk
    }

    /// Takes one item.
    fn step(&mut self, place: usize) {
        let segment = match &self.items[place].kind {
            // An outcome goes with its call, and so does what a tool has shown beside it.
            Kind::Outcome(_) => self.pairs[place].and_then(|call| self.of_item[call]),
            Kind::Shown => place.checked_sub(1).and_then(|before| self.of_item[before]),
            _ => self.path.last().copied(),
        };
        self.of_item.push(segment);
        let Kind::Call(call) = &self.items[place].kind else { return };
        let Some(role) = call.role else { return };
        let Some(answer) = self.answer(place) else { return };
        let Some(told) = Told::read(&answer.text) else { return };
        let (subject, now, begins, is_sure) = (told.subject, told.place, told.begins_place(), !told.is_of_nobody());
        self.answers.insert(place, answer);
        match role {
            CallRole::Push | CallRole::Activate if now == Some(subject) => self.begin(subject, call, place),
            CallRole::Pop | CallRole::Invalidate => {
                // A caller that nobody knows is told the frame above the one that it has named, which can be elsewhere.
                let is_around = self.on_path.contains_key(&subject);
                self.end(subject, role, call, place);
                match now {
                    Some(next) if begins => {
                        // The call stays, as the beginning of the next frame.
                        self.of_item[place] = self.path.last().copied();
                        self.begin(next, call, place);
                    }
                    now if is_around || is_sure => self.go_to(now),
                    _ => {}
                }
            }
            CallRole::Record => self.record(subject, call, place),
            CallRole::Push | CallRole::Activate => {}
        }
    }

    /// The answer of a call of one of the stack's tools, unless it was refused.
    fn answer(&self, call: usize) -> Option<Answer<'a>> {
        let Kind::Outcome(outcome) = &self.items[self.pairs[call]?].kind else { return None };
        // Some wires say it in the outcome, with an entry in place of the output.
        let content = outcome.content.filter(|content| !outcome.is_error && content.get("error").is_none())?;
        let mut found = None;
        each_string(content, |value| {
            if found.is_none() {
                found = value.string().filter(|text| Told::read(text).is_some()).map(|text| Answer { value, text });
            }
        });
        found
    }

    fn known(&mut self, frame: Handle) -> &mut Known {
        self.frames.entry(frame).or_default()
    }

    /// Leaves all segments of the path from this place on.
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

    fn begin(&mut self, frame: Handle, call: &Call<'a>, place: usize) {
        self.last_begin = place;
        let known = self.known(frame);
        if let (Some(FoldedStatus::Blocked), Some(end)) = (known.status, known.end) {
            known.resumed = Some((place, end));
        }
        (known.status, known.end, known.is_hidden) = (None, None, false);
        match self.on_path.get(&frame) {
            Some(around) => self.leave(around + 1),
            None => {
                let parent = self.path.last().copied();
                let named = arguments(call).get("frame").and_then(Json::as_str).and_then(|name| name.parse().ok());
                let belongs_to = named.filter(|named| {
                    call.role == Some(CallRole::Push)
                        && parent.is_some_and(|parent| self.segments[parent].frame != *named)
                });
                self.enter(Segment { frame, parent, begin: Some(place), belongs_to });
            }
        }
    }

    fn end(&mut self, frame: Handle, role: CallRole, call: &Call<'a>, place: usize) {
        let status = match role {
            CallRole::Invalidate => FoldedStatus::Invalidated,
            _ => match arguments(call).get("status").and_then(Json::as_str) {
                Some("failed") => FoldedStatus::Failed,
                Some("blocked") => FoldedStatus::Blocked,
                _ => FoldedStatus::Completed,
            },
        };
        let known = self.known(frame);
        (known.status, known.end) = (Some(status), Some(place));
        if let Some(around) = self.on_path.get(&frame) {
            self.leave(*around);
        }
    }

    /// The conversation is in a frame that it has not begun just now, or in none.
    fn go_to(&mut self, frame: Option<Handle>) {
        match frame.map(|frame| (frame, self.on_path.get(&frame).copied())) {
            None => self.leave(0),
            Some((_, Some(around))) => self.leave(around + 1),
            Some((frame, None)) => {
                self.leave(0);
                self.enter(Segment { frame, parent: None, begin: None, belongs_to: None });
            }
        }
    }

    fn record(&mut self, frame: Handle, call: &Call<'a>, place: usize) {
        // What is recorded in a frame around goes with that one.
        if let Some(around) = self.on_path.get(&frame) {
            self.of_item[place] = Some(self.path[*around]);
        }
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

    /// For each segment, the outermost one that is folded and has it in it, or is it. What happened to a frame within a stretch of another
    /// one that is folded is not seen any more: it has not gone on there, and what it waits for is returned.
    pub fn folded(&mut self) -> Vec<Option<usize>> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.segments.len()];
        for (place, segment) in self.segments.iter().enumerate() {
            if let Some(parent) = segment.parent {
                children[parent].push(place);
            }
        }
        // The frames of which a call that counts stands in a segment.
        let mut told_in: HashMap<usize, Vec<Handle>> = HashMap::new();
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
        let mut folded: Vec<Option<usize>> = Vec::with_capacity(self.segments.len());
        for (place, segment) in self.segments.iter().enumerate() {
            let around = segment.parent.and_then(|parent| folded[parent]);
            folded.push(around.or_else(|| self.is_folded(place).then_some(place)));
        }
        folded
    }

    /// What a conversation says about a frame for those who do not see what is inside of what is folded.
    fn look_again(&mut self, frame: Handle, is_inside: &[bool]) {
        let is_gone = |call: usize| self.of_item[call].is_some_and(|segment| is_inside[segment]);
        let Some(known) = self.frames.get_mut(&frame) else { return };
        if known.status.is_none()
            && let Some((_, end)) = known.resumed.take_if(|(call, _)| is_gone(*call))
        {
            (known.status, known.end) = (Some(FoldedStatus::Blocked), Some(end));
        }
        known.is_hidden |= known.status == Some(FoldedStatus::Blocked) && known.end.is_some_and(is_gone);
    }

    fn is_folded(&self, segment: usize) -> bool {
        let Segment { frame, begin, .. } = self.segments[segment];
        let Some(known) = self.frames.get(&frame).filter(|_| begin.is_some()) else { return false };
        match (known.status, known.end) {
            // The work may go on at once, and needs what was said.
            (Some(FoldedStatus::Blocked), Some(end)) => known.is_hidden || self.last_begin > end,
            (status, _) => status.is_some(),
        }
    }
}

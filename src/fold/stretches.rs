//! The rule: which items of a conversation belong to which frame, and what goes when a frame has ended.
//!
//! A frame's stretch runs from behind the answer of the call that began it to the answer of the call that finished it. A frame
//! that was left and gone on with has several. Calls of one message are read in their order: what stands behind a push belongs
//! to the pushed frame, what stands behind a pop to the frame above.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::conversation::{Call, Conversation, Item, Kind};
use super::json::Value;
use super::plan::{Fold, Plan, What};
use super::returned::Returned;
use super::{FoldSettings, FoldedStatus};
use crate::frame::Handle;
use crate::text::from_json;
use crate::vocabulary::Told;
use crate::vocabulary::calls::CallRole;

/// How often what a folded stretch hides is looked for anew.
const MOST_ROUNDS: usize = 32;

/// What a tool of the stack has answered.
struct Answer<'a> {
    value: Value<'a>,
    text: String,
}

/// A part of the conversation that belongs to a frame.
struct Segment {
    frame: Handle,
    parent: Option<usize>,
    /// The call that has begun it. `None`: it began before this conversation.
    begin: Option<usize>,
}

/// What the conversation says about a frame.
#[derive(Default)]
struct Known {
    status: Option<FoldedStatus>,
    /// The call that has finished or blocked it.
    end: Option<usize>,
    /// The call that has blocked it is not seen any more.
    is_hidden: bool,
    /// After a blocked frame has gone on: the call by which it did, and the one that had blocked it.
    resumed: Option<(usize, usize)>,
    decisions: Vec<String>,
    artifacts: Vec<String>,
}

/// The way through a conversation.
struct Walk<'a, 'b> {
    items: &'b [Item<'a>],
    pairs: &'b [Option<usize>],
    segments: Vec<Segment>,
    current: Option<usize>,
    /// The segment of each item.
    of_item: Vec<Option<usize>>,
    frames: HashMap<Handle, Known>,
    answers: HashMap<usize, Answer<'a>>,
    /// The last call that has begun a frame.
    last_begin: usize,
}

/// Finds what goes. `None` if nothing does.
pub(super) fn plan<'a>(
    conversation: &Conversation<'a>,
    pairs: &[Option<usize>],
    settings: &FoldSettings,
) -> Option<Plan<'a>> {
    let mut walk = Walk {
        items: &conversation.items,
        pairs,
        segments: Vec::new(),
        current: None,
        of_item: Vec::with_capacity(conversation.items.len()),
        frames: HashMap::new(),
        answers: HashMap::new(),
        last_begin: 0,
    };
    for place in 0..conversation.items.len() {
        walk.step(place);
    }
    let folded = walk.settled();
    if folded.iter().all(Option::is_none) {
        return None;
    }
    let mut gone: Vec<Option<usize>> =
        walk.of_item.iter().map(|segment| segment.and_then(|segment| folded[segment])).collect();
    for (place, item) in conversation.items.iter().enumerate() {
        if matches!(item.kind, Kind::Words | Kind::Fixed) {
            gone[place] = None;
        }
    }
    keep_signed(conversation, pairs, &mut gone);
    keep_reasoning(conversation, &mut gone);
    let mut plan = Plan { gone, ..Plan::default() };
    // The plan numbers what it folds.
    let mut numbers = vec![None; walk.segments.len()];
    let is_outermost = |segment: &usize| folded[*segment] == Some(*segment);
    // A frame returns its results once, where it was seen last.
    let mut last_seen = HashMap::new();
    for segment in (0..folded.len()).filter(is_outermost) {
        last_seen.insert(walk.segments[segment].frame, segment);
    }
    for segment in (0..folded.len()).filter(is_outermost) {
        numbers[segment] = Some(plan.folds.len());
        let is_last = last_seen.get(&walk.segments[segment].frame) == Some(&segment);
        plan.folds.push(walk.stretch(segment, is_last, &plan.gone, settings)?);
    }
    for fold in &mut plan.gone {
        *fold = fold.and_then(|segment| numbers[segment]);
    }
    Some(plan)
}

impl<'a> Walk<'a, '_> {
    /// Takes one item.
    fn step(&mut self, place: usize) {
        let segment = match &self.items[place].kind {
            // An outcome goes with its call.
            Kind::Outcome(_) => self.pairs[place].and_then(|call| self.of_item[call]),
            _ => self.current,
        };
        self.of_item.push(segment);
        let Kind::Call(call) = &self.items[place].kind else { return };
        let Some(role) = call.role else { return };
        let Some(answer) = self.answer(place) else { return };
        let Some(told) = Told::read(&answer.text) else { return };
        let (subject, now, begins) = (told.subject, told.place, told.begins_place());
        self.answers.insert(place, answer);
        match role {
            CallRole::Push | CallRole::Activate if now == Some(subject) => self.begin(subject, place),
            CallRole::Pop | CallRole::Invalidate => {
                self.end(subject, role, call, place);
                match now {
                    Some(next) if begins => {
                        // The call stays, as the beginning of the next frame.
                        self.of_item[place] = self.current;
                        self.begin(next, place);
                    }
                    now => self.go_to(now),
                }
            }
            CallRole::Record => self.record(subject, call),
            CallRole::Push | CallRole::Activate => {}
        }
    }

    /// The answer of a call of one of the stack's tools, unless it was refused.
    fn answer(&self, call: usize) -> Option<Answer<'a>> {
        let Kind::Outcome(outcome) = &self.items[self.pairs[call]?].kind else { return None };
        // Some wires say it in the outcome, with an entry in place of the output.
        let content = outcome.content.filter(|content| !outcome.is_error && content.get("error").is_none())?;
        let mut found = None;
        each_string(content, &mut |value| {
            if found.is_none() {
                found = value.string().filter(|text| Told::read(text).is_some()).map(|text| Answer { value, text });
            }
        });
        found
    }

    fn known(&mut self, frame: Handle) -> &mut Known {
        self.frames.entry(frame).or_default()
    }

    /// The segment of a frame among the current one and those around it.
    fn around(&self, frame: Handle) -> Option<usize> {
        let mut segment = self.current;
        while let Some(place) = segment {
            if self.segments[place].frame == frame {
                break;
            }
            segment = self.segments[place].parent;
        }
        segment
    }

    fn begin(&mut self, frame: Handle, call: usize) {
        self.last_begin = call;
        let known = self.known(frame);
        if let (Some(FoldedStatus::Blocked), Some(end)) = (known.status, known.end) {
            known.resumed = Some((call, end));
        }
        (known.status, known.end) = (None, None);
        self.current = self.around(frame).or_else(|| {
            self.segments.push(Segment { frame, parent: self.current, begin: Some(call) });
            Some(self.segments.len() - 1)
        });
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
        if let Some(segment) = self.around(frame) {
            self.current = self.segments[segment].parent;
        }
    }

    /// The conversation is in a frame that it has not begun just now, or in none.
    fn go_to(&mut self, frame: Option<Handle>) {
        let Some(frame) = frame else {
            self.current = None;
            return;
        };
        self.current = self.around(frame).or_else(|| {
            self.segments.push(Segment { frame, parent: None, begin: None });
            Some(self.segments.len() - 1)
        });
    }

    fn record(&mut self, frame: Handle, call: &Call<'a>) {
        let arguments = arguments(call);
        let texts = |many: &str, one: &str| -> Vec<String> {
            let many = arguments.get(many).and_then(Json::as_array).into_iter().flatten();
            many.chain(arguments.get(one)).filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let known = self.known(frame);
        known.decisions.extend(texts("decisions", "decision"));
        for artifact in texts("artifacts", "artifact") {
            if !known.artifacts.contains(&artifact) {
                known.artifacts.push(artifact);
            }
        }
    }

    /// For each segment, with which one it is folded. What happened to a frame within a stretch of another one that is folded is not seen
    /// any more: it has not gone on there, and what it waits for is returned.
    fn settled(&mut self) -> Vec<Option<usize>> {
        let mut folded = self.folded();
        for _ in 0..MOST_ROUNDS {
            let is_gone = |call: usize| self.of_item[call].is_some_and(|segment| folded[segment].is_some());
            let mut has_changed = false;
            for known in self.frames.values_mut() {
                match (known.status, known.end) {
                    (None, _) => {
                        if let Some((_, end)) = known.resumed.take_if(|(call, _)| is_gone(*call)) {
                            (known.status, known.end) = (Some(FoldedStatus::Blocked), Some(end));
                            has_changed = true;
                        }
                    }
                    (Some(FoldedStatus::Blocked), Some(end)) if !known.is_hidden && is_gone(end) => {
                        known.is_hidden = true;
                        has_changed = true;
                    }
                    _ => {}
                }
            }
            if !has_changed {
                break;
            }
            folded = self.folded();
        }
        folded
    }

    /// For each segment, the outermost one that is folded and has it in it, or is it.
    fn folded(&self) -> Vec<Option<usize>> {
        let mut folded: Vec<Option<usize>> = Vec::with_capacity(self.segments.len());
        for (place, segment) in self.segments.iter().enumerate() {
            let around = segment.parent.and_then(|parent| folded[parent]);
            folded.push(around.or_else(|| self.is_folded(segment).then_some(place)));
        }
        folded
    }

    fn is_folded(&self, segment: &Segment) -> bool {
        let Some(known) = self.frames.get(&segment.frame).filter(|_| segment.begin.is_some()) else { return false };
        match (known.status, known.end) {
            // The work may go on at once, and needs what was said.
            (Some(FoldedStatus::Blocked), Some(end)) => known.is_hidden || self.last_begin > end,
            (status, _) => status.is_some(),
        }
    }

    /// What a segment becomes.
    fn stretch(
        &self,
        segment: usize,
        is_last: bool,
        gone: &[Option<usize>],
        settings: &FoldSettings,
    ) -> Option<Fold<'a>> {
        let Segment { frame, begin, .. } = self.segments[segment];
        let (begin, known) = (begin?, self.frames.get(&frame)?);
        let (status, end) = (known.status?, known.end?);
        let begun = self.answers.get(&begin)?;
        let (from, to) = (Told::read(&begun.text)?, Told::read(&self.answers.get(&end)?.text)?);
        let Kind::Call(call) = &self.items[end].kind else { return None };
        let Kind::Call(beginning) = &self.items[begin].kind else { return None };
        let mut returned = Returned::new(frame, status, to);
        // A call that has also finished the frame before: what it says about that stays.
        if from.subject != frame {
            let line = from.answer.lines().next().unwrap_or_default();
            returned = returned.behind(line);
        }
        let text = match () {
            () if !is_last => returned.left(),
            () if gone[end].is_none() => returned.elsewhere(),
            () => returned.in_full(&arguments(call), &known.decisions, &known.artifacts, beginning.name, settings),
        };
        let whole = &begun.text;
        let start = from.answer.as_ptr() as usize - whole.as_ptr() as usize;
        let text = format!("{}{text}{}", &whole[..start], &whole[start + from.answer.len()..]);
        Some(Fold { what: What::Stretch(frame, status), replaced: Some((begun.value, text)) })
    }
}

/// In a message of which a part stays, the call whose signature the provider checks stays, with its outcome.
fn keep_signed(conversation: &Conversation<'_>, pairs: &[Option<usize>], gone: &mut [Option<usize>]) {
    for message in &conversation.messages {
        let is_signed = |place: usize| match &conversation.items[place].kind {
            Kind::Call(call) => Some(call.is_signed),
            _ => None,
        };
        let calls = || message.items.clone().filter(|place| is_signed(*place).is_some());
        let Some(first) = calls().find(|place| gone[*place].is_none()) else { continue };
        if is_signed(first) == Some(true) {
            continue;
        }
        if let Some(signed) = calls().take_while(|place| *place < first).find(|place| is_signed(*place) == Some(true)) {
            gone[signed] = None;
            if let Some(outcome) = pairs[signed] {
                gone[outcome] = None;
            }
        }
    }
}

/// What was thought before something that stays, stays as well: providers check it together with that.
pub(super) fn keep_reasoning(conversation: &Conversation<'_>, gone: &mut [Option<usize>]) {
    let items = &conversation.items;
    let is_reasoning = |place: usize| matches!(items[place].kind, Kind::Reasoning);
    let is_of_model = |place: usize| matches!(items[place].kind, Kind::Answer(_) | Kind::Call(_));
    if !conversation.has_loose_reasoning {
        for message in &conversation.messages {
            if message.items.clone().any(|place| is_of_model(place) && gone[place].is_none()) {
                message.items.clone().filter(|place| is_reasoning(*place)).for_each(|place| gone[place] = None);
            }
        }
        return;
    }
    let mut stays = false;
    for place in (0..items.len()).rev() {
        match () {
            () if is_of_model(place) => stays |= gone[place].is_none(),
            () if is_reasoning(place) => {
                if stays {
                    gone[place] = None;
                }
                // Reasoning before this one goes with what is before this one.
                stays &= place > 0 && is_reasoning(place - 1);
            }
            () => stays = false,
        }
    }
}

/// The arguments of a call: an object, or the text of one.
pub(super) fn arguments(call: &Call<'_>) -> Json {
    let Some(value) = call.arguments else { return Json::Null };
    let text = match value.raw() {
        Some(_) => value.string().unwrap_or_default(),
        None => value.text.to_owned(),
    };
    from_json(&text).unwrap_or_default()
}

/// Gives each string of a value to a function.
fn each_string<'a>(value: Value<'a>, each: &mut impl FnMut(Value<'a>)) {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value.text.as_bytes().first() {
            Some(b'"') => each(value),
            Some(b'[') => rest.extend(value.elements().into_iter().rev()),
            Some(b'{') => rest.extend(value.values().into_iter().rev()),
            _ => {}
        }
    }
}

//! The rule for frames. The stretch of a frame that has ended goes, and the answer of the call that began the
//! frame becomes what the frame has returned.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use super::conversation::{Conversation, Kind, arguments};
use super::plan::{Fold, Plan, What};
use super::returned::Returned;
use super::walk::{Key, Segment, Walk};
use super::{FoldSettings, keep, sent};
use crate::frame::Handle;
use crate::vocabulary::{Place, Told};

/// Finds what goes. `None` if nothing does.
pub(super) fn plan<'a>(
    conversation: &Conversation<'a>,
    pairs: &[Option<usize>],
    settings: &FoldSettings,
) -> Option<Plan<'a>> {
    let mut walk = Walk::through(&conversation.items, pairs);
    let folded = walk.folded();
    let has_unfolded =
        conversation.has_bound_thinking && walk.frames.values().any(|known| !known.was_folded.is_empty());
    if folded.iter().all(Option::is_none) && !has_unfolded {
        return None;
    }
    let mut gone: Vec<Option<usize>> =
        walk.of_item.iter().map(|segment| segment.and_then(|segment| folded[segment])).collect();
    for (place, item) in conversation.items.iter().enumerate() {
        if matches!(item.kind, Kind::Words | Kind::Fixed | Kind::Summary) {
            gone[place] = None;
        }
    }
    keep::calls(conversation, pairs, &mut gone);
    // What a frame has returned does not change if thoughts come back because of something later.
    let returned = gone.clone();
    keep::thoughts(conversation, pairs, &mut gone);
    // Thoughts go with the outermost stretch, or as a fold of their own.
    let others = walk.segments.len();
    keep::drop_bound_thinking(conversation, walk.decisions(&folded), others, &mut gone);
    keep::systems(conversation, &mut gone);
    let words = words(conversation, &gone);
    let stretches = Stretches { walk: &walk, folded: &folded, gone: &returned, words: &words, settings };
    let is_outermost = |segment: &usize| folded[*segment] == Some(*segment);
    // A frame returns its results once, where it was seen last.
    let mut last_seen = HashMap::new();
    for segment in (0..folded.len()).filter(is_outermost) {
        last_seen.insert(walk.segments[segment].frame, segment);
    }
    let inside = stretches.inside();
    let going: HashSet<usize> = gone.iter().copied().flatten().collect();
    let mut numbers = vec![None; walk.segments.len() + 1];
    let mut folds = Vec::new();
    for segment in (0..folded.len()).filter(is_outermost) {
        if walk.segments[segment].task.is_some() && !going.contains(&segment) {
            // It was folded before.
            continue;
        }
        numbers[segment] = Some(folds.len());
        let is_last = last_seen.get(&walk.segments[segment].frame) == Some(&segment);
        folds.push(stretches.fold(segment, is_last, inside.get(&segment).map_or(&[], Vec::as_slice))?);
    }
    if gone.contains(&Some(others)) {
        numbers[others] = Some(folds.len());
        folds.push(Fold { what: What::Thoughts, replaced: None });
    }
    let replaced: HashSet<usize> = { (0..folded.len()).filter(is_outermost) }
        .filter_map(|segment| match walk.segments[segment].task {
            Some(_) => walk.frames.get(&walk.segments[segment].frame)?.end,
            None => walk.segments[segment].begin,
        })
        .collect();
    let is_folded_now = |segment: usize| folded[segment].is_some_and(|outermost| numbers[outermost].is_some());
    folds.extend(stretches.stale(&gone, &replaced, is_folded_now));
    // The plan numbers what it folds.
    let gone = gone.iter().map(|segment| segment.and_then(|segment| numbers[segment])).collect();
    Some(Plan { gone, folds, boundary: None }).filter(|plan| !plan.folds.is_empty())
}

struct Stretches<'a, 'b> {
    walk: &'b Walk<'a, 'b>,
    folded: &'b [Option<usize>],
    gone: &'b [Option<usize>],
    words: &'b HashMap<usize, Vec<String>>,
    settings: &'b FoldSettings,
}

impl<'a> Stretches<'a, '_> {
    /// For each outermost segment, the segments within it whose frames belong elsewhere: their results are
    /// for a frame that is still there.
    fn inside(&self) -> HashMap<usize, Vec<usize>> {
        let mut frames: HashMap<usize, HashSet<Key>> = HashMap::new();
        for (segment, outermost) in self.folded.iter().enumerate() {
            if let Some(outermost) = outermost {
                frames.entry(*outermost).or_default().insert(self.walk.segments[segment].frame);
            }
        }
        let mut inside: HashMap<usize, Vec<usize>> = HashMap::new();
        // Each frame is listed once, at the segment where it was seen last.
        let mut seen = HashSet::new();
        for (segment, outermost) in self.folded.iter().enumerate().rev() {
            let Some(outermost) = outermost.filter(|outermost| *outermost != segment) else { continue };
            let is_elsewhere = |parent: Option<Key>| parent.is_none_or(|parent| !frames[&outermost].contains(&parent));
            let Segment { frame, belongs_to, .. } = self.walk.segments[segment];
            if belongs_to.is_some_and(is_elsewhere) && seen.insert((outermost, frame)) {
                inside.entry(outermost).or_default().push(segment);
            }
        }
        inside.values_mut().for_each(|segments| segments.reverse());
        inside
    }

    /// Answers that stay and say that the conversation is in a frame, although the conversation does not show
    /// any more that it was there. They are answers of calls that providers and hosts need, and of calls for
    /// a frame around. They keep what else they say.
    fn stale(
        &self,
        gone: &[Option<usize>],
        replaced: &HashSet<usize>,
        is_folded: impl Fn(usize) -> bool,
    ) -> Vec<Fold<'a>> {
        let is_stale = |place: &usize| {
            let segments = self.walk.of_item[*place].into_iter().chain(self.walk.behind.get(place).copied());
            gone[*place].is_none() && !replaced.contains(place) && segments.into_iter().any(&is_folded)
        };
        let mut places: Vec<usize> = self.walk.answers.keys().copied().filter(is_stale).collect();
        places.sort_unstable();
        let begun = self.walk.segments.iter().filter_map(|segment| Some((segment.begin?, segment.frame.1)));
        let begun: HashMap<usize, Handle> = begun.collect();
        let without_place = |place: usize| {
            let answer = &self.walk.answers[&place];
            // An answer that says that the conversation is in no frame is true no matter where it is seen.
            let told = Told::read(&answer.text).filter(|told| told.place.is_some())?;
            let start = told.answer.as_ptr() as usize - answer.text.as_ptr() as usize;
            // What became of the frame can change, but this sentence does not.
            let begun = begun.get(&place).map(|frame| format!("{} has begun.", told.name_of(*frame)));
            let line = begun.unwrap_or_else(|| told.body().to_owned());
            let text = format!("{}{line}{}", &answer.text[..start], &answer.text[start + told.answer.len()..]);
            Some(Fold { what: What::Answer, replaced: Some((answer.value, text)) })
        };
        places.into_iter().filter_map(without_place).collect()
    }

    /// What happens to a task that began with the person's words: the call that has ended it stays, and its
    /// answer also says what was recorded.
    fn fold_task(&self, segment: usize, inside: &[usize]) -> Option<Fold<'a>> {
        let frame = self.walk.segments[segment].frame;
        let known = self.walk.frames.get(&frame)?;
        let answer = self.walk.answers.get(&known.end?)?;
        let told = Told::read(&answer.text)?;
        let mut lines = Returned::recorded(known);
        for other in inside.iter().filter_map(|other| self.returned(*other)) {
            lines.extend(other.in_full(self.settings));
        }
        lines.extend(self.words.get(&segment).into_iter().flatten().cloned());
        let replaced = (!lines.is_empty()).then(|| {
            let start = told.last.as_ptr() as usize - answer.text.as_ptr() as usize;
            let text = format!("{}{}\n{}", &answer.text[..start], lines.join("\n"), &answer.text[start..]);
            (answer.value, text)
        });
        Some(Fold { what: What::Stretch(frame.1, known.status?), replaced })
    }

    /// What happens to a segment.
    fn fold(&self, segment: usize, is_last: bool, inside: &[usize]) -> Option<Fold<'a>> {
        if self.walk.segments[segment].task.is_some() {
            return self.fold_task(segment, inside);
        }
        let begun = self.walk.answers.get(&self.walk.segments[segment].begin?)?;
        let from = Told::read(&begun.text)?;
        let returned = self.returned(segment)?;
        let status = returned.status;
        let mut lines = Vec::new();
        let frame = self.walk.segments[segment].frame;
        let end = self.walk.frames.get(&frame)?.end?;
        let is_below = !is_last || self.gone[end].is_none();
        // A call that has also finished the frame before: what the answer says about that frame stays.
        let before = from.answer.lines().next().filter(|_| from.subject != frame.1);
        lines.extend(before.filter(|line| !is_below || !self.is_said(segment, line)).map(str::to_owned));
        if is_below {
            lines.push(returned.below());
        } else {
            lines.extend(returned.in_full(self.settings));
        }
        if is_last && is_below {
            lines.extend(Returned::recorded(returned.known));
        }
        if is_last {
            for other in inside.iter().filter_map(|other| self.returned(*other)) {
                lines.extend(other.in_full(self.settings));
            }
        }
        lines.extend(self.words.get(&segment).into_iter().flatten().cloned());
        if !is_below {
            lines.push(self.place(segment, &returned.end));
        }
        let whole = &begun.text;
        let start = from.answer.as_ptr() as usize - whole.as_ptr() as usize;
        let text = format!("{}{}{}", &whole[..start], lines.join("\n"), &whole[start + from.answer.len()..]);
        Some(Fold { what: What::Stretch(frame.1, status), replaced: Some((begun.value, text)) })
    }

    /// True if the call that has begun a segment itself says what a line of its answer says: how the call has
    /// finished another frame.
    fn is_said(&self, segment: usize, line: &str) -> bool {
        let begin = self.walk.segments[segment].begin.map(|begin| &self.walk.items[begin].kind);
        let Some(Kind::Call(call)) = begin else { return false };
        let arguments = arguments(call);
        let status = arguments.get("status").and_then(Json::as_str);
        status.is_some_and(|status| line.ends_with(&format!(") is {status}.")))
    }

    /// What the frame of a segment has returned. `None` if it is open.
    fn returned(&self, segment: usize) -> Option<Returned<'_>> {
        let segment = &self.walk.segments[segment];
        let known = self.walk.frames.get(&segment.frame)?;
        let (begin, end) = (segment.begin?, known.end?);
        let (Kind::Call(beginning), Kind::Call(call)) = (&self.walk.items[begin].kind, &self.walk.items[end].kind)
        else {
            return None;
        };
        let begun = Told::read(&self.walk.answers.get(&begin)?.text)?;
        Some(Returned {
            frame: segment.frame.1,
            name: begun.name_of(segment.frame.1),
            status: known.status?,
            end: Told::read(&self.walk.answers.get(&end)?.text)?,
            arguments: arguments(call),
            known,
            beginning: beginning.name,
        })
    }

    /// The line that says where the conversation is after a stretch.
    fn place(&self, segment: usize, end: &Told<'_>) -> String {
        // There are two cases. The call has begun another frame, and a reader of this line is not in that
        // frame any more. Or the conversation stays in a frame that has begun in this stretch, and that frame
        // now comes after the stretch.
        let Segment { frame, begin, .. } = self.walk.segments[segment];
        let is_within = end.place.is_some_and(|place| {
            let inner = self.walk.frames.get(&(frame.0, place)).map_or(&[][..], |known| &known.segments);
            let begins = inner.iter().map(|inner| &self.walk.segments[*inner]).map(|inner| inner.begin.or(inner.task));
            let end = self.walk.frames.get(&frame).and_then(|known| known.end);
            begins.into_iter().any(|inner| inner > begin && inner < end)
        });
        if !end.begins_place() && !is_within {
            return end.last.to_owned();
        }
        let around = self.walk.segments[segment].parent.map(|parent| &self.walk.segments[parent]);
        let name = around.map(|around| {
            let answer = around.begin.and_then(|begin| self.walk.answers.get(&begin));
            let told = answer.and_then(|answer| Told::read(&answer.text));
            told.map_or_else(|| format!("{} (…)", around.frame.1), |told| told.name_of(around.frame.1))
        });
        name.as_deref().map_or(Place::Nowhere, Place::In).to_string()
    }
}

/// What the person has written within outcomes that go, for each segment that takes such outcomes with it.
fn words(conversation: &Conversation<'_>, gone: &[Option<usize>]) -> HashMap<usize, Vec<String>> {
    let mut words: HashMap<usize, Vec<String>> = HashMap::new();
    for (item, gone) in conversation.items.iter().zip(gone) {
        if let (Kind::Outcome(outcome), Some(segment)) = (&item.kind, gone)
            && let Some(content) = outcome.content.filter(|content| sent::is_in(content.text))
        {
            words.entry(*segment).or_default().extend(sent::words(content, outcome.is_error));
        }
    }
    words
}

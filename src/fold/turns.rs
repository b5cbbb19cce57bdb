//! The rule for conversations without frames: finished turns are folded to the person's words and the agent's
//! last answer.
//!
//! A turn runs from the person's words to the agent's last answer before the next words. When the person
//! writes, and the finished turns that are not folded yet have more tokens together than the floor, these
//! turns are all folded. So a prompt cache is seldom lost, and then only once.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value as Json;

use super::conversation::{Author, Call, Conversation, Kind, Removal, arguments};
use super::plan::{Fold, Plan, What};
use super::tokens::estimated;
use super::{TurnSettings, keep, sent};

/// The longest text that is taken for a path, in bytes.
const LONGEST_PATH: usize = 300;
/// The most paths of an index.
const MOST_PATHS: usize = 200;

/// Finds what goes. `None` if nothing does.
pub(super) fn plan<'a>(request: &str, conversation: &Conversation<'a>, settings: &TurnSettings) -> Option<Plan<'a>> {
    let mut plan = Plan { gone: vec![None; conversation.items.len()], ..Plan::default() };
    let mut finished: Vec<Range<usize>> = Vec::new();
    let mut tokens = 0;
    let turns = turns(conversation);
    let first_frame = conversation.first_frame_call();
    // The last one is still under way.
    let before_frames = turns.iter().take(turns.len().saturating_sub(1)).filter(|turn| turn.end <= first_frame);
    for turn in before_frames {
        // What stays does not count. So a conversation that is folded is not folded further.
        let items = going(conversation, turn).map(|place| &conversation.items[place]);
        let own = items.filter(|item| item.removal != Removal::WithCall);
        tokens += own.map(|item| estimated(&request[item.bytes.clone()])).sum::<usize>();
        finished.push(turn.clone());
        if tokens > settings.floor {
            fold(conversation, &finished, settings, &mut plan);
            (finished, tokens) = (Vec::new(), 0);
        }
    }
    // The thoughts of these turns were bound to what is gone now.
    if !conversation.has_bound_thinking {
        keep::reasoning(conversation, &mut plan.gone);
    }
    keep::layout(conversation, &mut plan.gone);
    plan.gone.iter().any(Option::is_some).then_some(plan)
}

/// The items of each turn: from a message with the person's words to the next one, if the agent has answered
/// before that. What the person writes while the agent works, or after a break, belongs to the same turn.
fn turns(conversation: &Conversation<'_>) -> Vec<Range<usize>> {
    let mut starts = Vec::new();
    let mut is_answered = true;
    for message in &conversation.messages {
        let items = &conversation.items[message.items.clone()];
        let has_words = items.iter().any(|item| matches!(item.kind, Kind::Words));
        if has_words && is_answered {
            // Outcomes before the words belong to the turn before.
            let is_outcome = |place: &usize| matches!(conversation.items[*place].kind, Kind::Outcome(_) | Kind::Shown);
            starts.extend(message.items.clone().find(|place| !is_outcome(place)));
            is_answered = false;
        }
        if message.author == Author::Model {
            let has = |is: fn(&Kind<'_>) -> bool| items.iter().any(|item| is(&item.kind));
            is_answered = has(|kind| matches!(kind, Kind::Answer(_))) && !has(|kind| matches!(kind, Kind::Call(_)));
        }
    }
    let ends = starts.iter().skip(1).copied().chain([conversation.items.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

fn is_work(conversation: &Conversation<'_>, place: usize) -> bool {
    matches!(conversation.items[place].kind, Kind::Call(_) | Kind::Outcome(_))
}

/// The items of a turn that go when the turn is folded. The words stay, and so do the host's notes with the
/// words and what the model has said after its work. If a turn has no work, none of its items go.
fn going(conversation: &Conversation<'_>, turn: &Range<usize>) -> impl Iterator<Item = usize> {
    let first = turn.clone().find(|place| is_work(conversation, *place)).unwrap_or(turn.end);
    let last = turn.clone().rfind(|place| is_work(conversation, *place)).unwrap_or(turn.start);
    let has_work = first < turn.end;
    // The last message of the model is its answer.
    let is_answer = |place: &usize| matches!(conversation.items[*place].kind, Kind::Answer(_));
    let answer = turn.clone().rfind(is_answer).map_or(0, |place| conversation.items[place].message);
    turn.clone().filter(move |place| match &conversation.items[*place].kind {
        Kind::Words | Kind::Fixed | Kind::Summary => false,
        Kind::Note => *place > first,
        Kind::Answer(_) => has_work && (*place < last || conversation.items[*place].message < answer),
        Kind::Reasoning | Kind::Layout => has_work,
        Kind::Call(_) | Kind::Outcome(_) | Kind::Shown => true,
    })
}

/// Folds turns at once. The index of their files comes after the last answer.
fn fold<'a>(conversation: &Conversation<'a>, turns: &[Range<usize>], settings: &TurnSettings, plan: &mut Plan<'a>) {
    let number = plan.folds.len();
    let (mut paths, mut known, mut folded, mut last) = (Vec::new(), HashSet::new(), 0, None);
    let mut words = Vec::new();
    for turn in turns {
        let mut has_work = false;
        for place in going(conversation, turn) {
            has_work = true;
            plan.gone[place] = Some(number);
            match &conversation.items[place].kind {
                Kind::Call(call) => add_paths(call, &mut paths, &mut known),
                Kind::Outcome(outcome) => {
                    let content = outcome.content.filter(|content| sent::is_in(content.text));
                    words.extend(content.into_iter().flat_map(|content| sent::words(content, outcome.is_error)));
                }
                _ => {}
            }
        }
        if has_work {
            folded += 1;
            let answer = |place: &usize| match &conversation.items[*place].kind {
                Kind::Answer(Some(text)) if plan.gone[*place].is_none() => Some((*place, *text)),
                _ => None,
            };
            last = turn.clone().filter_map(|place| answer(&place)).next_back().or(last);
        }
    }
    plan.boundary = last.map(|(place, _)| place).or(plan.boundary);
    let replaced = last.and_then(|(_, value)| {
        let mut lines = vec![value.string()?];
        if !paths.is_empty() {
            let left = paths.len().saturating_sub(MOST_PATHS);
            let more = if left == 0 { String::new() } else { format!(" and {left} more") };
            lines.push(format!("[Files of the steps that are not shown: {}{more}]", paths[left..].join(", ")));
        }
        lines.extend(words);
        lines.extend(Some(settings.pointer.clone()).filter(|pointer| !pointer.is_empty()));
        (lines.len() > 1).then(|| (value, lines.join("\n\n")))
    });
    plan.folds.push(Fold { what: What::Turns(folded), replaced });
}

/// Adds the paths that the arguments of a call name: texts of one line, under a key whose name contains
/// `path` or `file`.
fn add_paths(call: &Call<'_>, paths: &mut Vec<String>, known: &mut HashSet<String>) {
    let Json::Object(arguments) = arguments(call) else { return };
    for (key, value) in &arguments {
        let key = key.to_ascii_lowercase();
        let Some(path) = value.as_str().filter(|_| key.contains("path") || key.contains("file")) else { continue };
        let is_path = !path.trim().is_empty() && path.len() <= LONGEST_PATH && !path.contains(char::is_control);
        if is_path && known.insert(path.to_owned()) {
            paths.push(path.to_owned());
        }
    }
}

//! The writer. It writes a request without the parts that go, and with the texts that replace them. All other
//! bytes are copied.

use std::ops::Range;

use super::conversation::{Conversation, List, Removal};
use super::plan::Plan;
use crate::json::Value;

/// The most marks of caches that a request may have.
const MOST_MARKS: usize = 4;

/// A change of a request: these bytes become this text.
struct Edit {
    bytes: Range<usize>,
    text: String,
}

/// Writes the request. `None` if something cannot be taken out.
pub(super) fn write(request: &str, conversation: &Conversation<'_>, plan: &Plan<'_>) -> Option<String> {
    let mut edits = Vec::new();
    let is_gone = |place: usize| plan.gone[place].is_some();
    let are_messages_gone: Vec<bool> = { conversation.messages.iter() }
        .map(|message| !message.items.is_empty() && message.items.clone().all(is_gone))
        .collect();
    let messages = conversation.messages.iter().zip(&are_messages_gone);
    cut(&messages.map(|(message, gone)| (message.bytes.clone(), *gone)).collect::<Vec<_>>(), &mut edits)?;
    for (message, _) in conversation.messages.iter().zip(&are_messages_gone).filter(|(_, gone)| !**gone) {
        for list in [List::Content, List::Calls] {
            let elements =
                message.items.clone().filter(|place| conversation.items[*place].removal == Removal::Element(list));
            let elements: Vec<_> =
                elements.map(|place| (conversation.items[place].bytes.clone(), is_gone(place))).collect();
            cut(&elements, &mut edits)?;
        }
        for place in message.items.clone().filter(|place| is_gone(*place)) {
            match conversation.items[place].removal {
                Removal::Null => {
                    edits.push(Edit { bytes: conversation.items[place].bytes.clone(), text: "null".to_owned() });
                }
                // A message that stays has no item that is the whole message.
                Removal::Message => return None,
                Removal::Element(_) | Removal::WithCall => {}
            }
        }
    }
    for (value, text) in plan.folds.iter().filter_map(|fold| fold.replaced.as_ref()) {
        edits.push(Edit { bytes: value.range(), text: serde_json::to_string(text).ok()? });
    }
    edits.extend(marks(conversation, plan));
    edits.extend(boundary(request, conversation, plan));
    Some(apply(request, edits))
}

/// Takes elements out of a list, with the commas next to them. `None` if no element would be left.
fn cut(elements: &[(Range<usize>, bool)], edits: &mut Vec<Edit>) -> Option<()> {
    let mut place = 0;
    while place < elements.len() {
        let run = elements[place..].iter().take_while(|(_, gone)| *gone).count();
        if run == 0 {
            place += 1;
            continue;
        }
        let behind = elements.get(place + run);
        let bytes = match (place.checked_sub(1), behind) {
            (Some(before), _) => elements[before].0.end..elements[place + run - 1].0.end,
            (None, Some((behind, _))) => elements[place].0.start..behind.start,
            (None, None) => return None,
        };
        edits.push(Edit { bytes, text: String::new() });
        place += run;
    }
    Some(())
}

/// The marks of a cache that were on items that go: each mark moves to the nearest place before it that can
/// have one.
fn marks(conversation: &Conversation<'_>, plan: &Plan<'_>) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    // The last place that stays, until that place gets a mark.
    let mut free = None;
    for (item, gone) in conversation.items.iter().zip(&plan.gone) {
        match (gone, item.mark, item.mark_place) {
            (Some(_), Some(mark), _) => edits.extend(free.take().map(|place| marked(place, mark))),
            (None, None, Some(place)) => free = Some(place),
            (None, Some(_), _) => free = None,
            _ => {}
        }
    }
    edits
}

/// A further mark at the newest boundary, if the host uses marks and has one left.
fn boundary(request: &str, conversation: &Conversation<'_>, plan: &Plan<'_>) -> Option<Edit> {
    let at = plan.boundary?;
    let item = &conversation.items[at];
    let place = item.mark_place.filter(|_| item.mark.is_none())?;
    // A mark must not last longer than a mark before it, so this one copies the next mark.
    let mark = conversation.items[at..].iter().find_map(|item| item.mark)?;
    (request.matches("\"cache_control\"").count() < MOST_MARKS).then(|| marked(place, mark))
}

/// Writes a mark at the end of an object, before its bracket.
fn marked(place: usize, mark: Value<'_>) -> Edit {
    Edit { bytes: place..place, text: format!(",\"cache_control\":{}", mark.text) }
}

fn apply(request: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end));
    let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let removed: usize = edits.iter().map(|edit| edit.bytes.len()).sum();
    let mut text = String::with_capacity((request.len() + added).saturating_sub(removed));
    let mut rest = 0;
    for edit in edits {
        // An edit within a larger edit is not applied.
        if edit.bytes.start < rest {
            continue;
        }
        text.push_str(&request[rest..edit.bytes.start]);
        text.push_str(&edit.text);
        rest = edit.bytes.end;
    }
    text.push_str(&request[rest..]);
    text
}

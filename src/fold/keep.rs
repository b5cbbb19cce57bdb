//! Keeps the parts of a folded stretch that providers and hosts need. Without these parts the request would
//! be refused.

use std::collections::HashMap;

use super::conversation::{Author, Conversation, Kind};

/// Decides what stays or goes together with something else. What comes later does not change these decisions.
pub(super) fn calls(conversation: &Conversation<'_>, pairs: &[Option<usize>], gone: &mut [Option<usize>]) {
    loaded(conversation, pairs, gone);
    signed(conversation, pairs, gone);
    served(conversation, gone);
    said_beside(conversation, pairs, gone);
}

/// Takes back what belongs to something that stays.
pub(super) fn thoughts(conversation: &Conversation<'_>, pairs: &[Option<usize>], gone: &mut [Option<usize>]) {
    thinking_of_turns(conversation, pairs, gone);
    reasoning(conversation, gone);
    layout(conversation, gone);
}

/// A call stays with its outcome.
fn stay(call: usize, pairs: &[Option<usize>], gone: &mut [Option<usize>]) {
    gone[call] = None;
    if let Some(outcome) = pairs[call] {
        gone[outcome] = None;
    }
}

/// An outcome that has loaded tools stays: the host continues as if the model had these tools.
fn loaded(conversation: &Conversation<'_>, pairs: &[Option<usize>], gone: &mut [Option<usize>]) {
    for (place, item) in conversation.items.iter().enumerate() {
        if matches!(&item.kind, Kind::Outcome(outcome) if outcome.loads_tools)
            && let Some(call) = pairs[place]
        {
            stay(call, pairs, gone);
        }
    }
}

/// If a part of a message stays, the call whose signature the provider checks stays too.
fn signed(conversation: &Conversation<'_>, pairs: &[Option<usize>], gone: &mut [Option<usize>]) {
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
            stay(signed, pairs, gone);
        }
    }
}

/// A call that the provider has run itself goes together with its outcome.
fn served(conversation: &Conversation<'_>, gone: &mut [Option<usize>]) {
    let served = &conversation.served;
    let going: HashMap<&str, usize> = served.iter().filter_map(|(place, id)| Some((*id, gone[*place]?))).collect();
    for (place, id) in served {
        gone[*place] = gone[*place].or(going.get(id).copied());
    }
}

/// On a wire where messages of the model cannot follow each other, what was said next to calls goes with the
/// calls, if no outcome and no words stay after it.
fn said_beside(conversation: &Conversation<'_>, pairs: &[Option<usize>], gone: &mut [Option<usize>]) {
    if !conversation.has_strict_turns {
        return;
    }
    for (message, next) in conversation.messages.iter().zip(conversation.messages.iter().skip(1)) {
        let calls = || message.items.clone().filter(|place| matches!(conversation.items[*place].kind, Kind::Call(_)));
        // There is no fold if there are no calls, or if one of them stays.
        let fold = calls().try_fold(None, |_, call| gone[call].map(Some)).flatten();
        let Some(fold) = fold else { continue };
        if next.items.clone().all(|place| gone[place].is_some()) {
            let is_kept = |place: usize| matches!(conversation.items[place].kind, Kind::Fixed | Kind::Summary);
            if message.items.clone().any(is_kept) {
                // A part that must stay does so together with a call, so that the next message can come after
                // that call.
                calls().next_back().into_iter().for_each(|call| stay(call, pairs, gone));
                continue;
            }
            message.items.clone().for_each(|place| gone[place] = gone[place].or(Some(fold)));
        }
    }
}

/// A turn of the model that began with thinking must still begin with it. If the first message that stays
/// after the person's words has calls and no thinking, the first message with thinking of that turn stays
/// before it. This does not depend on where the words are, so that the thinking stays for good.
fn thinking_of_turns(conversation: &Conversation<'_>, pairs: &[Option<usize>], gone: &mut [Option<usize>]) {
    if !conversation.has_thinking_turns {
        return;
    }
    let items = &conversation.items;
    // The first message with thinking since the person's words.
    let mut thought = None;
    let mut is_settled = true;
    for message in &conversation.messages {
        let places = || message.items.clone();
        if places().any(|place| matches!(items[place].kind, Kind::Words)) {
            (thought, is_settled) = (None, false);
        }
        if message.author != Author::Model || is_settled {
            continue;
        }
        let has_thinking = places().any(|place| matches!(items[place].kind, Kind::Reasoning));
        let stays = places().any(|place| gone[place].is_none());
        if has_thinking && thought.is_none() {
            thought = Some(places());
        }
        if stays {
            is_settled = true;
            let has_calls = places().any(|place| matches!(items[place].kind, Kind::Call(_)) && gone[place].is_none());
            if has_calls && !has_thinking {
                for place in thought.take().into_iter().flatten() {
                    stay(place, pairs, gone);
                }
            }
        }
    }
}

/// A message of the system must be before a message of the model, or at the end: the provider refuses it
/// elsewhere. If it would be elsewhere, it goes with what was after it.
pub(super) fn systems(conversation: &Conversation<'_>, gone: &mut [Option<usize>]) {
    if !conversation.has_placed_system {
        return;
    }
    let mut next_author = None;
    for message in conversation.messages.iter().rev() {
        if message.author == Author::System
            && let Some(fold) = gone.get(message.items.end).copied().flatten()
            && next_author.is_some_and(|author| author != Author::Model)
        {
            message.items.clone().for_each(|place| gone[place] = Some(fold));
        }
        if message.items.clone().any(|place| gone[place].is_none()) {
            next_author = Some(message.author);
        }
    }
}

/// Takes out thinking that is bound to what was before it, if that has changed since: it was thought between
/// the calls of a decision to fold. Each decision is the fold, if it is folded now, and its calls. `others`
/// is the number of the fold for the other thoughts.
pub(super) fn drop_bound_thinking(
    conversation: &Conversation<'_>,
    decisions: impl Iterator<Item = (Option<usize>, usize, usize)>,
    others: usize,
    gone: &mut [Option<usize>],
) {
    if !conversation.has_bound_thinking {
        return;
    }
    let mut decisions: Vec<_> = decisions.collect();
    decisions.sort_by_key(|(_, from, _)| *from);
    let mut decisions = decisions.into_iter().peekable();
    // Of the decisions that have begun, the one that reaches furthest.
    let mut furthest: Option<(Option<usize>, usize)> = None;
    for (place, item) in conversation.items.iter().enumerate() {
        while let Some((fold, _, to)) = decisions.next_if(|(_, from, _)| *from < place) {
            if furthest.is_none_or(|(_, before)| before < to) {
                furthest = Some((fold, to));
            }
        }
        let reaches = furthest.filter(|(_, to)| place < *to);
        if let Some((fold, _)) = reaches.filter(|_| matches!(item.kind, Kind::Reasoning) && gone[place].is_none()) {
            gone[place] = Some(fold.unwrap_or(others));
        }
    }
}

/// What was thought before something that stays, stays as well: providers check the two together.
pub(super) fn reasoning(conversation: &Conversation<'_>, gone: &mut [Option<usize>]) {
    let items = &conversation.items;
    let is_reasoning = |place: usize| matches!(items[place].kind, Kind::Reasoning);
    let is_of_model = |place: usize| match items[place].kind {
        Kind::Answer(_) | Kind::Call(_) => true,
        Kind::Fixed | Kind::Summary => conversation.messages[items[place].message].author == Author::Model,
        _ => false,
    };
    if !conversation.has_loose_reasoning {
        for message in &conversation.messages {
            let stays = message.items.clone().any(|place| is_of_model(place) && gone[place].is_none());
            let fold = message.items.clone().rev().find_map(|place| gone[place]);
            for place in message.items.clone().filter(|place| is_reasoning(*place)) {
                gone[place] = if stays { None } else { gone[place].or(fold) };
            }
        }
        return;
    }
    // Whether a thought goes with what is after it: `Some(None)` if that stays.
    let mut behind: Option<Option<usize>> = None;
    for place in (0..items.len()).rev() {
        match () {
            () if is_of_model(place) => behind = Some(behind.map_or(gone[place], |fold| fold.and(gone[place]))),
            () if is_reasoning(place) => {
                if let Some(fold) = behind {
                    gone[place] = fold.and(gone[place].or(fold));
                }
                // Reasoning before this one goes with the items before this one.
                behind = behind.filter(|_| place > 0 && is_reasoning(place - 1));
            }
            () => behind = None,
        }
    }
}

/// Parts that say nothing alone, such as the beginning of a step, go or stay with the rest of their message.
pub(super) fn layout(conversation: &Conversation<'_>, gone: &mut [Option<usize>]) {
    for message in &conversation.messages {
        let is_layout = |place: &usize| matches!(conversation.items[*place].kind, Kind::Layout);
        let mut others = message.items.clone().filter(|place| !is_layout(place));
        let Some(first) = others.next() else { continue };
        let fold = if others.all(|place| gone[place].is_some()) { gone[first] } else { None };
        message.items.clone().filter(is_layout).for_each(|place| gone[place] = fold);
    }
}

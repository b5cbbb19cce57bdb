//! What providers and hosts need of a stretch that goes: it stays, or the request would be refused.

use super::conversation::{Author, Conversation, Kind};
use crate::vocabulary::calls::CallRole;

/// Takes calls back from what goes that stay for good, whatever comes later.
pub(super) fn calls(conversation: &Conversation<'_>, pairs: &[Option<usize>], gone: &mut [Option<usize>]) {
    loaded(conversation, pairs, gone);
    signed(conversation, pairs, gone);
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

/// What has loaded tools stays: the host goes on as if the model had them.
fn loaded(conversation: &Conversation<'_>, pairs: &[Option<usize>], gone: &mut [Option<usize>]) {
    for (place, item) in conversation.items.iter().enumerate() {
        if matches!(&item.kind, Kind::Outcome(outcome) if outcome.loads_tools)
            && let Some(call) = pairs[place]
        {
            stay(call, pairs, gone);
        }
    }
}

/// In a message of which a part stays, the call whose signature the provider checks stays.
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

/// A turn of the model that began with thinking does so still: if the first message that stays behind the person's words has calls
/// and no thinking, the first one of the turn with thinking stays before it. Wherever the words are, so that it stays for good.
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
        // A call that begins a frame would begin it once more, for who reads what is left.
        let begins = |place: usize| match &items[place].kind {
            Kind::Call(call) => matches!(call.role, Some(CallRole::Push | CallRole::Activate)),
            _ => false,
        };
        if has_thinking && thought.is_none() {
            thought = Some(places());
            is_settled = places().any(begins);
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

/// What was thought before something that stays, stays as well: providers check it together with that.
pub(super) fn reasoning(conversation: &Conversation<'_>, gone: &mut [Option<usize>]) {
    let items = &conversation.items;
    let is_reasoning = |place: usize| matches!(items[place].kind, Kind::Reasoning);
    let is_of_model = |place: usize| match items[place].kind {
        Kind::Answer(_) | Kind::Call(_) => true,
        Kind::Fixed => conversation.messages[items[place].message].author == Author::Model,
        _ => false,
    };
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

/// Parts that say nothing by themselves, such as the beginning of a step, go or stay with the rest of their message.
pub(super) fn layout(conversation: &Conversation<'_>, gone: &mut [Option<usize>]) {
    for message in &conversation.messages {
        let is_layout = |place: &usize| matches!(conversation.items[*place].kind, Kind::Layout);
        let mut others = message.items.clone().filter(|place| !is_layout(place));
        let Some(first) = others.next() else { continue };
        let fold = if others.all(|place| gone[place].is_some()) { gone[first] } else { None };
        message.items.clone().filter(is_layout).for_each(|place| gone[place] = fold);
    }
}

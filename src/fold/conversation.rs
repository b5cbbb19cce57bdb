//! A conversation as the rules of folding see it: items in their order, in one form for all wires. The
//! readers make it from a request.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use serde_json::Value as Json;

use crate::json::Value;
use crate::text::from_json;
use crate::vocabulary::calls::CallRole;

/// A part of a message.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub kind: Kind<'a>,
    /// Its bytes in the request.
    pub bytes: Range<usize>,
    /// The message that it is a part of.
    pub message: usize,
    /// How it is taken out.
    pub removal: Removal,
    /// The mark that a provider's cache ends here: the value of its key.
    pub mark: Option<Value<'a>>,
    /// Where such a mark can be written: the end of an object, before its bracket.
    pub mark_place: Option<usize>,
}

/// What an item is.
#[derive(Debug)]
pub(crate) enum Kind<'a> {
    /// What the person has written or attached.
    Words,
    /// What a tool has shown in addition to its outcome, such as a picture.
    Shown,
    /// What the host has added automatically.
    Note,
    /// What the model has said; its text, if that is a text of its own.
    Answer(Option<Value<'a>>),
    /// What the model has thought.
    Reasoning,
    /// A call of a tool.
    Call(Call<'a>),
    /// What a tool has returned.
    Outcome(Outcome<'a>),
    /// A part that says nothing alone, such as the beginning of a step.
    Layout,
    /// A text that stands for everything before it: the provider drops what was before it.
    Summary,
    /// What stays where it is, such as what the host says about its state.
    Fixed,
}

/// A call of a tool.
#[derive(Debug, Default)]
pub(crate) struct Call<'a> {
    /// The call's ID, with the escapes of JSON. `None`: the outcome is found by the name.
    pub id: Option<&'a str>,
    /// The tool's name, with the escapes of JSON.
    pub name: &'a str,
    /// What the call does to frames, if the tool is one of the stack's.
    pub role: Option<CallRole>,
    /// An object, or a string with the text of an object.
    pub arguments: Option<Value<'a>>,
    /// The provider has signed the call. The provider checks the signature of the first call of a message.
    pub is_signed: bool,
}

/// The outcome of a call.
#[derive(Debug, Default)]
pub(crate) struct Outcome<'a> {
    /// The ID of the call. `None`: the call is found by the name.
    pub id: Option<&'a str>,
    /// The tool's name, if the outcome has it.
    pub name: &'a str,
    /// What the tool has returned, in any form that the wire has.
    pub content: Option<Value<'a>>,
    /// The host says that the call has failed.
    pub is_error: bool,
    /// It has made tools known to the model.
    pub loads_tools: bool,
}

/// How an item is taken out of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    /// It is the whole message.
    Message,
    /// It is an element of a list of the message. A message has one or two lists.
    Element(List),
    /// It is the value of a key, which becomes `null`.
    Null,
    /// It is a part of the item of its call.
    WithCall,
}

/// A list of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    /// What a message says.
    Content,
    /// The calls of a message that has its calls next to its content.
    Calls,
}

/// A message: an element of the list that is the conversation.
#[derive(Debug)]
pub(crate) struct Message {
    pub bytes: Range<usize>,
    pub items: Range<usize>,
    pub author: Author,
}

/// Who has written a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    Model,
    /// The person, the host, or tools.
    Other,
    /// The host alone, in a message that is not a turn of its own.
    System,
}

/// How the outcomes of calls must be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// In the message after the message of the calls.
    NextMessage,
    /// In messages of their own after the message of the calls.
    NextMessages,
    /// Anywhere after the calls.
    Behind,
    /// A call of an agent's history can be without an outcome.
    Any,
}

impl Order {
    /// True if calls of different messages may have the same ID.
    fn repeats_ids(self) -> bool {
        matches!(self, Self::NextMessages | Self::Any)
    }
}

/// The conversation of a request.
#[derive(Debug)]
pub(crate) struct Conversation<'a> {
    pub messages: Vec<Message>,
    pub items: Vec<Item<'a>>,
    pub order: Order,
    /// A message can hold the items of several requests, and thinking goes with the call after it. If this is
    /// false, the thinking of a message is kept or taken out as a whole.
    pub has_loose_reasoning: bool,
    /// A turn that began with thinking must still begin with thinking.
    pub has_thinking_turns: bool,
    /// Thinking is bound to what was before it: the provider refuses it after anything else.
    pub has_bound_thinking: bool,
    /// A message of the system stands before one of the model, or at the end.
    pub has_placed_system: bool,
    /// A message of the model does not follow another one.
    pub has_strict_turns: bool,
    /// Calls that the provider has run itself, and their outcomes: each item, with the ID that the call and
    /// its outcome share.
    pub served: Vec<(usize, &'a str)>,
}

impl<'a> Conversation<'a> {
    pub fn new(order: Order) -> Self {
        Self {
            messages: Vec::new(),
            items: Vec::new(),
            order,
            has_loose_reasoning: false,
            has_thinking_turns: false,
            has_bound_thinking: false,
            has_placed_system: false,
            has_strict_turns: false,
            served: Vec::new(),
        }
    }

    /// Adds an item to the message that is being read.
    pub fn add(&mut self, kind: Kind<'a>, bytes: Range<usize>, removal: Removal, mark: Option<Value<'a>>) {
        self.items.push(Item { kind, bytes, message: self.messages.len(), removal, mark, mark_place: None });
    }

    /// Says that the item that was added last is an object that can have a mark, or ends with such an object.
    pub fn can_be_marked(&mut self, object: &Range<usize>) {
        if let Some(last) = self.items.last_mut() {
            last.mark_place = object.end.checked_sub(1);
        }
    }

    /// Ends the message that is being read: the items since the last message belong to it.
    pub fn end_message(&mut self, bytes: Range<usize>, author: Author) {
        let start = self.messages.last().map_or(0, |message| message.items.end);
        self.messages.push(Message { bytes, items: start..self.items.len(), author });
    }

    /// The first call of one of the stack's tools that change frames, or the end.
    pub fn first_frame_call(&self) -> usize {
        let is_one = |item: &Item<'_>| matches!(&item.kind, Kind::Call(Call { role: Some(_), .. }));
        self.items.iter().position(is_one).unwrap_or(self.items.len())
    }

    /// True if some call may have ended a frame.
    pub fn has_ended_frames(&self) -> bool {
        let ends = |item: &Item<'_>| match &item.kind {
            Kind::Call(call) => matches!(call.role, Some(CallRole::Pop | CallRole::Invalidate)),
            _ => false,
        };
        self.items.iter().any(ends)
    }

    /// For each item, its partner: for a call its outcome, and for an outcome its call. `None` if outcomes
    /// have no calls, are in a place where no provider accepts them, or are missing before the end.
    pub fn pairs(&self) -> Option<Vec<Option<usize>>> {
        let earliest = self.earliest_calls();
        let mut pairs = vec![None; self.items.len()];
        let mut by_id: HashMap<&str, usize> = HashMap::new();
        let mut by_name: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (place, item) in self.items.iter().enumerate() {
            match &item.kind {
                Kind::Call(Call { id: Some(id), .. }) => {
                    // Some models number the calls of each message from the start again, and some providers
                    // accept it.
                    let is_free = |before: usize| pairs[before].is_some() && self.order.repeats_ids();
                    if by_id.insert(id, place).is_some_and(|before| !is_free(before)) {
                        return None;
                    }
                }
                Kind::Call(call) => by_name.entry(call.name).or_default().push_back(place),
                Kind::Outcome(outcome) => {
                    let call = outcome.id.and_then(|id| by_id.get(id).copied().filter(|call| pairs[*call].is_none()));
                    // An outcome with an ID can answer a call without one.
                    let call = call.or_else(|| by_name.get_mut(outcome.name)?.pop_front())?;
                    if self.items[call].message < earliest[item.message] || call >= place {
                        return None;
                    }
                    (pairs[call], pairs[place]) = (Some(place), Some(call));
                }
                _ => {}
            }
        }
        self.are_answered(&pairs).then_some(pairs)
    }

    /// Like [`Conversation::pairs`], for a part of a conversation, no matter where it was cut: an item
    /// without a partner in this part stays alone.
    pub fn loose_pairs(&self) -> Vec<Option<usize>> {
        let mut pairs = vec![None; self.items.len()];
        let mut by_id: HashMap<&str, usize> = HashMap::new();
        let mut by_name: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (place, item) in self.items.iter().enumerate() {
            match &item.kind {
                Kind::Call(Call { id: Some(id), .. }) => drop(by_id.insert(id, place)),
                Kind::Call(call) => by_name.entry(call.name).or_default().push_back(place),
                Kind::Outcome(outcome) => {
                    let call = outcome.id.and_then(|id| by_id.remove(id));
                    let call = call.or_else(|| by_name.get_mut(outcome.name)?.pop_front());
                    if let Some(call) = call {
                        (pairs[call], pairs[place]) = (Some(place), Some(call));
                    }
                }
                _ => {}
            }
        }
        pairs
    }

    /// For each message, the first message whose calls it may answer.
    fn earliest_calls(&self) -> Vec<usize> {
        let mut earliest = Vec::with_capacity(self.messages.len());
        let mut last = 0;
        for (number, message) in self.messages.iter().enumerate() {
            earliest.push(last);
            let items = &self.items[message.items.clone()];
            let lets_through = match self.order {
                Order::NextMessage => message.author == Author::System,
                Order::NextMessages => items.iter().all(|item| matches!(item.kind, Kind::Outcome(_))),
                Order::Behind | Order::Any => true,
            };
            if !lets_through {
                last = number;
            }
        }
        earliest
    }

    /// True if only calls of the last message of the model are without an outcome.
    fn are_answered(&self, pairs: &[Option<usize>]) -> bool {
        if self.order == Order::Any {
            return true;
        }
        let by_model = |message: &Message| message.author == Author::Model;
        // On a wire where each item is a message, the last answer of the model has several messages.
        let last = match self.order {
            Order::Behind => self.messages.iter().rposition(|message| !by_model(message)).map(|other| other + 1),
            _ => self.messages.iter().rposition(by_model),
        };
        let unanswered = self.items.iter().zip(pairs);
        let mut unanswered = unanswered.filter(|(item, pair)| matches!(item.kind, Kind::Call(_)) && pair.is_none());
        unanswered.all(|(item, _)| last.is_none_or(|last| item.message >= last))
    }
}

/// The arguments of a call: an object, or the text of an object.
pub(crate) fn arguments(call: &Call<'_>) -> Json {
    let Some(value) = call.arguments else { return Json::Null };
    let text = match value.raw() {
        Some(_) => value.string().unwrap_or_default(),
        None => value.text.to_owned(),
    };
    from_json(&text).unwrap_or_default()
}

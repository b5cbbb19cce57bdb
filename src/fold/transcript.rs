//! What a request says, item by item, for the logs of frames. Each item is in the frame in which the
//! conversation was at that item.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value as Json, json};

use super::conversation::{Item, Kind, arguments};
use super::walk::Walk;
use super::{FoldSettings, Wire, wire};
use crate::frame::Handle;
use crate::json::Value;
use crate::text::{fnv, from_json};
use crate::vocabulary::calls::CallNames;

/// The keys of a part of a message that can hold its text, in the order in which they are looked for.
const TEXTS: [&str; 8] = ["text", "thinking", "content", "output", "summary", "parts", "response", "result"];

/// The items of a conversation that were seen before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    ids: HashSet<u64>,
    /// The number of the conversation's name.
    conversation: u64,
}

impl Seen {
    /// The seen items of a conversation with this name: the same words in another conversation are other
    /// items.
    pub fn of(conversation: &str) -> Self {
        Self { ids: HashSet::new(), conversation: fingerprint(&[conversation.as_bytes()]) }
    }
}

/// What a request says that was not seen before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Transcript {
    /// The new items, in their order.
    pub items: Vec<TranscriptItem>,
    /// The frame in which the conversation is at the end of the request. `None`: it is in no frame, or
    /// nothing in the request says in which one.
    pub place: Option<Handle>,
    /// True if the conversation has said in which frames it is. Otherwise only the stack can know the frames.
    pub has_frames: bool,
    /// True if the request offers the stack's tools to the model. Requests for titles, summaries and similar
    /// texts do not. A list of messages alone says nothing about tools, and counts as a request that offers
    /// them.
    pub has_tools: bool,
    /// The model that is asked, if the request names it.
    pub model: Option<String>,
}

/// An item of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TranscriptItem {
    /// The frame in which the conversation was.
    pub frame: Option<Handle>,
    /// The item as the log of a frame has it, without a time:
    ///
    /// - for words and answers, `{"id": "9f0c2a…", "role": "assistant", "text": "…"}`;
    /// - for a call, `"calls": [{"id": "call_1", "name": "Bash", "arguments": {…}}]`;
    /// - for the outcome of a call, the role `tool` with `call`, `name` and `isError`;
    /// - for thinking, `"parts": [{"type": "reasoning", "text": "…"}]`;
    /// - for what the host has added, the role `host`;
    /// - for the summary of a compaction, `"summary": true`.
    ///
    /// The ID is the same in each request that repeats the item.
    pub entry: Json,
    /// True for a text of the answer to the request.
    pub is_answer: bool,
}

/// Returns what a request says that was not seen before, and adds it to `seen`. `None` for a request that
/// cannot be understood. What the system and the developer say is left out.
///
/// ```
/// use callstack_core::fold::{FoldSettings, Seen, Wire, transcript};
///
/// let mut seen = Seen::default();
/// let request = r#"{"messages": [{"role": "user", "content": "Build the shop."}]}"#;
/// let first = transcript(Wire::Anthropic, request, &FoldSettings::default(), &mut seen).unwrap();
/// assert_eq!(first.items[0].entry["text"], "Build the shop.");
/// let again = transcript(Wire::Anthropic, request, &FoldSettings::default(), &mut seen).unwrap();
/// assert!(again.items.is_empty());
/// ```
pub fn transcript(wire: Wire, request: &str, settings: &FoldSettings, seen: &mut Seen) -> Option<Transcript> {
    answered_transcript(wire, request, &[], settings, seen)
}

/// A part of the answer of a model, in the form in which the next request of the conversation repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerPart {
    /// Words.
    Text(String),
    /// A call of a tool.
    Call {
        /// Its ID; empty if it has none, as in Gemini.
        id: String,
        /// The name of the tool.
        name: String,
        /// Its arguments, a JSON text.
        arguments: String,
    },
}

impl AnswerPart {
    /// A call. `arguments`: a JSON text.
    pub fn call(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::Call { id: id.into(), name: name.into(), arguments: arguments.into() }
    }
}

/// Like [`transcript`], with the parts of the answer to the request: the next request repeats them.
pub fn answered_transcript(
    wire: Wire,
    request: &str,
    answer: &[AnswerPart],
    settings: &FoldSettings,
    seen: &mut Seen,
) -> Option<Transcript> {
    let names = CallNames::new(&settings.tools, &settings.server);
    let conversation = wire::read(wire, request, &names)?;
    let pairs = conversation.pairs()?;
    let walk = Walk::through(&conversation.items, &pairs);
    let mut ids = Ids { without_ids: wire == Wire::Gemini, ..Ids::of(seen.conversation) };
    let mut items = Vec::new();
    for (place, item) in conversation.items.iter().enumerate() {
        let id = ids.next(request, item, pairs[place]);
        if seen.ids.insert(id)
            && let Some(entry) = entry(request, &conversation.items, &pairs, place)
        {
            items.push(TranscriptItem { frame: walk.frame_of(place), entry: with_id(entry, id), is_answer: false });
        }
    }
    for part in answer {
        let (id, entry) = match part {
            AnswerPart::Text(text) if text.trim().is_empty() => continue,
            AnswerPart::Text(text) => (ids.of_answer(text), json!({"role": "assistant", "text": text})),
            AnswerPart::Call { id, name, arguments } => {
                // A call without arguments has none, or an empty object.
                let given = if arguments.trim().is_empty() { "{}" } else { arguments };
                let Ok(arguments) = from_json::<Json>(given) else { continue };
                let number = ids.of_call(id, name, &arguments);
                let id = (!id.is_empty()).then_some(id);
                let call = json!({"id": id, "name": name, "arguments": arguments});
                (number, json!({"role": "assistant", "text": "", "calls": [call]}))
            }
        };
        if seen.ids.insert(id) {
            items.push(TranscriptItem { frame: walk.place(), entry: with_id(entry, id), is_answer: true });
        }
    }
    let whole = Value { text: request, start: 0 };
    let tools = whole.get("tools");
    let is_list = request.trim_start().starts_with('[');
    Some(Transcript {
        items,
        place: walk.place(),
        has_frames: !walk.segments.is_empty(),
        has_tools: is_list || tools.is_some_and(|tools| names.may_be_in(tools.text)),
        model: whole.get("model").and_then(Value::string),
    })
}

/// A number for the words with which a conversation begins. If a host does not name its conversations,
/// conversations that begin with different words are different ones. `None` for a request that cannot be
/// understood, and for a request without words.
pub fn beginning(wire: Wire, request: &str) -> Option<u64> {
    let settings = FoldSettings::default();
    let conversation = wire::read(wire, request, &CallNames::new(&settings.tools, &settings.server))?;
    let first = conversation.items.iter().find(|item| matches!(item.kind, Kind::Words))?;
    Some(fingerprint(&[said_by(request, first).as_bytes()]))
}

/// The words before the first call of a tool, message by message: what a host says at the beginning of each
/// conversation, and the task. Empty for a request that cannot be understood.
pub fn opening(wire: Wire, request: &str) -> Vec<String> {
    let settings = FoldSettings::default();
    let names = CallNames::new(&settings.tools, &settings.server);
    let Some(conversation) = wire::read(wire, request, &names) else { return Vec::new() };
    let is_before = |item: &&Item<'_>| !matches!(item.kind, Kind::Call(_));
    let words = conversation.items.iter().take_while(is_before).filter(|item| matches!(item.kind, Kind::Words));
    words.map(|item| said_by(request, item)).collect()
}

/// What a call of the model has returned, if the request has it. `call` is the call as it was in the answer
/// of the model. If several calls are the same, the last one that has an outcome counts.
pub fn outcome_of(wire: Wire, request: &str, call: &AnswerPart) -> Option<CallOutcome> {
    let AnswerPart::Call { id: wanted, name, arguments: given } = call else { return None };
    let settings = FoldSettings::default();
    let conversation = wire::read(wire, request, &CallNames::new(&settings.tools, &settings.server))?;
    let pairs = conversation.pairs()?;
    let given: Json = from_json(given).unwrap_or_default();
    let is_wanted = |item: &Item<'_>| match &item.kind {
        // Gemini gives no IDs, and its host makes some for its own use.
        Kind::Call(found) if wanted.is_empty() || wire == Wire::Gemini => {
            unescaped(found.name) == *name && arguments(found) == given
        }
        Kind::Call(found) => found.id.is_some_and(|id| unescaped(id) == *wanted),
        _ => false,
    };
    let outcome = |place: usize| match &conversation.items[pairs[place]?].kind {
        Kind::Outcome(outcome) => Some(outcome),
        _ => None,
    };
    let outcome =
        (0..conversation.items.len()).rev().filter(|place| is_wanted(&conversation.items[*place])).find_map(outcome)?;
    let error = outcome.content.and_then(|content| content.get("error"));
    let text = error.and_then(Value::string).or_else(|| outcome.content.map(said_in)).unwrap_or_default();
    Some(CallOutcome { text, is_error: outcome.is_error || error.is_some() })
}

/// What a call has returned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOutcome {
    /// Its text.
    pub text: String,
    /// The host says that the call has failed.
    pub is_error: bool,
}

/// The numbers of items: each is the same in each request that repeats the item. The number does not depend
/// on three things that change: marks of a prompt cache move, hosts shorten old outcomes, and a compaction
/// removes what is before an item. It does depend on what is just before the item: words such as `continue`
/// are said more than once.
#[derive(Default)]
pub(crate) struct Ids {
    conversation: u64,
    /// The IDs of calls say nothing: Gemini gives none, and its host makes other IDs each time.
    without_ids: bool,
    all: Vec<u64>,
    /// What was said last, without regard to what was before it.
    last: u64,
    times: HashMap<u64, u64>,
}

impl Ids {
    /// For items that come after other items. `last` is what [`Ids::last`] was there. What is said again
    /// after the same words has the same number, because it is not counted here how often it was said.
    pub(crate) fn behind(conversation: &str, last: &str) -> Self {
        let last = u64::from_str_radix(last, 16).unwrap_or_default();
        Self { last, ..Self::of(Seen::of(conversation).conversation) }
    }

    fn of(conversation: u64) -> Self {
        Self { conversation, ..Self::default() }
    }

    /// The number of what was said last, in hexadecimal digits.
    pub(crate) fn last(&self) -> String {
        format!("{:016x}", self.last)
    }

    pub(crate) fn next(&mut self, request: &str, item: &Item<'_>, pair: Option<usize>) -> u64 {
        let (id, own) = match (&item.kind, pair) {
            (Kind::Outcome(_), Some(call)) => {
                let id = fingerprint(&[b"outcome", &self.all[call].to_le_bytes()]);
                (id, id)
            }
            (Kind::Call(call), _) => {
                let id = call.id.filter(|_| !self.without_ids).unwrap_or_default();
                let id = number_of_call(id, call.name, &arguments(call));
                (id, id)
            }
            (kind, _) => self.of_text(role(kind), &said_by(request, item)),
        };
        if !matches!(item.kind, Kind::Reasoning | Kind::Note | Kind::Fixed | Kind::Layout) {
            self.last = own;
        }
        let id = self.counted(id);
        self.all.push(id);
        id
    }

    fn of_call(&mut self, id: &str, name: &str, arguments: &Json) -> u64 {
        let id = number_of_call(if self.without_ids { "" } else { id }, name, arguments);
        self.last = id;
        self.counted(id)
    }

    fn of_answer(&mut self, text: &str) -> u64 {
        let (id, own) = self.of_text(role(&Kind::Answer(None)), text);
        self.last = own;
        self.counted(id)
    }

    /// The number of a text, and that of its words alone.
    fn of_text(&self, role: &str, text: &str) -> (u64, u64) {
        let own = fingerprint(&[role.as_bytes(), text.trim().as_bytes()]);
        (fingerprint(&[&own.to_le_bytes(), &self.last.to_le_bytes()]), own)
    }

    fn counted(&mut self, id: u64) -> u64 {
        let time = self.times.entry(id).or_default();
        *time += 1;
        fingerprint(&[&self.conversation.to_le_bytes(), &id.to_le_bytes(), &time.to_le_bytes()])
    }
}

/// Hosts write a call again with other blanks and another order of keys.
fn number_of_call(id: &str, name: &str, arguments: &Json) -> u64 {
    let arguments = if arguments.is_null() { "{}".to_owned() } else { sorted(arguments).to_string() };
    fingerprint(&[b"call", id.as_bytes(), name.as_bytes(), arguments.as_bytes()])
}

/// A value with the keys of its objects in sorted order. This does not depend on the order that the library
/// keeps.
fn sorted(value: &Json) -> Json {
    match value {
        Json::Array(values) => values.iter().map(sorted).collect(),
        Json::Object(object) => {
            let object: BTreeMap<&String, Json> = object.iter().map(|(key, value)| (key, sorted(value))).collect();
            object.into_iter().map(|(key, value)| (key.clone(), value)).collect::<serde_json::Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// A number made from some texts. Logs keep it.
fn fingerprint(parts: &[&[u8]]) -> u64 {
    // A byte that does not occur in a text ends each part.
    fnv(parts.iter().flat_map(|part| part.iter().chain(&[0xff])).map(|byte| u64::from(*byte)))
}

fn role(kind: &Kind<'_>) -> &'static str {
    match kind {
        Kind::Words | Kind::Summary => "user",
        Kind::Answer(_) | Kind::Reasoning | Kind::Call(_) => "assistant",
        Kind::Outcome(_) | Kind::Shown => "tool",
        Kind::Note | Kind::Fixed | Kind::Layout => "host",
    }
}

/// The entry of an item. `None`: it says nothing.
pub(crate) fn entry(request: &str, items: &[Item<'_>], pairs: &[Option<usize>], place: usize) -> Option<Json> {
    let item = &items[place];
    let role = role(&item.kind);
    Some(match &item.kind {
        Kind::Layout | Kind::Fixed => return None,
        Kind::Call(call) => {
            let id = call.id.map(unescaped);
            json!({"role": role, "text": "", "calls": [{"id": id, "name": unescaped(call.name), "arguments": arguments(call)}]})
        }
        Kind::Outcome(outcome) => {
            let call = pairs[place].map(|call| &items[call].kind);
            let name = match call {
                Some(Kind::Call(call)) => unescaped(call.name),
                _ => unescaped(outcome.name),
            };
            let text = outcome.content.map(said_in).unwrap_or_default();
            let mut entry = json!({"role": role, "name": name, "call": outcome.id.map(unescaped), "text": text});
            if outcome.is_error {
                entry["isError"] = true.into();
            }
            entry
        }
        Kind::Reasoning => {
            let text = said_by(request, item);
            if text.is_empty() {
                return None;
            }
            json!({"role": role, "text": "", "parts": [{"type": "reasoning", "text": text}]})
        }
        Kind::Summary => json!({"role": role, "text": said_by(request, item), "summary": true}),
        Kind::Words | Kind::Shown | Kind::Note | Kind::Answer(_) => {
            json!({"role": role, "text": said_by(request, item)})
        }
    })
}

pub(crate) fn with_id(mut entry: Json, id: u64) -> Json {
    if let Json::Object(entry) = &mut entry {
        entry.insert("id".to_owned(), format!("{id:016x}").into());
    }
    entry
}

/// A text that is written with the escapes of JSON.
fn unescaped(raw: &str) -> String {
    from_json(&format!("\"{raw}\"")).unwrap_or_else(|_| raw.to_owned())
}

/// What an item says.
fn said_by(request: &str, item: &Item<'_>) -> String {
    match item.kind {
        Kind::Answer(Some(text)) => said_in(text),
        _ => from_json::<Json>(&request[item.bytes.clone()]).map(|value| said(&value)).unwrap_or_default(),
    }
}

fn said_in(value: Value<'_>) -> String {
    from_json::<Json>(value.text).map(|value| said(&value)).unwrap_or_default()
}

/// The texts in a part of a message, in any form that a wire has.
pub(crate) fn said(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(parts) => parts.iter().map(said).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        Json::Object(object) => match TEXTS.iter().find_map(|key| object.get(*key).filter(|value| !value.is_null())) {
            Some(inner) => said(inner),
            None if is_attachment(object) => "[attachment]".to_owned(),
            // What a tool has returned.
            None if !object.contains_key("type") => value.to_string(),
            None => String::new(),
        },
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// True for a picture, a file or a sound.
fn is_attachment(object: &serde_json::Map<String, Json>) -> bool {
    ["source", "image_url", "inlineData", "fileData", "file_data", "file_id", "input_audio", "file"]
        .iter()
        .any(|key| object.contains_key(*key))
}

//! What an answer says about itself: the words that the different wires use for the same few things.

use callstack_core::fold::{AnswerPart, Wire};
use serde::Deserialize;
use serde_json::Value;

/// The longest name of a kind of error, in bytes.
const LONGEST_NAME: usize = 60;
/// Only data with one of these can say something.
const SIGNS: [&str; 8] =
    ["\"usage", "\"error\"", "\"model", "\"text\"", "\"delta\"", "\"content\"", "_stop\"", "content_block_start"];
/// The length up to which the texts of an answer and the arguments of its calls are kept, in bytes.
const LONGEST_TEXTS: usize = 1 << 20;

/// What an answer has used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// The answer has said what it has used.
    pub is_known: bool,
    pub model: Option<String>,
    /// Tokens of the prompt that no cache had, and that were not written into one.
    pub uncached: u64,
    /// Tokens of the prompt that were read from a cache.
    pub read: u64,
    /// Tokens of the prompt that were written into a cache, at a separate price.
    pub written: u64,
    /// The tokens among these that the cache keeps for an hour.
    pub written_for_hour: u64,
    pub output: u64,
    /// The kind of the error that the answer has named. Its message is not kept: it can have words of the
    /// prompt.
    pub error: Option<String>,
    /// The answer has said that it is whole.
    pub is_ended: bool,
    /// The answer calls tools: the agent continues.
    pub has_calls: bool,
    /// The texts of the answer and its calls, as a conversation repeats them. Calls of Gemini usually have no
    /// IDs.
    pub parts: Vec<AnswerPart>,
}

/// A JSON text of any wire, as far as it matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    #[serde(rename = "type")]
    kind: Option<Value>,
    #[serde(alias = "modelVersion")]
    model: Option<Value>,
    #[serde(alias = "usageMetadata")]
    usage: Option<Tokens>,
    /// Anthropic: the beginning of the message.
    message: Option<Nested>,
    /// Responses: the whole answer.
    response: Option<Nested>,
    error: Option<Value>,
    /// Anthropic and Responses: a piece of a text. Anthropic: the part that begins. Chat: the answers.
    /// Gemini: also the answers.
    delta: Option<Value>,
    content_block: Option<Value>,
    choices: Option<Value>,
    candidates: Option<Value>,
    content: Option<Value>,
    output: Option<Value>,
}

/// A part of an event that has the same words. In errors of some providers it is a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Nested {
    Said(Box<Said>),
    Other(serde::de::IgnoredAny),
}

/// The numbers of tokens. Some providers write them in the words of two wires.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens(serde_json::Map<String, Value>);

impl Tokens {
    /// The first of these numbers that exists: a whole number of at least 0.
    fn first(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| self.0.get(*name)?.as_u64())
    }

    /// The number of tokens that were written into the cache for an hour.
    fn written_for_hour(&self) -> u64 {
        let written = self.0.get("cache_creation").and_then(|written| written.get("ephemeral_1h_input_tokens"));
        written.and_then(Value::as_u64).unwrap_or_default()
    }

    /// The same within the details of the prompt.
    fn detail(&self, name: &str) -> Option<u64> {
        let details = ["input_tokens_details", "prompt_tokens_details"];
        details.iter().find_map(|details| self.0.get(*details)?.get(name)?.as_u64())
    }
}

impl Usage {
    /// Reads the data of one event.
    pub fn add(&mut self, wire: Wire, data: &[u8]) {
        let Ok(text) = str::from_utf8(data) else { return };
        if SIGNS.iter().any(|sign| text.contains(sign))
            && let Ok(said) = serde_json::from_str::<Said>(text)
        {
            self.merge(wire, &said);
        }
    }

    /// Reads a whole answer: one object, or a list of objects, because Gemini writes a stream without events
    /// as a list.
    pub fn add_all(&mut self, wire: Wire, text: &[u8]) {
        match serde_json::from_slice::<Vec<Said>>(text) {
            Ok(all) => all.iter().for_each(|said| self.merge(wire, said)),
            Err(_) => self.add(wire, text),
        }
    }

    fn merge(&mut self, wire: Wire, said: &Said) {
        if let Some(model) = said.model.as_ref().and_then(Value::as_str) {
            self.model = Some(model.to_owned());
        }
        if let Some(tokens) = &said.usage {
            self.count(wire, tokens);
        }
        let is_failed = said.kind.as_ref().and_then(Value::as_str) == Some("error");
        match said.error.as_ref().filter(|error| !error.is_null()) {
            Some(error) => self.error = Some(kind_of(error)),
            None if is_failed => self.error = Some("error".to_owned()),
            None => {}
        }
        self.hear(wire, said);
        for nested in [&said.message, &said.response].into_iter().flatten() {
            if let Nested::Said(nested) = nested {
                self.merge(wire, nested);
            }
        }
    }

    /// Keeps the texts of the answer and its calls. Each block is kept separately.
    fn hear(&mut self, wire: Wire, said: &Said) {
        let kind = said.kind.as_ref().and_then(Value::as_str).unwrap_or_default();
        self.is_ended |= matches!(kind, "message_stop" | "response.completed" | "response.incomplete");
        match wire {
            Wire::Anthropic if kind == "content_block_start" => {
                said.content_block.iter().for_each(|block| self.begin_block(block, String::new()));
            }
            Wire::Anthropic if kind == "content_block_delta" => {
                self.add_piece(Place::Last, text_in(said.delta.as_ref(), "text"));
                self.add_piece(Place::Call(None), text_in(said.delta.as_ref(), "partial_json"));
            }
            Wire::Anthropic => {
                for block in said.content.as_ref().and_then(Value::as_array).into_iter().flatten() {
                    self.begin_block(block, block.get("input").map(Value::to_string).unwrap_or_default());
                }
            }
            // The whole answer arrives at the end.
            Wire::Responses => {
                for item in said.output.as_ref().and_then(Value::as_array).into_iter().flatten() {
                    let is_call = is_of(item, "_call");
                    self.has_calls |= is_call;
                    if item["type"] == "message" {
                        self.parts.push(AnswerPart::Text(texts_of(item.get("content")).join("\n")));
                    } else if is_call {
                        let given = ["arguments", "input"].iter().find_map(|key| text_in(Some(item), key));
                        if let (Some(id), Some(given)) = (text_in(Some(item), "call_id"), given) {
                            self.begin_call(id, text_in(Some(item), "name"), Some(given));
                        }
                    }
                }
            }
            Wire::Chat => {
                let choice = said.choices.as_ref().and_then(|choices| choices.get(0));
                let part = choice.and_then(|choice| choice.get("delta").or_else(|| choice.get("message")));
                self.is_ended |=
                    choice.is_some_and(|choice| choice.get("finish_reason").is_some_and(|why| !why.is_null()));
                self.begin_text();
                self.add_piece(Place::Text, text_in(part, "content"));
                let calls = part.and_then(|part| part.get("tool_calls")?.as_array());
                calls.into_iter().flatten().for_each(|call| self.hear_call(call));
            }
            Wire::Gemini => {
                let candidate = said.candidates.as_ref().and_then(|candidates| candidates.get(0));
                self.is_ended |= candidate.is_some_and(|candidate| candidate.get("finishReason").is_some());
                self.begin_text();
                let parts = candidate.and_then(|candidate| candidate.pointer("/content/parts"));
                let all = parts.and_then(Value::as_array).into_iter().flatten();
                for call in all.filter_map(|part| part.get("functionCall")) {
                    self.has_calls = true;
                    let given = call.get("args").map(Value::to_string);
                    self.begin_call(text_in(Some(call), "id").unwrap_or_default(), text_in(Some(call), "name"), given);
                }
                texts_of(parts).into_iter().for_each(|text| self.add_piece(Place::Text, Some(text)));
            }
            _ => {}
        }
    }

    /// A block of Anthropic.
    fn begin_block(&mut self, block: &Value, given: String) {
        if is_of(block, "tool_use") {
            self.has_calls = true;
            let id = text_in(Some(block), "id").unwrap_or_default();
            self.begin_call(id, text_in(Some(block), "name"), Some(given));
        } else {
            self.parts.extend(texts_of(Some(&Value::Array(vec![block.clone()]))).into_iter().map(AnswerPart::Text));
        }
    }

    /// A call of Chat, or a piece of one.
    fn hear_call(&mut self, call: &Value) {
        self.has_calls = true;
        let function = call.get("function");
        let given = text_in(function, "arguments");
        match text_in(Some(call), "id").filter(|id| !id.is_empty()) {
            Some(id) if !self.has_call(&id) => self.begin_call(id, text_in(function, "name"), given),
            _ => self.add_piece(Place::Call(call.get("index").and_then(Value::as_u64)), given),
        }
    }

    fn has_call(&self, id: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, AnswerPart::Call { id: other, .. } if other == id))
    }

    fn begin_call(&mut self, id: String, name: Option<String>, given: Option<String>) {
        let arguments = given.filter(|given| self.length() + given.len() <= LONGEST_TEXTS).unwrap_or_default();
        self.parts.push(AnswerPart::Call { id, name: name.unwrap_or_default(), arguments });
    }

    fn begin_text(&mut self) {
        if !self.parts.iter().any(|part| matches!(part, AnswerPart::Text(_))) {
            self.parts.insert(0, AnswerPart::Text(String::new()));
        }
    }

    fn length(&self) -> usize {
        let length = |part: &AnswerPart| match part {
            AnswerPart::Call { arguments: text, .. } | AnswerPart::Text(text) => text.len(),
            _ => 0,
        };
        self.parts.iter().map(length).sum()
    }

    /// Adds a piece to a text, or to the arguments of a call.
    fn add_piece(&mut self, place: Place, more: Option<String>) {
        let Some(more) = more.filter(|more| self.length() + more.len() <= LONGEST_TEXTS) else { return };
        let found = match place {
            Place::Last => self.parts.last_mut().and_then(texts),
            Place::Text => self.parts.iter_mut().rev().find_map(texts),
            Place::Call(None) => self.parts.iter_mut().rev().find_map(arguments),
            Place::Call(Some(number)) => self.parts.iter_mut().filter_map(arguments).nth(number as usize),
        };
        if let Some(found) = found {
            found.push_str(&more);
        }
    }

    /// Counts are for the whole answer so far, so later counts replace earlier ones. Some providers write
    /// zeros first.
    fn count(&mut self, wire: Wire, tokens: &Tokens) {
        self.is_known = true;
        let read = tokens.first(&["cache_read_input_tokens", "cachedContentTokenCount", "prompt_cache_hit_tokens"]);
        let read = read.or_else(|| tokens.detail("cached_tokens")).unwrap_or_default();
        let written = tokens.first(&["cache_creation_input_tokens"]).or_else(|| tokens.detail("cache_write_tokens"));
        let written = written.unwrap_or_default();
        let input = tokens.first(&["input_tokens", "prompt_tokens", "promptTokenCount"]).unwrap_or_default();
        let input = input.saturating_add(tokens.first(&["toolUsePromptTokenCount"]).unwrap_or_default());
        // Anthropic counts separately what a cache had; the others count it as part of the prompt.
        let others = if wire == Wire::Anthropic { 0 } else { read.saturating_add(written) };
        let uncached = input.saturating_sub(others);
        let output = tokens.first(&["output_tokens", "completion_tokens", "candidatesTokenCount"]).unwrap_or_default();
        let output = output.saturating_add(tokens.first(&["thoughtsTokenCount"]).unwrap_or_default());
        if uncached.max(read).max(written) > 0 {
            (self.uncached, self.read, self.written) = (uncached, read, written);
            // Later counts of an answer leave out the parts.
            self.written_for_hour = tokens.written_for_hour().max(self.written_for_hour);
        }
        self.output = self.output.max(output);
    }
}

/// The text of a part, if the part is a text.
fn texts(part: &mut AnswerPart) -> Option<&mut String> {
    if let AnswerPart::Text(text) = part { Some(text) } else { None }
}

/// The arguments of a part, if the part is a call.
fn arguments(part: &mut AnswerPart) -> Option<&mut String> {
    if let AnswerPart::Call { arguments, .. } = part { Some(arguments) } else { None }
}

/// What a piece of an answer belongs to.
enum Place {
    /// The last part, if it is a text.
    Last,
    /// The last text.
    Text,
    /// The call with this number, counted from 0; without a number the last call.
    Call(Option<u64>),
}

fn text_in(value: Option<&Value>, key: &str) -> Option<String> {
    value?.get(key)?.as_str().map(str::to_owned)
}

fn is_of(part: &Value, kind: &str) -> bool {
    part["type"].as_str().is_some_and(|it| it.ends_with(kind))
}

/// The texts of parts, without thoughts.
fn texts_of(parts: Option<&Value>) -> Vec<String> {
    let is_thought = |part: &&Value| part.get("thought").is_some_and(|thought| thought == true);
    let parts = parts.and_then(Value::as_array).into_iter().flatten().filter(|part| !is_thought(part));
    parts.filter_map(|part| text_in(Some(part), "text")).collect()
}

/// The name of an error: its type, code or status.
fn kind_of(error: &Value) -> String {
    let named = ["type", "code", "status"].iter().find_map(|key| error.get(key)?.as_str());
    let is_name = |name: &&str| {
        name.len() <= LONGEST_NAME && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    named.filter(is_name).unwrap_or("error").to_owned()
}

//! What an answer says about itself: the words of all wires for the same few things.

use callstack_core::fold::Wire;
use serde::Deserialize;
use serde_json::Value;

/// The longest name of a kind of error, in bytes.
const LONGEST_NAME: usize = 60;
/// Only data with one of these can say something: the others are pieces of the answer.
const SIGNS: [&str; 3] = ["\"usage", "\"error\"", "\"model"];

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
    /// Tokens of the prompt that were written into a cache, for a price of their own.
    pub written: u64,
    pub output: u64,
    /// The kind of the error that the answer has named. Its message is not kept: it can have words of the prompt.
    pub error: Option<String>,
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
}

/// A part of an event with the same words. It is a text in errors of some providers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Nested {
    Said(Box<Said>),
    Other(serde::de::IgnoredAny),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    #[serde(alias = "prompt_tokens", alias = "promptTokenCount")]
    input_tokens: Option<u64>,
    #[serde(alias = "completion_tokens", alias = "candidatesTokenCount")]
    output_tokens: Option<u64>,
    #[serde(alias = "cachedContentTokenCount", alias = "prompt_cache_hit_tokens")]
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    #[serde(alias = "prompt_tokens_details")]
    input_tokens_details: Option<Details>,
    #[serde(rename = "toolUsePromptTokenCount")]
    tool_use_tokens: Option<u64>,
    #[serde(rename = "thoughtsTokenCount")]
    thought_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
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

    /// Reads a whole answer: one object, or a list of them, as Gemini writes a stream without events.
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
        for nested in [&said.message, &said.response].into_iter().flatten() {
            if let Nested::Said(nested) = nested {
                self.merge(wire, nested);
            }
        }
    }

    /// Counts are of the whole answer so far, so that later ones replace earlier ones. Some providers write zeros first.
    fn count(&mut self, wire: Wire, tokens: &Tokens) {
        self.is_known = true;
        let details = tokens.input_tokens_details.as_ref();
        let read = tokens.cache_read_input_tokens.or_else(|| details?.cached_tokens).unwrap_or_default();
        let written = tokens.cache_creation_input_tokens.or_else(|| details?.cache_write_tokens).unwrap_or_default();
        let input = tokens.input_tokens.unwrap_or_default() + tokens.tool_use_tokens.unwrap_or_default();
        // Anthropic counts what a cache had apart; the others count it as part of the prompt.
        let uncached = if wire == Wire::Anthropic { input } else { input.saturating_sub(read + written) };
        let output = tokens.output_tokens.unwrap_or_default() + tokens.thought_tokens.unwrap_or_default();
        if uncached + read + written > 0 {
            (self.uncached, self.read, self.written) = (uncached, read, written);
        }
        self.output = self.output.max(output);
    }
}

/// The name of an error: its type, code or status.
fn kind_of(error: &Value) -> String {
    let named = ["type", "code", "status"].iter().find_map(|key| error.get(key)?.as_str());
    let is_name = |name: &&str| {
        name.len() <= LONGEST_NAME && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    named.filter(is_name).unwrap_or("error").to_owned()
}

//! The numbers of tokens that a provider reports, also for an answer that breaks off.
//!
//! They are read from the events of the answer. genai returns them only with a complete answer, and leaves
//! out the reasoning of Anthropic's models.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use callstack_core::frame::ModelRequest;
use callstack_core::text::from_json;
use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde_json::{Map, Value};

/// Collects what the events of one answer say about its tokens.
pub struct Meter {
    begin: Instant,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Number of events with data.
    events: usize,
    /// The newest values of all keys.
    usage: Map<String, Value>,
}

impl Meter {
    pub fn begin() -> Self {
        Self { begin: Instant::now(), seen: Mutex::default() }
    }

    /// True if an event of an answer has arrived.
    pub fn has_begun(&self) -> bool {
        self.with_seen(|seen| seen.events > 0)
    }

    /// The record of the request, as far as it is known.
    pub fn request(&self, model: &str, messages: usize, failed: bool) -> ModelRequest {
        let duration = self.begin.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        let counted = self.with_seen(|seen| counted(&seen.usage));
        ModelRequest { model: model.into(), duration, messages: messages as u64, failed, ..counted }
    }

    /// Reads an event of the answer.
    fn see(&self, data: &str) {
        if data.is_empty() {
            return;
        }
        let event: Value = match data.contains("\"usage\"") {
            true => from_json(data).unwrap_or_default(),
            false => Value::Null,
        };
        self.with_seen(|seen| {
            seen.events += 1;
            // Anthropic reports the prompt in the first event, within the message, and the answer in the last
            // one.
            for usage in [&event["message"]["usage"], &event["usage"]] {
                let known = usage.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
                seen.usage.extend(known.map(|(key, value)| (key.clone(), value.clone())));
            }
        });
    }

    fn with_seen<T>(&self, read: impl FnOnce(&mut Seen) -> T) -> T {
        read(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChatFrameSink for Meter {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.see(frame.data);
    }
}

/// Converts the numbers of a provider, in the words of OpenAI or of Anthropic.
fn counted(usage: &Map<String, Value>) -> ModelRequest {
    let number = |path: &[&str]| {
        let (first, rest) = path.split_first().expect("a path has a key");
        let inner = rest.iter().try_fold(usage.get(*first)?, |value, key| value.get(key));
        inner?.as_u64()
    };
    let first = |paths: &[&[&str]]| paths.iter().find_map(|path| number(path)).unwrap_or(0);
    let cache_read = first(&[
        &["cache_read_input_tokens"],
        &["prompt_tokens_details", "cached_tokens"],
        &["prompt_cache_hit_tokens"],
    ]);
    let cache_write = first(&[&["cache_creation_input_tokens"], &["prompt_tokens_details", "cache_write_tokens"]]);
    let uncached_input = match number(&["prompt_tokens"]) {
        // OpenAI's number of tokens of the prompt includes cached tokens.
        Some(prompt) => prompt.saturating_sub(cache_read).saturating_sub(cache_write),
        None => first(&[&["input_tokens"]]),
    };
    let reasoning =
        first(&[&["completion_tokens_details", "reasoning_tokens"], &["output_tokens_details", "thinking_tokens"]]);
    let answer = first(&[&["completion_tokens"], &["output_tokens"]]);
    // Most numbers of the answer include the reasoning. If a number does not, the total is larger than the
    // prompt and the answer together.
    let parts = [uncached_input, cache_read, cache_write, answer];
    let without_reasoning = parts.into_iter().fold(0, u64::saturating_add);
    let contains_reasoning = number(&["total_tokens"]).is_none_or(|total| total <= without_reasoning);
    let output = if contains_reasoning { answer.saturating_sub(reasoning) } else { answer };
    ModelRequest { uncached_input, cache_read, cache_write, output, reasoning, ..ModelRequest::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The numbers of a request whose answer has these events: uncached, cache read, cache write, output,
    /// reasoning.
    fn numbers(events: &[Value]) -> [u64; 5] {
        let meter = Meter::begin();
        events.iter().for_each(|event| meter.see(&event.to_string()));
        assert_eq!(meter.has_begun(), !events.is_empty());
        let request = meter.request("m", 3, false);
        assert_eq!((request.model.as_str(), request.messages), ("m", 3));
        [request.uncached_input, request.cache_read, request.cache_write, request.output, request.reasoning]
    }

    #[test]
    fn openai_counts_cached_tokens_and_reasoning_twice() {
        let usage = json!({
            "prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
            "prompt_tokens_details": {"cached_tokens": 70, "cache_write_tokens": 10},
            "completion_tokens_details": {"reasoning_tokens": 20},
        });
        let events = [json!({"choices": [{}], "usage": null}), json!({"choices": [], "usage": usage})];
        assert_eq!(numbers(&events), [20, 70, 10, 30, 20]);
        let plain = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}});
        assert_eq!(numbers(&[plain]), [9, 0, 0, 4, 0]);
        // Some providers do not count reasoning as a part of the answer.
        let apart = json!({"usage": {
            "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45,
            "completion_tokens_details": {"reasoning_tokens": 30},
        }});
        assert_eq!(numbers(&[apart]), [10, 0, 0, 5, 30]);
        let cached = json!({"usage": {"prompt_tokens": 10, "prompt_cache_hit_tokens": 8, "completion_tokens": 1}});
        assert_eq!(numbers(&[cached]), [2, 8, 0, 1, 0]);
    }

    #[test]
    fn anthropic_counts_each_token_once_and_in_two_events() {
        let begin = json!({"type": "message_start", "message": {"usage": {
            "input_tokens": 20, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 10, "output_tokens": 1,
        }}});
        let end = json!({"type": "message_delta", "usage": {
            "output_tokens": 50, "output_tokens_details": {"thinking_tokens": 20},
        }});
        assert_eq!(numbers(&[begin.clone(), end]), [20, 70, 10, 30, 20]);
        assert_eq!(numbers(&[begin]), [20, 70, 10, 1, 0], "an answer that breaks off");
        assert_eq!(numbers(&[]), [0; 5]);
    }
}

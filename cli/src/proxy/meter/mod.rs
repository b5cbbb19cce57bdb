//! Reads the usage of a model's answer while the answer passes: its tokens, its model, and whether it has
//! failed.

mod events;
mod usage;

use http::HeaderMap;
use http::header::CONTENT_TYPE;

use callstack_core::fold::Wire;

use self::events::Events;
pub use self::usage::Usage;
use super::encoding::{Decoder, Encoding};

/// The length up to which an answer that is a single text is kept until its end, in bytes.
const LONGEST: usize = 64 << 20;

/// Reads one answer.
pub struct Meter {
    wire: Wire,
    /// `None`: it could not be decoded further.
    decoder: Option<Decoder>,
    form: Form,
    usage: Usage,
}

enum Form {
    /// Server-sent events.
    Events(Events),
    /// One JSON text.
    Text(Vec<u8>),
}

impl Meter {
    /// `None`: an answer of a form that has no usage, such as a page of HTML.
    pub fn new(wire: Wire, headers: &HeaderMap) -> Option<Self> {
        let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
        let form = match kind.split(';').next()?.trim() {
            "text/event-stream" => Form::Events(Events::default()),
            "application/json" => Form::Text(Vec::new()),
            _ => return None,
        };
        let decoder = Encoding::of(headers).map(Decoder::new);
        Some(Self { wire, decoder, form, usage: Usage::default() })
    }

    /// Reads the next piece.
    pub fn read(&mut self, piece: &[u8]) {
        let Some(decoder) = &mut self.decoder else { return };
        let (form, usage, wire) = (&mut self.form, &mut self.usage, self.wire);
        let mut is_too_long = false;
        let decoded = decoder.decode(piece, |text| match form {
            Form::Events(events) => events.read(text, |data| usage.add(wire, data)),
            Form::Text(whole) if whole.len() + text.len() <= LONGEST => whole.extend_from_slice(text),
            Form::Text(_) => is_too_long = true,
        });
        if decoded.is_err() || is_too_long {
            self.decoder = None;
        }
    }

    /// What the answer said, even if it was cut.
    pub fn finish(mut self) -> Usage {
        match &self.form {
            Form::Text(text) if self.decoder.is_some() => self.usage.add_all(self.wire, text),
            _ => {}
        }
        self.usage
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use callstack_core::fold::AnswerPart;

    use super::*;

    fn usage_of(wire: Wire, kind: &str, encoding: Option<&str>, body: &[u8], piece: usize) -> Usage {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, kind.parse().unwrap());
        if let Some(encoding) = encoding {
            headers.insert("content-encoding", encoding.parse().unwrap());
        }
        let mut meter = Meter::new(wire, &headers).unwrap();
        body.chunks(piece).for_each(|piece| meter.read(piece));
        meter.finish()
    }

    const ANTHROPIC: &str = "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude\",\"usage\":\
        {\"input_tokens\":12,\"cache_read_input_tokens\":300,\"cache_creation_input_tokens\":40,\"cache_creation\":{\"ephemeral_5m_input_tokens\":10,\"ephemeral_1h_input_tokens\":30},\"output_tokens\":1}}}\r\n\r\n\
        data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"\\\"usage\\\"\"}}\n\n\
        data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":77}}\n\ndata: {\"type\":\"message_stop\"}\n\n";

    #[track_caller]
    fn assert_anthropic(usage: &Usage) {
        assert_eq!(usage.model.as_deref(), Some("claude"));
        assert_eq!((usage.uncached, usage.read, usage.written, usage.output), (12, 300, 40, 77));
        assert_eq!(usage.written_for_hour, 30);
        assert!(usage.is_known && usage.error.is_none());
    }

    #[test]
    fn events_are_read_in_pieces_of_any_length() {
        for piece in [1, 7, 64, 100_000] {
            assert_anthropic(&usage_of(
                Wire::Anthropic,
                "text/event-stream; charset=utf-8",
                None,
                ANTHROPIC.as_bytes(),
                piece,
            ));
        }
    }

    #[test]
    fn compressed_events_are_read() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(ANTHROPIC.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        deflate.write_all(ANTHROPIC.as_bytes()).unwrap();
        let deflate = deflate.finish().unwrap();
        let zstd = ruzstd::encoding::compress_to_vec(ANTHROPIC.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
        let mut brotli = Vec::new();
        brotli::BrotliCompress(&mut ANTHROPIC.as_bytes(), &mut brotli, &Default::default()).unwrap();
        for (name, body) in [("gzip", gzip), ("deflate", deflate), ("br", brotli), ("zstd", zstd)] {
            for piece in [1, 50, 100_000] {
                assert_anthropic(&usage_of(Wire::Anthropic, "text/event-stream", Some(name), &body, piece));
            }
        }
    }

    #[test]
    fn each_wire_has_its_own_words() {
        let responses = r#"data: {"type":"response.completed","response":{"model":"gpt","usage":{"input_tokens":100,
            "input_tokens_details":{"cached_tokens":80},"output_tokens":5}}}"#
            .replace('\n', "");
        let usage = usage_of(Wire::Responses, "text/event-stream", None, (responses + "\n\n").as_bytes(), 9);
        assert_eq!((usage.uncached, usage.read, usage.output), (20, 80, 5));
        let chat = r#"{"model": "qwen", "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 64}}}"#;
        let usage = usage_of(Wire::Chat, "application/json", None, chat.as_bytes(), 9);
        assert_eq!((usage.uncached, usage.read, usage.output), (36, 64, 7));
        let gemini = r#"[{"candidates": []}, {"modelVersion": "gemini", "usageMetadata": {"promptTokenCount": 50,
            "cachedContentTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 4}}]"#;
        let usage = usage_of(Wire::Gemini, "application/json", None, gemini.as_bytes(), 9);
        assert_eq!((usage.uncached, usage.read, usage.output), (40, 10, 7));
        assert_eq!(usage.model.as_deref(), Some("gemini"));
    }

    /// Calls are known before their outcomes, in pieces and as a whole.
    #[test]
    fn calls_are_read_with_their_arguments() {
        let events = |lines: &[&str]| lines.iter().map(|line| format!("data: {line}\n\n")).collect::<String>();
        let anthropic = events(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I look."}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}}"#,
            r#"{"type":"message_stop"}"#,
        ]);
        let whole = r#"{"type":"message","content":[{"type":"text","text":"I look."},
            {"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]}"#;
        let chat = events(&[
            r#"{"choices":[{"delta":{"content":"I look."}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"toolu_1","function":{"name":"Bash","arguments":"{\"command\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":\"ls\"}"}}]},"finish_reason":"tool_calls"}]}"#,
        ]);
        let responses = events(&[r#"{"type":"response.completed","response":{"output":[{"type":"reasoning"},
            {"type":"message","content":[{"type":"output_text","text":"I look."}]},
            {"type":"function_call","call_id":"toolu_1","name":"Bash","arguments":"{\"command\":\"ls\"}"},
            {"type":"web_search_call","id":"ws_1"}]}}"#
            .replace('\n', "")
            .as_str()]);
        let gemini = events(&[
            r#"{"candidates":[{"content":{"parts":[{"text":"I look."}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"toolu_1","name":"Bash","args":{"command":"ls"}},"thoughtSignature":"x"}]},"finishReason":"STOP"}]}"#,
        ]);
        for (wire, kind, body) in [
            (Wire::Gemini, "text/event-stream", gemini.as_str()),
            (Wire::Anthropic, "text/event-stream", anthropic.as_str()),
            (Wire::Anthropic, "application/json", whole),
            (Wire::Chat, "text/event-stream", &chat),
            (Wire::Responses, "text/event-stream", &responses),
        ] {
            let usage = usage_of(wire, kind, None, body.as_bytes(), 11);
            let [AnswerPart::Text(text), AnswerPart::Call { id, name, arguments }] = &usage.parts[..] else {
                panic!("{wire:?}: {:?}", usage.parts)
            };
            assert_eq!((text.as_str(), id.as_str(), name.as_str()), ("I look.", "toolu_1", "Bash"), "{wire:?}");
            assert_eq!(arguments.replace(' ', ""), r#"{"command":"ls"}"#, "{wire:?}");
            assert!(usage.has_calls, "{wire:?}");
        }
    }

    #[test]
    fn the_kind_of_an_error_is_read_and_not_its_message() {
        let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"your prompt was: secret"}}"#;
        let usage = usage_of(Wire::Anthropic, "application/json", None, error.as_bytes(), 20);
        assert_eq!(usage.error.as_deref(), Some("overloaded_error"));
        assert!(!usage.is_known);
        let event = format!("event: error\ndata: {error}\n\n");
        let usage = usage_of(Wire::Anthropic, "text/event-stream", None, event.as_bytes(), 20);
        assert_eq!(usage.error.as_deref(), Some("overloaded_error"));
    }

    #[test]
    fn what_cannot_be_decoded_has_no_usage() {
        let usage = usage_of(Wire::Anthropic, "text/event-stream", Some("gzip"), ANTHROPIC.as_bytes(), 20);
        assert!(!usage.is_known);
    }
}

//! Which wire a request is written in, and the errors of this proxy in the form of each wire.

use callstack_core::fold::Wire;
use http::{Method, StatusCode};
use serde_json::{Value, json};

/// The ends of the paths of requests that have a conversation, in the wires that have one path for all
/// models.
const PATHS: [(&str, Wire, bool); 6] = [
    ("/messages", Wire::Anthropic, true),
    ("/messages/count_tokens", Wire::Anthropic, false),
    ("/responses", Wire::Responses, true),
    ("/responses/compact", Wire::Responses, true),
    ("/responses/input_tokens", Wire::Responses, false),
    ("/chat/completions", Wire::Chat, true),
];
/// The methods at the end of the paths of Gemini, after the model.
const METHODS: [(&str, bool); 3] =
    [(":generateContent", true), (":streamGenerateContent", true), (":countTokens", false)];

/// A request with a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversation {
    pub wire: Wire,
    /// The model is to answer it, not only to count its tokens.
    pub is_asked: bool,
}

/// What a request has, by its method and path. `given`: the wire if the path does not tell it.
pub fn conversation(method: &Method, path: &str, given: Option<Wire>) -> Option<Conversation> {
    if method != Method::POST {
        return None;
    }
    let path = path.trim_end_matches('/');
    let named = PATHS.iter().find(|(end, ..)| path.ends_with(end)).map(|(_, wire, is_asked)| (*wire, *is_asked));
    let of_gemini =
        || METHODS.iter().find(|(end, _)| path.ends_with(end)).map(|(_, is_asked)| (Wire::Gemini, *is_asked));
    let (wire, is_asked) = named.or_else(of_gemini).or(given.map(|wire| (wire, true)))?;
    Some(Conversation { wire, is_asked })
}

/// An error as the provider of a wire would write it, so that the agent shows its message.
pub fn error(wire: Option<Wire>, status: StatusCode, message: &str) -> Value {
    match wire {
        Some(Wire::Anthropic) => json!({ "type": "error", "error": { "type": "api_error", "message": message } }),
        Some(Wire::Gemini) => {
            json!({ "error": { "code": status.as_u16(), "message": message, "status": "UNAVAILABLE" } })
        }
        _ => json!({ "error": { "message": message, "type": "upstream_error", "param": null, "code": null } }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_tells_the_wire() {
        let of = |path: &str| conversation(&Method::POST, path, None).map(|found| (found.wire, found.is_asked));
        assert_eq!(of("/v1/messages"), Some((Wire::Anthropic, true)));
        assert_eq!(of("/v1/messages/count_tokens"), Some((Wire::Anthropic, false)));
        assert_eq!(of("/backend-api/codex/responses"), Some((Wire::Responses, true)));
        assert_eq!(of("/openai/deployments/gpt/chat/completions"), Some((Wire::Chat, true)));
        assert_eq!(of("/v1beta/models/gemini-3:streamGenerateContent"), Some((Wire::Gemini, true)));
        assert_eq!(of("/v1beta/models/gemini-3:countTokens"), Some((Wire::Gemini, false)));
        assert_eq!(of("/v1/messages/batches"), None);
        assert_eq!(of("/v1/embeddings"), None);
        assert_eq!(conversation(&Method::GET, "/v1/responses", None), None);
        let given = conversation(&Method::POST, "/ask", Some(Wire::Chat));
        assert_eq!(given, Some(Conversation { wire: Wire::Chat, is_asked: true }));
    }
}

//! The texts by which providers say that a request is too long for the model, and the limits in these texts.

use std::sync::LazyLock;

use regex_lite::Regex;

/// The limits of a model's context that a provider's refusal states, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextLimit {
    /// Maximum length of a prompt with its answer.
    pub tokens: Option<u64>,
    /// Length that is reserved for the answer.
    pub answer: Option<u64>,
}

/// Parts of the texts, in lower case.
const TEXTS: &[&str] = &[
    // OpenAI, Azure, vLLM, DeepSeek, OpenRouter, llama.cpp, LM Studio
    "context length",
    "context_length_exceeded",
    "context window",
    "context size",
    "maximum model length",
    "reduce the length",
    // Anthropic
    "prompt is too long",
    "context limit",
    "request_too_large",
    // Bedrock, xAI, Gemini, Ollama, Mistral, Groq, text-generation-inference, Cohere
    "input is too long",
    "maximum prompt length",
    "exceeds the maximum number of tokens",
    "prompt too long",
    "too large for model",
    "request too large",
    "`inputs` tokens",
    "`inputs` must have less than",
    "too many tokens",
];

/// The limits in the texts. The group `limit` is the length of the prompt with the answer, and the group
/// `answer` is the length of the answer.
static LIMITS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r"context limit: \d+ \+ (?<answer>\d+) > (?<limit>\d+)",
        r"maximum context length (?:is|of) (?<limit>\d+)",
        r"(?<limit>\d+) maximum context length",
        r"context (?:length|window|size) (?:is|of)(?: only)? (?<limit>\d+)",
        r"context size \((?<limit>\d+)",
        r"> (?<limit>\d+) maximum",
        r"maximum prompt length is (?<limit>\d+)",
        r"maximum model length of (?<limit>\d+)",
        r"maximum number of tokens allowed \((?<limit>\d+)",
        r"must be <= (?<limit>\d+)",
        r"must have less than (?<limit>\d+)",
        r#""n_ctx": ?(?<limit>\d+)"#,
        r"limit (?<limit>\d+), requested",
    ];
    patterns.into_iter().map(|pattern| Regex::new(pattern).expect("the pattern is valid")).collect()
});

/// The limit of a refusal with this text; `None` if it is about something else.
pub fn context_limit(text: &str) -> Option<ContextLimit> {
    let text = without_separators(&text.to_lowercase());
    if !TEXTS.iter().any(|part| text.contains(part)) {
        return None;
    }
    let number = |captures: &regex_lite::Captures<'_>, name: &str| captures.name(name)?.as_str().parse().ok();
    let found = LIMITS.iter().find_map(|pattern| pattern.captures(&text));
    let limit =
        found.map(|captures| ContextLimit { tokens: number(&captures, "limit"), answer: number(&captures, "answer") });
    Some(limit.unwrap_or_default())
}

/// A text without the commas within numbers.
fn without_separators(text: &str) -> String {
    let is_digit =
        |place: Option<usize>| place.and_then(|place| text.as_bytes().get(place)).is_some_and(u8::is_ascii_digit);
    let is_separator = |place: usize| is_digit(place.checked_sub(1)) && is_digit(Some(place + 1));
    text.char_indices()
        .filter(|(place, letter)| *letter != ',' || !is_separator(*place))
        .map(|(_, letter)| letter)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_known_providers_are_understood() {
        for (text, tokens, answer) in [
            // OpenAI
            (
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130021 tokens. \
                 Please reduce the length of the messages.",
                Some(128_000),
                None,
            ),
            (
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
                None,
                None,
            ),
            // vLLM
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8488 in the \
                 messages, 512 in the completion). Please reduce the length of the messages or completion.",
                Some(8_192),
                None,
            ),
            (
                "The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that \
                 `max_model_len` is no smaller than the number of text tokens.",
                Some(8_192),
                None,
            ),
            // OpenRouter
            (
                "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens \
                 (138000 of text input, 2000 in the output). Please reduce the length of either one, or use the \
                 \"middle-out\" transform to compress your prompt automatically.",
                Some(131_072),
                None,
            ),
            // Anthropic
            ("prompt is too long: 200251 tokens > 199999 maximum", Some(199_999), None),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or \
                 `max_tokens` and try again",
                Some(200_000),
                Some(21_333),
            ),
            ("request_too_large: Request exceeds the maximum size", None, None),
            // llama.cpp
            ("the request exceeds the available context size (4096 tokens), try increasing it", Some(4_096), None),
            (
                "the request exceeds the available context size. try increasing the context size or enable context shift",
                None,
                None,
            ),
            // LM Studio
            (
                "Trying to keep the first 6269 tokens when context the overflows. However, the model is loaded with \
                 context length of only 4096 tokens, which is not enough.",
                Some(4_096),
                None,
            ),
            // Mistral
            (
                "Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
                Some(32_768),
                None,
            ),
            // Gemini
            (
                "The input token count (1,048,600) exceeds the maximum number of tokens allowed (1,048,576).",
                Some(1_048_576),
                None,
            ),
            // xAI
            (
                "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
                Some(131_072),
                None,
            ),
            // Groq
            (
                "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7044, please reduce \
                 your message size and try again.",
                Some(6_000),
                None,
            ),
            // text-generation-inference
            (
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` \
                 tokens and 20 `max_new_tokens`",
                Some(4_096),
                None,
            ),
            // Bedrock, Ollama
            ("Input is too long for requested model.", None, None),
            ("prompt too long; exceeded max context length by 4 tokens", None, None),
        ] {
            assert_eq!(context_limit(text), Some(ContextLimit { tokens, answer }), "{text}");
        }
        for text in [
            "Incorrect API key provided",
            "The model `x` does not exist",
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
            "Rate limit reached: Limit 30000, Used 29000, Requested 2000. Please try again in 2s.",
            "messages: text content blocks must be non-empty",
        ] {
            assert_eq!(context_limit(text), None, "{text}");
        }
    }
}

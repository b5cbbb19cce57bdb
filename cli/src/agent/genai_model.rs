//! Models that the crate genai can reach: OpenAI-compatible chat completions, and Anthropic's messages.

use std::time::Duration;

use callstack_core::frame::{Message, ToolCall};
use callstack_core::memory::{Prompt, Reply};
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, ContentPart, MessageContent, StreamEnd, Tool,
    ToolResponse,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::{Value, json};

use super::arguments::{AgentArguments, Wire};
use super::model::{Answer, Model, ModelError, Offer};

/// A model of a provider that the crate genai supports.
pub struct GenaiModel {
    client: Client,
    target: ServiceTarget,
    wire: Wire,
    options: ChatOptions,
    /// For error messages: the address of the model, and the name of the variable with the API key.
    address: String,
    key_variable: String,
}

impl GenaiModel {
    pub fn new(arguments: &AgentArguments, key: Option<String>) -> Result<Self, String> {
        let wire = arguments.wire();
        let kind = match wire {
            Wire::Openai => AdapterKind::OpenAI,
            Wire::Anthropic => AdapterKind::Anthropic,
        };
        let address = match &arguments.base_url {
            // genai appends paths to it.
            Some(url) if url.ends_with('/') => url.clone(),
            Some(url) => format!("{url}/"),
            None => match wire {
                Wire::Openai => "https://api.openai.com/v1/".into(),
                Wire::Anthropic => "https://api.anthropic.com/v1/".into(),
            },
        };
        if !address.starts_with("http://") && !address.starts_with("https://") {
            return Err(format!("--base-url is `{address}`, but must begin with http:// or https://"));
        }
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(address.as_str()),
            auth: AuthData::from_single(key.unwrap_or_else(|| "none".into())),
            model: ModelIden::new(kind, arguments.model.as_str()),
        };
        let options = ChatOptions::default()
            .with_capture_content(true)
            .with_capture_tool_calls(true)
            .with_capture_usage(true)
            .with_stream_header_timeout(arguments.timeout())
            .with_stream_read_timeout(arguments.timeout());
        let client = Client::new().map_err(|error| error.to_string())?;
        Ok(Self { client, target, wire, options, address, key_variable: arguments.key_variable().to_owned() })
    }

    fn request(&self, prompt: &Prompt, tools: &[Offer]) -> ChatRequest {
        let mut messages = conversation(prompt);
        messages.insert(0, ChatMessage::system(&*prompt.system));
        if self.wire == Wire::Anthropic {
            // Everything before the newest message is the same in the next step. Other providers cache automatically.
            let newest = messages.len() - 1;
            for place in [0, newest - 1] {
                messages[place].options = Some(CacheControl::Ephemeral.into());
            }
        }
        let offer = |tool: &Offer| {
            Tool::new(tool.name).with_description(&tool.description).with_schema(tool.parameters.clone())
        };
        ChatRequest::new(messages).with_tools(tools.iter().map(offer).collect::<Vec<_>>())
    }

    /// Converts an error of genai: whether it is temporary, and a message with advice.
    fn problem(&self, error: genai::Error) -> ModelError {
        let model = &self.target.model.model_name;
        let address = &self.address;
        let Some(http) = http_error(&error) else {
            return match cause(&error) {
                Some(cause) if cause.contains("error sending request") => ModelError::Unreachable {
                    problem: format!("{address} cannot be reached: {cause}; check --base-url"),
                },
                Some(cause) => {
                    ModelError::Later { problem: format!("the answer of {model} broke off: {cause}"), after: None }
                }
                None => ModelError::Later { problem: format!("{model} answered with an error: {error}"), after: None },
            };
        };
        let HttpError { status, said, after } = http;
        let said = beginning(&said);
        match status {
            408 | 409 | 429 | 500.. => {
                ModelError::Later { problem: format!("{model} answers {status}: {said}"), after }
            }
            401 | 403 => ModelError::Never {
                problem: format!("{address} refuses the API key in {} ({status}: {said})", self.key_variable),
            },
            404 => ModelError::Never {
                problem: format!(
                    "{address} has no model {model}, or is not a model API ({status}: {said}); check --model and \
                     --base-url, which usually ends in /v1/"
                ),
            },
            _ => ModelError::Never { problem: format!("{model} refuses the request ({status}: {said})") },
        }
    }
}

impl Model for GenaiModel {
    async fn ask(&self, prompt: &Prompt, tools: &[Offer], on_text: &mut dyn FnMut(&str)) -> Result<Answer, ModelError> {
        let request = self.request(prompt, tools);
        let problem = |error| self.problem(error);
        let streaming = self.client.exec_chat_stream(self.target.clone(), request, Some(&self.options)).await;
        let mut stream = streaming.map_err(problem)?.stream;
        while let Some(event) = stream.next().await {
            match event.map_err(problem)? {
                ChatStreamEvent::Chunk(chunk) => on_text(&chunk.content),
                ChatStreamEvent::End(end) => return Ok(answer(end)),
                _ => {}
            }
        }
        Err(ModelError::Later { problem: "the answer broke off before its end".into(), after: None })
    }
}

/// Converts the messages to those of genai. The answers to the tool calls of one step are in one message.
fn conversation(prompt: &Prompt) -> Vec<ChatMessage> {
    let mut messages: Vec<ChatMessage> = Vec::new();
    let mut answers: Vec<ToolResponse> = Vec::new();
    for message in &prompt.messages {
        if let Message::Tool { call, name, text, .. } = &**message {
            answers.push(ToolResponse::new(call, text).with_fn_name(name));
            continue;
        }
        if !answers.is_empty() {
            messages.push(std::mem::take(&mut answers).into());
        }
        messages.push(match &**message {
            Message::Assistant { text, calls } => said(text, calls),
            other => ChatMessage::user(other.text()),
        });
    }
    if !answers.is_empty() {
        messages.push(answers.into());
    }
    messages
}

fn said(text: &str, calls: &[ToolCall]) -> ChatMessage {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(ContentPart::from_text(text));
    } else if calls.is_empty() {
        // Providers refuse a message without content.
        parts.push(ContentPart::from_text("(nothing)"));
    }
    parts.extend(calls.iter().map(|call| {
        ContentPart::ToolCall(genai::chat::ToolCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: sendable(&call.arguments),
            thought_signatures: None,
        })
    }));
    ChatMessage::assistant(MessageContent::from_parts(parts))
}

/// Converts the arguments of a tool call for a request. Providers refuse arguments that are not a JSON object, even if
/// their own model has made them.
fn sendable(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({ "unreadable": arguments }),
    }
}

fn answer(end: StreamEnd) -> Answer {
    let usage = end.captured_usage.and_then(|usage| usage.prompt_tokens);
    let mut reply = Reply::default();
    for part in end.captured_content.into_iter().flat_map(MessageContent::into_parts) {
        match part {
            ContentPart::Text(text) => reply.text.push_str(&text),
            ContentPart::ToolCall(call) => {
                let arguments = match call.fn_arguments {
                    // Arguments that genai could not parse are passed on unchanged.
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                reply.calls.push(ToolCall { id: call.call_id, name: call.fn_name, arguments });
            }
            _ => {}
        }
    }
    Answer { reply, prompt_tokens: usage.and_then(|tokens| tokens.try_into().ok()) }
}

/// An error response of an HTTP server.
struct HttpError {
    status: u16,
    said: String,
    after: Option<Duration>,
}

/// The HTTP error behind an error. The error of a stream contains it as an inner error.
fn http_error(error: &genai::Error) -> Option<HttpError> {
    let error = match error {
        genai::Error::WebStream { error, .. } => error.downcast_ref::<genai::Error>()?,
        other => other,
    };
    let status = error.status()?.as_u16();
    let said = match error {
        genai::Error::HttpError { body, .. } => message_of(body),
        other => other.to_string(),
    };
    let header = error.headers().and_then(|headers| headers.get("retry-after")?.to_str().ok()?.parse().ok());
    Some(HttpError { status, said, after: header.map(Duration::from_secs) })
}

/// The message in a provider's error response, or the whole response if it has none.
fn message_of(body: &str) -> String {
    let json: Value = serde_json::from_str(body).unwrap_or_default();
    let message = [&json["error"]["message"], &json["error"], &json["message"]].into_iter().find_map(Value::as_str);
    message.unwrap_or(body).trim().to_owned()
}

/// The message of a stream's error, with all its causes.
fn cause(error: &genai::Error) -> Option<String> {
    let genai::Error::WebStream { error, .. } = error else { return None };
    let mut text = error.to_string();
    let mut deeper = error.source();
    while let Some(source) = deeper {
        text.push_str(&format!(": {source}"));
        deeper = source.source();
    }
    Some(text)
}

fn beginning(text: &str) -> String {
    let short: String = text.chars().take(300).collect();
    if short.is_empty() { "without a word".into() } else { short }
}

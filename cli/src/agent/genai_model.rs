//! Models that the crate genai can reach: OpenAI-compatible chat completions, and Anthropic's messages.

use std::sync::Arc;
use std::time::Duration;

use callstack_core::frame::{Message, ToolCall};
use callstack_core::memory::{Prompt, Reply};
use callstack_core::text::from_json;
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, ContentPart, MessageContent, StreamEnd, Tool,
    ToolResponse,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::arguments::{AgentArguments, Wire};
use super::failures::{failed, wrong};
use super::model::{Answer, Model, ModelError, Offer};
use super::problems::Names;
use super::usage::Meter;
use crate::failure::Failure;

/// Maximum size of an answer's text, in bytes. No model writes that much on purpose.
const LARGEST_ANSWER: usize = 4 << 20;

/// Time limit of the request that finds out what an address returns.
const DIAGNOSIS: Duration = Duration::from_secs(30);

/// A model of a provider that the crate genai supports.
pub struct GenaiModel {
    client: Client,
    target: ServiceTarget,
    wire: Wire,
    options: ChatOptions,
    names: Names,
}

impl GenaiModel {
    pub fn new(arguments: &AgentArguments, key: Option<String>) -> Result<Self, Failure> {
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
            return Err(wrong(format!("--base-url is `{address}`, but must begin with http:// or https://")));
        }
        let names = Names {
            model: arguments.model.clone(),
            address: address.clone(),
            key_variable: arguments.key_variable().to_owned(),
            has_key: key.is_some(),
        };
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(address.as_str()),
            auth: AuthData::from_single(key.unwrap_or_else(|| "none".into())),
            model: ModelIden::new(kind, arguments.model.as_str()),
        };
        let mut options = ChatOptions::default()
            .with_capture_content(true)
            .with_capture_tool_calls(true)
            // Asks OpenAI's interface for the numbers of tokens.
            .with_capture_usage(true)
            .with_stream_header_timeout(arguments.timeout())
            .with_stream_read_timeout(arguments.timeout());
        options.max_tokens = arguments.max_tokens;
        let client = Client::new().map_err(failed)?;
        Ok(Self { client, target, wire, options, names })
    }

    fn request(&self, prompt: &Prompt, tools: &[Offer]) -> ChatRequest {
        let mut messages = conversation(prompt, self.wire);
        messages.insert(0, ChatMessage::system(&*prompt.system));
        if self.wire == Wire::Anthropic {
            // Everything before the newest message is the same in the next step. Other providers cache
            // automatically.
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

    /// Finds out what an address returns if it answers without an event. Sends a request without streaming
    /// for that, for one token.
    async fn diagnose(&self, request: ChatRequest) -> ModelError {
        let options = ChatOptions::default().with_max_tokens(1);
        let asked = self.client.exec_chat(self.target.clone(), request, Some(&options));
        match timeout(DIAGNOSIS, asked).await {
            Ok(Err(error)) => self.names.no_model(&error),
            Ok(Ok(_)) => self.names.no_stream(),
            Err(_) => broken_off(),
        }
    }
}

impl Model for GenaiModel {
    fn name(&self) -> &str {
        &self.names.model
    }

    async fn ask(
        &self,
        prompt: &Prompt,
        tools: &[Offer],
        meter: &Arc<Meter>,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<Answer, ModelError> {
        let request = self.request(prompt, tools);
        let options = self.options.clone().with_raw_frame_sink_arc(meter.clone());
        let problem = |error| self.names.problem(&error);
        let streaming = self.client.exec_chat_stream(self.target.clone(), request.clone(), Some(&options)).await;
        let mut stream = streaming.map_err(problem)?.stream;
        let mut size = 0;
        while let Some(event) = stream.next().await {
            match event.map_err(problem)? {
                ChatStreamEvent::Chunk(chunk) => {
                    size += chunk.content.len();
                    on_text(&chunk.content);
                }
                ChatStreamEvent::ReasoningChunk(chunk) => size += chunk.content.len(),
                ChatStreamEvent::End(end) => return Ok(answer(end)),
                _ => {}
            }
            if size > LARGEST_ANSWER {
                return Err(self.names.endless(LARGEST_ANSWER));
            }
        }
        Err(if meter.has_begun() { broken_off() } else { self.diagnose(request).await })
    }
}

fn broken_off() -> ModelError {
    ModelError::Later { problem: "the answer broke off before its end".into(), after: None }
}

/// Converts the messages to those of genai. The answers to the tool calls of one step are in one message.
fn conversation(prompt: &Prompt, wire: Wire) -> Vec<ChatMessage> {
    let mut messages: Vec<ChatMessage> = Vec::new();
    let mut answers: Vec<ToolResponse> = Vec::new();
    for message in &prompt.messages {
        if let Message::Tool { call, name, text, .. } = &**message {
            answers.push(ToolResponse::new(call, text).with_fn_name(name));
            continue;
        }
        if !answers.is_empty() {
            messages.push(std::mem::take(&mut answers).into());
            // Several providers with OpenAI's interface refuse a user's message directly after the answers of
            // tools.
            if wire == Wire::Openai && matches!(**message, Message::User { .. }) {
                messages.push(ChatMessage::assistant("(A message of the user follows.)"));
            }
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

/// Converts the arguments of a tool call for a request. Providers refuse arguments that are not a JSON
/// object, even if their own model has made them.
fn sendable(arguments: &str) -> Value {
    match from_json(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({ "unreadable": arguments }),
    }
}

fn answer(end: StreamEnd) -> Answer {
    let reason = end.captured_stop_reason;
    let is_window_full = reason.as_ref().is_some_and(|reason| reason.raw() == "model_context_window_exceeded");
    let mut reply = Reply::default().cut(reason.is_some_and(|reason| reason.is_max_tokens()));
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
    Answer { reply, is_window_full }
}

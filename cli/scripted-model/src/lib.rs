//! A model server on loopback that answers from a script, in both wire formats. It is for tests and for
//! trying agents.
//!
//! A script is JSON: `{"steps": [{"text": "…", "calls": [{"name": "read_file", "arguments": {"path":
//! "a.py"}}]}]}`. Each request contains the number of its step, so the same request always gets the same
//! answer. Requests for later steps than the script has get the last step.
//!
//! A step can have further keys: `"cut": true` ends its answer at the maximum length, in the middle of its
//! last call; `"usage": {"cacheRead": 100, "cacheWrite": 20, "output": 30, "reasoning": 5}` are tokens that
//! it charges. Prompt tokens that are not cached are a quarter of the request's bytes.

use std::sync::{Arc, Mutex};
use std::thread;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

/// The API key and the model name that the server accepts.
pub const KEY: &str = "scripted-key";
pub const MODEL: &str = "scripted";

/// A fault: what a request gets instead of a complete answer.
#[derive(Debug, Clone)]
pub enum Fault {
    /// An error response with this HTTP status and, optionally, with `Retry-After` in seconds.
    Status(u16, Option<u64>),
    /// The answer ends in the middle.
    Cut,
    /// The request is never answered.
    Hang,
    /// A response with this HTTP status, content type and body.
    Response(u16, &'static str, String),
}

/// Numbers of tokens, as far as the server has told them to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charged {
    pub uncached_input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
}

/// A server that runs until the process ends.
#[derive(Clone)]
pub struct ScriptedModel {
    state: Arc<Mutex<Served>>,
    pub base_url: String,
}

#[derive(Default)]
struct Served {
    steps: Vec<Value>,
    faults: Vec<(usize, Fault)>,
    requests: Vec<Value>,
    /// Maximum number of tokens of a request.
    limit: Option<u64>,
    charged: Charged,
}

impl ScriptedModel {
    /// Serves a script on a port of loopback. Port 0: any free port.
    pub fn serve(script: &Value, port: u16) -> Self {
        let steps = script["steps"].as_array().expect("a script has steps").clone();
        let state = Arc::new(Mutex::new(Served { steps, ..Served::default() }));
        let listener = std::net::TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
        listener.set_nonblocking(true).unwrap();
        let base_url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/v1/chat/completions", post(chat))
            .route("/v1/messages", post(messages))
            .with_state(state.clone());
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, router).await.unwrap();
            });
        });
        Self { state, base_url }
    }

    /// Sets a fault for the next request of a step. Several faults of one step apply to one request each, in
    /// order.
    pub fn fail(&self, step: usize, fault: Fault) {
        self.state.lock().unwrap().faults.push((step, fault));
    }

    /// Refuses requests with more tokens from now on, with the words of the provider.
    pub fn limit_context(&self, tokens: u64) {
        self.state.lock().unwrap().limit = Some(tokens);
    }

    /// The sums of all tokens that were charged so far.
    pub fn charged(&self) -> Charged {
        self.state.lock().unwrap().charged
    }

    /// The bodies of all requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.state.lock().unwrap().requests.clone()
    }
}

type Shared = State<Arc<Mutex<Served>>>;

/// One of the two wire formats.
struct Wire {
    /// The events of an answer.
    stream: fn(&Value, Charged) -> Vec<String>,
    /// The part of the charged tokens that an answer has reported when it breaks off in its middle.
    told: fn(Charged) -> Charged,
    /// The words for a request of too many tokens.
    too_long: fn(u64, u64) -> String,
}

const CHAT: Wire = Wire {
    stream: chat_stream,
    told: |_| Charged::default(),
    too_long: |tokens, limit| {
        format!(
            "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens. \
             Please reduce the length of the messages."
        )
    },
};

const MESSAGES: Wire = Wire {
    stream: messages_stream,
    told: |charged| Charged { output: 1, reasoning: 0, ..charged },
    too_long: |tokens, limit| format!("prompt is too long: {tokens} tokens > {limit} maximum"),
};

async fn chat(State(state): Shared, headers: HeaderMap, request: Request) -> Response {
    let key = headers.get("authorization").and_then(|key| key.to_str().ok()?.strip_prefix("Bearer "));
    respond(&state, key, request, &CHAT).await
}

async fn messages(State(state): Shared, headers: HeaderMap, request: Request) -> Response {
    let key = headers.get("x-api-key").and_then(|key| key.to_str().ok());
    respond(&state, key, request, &MESSAGES).await
}

async fn respond(state: &Mutex<Served>, key: Option<&str>, request: Request, wire: &Wire) -> Response {
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if key != Some(KEY) {
        return refuse(401, "Incorrect API key provided");
    }
    if body["model"] != MODEL {
        return refuse(404, &format!("The model {} does not exist", body["model"]));
    }
    let (fault, step, tokens, limit) = {
        let mut served = state.lock().unwrap();
        let tokens = body.to_string().len() as u64 / 4;
        let number = step_of(&body);
        served.requests.push(body);
        let step = number.and_then(|number| served.steps.get(number - 1).or(served.steps.last()).cloned());
        let place = served.faults.iter().position(|(step, _)| Some(*step) == number);
        let fault = place.map(|place| served.faults.remove(place).1);
        (fault, step, tokens, served.limit)
    };
    let Some(step) = step else { return refuse(400, "the request does not say which step it is for") };
    if let Some(limit) = limit.filter(|limit| tokens > *limit) {
        return refuse(400, &(wire.too_long)(tokens, limit));
    }
    let charged = charged(&step, tokens);
    let mut events = (wire.stream)(&step, charged);
    let mut told = charged;
    match fault {
        None => {}
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Cut) => {
            events.truncate(events.len() / 2);
            told = (wire.told)(charged);
        }
        Some(Fault::Status(status, after)) => {
            let mut response = refuse(status, "try again later");
            if let Some(after) = after {
                response.headers_mut().insert("retry-after", after.into());
            }
            return response;
        }
        Some(Fault::Response(status, content_type, body)) => {
            let status = StatusCode::from_u16(status).unwrap();
            return (status, [(header::CONTENT_TYPE, content_type)], body).into_response();
        }
    }
    state.lock().unwrap().charged.add(told);
    // Sent in pieces, as models do.
    let chunks = futures_util::stream::iter(events.into_iter().map(Ok::<_, std::convert::Infallible>));
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(chunks)).into_response()
}

fn refuse(status: u16, message: &str) -> Response {
    let body = json!({ "error": { "message": message } });
    (StatusCode::from_u16(status).unwrap(), [(header::CONTENT_TYPE, "application/json")], body.to_string())
        .into_response()
}

impl Charged {
    fn add(&mut self, other: Charged) {
        let Charged { uncached_input, cache_read, cache_write, output, reasoning } = other;
        self.uncached_input += uncached_input;
        self.cache_read += cache_read;
        self.cache_write += cache_write;
        self.output += output;
        self.reasoning += reasoning;
    }

    fn prompt(self) -> u64 {
        self.uncached_input + self.cache_read + self.cache_write
    }

    fn answer(self) -> u64 {
        self.output + self.reasoning
    }
}

/// The tokens that a step charges.
fn charged(step: &Value, uncached_input: u64) -> Charged {
    let number = |key: &str, default: u64| step["usage"][key].as_u64().unwrap_or(default);
    Charged {
        uncached_input,
        cache_read: number("cacheRead", 0),
        cache_write: number("cacheWrite", 0),
        output: number("output", 10),
        reasoning: number("reasoning", 0),
    }
}

/// The number of the step that a request is for: the newest message ends with it.
fn step_of(request: &Value) -> Option<usize> {
    let newest = request["messages"].as_array()?.last()?.to_string();
    let (_, rest) = newest.rsplit_once("<memory>\\nStep ").or_else(|| newest.rsplit_once("<memory>\\\\nStep "))?;
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}

fn calls(step: &Value) -> impl Iterator<Item = (usize, &str, String)> {
    let calls = step["calls"].as_array().map_or(&[][..], Vec::as_slice);
    calls.iter().enumerate().map(|(place, call)| {
        let mut arguments = match &call["arguments"] {
            // Sent unchanged, for arguments that are not JSON.
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if is_cut(step) && place + 1 == calls.len() {
            arguments.truncate(halves(&arguments)[0].len());
        }
        (place, call["name"].as_str().unwrap_or_default(), arguments)
    })
}

/// True if the answer of a step ends at its maximum length.
fn is_cut(step: &Value) -> bool {
    step["cut"] == true
}

/// A text in two pieces.
fn halves(text: &str) -> [&str; 2] {
    let middle = (0..=text.len() / 2).rfind(|index| text.is_char_boundary(*index)).unwrap_or(0);
    let (first, second) = text.split_at(middle);
    [first, second]
}

fn chat_stream(step: &Value, charged: Charged) -> Vec<String> {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({ "id": "chat_1", "object": "chat.completion.chunk", "model": MODEL, "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), None)];
    for part in halves(step["text"].as_str().unwrap_or_default()).into_iter().filter(|part| !part.is_empty()) {
        events.push(chunk(json!({ "content": part }), None));
    }
    for (index, name, arguments) in calls(step) {
        let function = json!({ "name": name, "arguments": "" });
        let call = json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function });
        events.push(chunk(json!({ "tool_calls": [call] }), None));
        for part in halves(&arguments) {
            let call = json!({ "index": index, "function": { "arguments": part } });
            events.push(chunk(json!({ "tool_calls": [call] }), None));
        }
    }
    let finish = match (is_cut(step), calls(step).next()) {
        (true, _) => "length",
        (false, Some(_)) => "tool_calls",
        (false, None) => "stop",
    };
    events.push(chunk(json!({}), Some(finish)));
    let (prompt, answer) = (charged.prompt(), charged.answer());
    let usage = json!({
        "prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer,
        "prompt_tokens_details": { "cached_tokens": charged.cache_read, "cache_write_tokens": charged.cache_write },
        "completion_tokens_details": { "reasoning_tokens": charged.reasoning },
    });
    events.push(format!("data: {}\n\n", json!({ "id": "chat_1", "choices": [], "usage": usage })));
    events.push("data: [DONE]\n\n".into());
    events
}

fn messages_stream(step: &Value, charged: Charged) -> Vec<String> {
    let mut events = Vec::new();
    let mut send = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        events.push(format!("event: {kind}\ndata: {data}\n\n"));
    };
    let usage = json!({
        "input_tokens": charged.uncached_input, "cache_read_input_tokens": charged.cache_read,
        "cache_creation_input_tokens": charged.cache_write, "output_tokens": 1,
    });
    let message =
        json!({ "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": MODEL, "usage": usage });
    send("message_start", json!({ "message": message }));
    let mut index = 0;
    if let Some(text) = step["text"].as_str() {
        send("content_block_start", json!({ "index": index, "content_block": { "type": "text", "text": "" } }));
        for part in halves(text) {
            send("content_block_delta", json!({ "index": index, "delta": { "type": "text_delta", "text": part } }));
        }
        send("content_block_stop", json!({ "index": index }));
        index += 1;
    }
    for (place, name, arguments) in calls(step) {
        let block = json!({ "type": "tool_use", "id": format!("toolu_{place}"), "name": name, "input": {} });
        send("content_block_start", json!({ "index": index, "content_block": block }));
        for part in halves(&arguments) {
            let delta = json!({ "type": "input_json_delta", "partial_json": part });
            send("content_block_delta", json!({ "index": index, "delta": delta }));
        }
        send("content_block_stop", json!({ "index": index }));
        index += 1;
    }
    let stop = match (is_cut(step), calls(step).next()) {
        (true, _) => "max_tokens",
        (false, Some(_)) => "tool_use",
        (false, None) => "end_turn",
    };
    let details = json!({ "thinking_tokens": charged.reasoning });
    let usage = json!({ "output_tokens": charged.answer(), "output_tokens_details": details });
    send("message_delta", json!({ "delta": { "stop_reason": stop }, "usage": usage }));
    send("message_stop", json!({}));
    events
}

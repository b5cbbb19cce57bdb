//! Traces of OpenTelemetry, as OTLP files in JSON: a trace for each tree, an `invoke_agent` span for each
//! frame that has begun, and a `chat` span for each request. The attributes follow the semantic conventions
//! for generative AI. Those that the conventions do not have begin with `callstack.`.
//!
//! Each `invoke_agent` span has the usage of the frame's own requests: a sum over these spans counts every
//! request once. The `chat` spans have the usage of their requests. The requests of an imported state have no
//! times, and therefore no spans.

use std::collections::HashMap;

use callstack_core::frame::{ModelUsage, TimedRequest};
use callstack_core::text::one_line;
use callstack_core::{Frame, FrameStatus, Handle};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{PROGRAM, Run, VERSION, readable, short};
use crate::chart::ChartFrame;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Traces {
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Serialize)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<Span>,
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Span {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: String,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<Attribute>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<SpanEvent>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<Link>,
    status: Status,
}

/// `SPAN_KIND_INTERNAL`: a frame works within the host's process.
const INTERNAL: u8 = 1;
/// `SPAN_KIND_CLIENT`: a request goes to the model's provider.
const CLIENT: u8 = 3;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpanEvent {
    time_unix_nano: String,
    name: &'static str,
    attributes: Vec<Attribute>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    trace_id: String,
    span_id: String,
    attributes: Vec<Attribute>,
}

#[derive(Default, Serialize)]
struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// The type of an error that has no name, as the conventions spell it.
const UNNAMED_ERROR: &str = "_OTHER";
const OK: u8 = 1;
const ERROR: u8 = 2;

#[derive(Serialize)]
struct Attribute {
    key: &'static str,
    value: AttributeValue,
}

#[derive(Serialize)]
enum AttributeValue {
    #[serde(rename = "stringValue")]
    String(String),
    #[serde(rename = "boolValue")]
    Bool(bool),
    /// A number of 64 bits. JSON has it as a text.
    #[serde(rename = "intValue")]
    Int(String),
    #[serde(rename = "arrayValue")]
    Array(ArrayValue),
}

#[derive(Serialize)]
struct ArrayValue {
    values: Vec<AttributeValue>,
}

/// The span of a frame: its place, and its times.
#[derive(Clone)]
struct Place {
    trace_id: String,
    span_id: String,
    from: u64,
    to: u64,
}

pub fn traces(run: &Run<'_>) -> Traces {
    let requests = run.requests_by_frame();
    let places = places(run, &requests);
    let mut spans = Vec::new();
    // The frames from a root down to the current one.
    let mut path: Vec<Handle> = Vec::new();
    for frame in &run.chart.frames {
        path.truncate(frame.level);
        let parent = path.iter().rev().find_map(|above| places.get(above));
        path.push(frame.handle);
        let Some(place) = places.get(&frame.handle) else { continue };
        spans.push(frame_span(run, frame, place, parent, &places));
        let own = requests.get(frame.handle.index()).into_iter().flatten().enumerate();
        spans.extend(own.map(|(number, request)| request_span(run, request, place, number)));
    }
    let resource = Resource { attributes: vec![text("service.name", PROGRAM), text("service.version", VERSION)] };
    let scope_spans = vec![ScopeSpans { scope: Scope { name: PROGRAM, version: VERSION }, spans }];
    Traces { resource_spans: vec![ResourceSpans { resource, scope_spans }] }
}

/// The spans of the frames that have begun, and of the frames that have requests although they have not
/// begun.
fn places(run: &Run<'_>, requests: &[Vec<&TimedRequest>]) -> HashMap<Handle, Place> {
    let mut places = HashMap::new();
    let mut trace_id = String::new();
    for frame in &run.chart.frames {
        if frame.level == 0 {
            trace_id = trace_of(run, frame.handle);
        }
        let own = requests.get(frame.handle.index()).into_iter().flatten();
        let times = match &frame.bar {
            Some(bar) => Some((bar.from, bar.to)),
            None if frame.usage.own.is_empty() => None,
            None => {
                let (from, to) = own
                    .fold((u64::MAX, 0), |(from, to), request| (from.min(request.begun_at), to.max(request.ended_at)));
                // Imported requests have no times, but the record of their frame has times.
                let record = run.tree.node(frame.handle).record();
                let known = if from <= to { (from, to) } else { (record.created_at, record.created_at) };
                Some(known)
            }
        };
        if let Some((from, to)) = times {
            let span_id = hexadecimal(&[&trace_id, &frame.handle.to_string()], 8);
            places.insert(frame.handle, Place { trace_id: trace_id.clone(), span_id, from, to });
        }
    }
    places
}

/// The trace of a frame's tree. The ID and the time of the root distinguish it from the traces of other
/// stacks.
fn trace_of(run: &Run<'_>, frame: Handle) -> String {
    let root = run.tree.ancestors(frame).last().unwrap_or(frame);
    let record = run.tree.node(root).record();
    hexadecimal(&[&root.to_string(), &record.session_id, &record.created_at.to_string()], 16)
}

/// The first bytes of the SHA-256 of texts. It is the same in every export.
fn hexadecimal(texts: &[&str], bytes: usize) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}

fn frame_span(
    run: &Run<'_>,
    frame: &ChartFrame,
    place: &Place,
    parent: Option<&Place>,
    places: &HashMap<Handle, Place>,
) -> Span {
    let node = run.tree.node(frame.handle);
    let record = node.record();
    let name = short(&one_line(&frame.title));
    let mut attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.agent.name", &name),
        text("gen_ai.agent.id", &frame.handle.to_string()),
        text("gen_ai.conversation.id", &readable(&record.session_id)),
        text("callstack.frame", &frame.handle.to_string()),
        text("callstack.status", frame.status.as_str()),
    ];
    if frame.bar.as_ref().is_some_and(|bar| bar.is_open) {
        attributes.push(Attribute { key: "callstack.open", value: AttributeValue::Bool(true) });
    }
    let texts = [
        ("callstack.criteria", Some(record.success_criteria.as_str())),
        ("callstack.results", record.results.as_deref()),
        ("callstack.invalidation_reason", record.invalidation_reason.as_deref()),
    ];
    let texts = texts.into_iter().filter_map(|(key, value)| Some((key, value.filter(|value| !value.is_empty())?)));
    attributes.extend(texts.map(|(key, value)| text(key, &readable(value))));
    let lists = [("callstack.artifacts", &record.artifacts), ("callstack.decisions", &record.decisions)];
    attributes
        .extend(lists.into_iter().filter(|(_, values)| !values.is_empty()).map(|(key, values)| list(key, values)));
    if let [only] = frame.usage.own.as_slice() {
        attributes.extend(model_attributes(&only.model));
    }
    if !frame.usage.own.is_empty() {
        attributes.extend(usage_attributes(&frame.usage.own.iter().sum()));
    }
    if frame.status == FrameStatus::Failed {
        attributes.push(text("error.type", UNNAMED_ERROR));
    }
    let relations = node.dependencies().iter().map(|dependency| (*dependency, "depends_on"));
    let relations = relations.chain(node.retry_of().map(|earlier| (earlier, "retry_of")));
    let links = relations.filter_map(|(other, relation)| Some(link(places.get(&other)?, relation))).collect();
    Span {
        parent_span_id: parent.map(|parent| parent.span_id.clone()),
        events: frame_events(record, place),
        links,
        status: frame_status(frame, record),
        ..span(place, place.span_id.clone(), format!("invoke_agent {name}"), INTERNAL, attributes)
    }
}

fn span(place: &Place, span_id: String, name: String, kind: u8, attributes: Vec<Attribute>) -> Span {
    Span {
        trace_id: place.trace_id.clone(),
        span_id,
        parent_span_id: None,
        name,
        kind,
        start_time_unix_nano: nanoseconds(place.from),
        end_time_unix_nano: nanoseconds(place.to),
        attributes,
        events: Vec::new(),
        links: Vec::new(),
        status: Status::default(),
    }
}

fn frame_status(frame: &ChartFrame, record: &Frame) -> Status {
    match frame.status {
        FrameStatus::Completed => Status { code: Some(OK), message: None },
        FrameStatus::Failed => {
            let results = record.dense_results();
            Status { code: Some(ERROR), message: Some(short(&one_line(results))).filter(|message| !message.is_empty()) }
        }
        _ => Status::default(),
    }
}

fn link(place: &Place, relation: &str) -> Link {
    let attributes = vec![text("callstack.relation", relation)];
    Link { trace_id: place.trace_id.clone(), span_id: place.span_id.clone(), attributes }
}

/// When the frame was blocked, and when it was answered.
fn frame_events(record: &Frame, place: &Place) -> Vec<SpanEvent> {
    // Clocks sometimes go back, and events must be within their spans.
    let within = |time: u64| nanoseconds(time.clamp(place.from, place.to));
    let mut events = Vec::new();
    for question in &record.questions {
        let attributes = vec![text("callstack.question", &readable(&question.question))];
        events.push(SpanEvent { time_unix_nano: within(question.asked_at), name: "blocked", attributes });
        if let (Some(answer), Some(time)) = (&question.answer, question.answered_at) {
            let attributes = vec![text("callstack.answer", &readable(answer))];
            events.push(SpanEvent { time_unix_nano: within(time), name: "answered", attributes });
        }
    }
    events
}

/// `parent`: the span of the frame. `number`: the position of the request among those of its frame, counted
/// from 0.
fn request_span(run: &Run<'_>, timed: &TimedRequest, parent: &Place, number: usize) -> Span {
    let request = &timed.request;
    let conversation = readable(run.tree.node(timed.handle).session_id());
    let mut attributes = vec![text("gen_ai.operation.name", "chat"), text("gen_ai.conversation.id", &conversation)];
    attributes.extend(model_attributes(&request.model));
    attributes.extend(usage_attributes(&ModelUsage::from(request)));
    attributes.push(integer("callstack.messages", request.messages));
    let status = match request.failed {
        true => {
            attributes.push(text("error.type", UNNAMED_ERROR));
            Status { code: Some(ERROR), message: None }
        }
        false => Status::default(),
    };
    let model = short(&one_line(&request.model));
    let name = if model.is_empty() { "chat".to_owned() } else { format!("chat {model}") };
    let span_id = hexadecimal(&[&parent.trace_id, &timed.handle.to_string(), &number.to_string()], 8);
    let times = Place { from: timed.begun_at, to: timed.ended_at, ..parent.clone() };
    Span { parent_span_id: Some(parent.span_id.clone()), status, ..span(&times, span_id, name, CLIENT, attributes) }
}

/// The model, and its provider if the host's name of the model begins with the provider:
/// `anthropic/claude-sonnet-5`.
fn model_attributes(model: &str) -> Vec<Attribute> {
    let model = short(&one_line(model));
    match model.split_once('/') {
        _ if model.is_empty() => Vec::new(),
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
            vec![text("gen_ai.provider.name", provider), text("gen_ai.request.model", model)]
        }
        _ => vec![text("gen_ai.request.model", &model)],
    }
}

/// By the conventions, the tokens of the input include those of caches, and the tokens of the output include
/// those of reasoning.
fn usage_attributes(usage: &ModelUsage) -> [Attribute; 5] {
    [
        integer("gen_ai.usage.input_tokens", usage.input()),
        integer("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
        integer("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
        integer("gen_ai.usage.output_tokens", usage.answer()),
        integer("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
    ]
}

fn text(key: &'static str, value: &str) -> Attribute {
    Attribute { key, value: AttributeValue::String(value.to_owned()) }
}

fn integer(key: &'static str, value: u64) -> Attribute {
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    Attribute { key, value: AttributeValue::Int(value.to_string()) }
}

fn list(key: &'static str, values: &[String]) -> Attribute {
    let values = values.iter().map(|value| AttributeValue::String(readable(value))).collect();
    Attribute { key, value: AttributeValue::Array(ArrayValue { values }) }
}

fn nanoseconds(milliseconds: u64) -> String {
    milliseconds.saturating_mul(1_000_000).to_string()
}

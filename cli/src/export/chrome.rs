//! The trace event format of Chrome, which Perfetto and `chrome://tracing` open. Frames are on lanes on which
//! they are nested. Requests are on lanes of their own, because they may begin before their frames. The sums
//! of tokens are counters.

use callstack_core::FrameStatus;
use callstack_core::frame::{ModelRequest, ModelUsage, TimedRequest};
use serde::Serialize;

use super::{PROGRAM, Run, VERSION, label, model_name, readable};
use crate::chart::{Bar, ChartFrame, FreeLanes, lanes};

/// The number of the process that stands for the frames.
const FRAMES: u32 = 1;
/// The number of the process that stands for the requests.
const REQUESTS: u32 = 2;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    trace_events: Vec<Event>,
    display_time_unit: &'static str,
    other_data: OtherData,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OtherData {
    exporter: String,
    name: String,
    /// The revision of the stack.
    revision: u64,
    /// The sums of all requests. An imported stack can have requests without times, which are not events.
    usage: ModelUsage,
}

#[derive(Serialize)]
struct Event {
    name: String,
    #[serde(rename = "cat", skip_serializing_if = "Option::is_none")]
    category: Option<&'static str>,
    #[serde(rename = "ph")]
    phase: Phase,
    /// In microseconds since the Unix epoch.
    #[serde(rename = "ts")]
    time: u64,
    #[serde(rename = "dur", skip_serializing_if = "Option::is_none")]
    duration: Option<u64>,
    #[serde(rename = "pid")]
    process: u32,
    #[serde(rename = "tid")]
    lane: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Arguments>,
}

#[derive(Clone, Copy, Serialize)]
enum Phase {
    #[serde(rename = "M")]
    Metadata,
    #[serde(rename = "X")]
    Complete,
    #[serde(rename = "b")]
    AsyncBegin,
    #[serde(rename = "e")]
    AsyncEnd,
    #[serde(rename = "C")]
    Counter,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Arguments {
    Name { name: String },
    Position { sort_index: usize },
    Frame(Box<FrameArguments>),
    Request(Box<RequestArguments>),
    Tokens(TokenCounters),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FrameArguments {
    frame: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    session: String,
    status: FrameStatus,
    /// True if the frame has not ended: its bar lasts until the newest event.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_open: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    criteria: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    results: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<String>,
    /// The sums of its own requests, by model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    usage: Vec<ModelUsage>,
}

#[derive(Serialize)]
struct RequestArguments {
    frame: String,
    #[serde(flatten)]
    request: ModelRequest,
}

/// The sums of all tokens up to a time.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TokenCounters {
    uncached_input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
}

pub fn trace(run: &Run<'_>) -> Trace {
    let mut trace_events = Vec::new();
    name_process(&mut trace_events, FRAMES, "frames");
    for (place, lane) in lanes(&run.chart.frames).iter().enumerate() {
        let number = place + 1;
        name_lane(&mut trace_events, FRAMES, number, format!("lane {number}"));
        for edge in lane.iter().filter(|edge| edge.begins) {
            let frame = &run.chart.frames[edge.frame];
            if let Some(bar) = &frame.bar {
                trace_events.push(frame_event(run, frame, bar, number));
                blocked_events(&mut trace_events, frame, bar, number);
            }
        }
    }
    name_process(&mut trace_events, REQUESTS, "requests");
    request_events(&mut trace_events, run);
    token_events(&mut trace_events, &run.chart.requests);
    let other_data = OtherData {
        exporter: format!("{PROGRAM} {VERSION}"),
        name: run.name(),
        revision: run.chart.revision,
        usage: run.usage(),
    };
    Trace { trace_events, display_time_unit: "ms", other_data }
}

impl TokenCounters {
    fn of(sum: &ModelUsage) -> Self {
        let ModelUsage { uncached_input, cache_read, cache_write, output, reasoning, .. } = *sum;
        Self { uncached_input, cache_read, cache_write, output, reasoning }
    }
}

impl Event {
    fn new(name: impl Into<String>, phase: Phase, process: u32, lane: usize) -> Self {
        let (name, category, time, duration, id, args) = (name.into(), None, 0, None, None, None);
        Self { name, category, phase, time, duration, process, lane, id, args }
    }
}

const fn microseconds(milliseconds: u64) -> u64 {
    milliseconds.saturating_mul(1000)
}

fn name_process(events: &mut Vec<Event>, process: u32, name: &str) {
    let args = Some(Arguments::Name { name: name.to_owned() });
    events.push(Event { args, ..Event::new("process_name", Phase::Metadata, process, 0) });
}

fn name_lane(events: &mut Vec<Event>, process: u32, lane: usize, name: String) {
    let args = Some(Arguments::Name { name });
    events.push(Event { args, ..Event::new("thread_name", Phase::Metadata, process, lane) });
    let args = Some(Arguments::Position { sort_index: lane });
    events.push(Event { args, ..Event::new("thread_sort_index", Phase::Metadata, process, lane) });
}

fn frame_event(run: &Run<'_>, frame: &ChartFrame, bar: &Bar, lane: usize) -> Event {
    let record = run.tree.node(frame.handle).record();
    let list = |texts: &[String]| texts.iter().map(|text| readable(text)).collect();
    let arguments = FrameArguments {
        frame: frame.handle.to_string(),
        parent: frame.parent.map(|parent| parent.to_string()),
        session: readable(&record.session_id),
        status: frame.status,
        is_open: bar.is_open,
        criteria: readable(&record.success_criteria),
        results: readable(record.results.as_deref().unwrap_or_default()),
        artifacts: list(&record.artifacts),
        decisions: list(&record.decisions),
        usage: frame
            .usage
            .own
            .iter()
            .map(|usage| ModelUsage { model: readable(&usage.model), ..usage.clone() })
            .collect(),
    };
    Event {
        category: Some("frame"),
        time: microseconds(bar.from),
        duration: Some(microseconds(bar.to).saturating_sub(microseconds(bar.from))),
        args: Some(Arguments::Frame(Box::new(arguments))),
        ..Event::new(label(frame.handle, &frame.title), Phase::Complete, FRAMES, lane)
    }
}

/// The times in which a frame was blocked are asynchronous events: frames below it can work meanwhile.
fn blocked_events(events: &mut Vec<Event>, frame: &ChartFrame, bar: &Bar, lane: usize) {
    for (place, span) in bar.blocked.iter().enumerate() {
        let id = Some(format!("{}-{}", frame.handle, place + 1));
        let edges = [(Phase::AsyncBegin, span.from), (Phase::AsyncEnd, span.to.unwrap_or(bar.to))];
        events.extend(edges.map(|(phase, time)| Event {
            category: Some("blocked"),
            time: microseconds(time),
            id: id.clone(),
            ..Event::new(format!("{} blocked", frame.handle), phase, FRAMES, lane)
        }));
    }
}

/// Puts each request on the first lane on which no other request runs at its time.
fn request_events(events: &mut Vec<Event>, run: &Run<'_>) {
    let mut requests: Vec<&TimedRequest> = run.chart.requests.iter().collect();
    requests.sort_by_key(|request| request.begun_at);
    let (mut free, mut count) = (FreeLanes::default(), 0);
    for request in requests {
        let begin = request.begun_at;
        let lane = free.occupy(begin, request.ended_at) + 1;
        if lane > count {
            count = lane;
            name_lane(events, REQUESTS, lane, format!("requests {lane}"));
        }
        let model = model_name(&request.request.model);
        let name = if request.request.failed { format!("{model} (failed)") } else { model };
        let title = run.tree.node(request.handle).title();
        let arguments = RequestArguments {
            frame: label(request.handle, title),
            request: ModelRequest { model: readable(&request.request.model), ..request.request.clone() },
        };
        events.push(Event {
            category: Some("request"),
            time: microseconds(begin),
            duration: Some(microseconds(request.ended_at).saturating_sub(microseconds(begin))),
            args: Some(Arguments::Request(Box::new(arguments))),
            ..Event::new(name, Phase::Complete, REQUESTS, lane)
        });
    }
}

/// A counter of all tokens, with a value after each request.
fn token_events(events: &mut Vec<Event>, requests: &[TimedRequest]) {
    let mut requests: Vec<&TimedRequest> = requests.iter().collect();
    requests.sort_by_key(|request| request.ended_at);
    let mut sum = ModelUsage::default();
    for TimedRequest { ended_at, request, .. } in requests {
        sum.add(&ModelUsage::from(request));
        events.push(Event {
            time: microseconds(*ended_at),
            args: Some(Arguments::Tokens(TokenCounters::of(&sum))),
            ..Event::new("tokens", Phase::Counter, REQUESTS, 0)
        });
    }
}

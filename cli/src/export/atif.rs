//! The Agent Trajectory Interchange Format (ATIF) of Harbor: the frame at the top is the trajectory, and each
//! frame below it is the trajectory of a subagent. All subagents are in one list, because readers of JSON
//! refuse lists that are nested as deeply as frames can be.
//!
//! The metrics of a trajectory are those of the frame's own requests, so the sum over all trajectories counts
//! each request once.

use std::collections::HashMap;

use callstack_core::frame::{ModelUsage, TimedRequest};
use callstack_core::text::{from_json, one_line};
use callstack_core::{Frame, FrameStatus, Handle};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{PROGRAM, Run, VERSION, label, short};
use crate::chart::ChartFrame;
use crate::output::timestamp;

const SCHEMA_VERSION: &str = "ATIF-v1.8";

/// The entries of the logs of frames. An error is the reason why a log cannot be read.
pub type Logs = HashMap<Handle, Result<Vec<Value>, String>>;

#[derive(Serialize)]
pub struct Trajectory {
    schema_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    trajectory_id: String,
    agent: Agent,
    steps: Vec<Step>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
    final_metrics: FinalMetrics,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<FrameFacts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagent_trajectories: Vec<Trajectory>,
}

#[derive(Serialize)]
struct Agent {
    name: &'static str,
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
}

/// The facts about a frame for which the format has no key.
#[derive(Serialize)]
struct FrameFacts {
    frame: Handle,
    title: String,
    status: FrameStatus,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<String>,
}

#[derive(Serialize)]
struct Step {
    step_id: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_name: Option<String>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observation: Option<Observation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Metrics>,
    /// Number of requests to a model. Absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    llm_call_count: Option<u64>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    extra: Map<String, Value>,
    /// In milliseconds since the Unix epoch.
    #[serde(skip)]
    time: u64,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Source {
    System,
    User,
    Agent,
}

#[derive(Serialize)]
struct ToolCall {
    tool_call_id: String,
    function_name: String,
    arguments: Map<String, Value>,
}

#[derive(Default, Serialize)]
struct Observation {
    results: Vec<ObservationResult>,
}

#[derive(Serialize)]
struct ObservationResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    source_call_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagent_trajectory_ref: Vec<Reference>,
}

#[derive(Serialize)]
struct Reference {
    trajectory_id: String,
    session_id: String,
}

#[derive(Serialize)]
struct Metrics {
    prompt_tokens: u64,
    completion_tokens: u64,
    cached_tokens: u64,
    extra: OtherTokens,
}

/// Tokens that the format does not distinguish.
#[derive(Serialize)]
struct OtherTokens {
    cache_write_tokens: u64,
    reasoning_tokens: u64,
}

#[derive(Serialize)]
struct FinalMetrics {
    total_prompt_tokens: u64,
    total_completion_tokens: u64,
    total_cached_tokens: u64,
    total_steps: usize,
    extra: TotalsWithSubagents,
}

#[derive(Serialize)]
struct TotalsWithSubagents {
    prompt_tokens_with_subagents: u64,
    completion_tokens_with_subagents: u64,
    cached_tokens_with_subagents: u64,
}

/// The trajectory of the frame at the top. If there are several trees, or none, it has a step that names
/// them, and all are subagents.
pub fn trajectory(run: &Run<'_>, logs: &Logs) -> Trajectory {
    let requests = run.requests_by_frame();
    let is_shown = |frame: &ChartFrame| frame.bar.is_some() || !frame.usage.own.is_empty() || frame.level == 0;
    let mut trajectories: Vec<Trajectory> = Vec::new();
    // The frames from a root down to the current one, each with the place of its trajectory, or of the
    // trajectory above it.
    let mut path: Vec<Option<usize>> = Vec::new();
    let mut top = Vec::new();
    for frame in &run.chart.frames {
        path.truncate(frame.level);
        let above = path.last().copied().flatten();
        if !is_shown(frame) {
            path.push(above);
            continue;
        }
        let own = requests.get(frame.handle.index()).map_or(&[][..], Vec::as_slice);
        let made = of_frame(run, frame, own, logs.get(&frame.handle));
        let begun = begun_step(run, frame, &made);
        match above.and_then(|place| trajectories.get_mut(place)) {
            Some(parent) => parent.steps.push(begun),
            None => top.push(begun),
        }
        path.push(Some(trajectories.len()));
        trajectories.push(made);
    }
    trajectories.iter_mut().for_each(Trajectory::number_steps);
    let mut root = match top.len() {
        1 => trajectories.remove(0),
        _ => of_trees(run, top),
    };
    root.subagent_trajectories = trajectories;
    root
}

/// The trajectory that names several trees.
fn of_trees(run: &Run<'_>, top: Vec<Step>) -> Trajectory {
    let results =
        top.into_iter().filter_map(|step| step.observation).flat_map(|observation| observation.results).collect();
    let message =
        format!("The stack has {}.", if run.chart.frames.is_empty() { "no frames".into() } else { run.name() });
    let observation = Some(Observation { results }).filter(|observation| !observation.results.is_empty());
    let mut trajectory = Trajectory {
        schema_version: SCHEMA_VERSION,
        session_id: None,
        trajectory_id: "stack".to_owned(),
        agent: Agent { name: PROGRAM, version: VERSION, model_name: None },
        steps: vec![Step { observation, ..Step::new(run.chart.from, Source::System, message) }],
        notes: None,
        final_metrics: FinalMetrics::of(&ModelUsage::default(), &run.usage()),
        extra: None,
        subagent_trajectories: Vec::new(),
    };
    trajectory.number_steps();
    trajectory
}

fn of_frame(
    run: &Run<'_>,
    frame: &ChartFrame,
    requests: &[&TimedRequest],
    log: Option<&Result<Vec<Value>, String>>,
) -> Trajectory {
    let record = run.tree.node(frame.handle).record();
    let begin = frame.bar.as_ref().map_or(record.created_at, |bar| bar.from);
    let mut task = vec![record.title.as_str(), record.success_criteria.as_str()];
    task.retain(|text| !text.is_empty());
    // Runs have their task as both.
    task.dedup();
    let mut steps = vec![Step::new(begin, Source::User, task.join("\n\n"))];
    let entries = log.and_then(|log| log.as_ref().ok()).map_or(&[][..], Vec::as_slice);
    steps.extend(conversation(begin, requests, entries));
    steps.extend(imported_requests(begin, frame, requests));
    steps.extend(questions(record));
    steps.extend(end(frame, record));
    let own: ModelUsage = frame.usage.own.iter().sum();
    let damage = log.and_then(|log| log.as_ref().err());
    Trajectory {
        schema_version: SCHEMA_VERSION,
        session_id: Some(record.session_id.clone()),
        trajectory_id: frame.handle.to_string(),
        agent: Agent {
            name: PROGRAM,
            version: VERSION,
            model_name: frame.usage.own.first().and_then(|usage| known_model(&usage.model)),
        },
        steps,
        notes: damage.map(|reason| format!("The log of the frame cannot be read: {reason}")),
        final_metrics: FinalMetrics::of(&own, &frame.usage.total.iter().sum()),
        extra: Some(FrameFacts {
            frame: frame.handle,
            title: record.title.clone(),
            status: frame.status,
            artifacts: record.artifacts.clone(),
            decisions: record.decisions.clone(),
        }),
        subagent_trajectories: Vec::new(),
    }
}

/// The step in which the trajectory above begins a frame, with the results that came back.
fn begun_step(run: &Run<'_>, frame: &ChartFrame, trajectory: &Trajectory) -> Step {
    let record = run.tree.node(frame.handle).record();
    let reference =
        Reference { trajectory_id: trajectory.trajectory_id.clone(), session_id: record.session_id.clone() };
    let content = record.results.clone().filter(|results| !results.is_empty());
    let result = ObservationResult { source_call_id: None, content, subagent_trajectory_ref: vec![reference] };
    let time = trajectory.steps.first().map_or(record.created_at, |step| step.time);
    let message = format!("Began {}.", label(frame.handle, &frame.title));
    Step { observation: Some(Observation { results: vec![result] }), ..Step::new(time, Source::System, message) }
}

/// The requests and the messages of the log. An answer has the metrics of its request if there are as many
/// answers as requests that did not fail. Else it is not known which ones belong together, and the requests
/// are steps of their own.
fn conversation(begin: u64, requests: &[&TimedRequest], entries: &[Value]) -> Vec<Step> {
    let (failed, answered): (Vec<&TimedRequest>, Vec<&TimedRequest>) =
        requests.iter().partition(|request| request.request.failed);
    let mut steps = messages(begin, entries);
    let is_answer = |step: &Step| matches!(step.source, Source::Agent);
    let alone = match steps.iter().filter(|step| is_answer(step)).count() == answered.len() {
        true => {
            let answers = steps.iter_mut().filter(|step| is_answer(step));
            answers.zip(answered).for_each(|(step, request)| step.add_request(request));
            failed
        }
        false => requests.to_vec(),
    };
    steps.extend(alone.into_iter().map(|request| {
        let mut step = Step::new(request.ended_at, Source::Agent, String::new());
        step.add_request(request);
        step
    }));
    steps
}

/// The messages of a log. Each tool's answer is an observation of the step that called the tool.
fn messages(begin: u64, entries: &[Value]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    // The places of the newest steps with the calls.
    let mut callers: HashMap<String, usize> = HashMap::new();
    let mut time = begin;
    for (line, entry) in entries.iter().enumerate() {
        // A message without a time, or with a time that goes back, stays after the message before it.
        time = time.max(entry["time"].as_u64().unwrap_or_default());
        let message = entry["text"].as_str().unwrap_or_default().to_owned();
        match entry["role"].as_str() {
            Some("assistant") => {
                let step = answer(time, message, line, entry);
                callers.extend(step.tool_calls.iter().map(|call| (call.tool_call_id.clone(), steps.len())));
                steps.push(step);
            }
            Some("tool") => {
                let call = entry["call"].as_str().unwrap_or_default();
                match callers.get(call).and_then(|place| steps.get_mut(*place)) {
                    Some(caller) => caller.add_result(Some(call.to_owned()), message),
                    None => {
                        let mut step = Step::new(time, Source::System, String::new());
                        step.add_result(None, message);
                        steps.push(step);
                    }
                }
            }
            Some("user") => steps.push(Step::new(time, Source::User, message)),
            Some(_) => steps.push(Step::new(time, Source::System, message)),
            None => {}
        }
    }
    steps
}

/// An answer of the model, with its calls: the calls of a run, or the parts of a message of a host.
fn answer(time: u64, message: String, line: usize, entry: &Value) -> Step {
    let mut step = Step::new(time, Source::Agent, message);
    let mut results = Vec::new();
    let items = |key: &str| entry[key].as_array().map_or(&[][..], Vec::as_slice);
    for call in items("calls") {
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        step.tool_calls.push(ToolCall::new(id, &call["name"], &call["arguments"]));
    }
    for (place, part) in items("parts").iter().enumerate() {
        match part["type"].as_str() {
            Some("reasoning") => {
                let text = part["text"].as_str().unwrap_or_default();
                let reasoning = step.reasoning_content.get_or_insert_default();
                reasoning.push_str(if reasoning.is_empty() { "" } else { "\n" });
                reasoning.push_str(text);
            }
            Some("tool") => {
                let known = part["callID"].as_str();
                let id = known.map_or_else(|| format!("message-{}-part-{}", line + 1, place + 1), str::to_owned);
                let state = &part["state"];
                step.tool_calls.push(ToolCall::new(id.clone(), &part["tool"], &state["input"]));
                let content = state["output"].as_str().or(state["error"].as_str()).map(str::to_owned);
                results.push(ObservationResult {
                    source_call_id: Some(id),
                    content,
                    subagent_trajectory_ref: Vec::new(),
                });
            }
            _ => {}
        }
    }
    step.observation = (!results.is_empty()).then_some(Observation { results });
    step
}

/// The requests that came with an imported frame, without times: a step for each model.
fn imported_requests(begin: u64, frame: &ChartFrame, requests: &[&TimedRequest]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut timed_by_model: HashMap<&str, ModelUsage> = HashMap::new();
    for timed in requests {
        timed_by_model.entry(&timed.request.model).or_default().add(&ModelUsage::from(&timed.request));
    }
    for all in &frame.usage.own {
        let timed = timed_by_model.remove(all.model.as_str()).unwrap_or_default();
        let rest = all.clone().without(&timed);
        if rest.requests > 0 {
            let mut step = Step::new(begin, Source::Agent, String::new());
            step.set_usage(&rest);
            step.extra.insert("imported".to_owned(), json!(true));
            steps.push(step);
        }
    }
    steps
}

/// The questions of the frame, and the answers.
fn questions(record: &Frame) -> Vec<Step> {
    let mut steps = Vec::new();
    for question in &record.questions {
        let source = if question.interruption { Source::System } else { Source::Agent };
        let mut asked = Step::new(question.asked_at, source, question.question.clone());
        asked.extra.insert("blocked".to_owned(), json!(true));
        steps.push(asked);
        if let (Some(answer), Some(time)) = (&question.answer, question.answered_at) {
            steps.push(Step::new(time, Source::User, answer.clone()));
        }
    }
    steps
}

/// The results of an ended frame, or the reason why it was removed from the plan.
fn end(frame: &ChartFrame, record: &Frame) -> Option<Step> {
    let time = frame.bar.as_ref().filter(|bar| !bar.is_open)?.to;
    match (frame.status, &record.invalidation_reason) {
        (FrameStatus::Invalidated, Some(reason)) => {
            Some(Step::new(time, Source::System, format!("Removed from the plan: {reason}")))
        }
        _ => Some(Step::new(time, Source::Agent, record.results.clone().unwrap_or_default())),
    }
}

impl Trajectory {
    /// Brings the steps into the order of their times, and numbers them.
    fn number_steps(&mut self) {
        // The task stays first, no matter what the clocks said.
        if let Some((_, rest)) = self.steps.split_first_mut() {
            rest.sort_by_key(|step| step.time);
        }
        for (place, step) in self.steps.iter_mut().enumerate() {
            step.step_id = place + 1;
        }
        self.final_metrics.total_steps = self.steps.len();
    }
}

impl Step {
    fn new(time: u64, source: Source, message: String) -> Self {
        Self {
            step_id: 0,
            timestamp: iso_time(time),
            source,
            model_name: None,
            message,
            reasoning_content: None,
            tool_calls: Vec::new(),
            observation: None,
            metrics: None,
            llm_call_count: None,
            extra: Map::new(),
            time,
        }
    }

    /// Adds the answer of a tool.
    fn add_result(&mut self, source_call_id: Option<String>, content: String) {
        let result = ObservationResult { source_call_id, content: Some(content), subagent_trajectory_ref: Vec::new() };
        self.observation.get_or_insert_default().results.push(result);
    }

    fn add_request(&mut self, request: &TimedRequest) {
        self.set_usage(&ModelUsage::from(&request.request));
        self.extra.insert("duration_ms".to_owned(), json!(request.request.duration));
        if request.request.failed {
            self.extra.insert("failed".to_owned(), json!(true));
        }
    }

    fn set_usage(&mut self, usage: &ModelUsage) {
        self.model_name = known_model(&usage.model);
        self.llm_call_count = Some(usage.requests);
        self.metrics = Some(Metrics {
            prompt_tokens: usage.input(),
            completion_tokens: usage.answer(),
            cached_tokens: usage.cache_read,
            extra: OtherTokens { cache_write_tokens: usage.cache_write, reasoning_tokens: usage.reasoning },
        });
    }
}

impl ToolCall {
    /// `arguments`: an object, or the text of an object.
    fn new(tool_call_id: String, name: &Value, arguments: &Value) -> Self {
        let read = match arguments {
            Value::String(text) => from_json(text).unwrap_or_else(|_| arguments.clone()),
            _ => arguments.clone(),
        };
        let arguments = match read {
            Value::Object(arguments) => arguments,
            Value::Null => Map::new(),
            other => Map::from_iter([("arguments".to_owned(), other)]),
        };
        Self { tool_call_id, function_name: name.as_str().unwrap_or_default().to_owned(), arguments }
    }
}

impl FinalMetrics {
    fn of(own: &ModelUsage, total: &ModelUsage) -> Self {
        Self {
            total_prompt_tokens: own.input(),
            total_completion_tokens: own.answer(),
            total_cached_tokens: own.cache_read,
            total_steps: 0,
            extra: TotalsWithSubagents {
                prompt_tokens_with_subagents: total.input(),
                completion_tokens_with_subagents: total.answer(),
                cached_tokens_with_subagents: total.cache_read,
            },
        }
    }
}

fn known_model(model: &str) -> Option<String> {
    Some(short(&one_line(model))).filter(|model| !model.is_empty())
}

/// A time as ISO 8601, always with three digits of the second's fraction; `None` for a time beyond the year
/// 9999.
fn iso_time(milliseconds: u64) -> Option<String> {
    timestamp(milliseconds).map(|time| format!("{time:.3}"))
}

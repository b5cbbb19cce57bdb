//! Documents of random and of hostile runs: what is nested stays nested, times do not go back, and sums are
//! the same as in the usage.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::frame::{ModelRequest, ModelUsage, Timeline};
use callstack_core::{Frame, FrameStatus, Handle, MemoryStore, NewFrame, PopStatus, Stack, StackOptions};
use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};

use super::{Run, atif, chrome, otlp, speedscope, svg};
use crate::chart::Chart;

/// An action on a frame: its kind, the frame, a number of tokens, and how far the clock goes.
type Action = (u8, prop::sample::Index, u32, i32);

fn actions() -> impl Strategy<Value = Vec<Action>> {
    prop::collection::vec((0..13_u8, any::<prop::sample::Index>(), 0..1_000_000_u32, -2_000..60_000_i32), 0..60)
}

/// A stack on which the actions were carried out. Actions that the stack refuses change nothing.
fn stack_of(actions: &[Action]) -> Stack {
    let time = Arc::new(AtomicU64::new(1_700_000_000_000));
    let clock = Arc::clone(&time);
    let options = StackOptions::default().clock(Arc::new(move || clock.load(Ordering::Relaxed)));
    let stack = Stack::with_store(MemoryStore::new(), options).unwrap();
    for (number, (kind, target, amount, elapsed)) in actions.iter().enumerate() {
        // Clocks sometimes go back.
        let now = time.load(Ordering::Relaxed).saturating_add_signed(i64::from(*elapsed));
        time.store(now, Ordering::Relaxed);
        let frames: Vec<Handle> = stack.read(|tree| tree.handles().collect()).unwrap();
        let new = NewFrame::new(format!("Task {number}")).criteria("It works").id(format!("ses_{number}"));
        let Some(frame) = (!frames.is_empty()).then(|| *target.get(&frames)) else {
            stack.push(new.root()).unwrap();
            continue;
        };
        let _ = match kind {
            0 => stack.push(new.root()).map(drop),
            1..4 => stack.push(new.below(frame)).map(drop),
            4 => stack.plan(new.below(frame)).map(drop),
            5 => stack.activate(frame),
            6 => stack.pop(frame, PopStatus::Completed, "done").map(drop),
            7 => stack.pop(frame, PopStatus::Failed, "not done").map(drop),
            8 => stack.block(frame, "Which one?", None).map(drop),
            9 => stack.answer(frame, "This one"),
            12 => stack.import(vec![imported(number, now, *amount)]).map(drop),
            _ => stack.record_usage(frame, request(*amount, *kind == 11)),
        };
    }
    stack
}

/// A frame of another tool. Its times are before or after the clock.
fn imported(number: usize, now: u64, amount: u32) -> Frame {
    let created_at = now.saturating_add(u64::from(amount)).saturating_sub(500_000);
    let updated_at = created_at.saturating_add(u64::from(amount / 2)).saturating_sub(100_000);
    let status = [FrameStatus::InProgress, FrameStatus::Completed, FrameStatus::Planned][amount as usize % 3];
    let (session_id, title) = (format!("ses_{number}"), format!("Imported {number}"));
    Frame { session_id, title, status, created_at, updated_at, ..Frame::default() }
}

fn request(amount: u32, failed: bool) -> ModelRequest {
    let amount = u64::from(amount);
    ModelRequest {
        uncached_input: amount,
        cache_read: amount / 3,
        cache_write: amount / 5,
        output: amount / 7,
        reasoning: amount / 11,
        // Hosts have reported durations that are longer than the run.
        duration: if amount % 17 == 0 { amount * 1_000_000 } else { amount / 13 },
        failed,
        ..ModelRequest::new(if amount % 2 == 0 { "provider/large" } else { "small" })
    }
}

/// The documents of a stack, and its usage.
struct Documents {
    frames: Vec<(Handle, bool)>,
    usage: ModelUsage,
    svg: String,
    speedscope: Value,
    chrome: Value,
    otlp: Value,
    atif: Value,
}

fn documents(stack: &Stack, frame: Option<Handle>) -> Documents {
    let mut timeline = Timeline::default();
    stack.history().update_timeline(&mut timeline).unwrap();
    stack
        .read(|tree| {
            let chart = match frame {
                Some(frame) => Chart::of_frame(tree, &timeline, frame),
                None => Chart::of(tree, &timeline),
            };
            let usage = frame.map_or_else(|| tree.usage_of_all(), |frame| tree.usage(frame).total);
            let run = Run { tree, chart: &chart };
            Documents {
                frames: chart.frames.iter().map(|frame| (frame.handle, frame.bar.is_some())).collect(),
                usage: usage.iter().sum(),
                svg: svg::picture(&run),
                speedscope: serde_json::to_value(speedscope::file(&run)).unwrap(),
                chrome: serde_json::to_value(chrome::trace(&run)).unwrap(),
                otlp: serde_json::to_value(otlp::traces(&run)).unwrap(),
                atif: serde_json::to_value(atif::trajectory(&run, &atif::Logs::new())).unwrap(),
            }
        })
        .unwrap()
}

/// The frames of a speedscope profile, whose bars must be nested.
fn nested_frames(profile: &Value) -> Vec<u64> {
    let (mut last, mut open, mut frames) = (0, Vec::new(), Vec::new());
    for event in list(&profile["events"]) {
        assert!(number(&event["at"]) >= last, "times go back in {profile}");
        last = number(&event["at"]);
        let frame = number(&event["frame"]);
        if event["type"] == "O" {
            open.push(frame);
            frames.push(frame);
        } else {
            assert_eq!(open.pop(), Some(frame), "an end that is not that of the innermost frame in {profile}");
        }
    }
    assert!(open.is_empty(), "frames without an end in {profile}");
    assert!(last <= number(&profile["endValue"]), "an event behind the end of {profile}");
    frames
}

impl Documents {
    fn check(&self) {
        self.check_speedscope();
        self.check_chrome();
        self.check_otlp();
        self.check_atif();
        assert_well_formed(&self.svg);
    }

    fn begun(&self) -> usize {
        self.frames.iter().filter(|(_, has_begun)| *has_begun).count()
    }

    fn check_speedscope(&self) {
        let profiles = list(&self.speedscope["profiles"]);
        let (tokens, lanes) = profiles.split_last().expect("there is always a profile of tokens");
        let begun: Vec<u64> = lanes.iter().flat_map(nested_frames).collect();
        assert_eq!(begun.iter().collect::<HashSet<_>>().len(), begun.len(), "no frame is on two lanes");
        assert_eq!(begun.len(), self.begun(), "each frame that has begun is on one lane");
        assert_eq!(nested_frames(tokens).len(), self.frames.len(), "each frame is in the profile of tokens");
        assert_eq!(number(&tokens["endValue"]), self.usage.tokens(), "the end of the tokens");
    }

    fn check_chrome(&self) {
        let mut sums = ModelUsage::default();
        let mut lanes: HashMap<(u64, u64), Vec<(u64, u64)>> = HashMap::new();
        let mut blocked = HashMap::new();
        let (mut frames, mut counted) = (0, Value::Null);
        for event in list(&self.chrome["traceEvents"]) {
            let lane = (number(&event["pid"]), number(&event["tid"]));
            let begin = number(&event["ts"]);
            match event["ph"].as_str() {
                Some("X") => {
                    let end = begin + number(&event["dur"]);
                    let open = lanes.entry(lane).or_default();
                    assert!(
                        open.last().is_none_or(|(before, _)| *before <= begin),
                        "events of a lane are in their order"
                    );
                    // A bar without length may be at the end of another one.
                    while open.last().is_some_and(|(_, outer)| *outer < end) {
                        let (_, outer) = open.pop().unwrap();
                        assert!(outer <= begin, "bars of a lane overlap at {event}");
                    }
                    open.push((begin, end));
                    frames += usize::from(event["cat"] == "frame");
                    if event["cat"] == "request" {
                        let request: ModelRequest = serde_json::from_value(without_frame(&event["args"])).unwrap();
                        sums.add(&ModelUsage::from(&request));
                    }
                }
                Some("b") => assert!(blocked.insert(event["id"].to_string(), begin).is_none(), "{event} begins twice"),
                Some("e") => {
                    let from = blocked.remove(&event["id"].to_string());
                    assert!(from.is_some_and(|from| from <= begin), "{event} ends what has not begun");
                }
                Some("C") => counted = event["args"].clone(),
                phase => assert_eq!(phase, Some("M"), "an unknown phase in {event}"),
            }
        }
        assert!(blocked.is_empty(), "without an end: {blocked:?}");
        assert_eq!(frames, self.begun(), "an event for each frame that has begun");
        assert_eq!(sums, self.usage, "the sums of the requests");
        if sums.requests > 0 {
            let ModelUsage { uncached_input, cache_read, cache_write, output, reasoning, .. } = sums;
            let expected = json!({
                "uncachedInput": uncached_input, "cacheRead": cache_read, "cacheWrite": cache_write, "output": output,
                "reasoning": reasoning,
            });
            assert_eq!(counted, expected, "the last values of the counters");
        }
    }

    fn check_otlp(&self) {
        let spans = list(&self.otlp["resourceSpans"][0]["scopeSpans"][0]["spans"]);
        let mut traces: HashMap<&str, &str> = HashMap::new();
        let mut sums: HashMap<String, [u64; 5]> = HashMap::new();
        for span in spans {
            let (trace, id) = (span["traceId"].as_str().unwrap(), span["spanId"].as_str().unwrap());
            assert_eq!((trace.len(), id.len()), (32, 16), "the lengths of IDs in {span}");
            assert!(traces.insert(id, trace).is_none(), "a span ID is used twice: {id}");
            if let Some(parent) = span["parentSpanId"].as_str() {
                assert_eq!(traces.get(parent), Some(&trace), "the parent comes first, in the same trace: {span}");
            }
            let time = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
            assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span} ends before it begins");
            let operation = attribute(span, "gen_ai.operation.name")["stringValue"].as_str().unwrap().to_owned();
            let sum = sums.entry(operation).or_default();
            for (place, key) in
                ["input", "cache_read.input", "cache_creation.input", "output", "reasoning.output"].iter().enumerate()
            {
                let value = attribute(span, &format!("gen_ai.usage.{key}_tokens"));
                sum[place] += value["intValue"].as_str().map_or(0, |value| value.parse().unwrap());
            }
        }
        let usage = &self.usage;
        let expected = [usage.input(), usage.cache_read, usage.cache_write, usage.answer(), usage.reasoning];
        for kind in ["chat", "invoke_agent"] {
            assert_eq!(sums.get(kind).copied().unwrap_or_default(), expected, "the sums of the {kind} spans");
        }
    }

    fn check_atif(&self) {
        let embedded = self.atif["subagent_trajectories"].as_array().cloned().unwrap_or_default();
        let all: Vec<&Value> = [&self.atif].into_iter().chain(&embedded).collect();
        let ids: HashSet<&str> = embedded.iter().map(|embedded| embedded["trajectory_id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), embedded.len(), "the IDs of trajectories are unique");
        let (mut referred, mut finals, mut steps_sum) = (HashSet::new(), [0; 3], [0; 3]);
        for trajectory in all {
            let (mut id, mut time) = (0, "");
            for step in list(&trajectory["steps"]) {
                id += 1;
                assert_eq!(number(&step["step_id"]), id, "steps are numbered from 1");
                let timestamp = step["timestamp"].as_str().unwrap();
                assert!(id <= 2 || timestamp >= time, "times go back in {trajectory}");
                time = timestamp;
                let metrics = &step["metrics"];
                for (sum, key) in steps_sum.iter_mut().zip(["prompt_tokens", "completion_tokens", "cached_tokens"]) {
                    *sum += metrics[key].as_u64().unwrap_or(0);
                }
                for result in step["observation"]["results"].as_array().into_iter().flatten() {
                    for reference in list(&result["subagent_trajectory_ref"]) {
                        let id = reference["trajectory_id"].as_str().unwrap();
                        assert!(ids.contains(id), "{id} refers to no trajectory");
                        assert!(referred.insert(id.to_owned()), "{id} is begun twice");
                    }
                }
            }
            for (sum, key) in finals.iter_mut().zip(["prompt", "completion", "cached"]) {
                *sum += number(&trajectory["final_metrics"][format!("total_{key}_tokens")]);
            }
        }
        assert_eq!(referred.len(), ids.len(), "each subagent is begun by a step");
        let expected = [self.usage.input(), self.usage.answer(), self.usage.cache_read];
        assert_eq!(finals, expected, "the sums of the final metrics");
        assert_eq!(steps_sum, expected, "the sums of the steps");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let found = list(&span["attributes"]).iter().find(|attribute| attribute["key"] == key);
    found.map_or(&Value::Null, |attribute| &attribute["value"])
}

fn without_frame(arguments: &Value) -> Value {
    let mut request = arguments.as_object().unwrap().clone();
    request.remove("frame");
    Value::Object(request)
}

/// Parses a picture. It has no elements that could run or load anything.
fn assert_well_formed(picture: &str) {
    let known = ["svg", "title", "desc", "style", "defs", "pattern", "path", "rect", "use", "text", "g"];
    let mut reader = Reader::from_str(picture);
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error} at {}", reader.error_position())) {
            Event::Start(element) | Event::Empty(element) => {
                let name = element.name().as_ref().to_owned();
                assert!(known.contains(&name.as_str()), "the picture has an element {name}");
                for attribute in element.attributes() {
                    let attribute = attribute.unwrap();
                    let value = attribute.value;
                    assert!(!value.contains("NaN") && !value.contains("inf"), "{name} stands nowhere: {value}");
                }
            }
            Event::Eof => return,
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn documents_of_random_runs_are_nested_and_have_the_sums_of_the_usage(
        actions in actions(), top in any::<prop::sample::Index>()
    ) {
        let stack = stack_of(&actions);
        let whole = documents(&stack, None);
        whole.check();
        if !whole.frames.is_empty() {
            documents(&stack, Some(top.get(&whole.frames).0)).check();
        }
    }
}

#[test]
fn a_stack_without_frames_has_documents_too() {
    let documents = documents(&stack_of(&[]), None);
    documents.check();
    assert_eq!(documents.atif["steps"][0]["message"], "The stack has no frames.");
    assert!(documents.svg.contains("No frame has begun."), "{}", documents.svg);
}

#[test]
fn hostile_texts_stay_texts_and_long_ones_are_cut() {
    let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    let title = format!("]]><script>alert(1)</script>\u{202e}{}", "x".repeat(1 << 20));
    let frame = stack.push(NewFrame::new(&title).criteria(&title)).unwrap();
    stack.add_decision(frame, "\u{1b}[31m red & \u{fffe} \"quoted\"").unwrap();
    stack.record_usage(frame, ModelRequest { output: 3, ..ModelRequest::new(&title) }).unwrap();
    let found = documents(&stack, None);
    found.check();
    assert!(!found.svg.contains("<script"), "an element in a picture");
    assert!(!found.svg.contains(['\u{202e}', '\u{1b}', '\u{fffe}']), "a hidden character in a picture");
    assert!(found.svg.len() < 20_000, "a picture of {} bytes", found.svg.len());
    let name = found.speedscope["shared"]["frames"][0]["name"].as_str().unwrap();
    assert!(name.starts_with("f1 ]]><script>") && name.chars().count() == 200, "{name}");
    for (trace, document) in [("chrome", &found.chrome), ("otlp", &found.otlp)] {
        let bytes = document.to_string().len();
        assert!(bytes < 100_000, "{trace} has {bytes} bytes");
    }
    assert_eq!(found.atif["extra"]["title"], title, "trajectories have whole texts");
}

#[test]
fn the_largest_numbers_and_times_are_no_panic() {
    let clock = Arc::new(AtomicU64::new(0));
    let time = Arc::clone(&clock);
    let options = StackOptions::default().clock(Arc::new(move || time.load(Ordering::Relaxed)));
    let stack = Stack::with_store(MemoryStore::new(), options).unwrap();
    let frame = stack.push(NewFrame::new("Long")).unwrap();
    let most = u64::MAX;
    let request = ModelRequest {
        uncached_input: most,
        cache_read: most,
        cache_write: most,
        output: most,
        reasoning: most,
        duration: most,
        ..ModelRequest::new("m")
    };
    clock.store(u64::MAX / 2, Ordering::Relaxed);
    stack.record_usage(frame, request.clone()).unwrap();
    stack.record_usage(frame, request).unwrap();
    let found = documents(&stack, None);
    assert_well_formed(&found.svg);
    found.check_otlp_numbers();
}

impl Documents {
    /// Numbers of OTLP have 64 bits with a sign.
    fn check_otlp_numbers(&self) {
        let spans = list(&self.otlp["resourceSpans"][0]["scopeSpans"][0]["spans"]);
        for value in spans.iter().flat_map(|span| list(&span["attributes"])) {
            if let Some(number) = value["value"]["intValue"].as_str() {
                assert!(number.parse::<i64>().is_ok(), "{number} does not fit");
            }
        }
    }
}

#[test]
fn a_thousand_levels_are_exported_and_what_a_picture_leaves_out_is_said() {
    let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    let mut frame = stack.push(NewFrame::new("Level 0")).unwrap();
    for level in 1..1000 {
        frame = stack.push(NewFrame::new(format!("Level {level}")).below(frame)).unwrap();
    }
    let found = documents(&stack, None);
    found.check();
    assert!(found.svg.contains("Left out: 968 frames on rows further down"), "{}", &found.svg[..2000]);
    let depth = nesting(&found.atif.to_string());
    assert!(depth < 20, "readers refuse JSON that is nested {depth} levels deep");
}

/// How deep the brackets of a JSON text are nested. Its strings have no brackets.
fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for character in json.chars() {
        match character {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

//! Tests of usage: the requests to models that frames have made, their sums, and how long they last.

use callstack_core::context::Settings;
use callstack_core::frame::{FrameUsage, ModelRequest, ModelUsage};
use callstack_core::{Change, EventQuery, Handle, NewFrame, PopStatus, Stack, StackOptions, StackState};
use serde_json::json;
use tempfile::tempdir;

fn request(model: &str, uncached_input: u64, output: u64) -> ModelRequest {
    ModelRequest { uncached_input, output, duration: 10, messages: 3, ..ModelRequest::new(model) }
}

/// Records requests on three levels: f1, f2 below it, and f3 below f2. f4 has no requests.
fn record(stack: &Stack) -> [Handle; 4] {
    let shop = stack.push(NewFrame::new("Shop").id("ses_1")).unwrap();
    let cart = stack.push(NewFrame::new("Cart").id("ses_2").below(shop)).unwrap();
    let total = stack.push(NewFrame::new("Total").id("ses_3").below(cart)).unwrap();
    let plan = stack.plan(NewFrame::new("Pay").below(shop)).unwrap();
    stack.record_usage(shop, request("large", 1_000, 10)).unwrap();
    stack.record_usage(cart, ModelRequest { cache_read: 500, cache_write: 50, ..request("small", 200, 20) }).unwrap();
    stack.record_usage(cart, ModelRequest { failed: true, ..request("large", 300, 0) }).unwrap();
    stack.record_usage(total, ModelRequest { reasoning: 7, ..request("small", 400, 40) }).unwrap();
    [shop, cart, total, plan]
}

fn sums(usage: &[ModelUsage]) -> Vec<(&str, u64, u64, u64, u64)> {
    usage.iter().map(|sum| (sum.model.as_str(), sum.requests, sum.failed, sum.input(), sum.output)).collect()
}

#[test]
fn the_sums_of_a_frame_are_its_own_and_those_of_everything_below_it() {
    let stack = Stack::in_memory();
    let [shop, cart, total, plan] = record(&stack);
    let usage = stack.usage(cart).unwrap();
    assert_eq!(sums(&usage.own), [("small", 1, 0, 750, 20), ("large", 1, 1, 300, 0)]);
    assert_eq!(sums(&usage.total), [("small", 2, 0, 1_150, 60), ("large", 1, 1, 300, 0)]);
    assert_eq!(sums(&stack.usage(shop).unwrap().own), [("large", 1, 0, 1_000, 10)]);
    assert_eq!(sums(&stack.usage(shop).unwrap().total), [("large", 2, 1, 1_300, 10), ("small", 2, 0, 1_150, 60)]);
    assert_eq!(stack.usage(total).unwrap().total[0].reasoning, 7);
    assert!(stack.usage(plan).unwrap().total.is_empty());
    stack
        .read(|tree| {
            let by_frame = tree.usage_by_frame();
            tree.handles()
                .zip(&by_frame)
                .for_each(|(handle, usage)| assert_eq!(usage, &tree.usage(handle), "{handle}"));
            assert_eq!(by_frame.len(), 4);
            let sum = |usage: &FrameUsage| usage.total.iter().sum();
            assert_eq!(tree.usage_sums_by_frame(), by_frame.iter().map(sum).collect::<Vec<ModelUsage>>());
            assert_eq!(tree.usage_sums_by_frame()[0].tokens(), 1_300 + 1_150 + 10 + 60 + 7);
        })
        .unwrap();
    assert_eq!(stack.usage("f9").unwrap_err().code(), "unknown_frame");
    assert_eq!(stack.record_usage("f9", request("small", 1, 1)).unwrap_err().code(), "unknown_frame");
}

#[test]
fn a_finished_and_an_invalidated_frame_keep_what_they_have_used() {
    let stack = Stack::in_memory();
    let [shop, cart, total, _] = record(&stack);
    stack.pop(total, PopStatus::Completed, "Sums are right").unwrap();
    stack.invalidate(cart, "not wanted").unwrap();
    stack.record_usage(total, request("small", 1, 1)).unwrap();
    assert_eq!(sums(&stack.usage(shop).unwrap().total)[1], ("small", 3, 0, 1_151, 61));
}

#[test]
fn contexts_do_not_change_with_usage() {
    let stack = Stack::in_memory();
    let [shop, cart, total, _] = record(&stack);
    let contexts = || [shop, cart, total].map(|frame| stack.context(frame, &Settings::default()).unwrap().xml.clone());
    let before = contexts();
    let hits = stack.upkeep().cache_statistics().hits;
    for frame in [shop, cart, total] {
        stack.record_usage(frame, request("small", 1_000_000, 5)).unwrap();
    }
    assert_eq!(contexts(), before);
    assert_eq!(stack.upkeep().cache_statistics().hits, hits + 3, "the cached contexts were not used again");
}

#[test]
fn the_history_the_files_and_a_rebuilt_stack_have_the_usage() {
    let folder = tempdir().unwrap();
    let open = |name: &str| Stack::open(folder.path().join(name), StackOptions::default()).unwrap();
    let stack = open("stack");
    let [shop, ..] = record(&stack);
    let expected = stack.usage(shop).unwrap();
    let events = stack.history().events(&EventQuery::default().kind("usageRecorded")).unwrap();
    let models: Vec<&str> = events
        .iter()
        .map(|event| match &event.change {
            Change::UsageRecorded { model_request } => model_request.model.as_str(),
            other => panic!("{other:?} is no record of usage"),
        })
        .collect();
    assert_eq!(models, ["large", "small", "large", "small"]);
    let mut history = Vec::new();
    stack.history().export(&mut history).unwrap();
    stack.files().export(folder.path().join("files")).unwrap();
    stack.close().unwrap();

    assert_eq!(open("stack").usage(shop).unwrap(), expected, "replayed");
    assert_eq!(open("files").usage("ses_1").unwrap(), expected, "imported from the files");
    let rebuilt = Stack::rebuild(folder.path().join("rebuilt"), &history[..], StackOptions::default()).unwrap();
    assert_eq!(rebuilt.usage(shop).unwrap(), expected, "rebuilt");
    let mirror = std::fs::read_to_string(folder.path().join("stack/frames/ses_3.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&mirror).unwrap();
    let sums = json!([{"model": "small", "requests": 1, "failed": 0, "uncachedInput": 400, "cacheRead": 0, "cacheWrite": 0,
                       "output": 40, "reasoning": 7, "duration": 10}]);
    assert_eq!(record["usage"], sums);
}

#[test]
fn unreadable_usage_of_a_file_is_reported_and_kept() {
    let state = json!({"frames": {"ses_1": {"sessionID": "ses_1", "status": "in_progress", "title": "Shop",
        "successCriteria": "", "createdAt": 1, "usage": "a lot"}}});
    let (state, repairs) = StackState::from_json(&state.to_string()).unwrap();
    assert!(repairs.iter().any(|repair| repair.to_string().contains("`usage` is not a list of sums")), "{repairs:?}");
    assert_eq!(state.frames[0].extra["usage (unreadable)"], "a lot");
}

//! The usage of requests to models.

use callstack_core::frame::ModelUsage;
use scripted_model::{Charged, Fault};
use serde_json::{Value, json};

use crate::scene::*;

fn charged(usage: &[ModelUsage]) -> Charged {
    let mut sum = ModelUsage::default();
    usage.iter().for_each(|usage| sum.add(usage));
    let ModelUsage { uncached_input, cache_read, cache_write, output, reasoning, .. } = sum;
    Charged { uncached_input, cache_read, cache_write, output, reasoning }
}

#[test]
fn totals_over_three_levels_are_what_the_model_has_charged() {
    let push = |name: &str| json!({"name": "push_frame", "arguments": {"name": name, "objective": name, "context": "", "return_spec": ""}});
    let pop = || json!({"name": "pop_frame", "arguments": {"result": "done"}});
    let step = |call: Value, read: u64, write: u64, output: u64, reasoning: u64| json!({"calls": [call], "usage": {"cacheRead": read, "cacheWrite": write, "output": output, "reasoning": reasoning}});
    let list = || json!({"name": "list_files", "arguments": {}});
    let steps = json!([
        step(push("middle"), 0, 900, 31, 0),
        step(push("lowest"), 100, 20, 32, 7),
        step(list(), 120, 30, 33, 0),
        step(pop(), 150, 0, 34, 11),
        step(pop(), 200, 50, 35, 0),
        step(pop(), 900, 0, 36, 13),
    ]);
    for wire in WIRES {
        let scene = Scene::new(&json!({ "steps": steps }), wire);
        scene.model.fail(1, Fault::Status(429, Some(0)));
        scene.model.fail(3, Fault::Cut);
        scene.model.fail(3, Fault::Status(500, None));
        scene.model.fail(5, Fault::Hang);
        let child = scene.start(&["Build"]);
        scene.wait_for_requests(8);
        // An interrupted request is recorded too, as a failed request.
        signal(&child, rustix::process::Signal::INT);
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
        let output = scene.run(&["--resume", "--json"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        assert_eq!(stderr(&output), "", "{wire}: JSON comes without progress");

        let stack = scene.stack();
        let [root, middle, lowest] = ["f1", "f2", "f3"].map(|frame| stack.usage(frame).unwrap());
        assert_eq!(charged(&root.total), scene.model.charged(), "{wire}");
        let numbers = |usage: &[ModelUsage]| (usage[0].requests, usage[0].failed);
        assert_eq!(numbers(&root.total), (10, 4), "{wire}");
        assert_eq!(numbers(&root.own), (3, 1), "{wire}");
        assert_eq!(numbers(&middle.own), (3, 1), "{wire}");
        assert_eq!(numbers(&lowest.own), (4, 2), "{wire}");
        assert_eq!(lowest.own, lowest.total, "{wire}");
        let sum = |parts: [&[ModelUsage]; 3]| charged(&parts.concat());
        assert_eq!(sum([&root.own, &middle.own, &lowest.own]), charged(&root.total), "{wire}");
        assert_eq!(root.total[0].model, "scripted");
        // The result in JSON has the same numbers.
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&result["kind"], &result["data"]["result"]), (&json!("runResult"), &json!("done")), "{wire}");
        assert_eq!(result["data"]["usage"], json!(root.total), "{wire}");
    }
}

#[test]
fn the_totals_are_printed_at_the_end() {
    let calls = json!([{"name": "pop_frame", "arguments": {"result": "done"}}]);
    let steps = json!([{"calls": calls, "usage": {"cacheRead": 1200, "cacheWrite": 34, "output": 56, "reasoning": 7}}]);
    for wire in WIRES {
        let scene = Scene::new(&json!({ "steps": steps }), wire);
        scene.model.fail(1, Fault::Status(503, None));
        let output = scene.run(&["Build"]);
        let read = scene.model.charged().uncached_input + 1234;
        let read = format!("{},{:03}", read / 1_000, read % 1_000);
        assert!(stderr(&output).contains("1 step; the largest prompt had about "), "{wire}: {}", stderr(&output));
        let totals = format!(
            "scripted: 2 requests (1 failed); {read} tokens in (1,200 from the cache, 34 into it), 56 out, 7 of reasoning"
        );
        assert!(stderr(&output).contains(&totals), "{wire}: {}\n{totals}", stderr(&output));
    }
}

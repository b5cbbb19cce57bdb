//! The things that the frames of an agent share: written files, decisions and results in the prompts of later
//! frames, and their logs.

use serde_json::{Value, json};

use crate::scene::*;

fn step(name: &str, arguments: Value) -> Value {
    json!({"calls": [{"name": name, "arguments": arguments}]})
}

/// A scene in which one frame writes files, and the next frame uses them.
fn scene(wire: &'static str) -> Scene {
    let steps = json!([
        step("push_frame", json!({"name": "parser", "objective": "Write the parser"})),
        step("write_file", json!({"path": "./src/../src/parser.py", "content": "def parse(text): ...\n"})),
        step("write_file", json!({"path": "src/parser.py", "content": "def parse(text): return text\n"})),
        step("write_file", json!({"path": "../elsewhere", "content": "refused"})),
        step("run_command", json!({"command": "echo grammar > grammar.txt"})),
        step(
            "pop_frame",
            json!({"result": "It parses", "artifacts": ["grammar.txt"], "decisions": ["No macros: nobody asked"]})
        ),
        step("push_frame", json!({"name": "printer", "objective": "Write the printer for the parser"})),
        step("read_frame_log", json!({"frame": "f2", "search": "return text"})),
        step("pop_frame", json!({"result": "It prints"})),
        step("pop_frame", json!({"result": "Both are there"})),
    ]);
    Scene::new(&json!({ "steps": steps }), wire)
}

#[test]
fn a_frame_sees_what_the_one_before_it_has_written_and_decided() {
    for wire in WIRES {
        let scene = scene(wire);
        let output = scene.run(&["Build a compiler"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        let frame = scene.stack().frame("f2").unwrap();
        assert_eq!(frame.artifacts, ["src/parser.py", "grammar.txt"], "{wire}");
        assert_eq!(frame.decisions, ["No macros: nobody asked"], "{wire}");
        let child = scene.messages(7);
        for seen in [
            "<success-criteria>Build a compiler</success-criteria>",
            "<results>It parses</results>",
            "<artifacts>src/parser.py, grammar.txt</artifacts>",
            "<decision>No macros: nobody asked</decision>",
        ] {
            assert!(child.contains(seen), "{wire}: {seen} is missing in {child}");
        }
        assert!(scene.messages(6).contains("Decision: No macros"), "{wire}: the parent has the answer");
        assert!(scene.answer(8).contains("def parse(text): return text"), "{wire}: {}", scene.answer(8));
        let shown = stderr(&output);
        assert!(shown.contains("read_frame_log {\"frame\":\"f2\""), "{wire}: {shown}");
        let system = scene.model.requests()[0].to_string();
        assert!(system.contains("Files of write_file are artifacts of their frame by themselves"), "{wire}");
    }
}

#[test]
fn an_agent_without_shared_results_keeps_to_its_briefing_also_when_it_is_resumed() {
    let scene = scene("openai");
    assert_eq!(scene.run(&["Build a compiler", "--no-shared-results", "--max-steps", "4"]).status.code(), Some(3));
    let output = scene.run(&["--resume"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let refused = scene.answer(6);
    assert!(refused.starts_with("pop_frame: `artifacts`: unknown field `artifacts`"), "{refused}");
    assert!(scene.answer(8).starts_with("read_frame_log: there is no such tool"), "{}", scene.answer(8));
    assert!(scene.model.requests().iter().all(|request| !request.to_string().contains("stack-context")));
    assert_eq!(scene.stack().frame("f2").unwrap().artifacts, Vec::<String>::new());
    assert!(!scene.model.requests()[0].to_string().contains("artifacts"));
}

#[test]
fn the_command_that_resumes_a_run_leaves_its_settings_to_the_run() {
    let scene = scene("openai");
    let output = scene.run(&["Build", "--no-shared-results", "--results-budget", "300", "--max-steps", "1"]);
    let next = stderr(&output);
    let next = next.lines().last().unwrap();
    assert!(next.contains("agent --resume=f1") && next.contains("--max-steps=1"), "{next}");
    assert!(!next.contains("results"), "{next}");
    let details: Value = serde_json::from_slice(&scene.callstack(&["runs", "show", "f1", "--json"]).stdout).unwrap();
    let settings = &details["data"]["settings"];
    assert_eq!((&settings["sharedResults"], &settings["resultsBudget"]), (&json!(false), &json!(300)));
}

#[test]
fn the_demos_share_their_results() {
    let scene = Scene::new(&script("calculator-registers"), "openai");
    assert!(scene.run(&["Build a calculator with tests"]).status.success());
    // The prompt of the frame for the tests begins with the results of the frame for the module.
    let child = scene.messages(5);
    assert!(child.contains("<artifacts>calc.py</artifacts>"), "{child}");
    assert!(child.contains("<decision>divide returns a float also for whole results"), "{child}");
}

//! How agents work: with both memories and both wire formats, and the limits at which agents stop.

use serde_json::{Value, json};

use crate::scene::*;

#[test]
fn the_calculator_of_the_specification_is_built_in_both_wire_formats() {
    for wire in WIRES {
        let scene = Scene::new(&script("calculator-registers"), wire);
        let output = scene.run(&["--memory", "registers", "Build a calculator with tests"]);
        let progress = stderr(&output);
        assert!(output.status.success(), "{wire}: {progress}");
        assert_eq!(stdout(&output), "calc.py has 4 functions; test_calc.py has 9 tests, all pass with pytest.");
        assert_tests_pass(scene.folder.path(), "9 passed");
        assert!(scene.path("calc.py").exists() && scene.path("test_calc.py").exists());
        assert_eq!(scene.model.requests().len(), 11, "{wire}");

        // The tests failed once. The model has only seen that in the frame that ran the tests.
        assert!(scene.messages(7).contains("1 failed, 8 passed"), "{wire}: {}", scene.messages(7));
        for other in [0, 1, 2, 3, 4, 5, 10] {
            assert!(!scene.messages(other).contains("1 failed"), "{wire}: request {other} sees another conversation");
        }
        // The conversation of a child starts with nothing but its briefing, its registers and the
        // system prompt.
        let child = scene.messages(1);
        assert!(child.contains("Create calc.py with add(a,b)") && child.contains("R3_PHASE: entering: implement-calc"));
        assert!(!child.contains("Two phases"), "{wire}: the child sees what its parent said");
        // The parent continues its conversation with the result.
        let parent = scene.messages(4);
        assert!(parent.contains("Two phases") && parent.contains("Sub-task completed: Create calc.py"), "{parent}");
        assert!(parent.contains("R7_STATUS: calc.py has add, subtract"), "{parent}");

        for shown in
            ["step 7  f3 write-tests, depth 1, about", "| Two phases", "[exit status 1]", "[completed] implement-calc"]
        {
            assert!(progress.contains(shown), "{wire}: the terminal does not show {shown}:\n{progress}");
        }
        // The request has the system prompt and the tools.
        let request = &scene.model.requests()[0];
        assert_eq!(request["tools"].as_array().unwrap().len(), 14);
        let request = request.to_string();
        assert!(request.contains("You are an agent that manages its own working memory"));
        assert!(request.contains("# Workspace") && request.contains("You are a coding agent."));
        for tool in ["read_file(path)", "write_file(path", "list_files(path)", "run_command(command)"] {
            assert!(request.contains(tool), "the system prompt does not name {tool}");
        }
    }
}

#[test]
fn the_agent_with_stack_and_heap_works_in_both_wire_formats() {
    for wire in WIRES {
        let scene = Scene::new(&script("shortener-heap"), wire);
        let output = scene.run(&["--memory", "heap", "Build a URL shortener with tests"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        assert_tests_pass(scene.folder.path(), "4 passed");
        // The chunk is in every prompt of every frame until it is freed.
        let sees_chunk: Vec<bool> =
            (0..11).map(|request| scene.messages(request).contains("--- api-spec ---")).collect();
        assert_eq!(sees_chunk, [false, true, true, true, true, true, true, true, true, true, false], "{wire}");
        assert!(!scene.messages(3).contains("REGISTERS"));
        assert_eq!(scene.model.requests()[0]["tools"].as_array().unwrap().len(), 13);
    }
}

#[test]
fn a_model_that_goes_in_circles_is_stopped_and_can_go_on() {
    let repeat = |calls: Value| Scene::new(&json!({ "steps": [{ "calls": calls }] }), "openai");
    for (what, scene) in [
        ("the same call", repeat(json!([{"name": "list_files", "arguments": {}}]))),
        ("an unknown tool", repeat(json!([{"name": "fly", "arguments": {}}]))),
        ("nothing", repeat(json!([]))),
    ] {
        let output = scene.run(&["Turn", "--max-repeats", "4"]);
        assert_eq!(output.status.code(), Some(3), "{what}: {}", stderr(&output));
        let expected = "error: the model has made the same call 4 times in a row (--max-repeats)\nnext: ";
        assert!(stderr(&output).contains(expected), "{what}: {}", stderr(&output));
        assert_eq!(scene.model.requests().len(), 4, "{what}");
        assert!(scene.messages(3).contains("You have made the same call 3 times in a row"), "{what}");
        // A resumed run is stopped again after one more request.
        assert_eq!(scene.run(&["--resume", "--max-repeats", "4"]).status.code(), Some(3));
        assert_eq!(scene.model.requests().len(), 5, "{what}");
    }
    let scene = repeat(json!([{"name": "fly", "arguments": {}}]));
    scene.run(&["Fly", "--max-steps", "2"]);
    let answer = scene.answer(1);
    assert!(answer.starts_with("fly: there is no such tool; there are push_frame, pop_frame"), "{answer}");
    assert!(
        answer.ends_with("read_file, write_file, list_files, run_command, list_commands, command_output, end_command"),
        "{answer}"
    );
}

#[test]
fn the_step_limit_stops_a_run_that_can_go_on() {
    let scene = Scene::new(&script("shortener-heap"), "anthropic");
    let output = scene.run(&["--memory", "heap", "Build", "--max-steps", "4"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("error: the limit of 4 steps is reached (--max-steps)"), "{}", stderr(&output));
    for never in ["--max-steps=0", "--max-repeats=0"] {
        assert_eq!(scene.run(&["--resume", never]).status.code(), Some(2), "{never} would repeat itself for ever");
    }
    assert!(scene.run(&["--resume"]).status.success());
    assert_eq!(scene.model.requests().len(), 11);
    assert_tests_pass(scene.folder.path(), "4 passed");
}

#[test]
fn arguments_that_are_no_json_are_answered_and_can_be_sent_back() {
    for wire in WIRES {
        let steps = json!([
            {"calls": [{"name": "write_file", "arguments": "{\"path\": \"a"}, {"name": "heap_free", "arguments": "[1]"}]},
            {"calls": [{"name": "pop_frame", "arguments": {"result": "done"}}]},
        ]);
        let scene = Scene::new(&json!({ "steps": steps }), wire);
        let output = scene.run(&["x"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        let messages = scene.messages(1);
        assert!(messages.contains("write_file: the arguments are not valid JSON"), "{wire}: {messages}");
        assert!(messages.contains("heap_free: the arguments are not a JSON object"), "{wire}: {messages}");
        assert!(messages.contains("unreadable"), "{wire}: the model does not see what it has written: {messages}");
    }
}

//! Runs that are interrupted, killed, resumed and steered.

use std::time::Duration;

use callstack_core::{Stack, StackOptions};
use rustix::process::Signal;
use scripted_model::Fault;
use serde_json::json;

use crate::scene::*;

#[test]
fn a_killed_run_goes_on_with_the_same_messages_to_the_same_end() {
    for (step, wire) in [(2, "openai"), (4, "anthropic"), (7, "openai"), (10, "anthropic"), (11, "openai")] {
        let scene = Scene::new(&script("calculator-registers"), wire);
        scene.model.fail(step, Fault::Hang);
        let mut child = scene.start(&["Build a calculator with tests"]);
        scene.wait_for_requests(step);
        child.kill().unwrap();
        child.wait().unwrap();
        let output = scene.run(&["--resume"]);
        assert!(output.status.success(), "killed at {step}: {}", stderr(&output));
        assert_eq!(stdout(&output), "calc.py has 4 functions; test_calc.py has 9 tests, all pass with pytest.");
        assert_tests_pass(scene.folder.path(), "9 passed");
        let requests = scene.model.requests();
        assert_eq!(requests.len(), 12, "one request was lost, and no other step was done again");
        assert_eq!(requests[step - 1], requests[step], "killed at {step}: the request is another one");
    }
}

#[test]
fn a_run_that_is_killed_at_any_moment_again_and_again_comes_to_the_same_end() {
    let scene = Scene::new(&script("calculator-registers"), "openai");
    // The first process is always killed in time, because its model never answers.
    scene.model.fail(1, Fault::Hang);
    let mut requests = 0;
    let mut child = scene.start(&["Build a calculator with tests"]);
    for kill in 1..=10 {
        let mut has_ended = false;
        wait_until("a request, or the end", || {
            has_ended = child.try_wait().unwrap().is_some();
            has_ended || scene.model.requests().len() > requests
        });
        if has_ended {
            break;
        }
        // Kills at a different moment of a step each time.
        std::thread::sleep(Duration::from_millis(kill * 17 % 50));
        child.kill().unwrap();
        // The run may have ended before the process was killed, with or without printing the results.
        child.wait().unwrap();
        if scene.results().is_some() {
            break;
        }
        requests = scene.model.requests().len();
        // By its handle, because the model may not have answered yet.
        child = scene.start(&["--resume=f1"]);
    }
    let output = child.wait_with_output().unwrap();
    let expected = "calc.py has 4 functions; test_calc.py has 9 tests, all pass with pytest.";
    assert_eq!(scene.results().as_deref(), Some(expected), "{}", stderr(&output));
    let was_killed = output.status.code().is_none();
    if !was_killed {
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stdout(&output), expected);
    }
    assert_tests_pass(scene.folder.path(), "9 passed");
    // Repeated requests of a step are equal, and one answer of each step is kept.
    let mut seen = std::collections::BTreeMap::new();
    for request in scene.model.requests() {
        let newest = request["messages"].as_array().unwrap().last().unwrap().to_string();
        let (_, step) = newest.rsplit_once("<memory>\\nStep ").unwrap();
        let step: usize = step.split(',').next().unwrap().parse().unwrap();
        // pytest prints a different duration in each run.
        let messages = without_times(&request["messages"].to_string());
        assert_eq!(
            *seen.entry(step).or_insert_with(|| messages.clone()),
            messages,
            "step {step} was asked in another way"
        );
    }
    assert_eq!(seen.len(), 11);
}

/// A text without the durations that pytest prints, and without the note that a command may have run twice.
fn without_times(text: &str) -> String {
    let text = text.replace("\\n[the run was interrupted here, so this command may have run twice]", "");
    let is_of_number = |character: char| character.is_ascii_digit() || character == '.';
    let parts: Vec<&str> = text.split(" in ").map(|part| part.trim_start_matches(is_of_number)).collect();
    parts.join(" in ")
}

#[test]
fn a_command_that_was_killed_with_its_run_is_run_again_and_the_model_is_told() {
    let scene = Scene::of_calls(&[
        ("run_command", json!({"command": "echo started >> starts; test $(wc -l < starts) -gt 1 || sleep 60"})),
        ("pop_frame", json!({"result": "done"})),
    ]);
    let mut child = scene.start(&["Start once"]);
    wait_until("the command", || scene.path("starts").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let output = scene.run(&["--resume"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(scene.answer(1).contains("[the run was interrupted here, so this command may have run twice]"));
    assert_eq!(scene.model.requests().len(), 2, "the model is not asked again for what it has said");
    assert_eq!(scene.run(&["--resume"]).status.code(), Some(4), "nothing is left to resume");
}

#[test]
fn an_interrupt_saves_and_ends_what_is_running() {
    let mark = format!("4{}", std::process::id());
    for (kind, calls) in [
        (Signal::INT, [("run_command", json!({ "command": format!("touch running; sleep {mark}") }))]),
        (Signal::TERM, [("run_command", json!({ "command": format!("touch running; sleep {mark} & wait") }))]),
    ] {
        let scene = Scene::of_calls(&calls);
        let child = scene.start(&["Sleep"]);
        wait_until("the command", || scene.path("running").exists());
        signal(&child, kind);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(stderr(&output).contains("error: interrupted; the run is saved\nnext: "));
        wait_until("the end of the command", || running(&format!("sleep {mark}")).is_empty());
    }
    // Interrupts while a request is running.
    let scene = Scene::new(&script("shortener-heap"), "openai");
    scene.model.fail(3, Fault::Hang);
    let child = scene.start(&["--memory", "heap", "Build"]);
    scene.wait_for_requests(3);
    signal(&child, Signal::INT);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(scene.run(&["--resume"]).status.success());
}

/// A scene in which a child frame reads a file at step 2, and asks for step 3.
fn scene_with_child(wire: &'static str) -> Scene {
    let call = |name: &str, arguments: serde_json::Value| json!({"calls": [{"name": name, "arguments": arguments}]});
    let push = json!({"name": "store-data", "objective": "Store it", "context": "", "return_spec": ""});
    let steps = json!([
        call("push_frame", push),
        call("list_files", json!({})),
        call("pop_frame", json!({"result": "stored"})),
        call("pop_frame", json!({"result": "done"})),
    ]);
    Scene::new(&json!({ "steps": steps }), wire)
}

#[test]
fn a_resumed_run_is_steered_by_an_instruction() {
    for wire in WIRES {
        for resume in ["--resume", "--resume=f1", "--resume=f2", "--resume=Build a shop"] {
            let scene = scene_with_child(wire);
            assert_eq!(scene.run(&["Build a shop", "--max-steps", "2"]).status.code(), Some(3));
            let output = scene.run(&[resume, "Use SQLite instead"]);
            assert!(output.status.success(), "{wire} {resume}: {}", stderr(&output));
            let newest = scene.newest(2);
            let expected = "Use SQLite instead\n\n(No other frame has this message. Put what the frames above must know of it into your result.)\n\n<memory>";
            assert!(newest.starts_with(expected), "{wire} {resume}: {newest}");
            let role = scene.model.requests()[2]["messages"].as_array().unwrap().last().unwrap()["role"].clone();
            assert_eq!(role, "user", "{wire} {resume}");
            assert!(!scene.messages(3).contains("Use SQLite"), "the parent does not see it");
        }
        // In the root frame, no other frame needs to know the message.
        let scene = scene_with_child(wire);
        assert_eq!(scene.run(&["Build a shop", "--max-steps", "3"]).status.code(), Some(3));
        assert!(scene.run(&["--resume", "Write a README, too"]).status.success());
        assert!(scene.newest(3).starts_with("Write a README, too\n\n<memory>"), "{wire}: {}", scene.newest(3));
    }
}

#[test]
fn the_run_to_resume_can_be_chosen() {
    let scene = scene_with_child("openai");
    for task in ["First task", "Second task"] {
        assert_eq!(scene.run(&[task, "--max-steps", "1"]).status.code(), Some(3));
    }
    for name in ["f1", "First task"] {
        let output = scene.run(&["--resume", name]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let expected = format!("`{name}` is a run, not an instruction; to resume it, write --resume={name}");
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    }
    assert!(scene.run(&["--resume=First task"]).status.success());
    assert_eq!(scene.results().as_deref(), Some("done"), "the first run is over");
    let output = scene.run(&["--resume=f1", "More"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(
        stderr(&output).contains("the run f1 (First task) is completed and cannot be resumed"),
        "{}",
        stderr(&output)
    );
    let output = scene.run(&["--resume=Third task"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("`Third task`"), "{}", stderr(&output));
    let listed = format!(" runs --stack={}` lists the runs\n", scene.path(".callstack").display());
    assert!(stderr(&output).ends_with(&listed), "the hint names the stack of the agent: {}", stderr(&output));
    assert!(scene.run(&["--resume"]).status.success(), "the newest unfinished run is the second one");
    let output = scene.run(&["--resume"]);
    assert!(stderr(&output).contains("has no unfinished run; start one with a task"), "{}", stderr(&output));
    assert_eq!(scene.run(&[]).status.code(), Some(2), "a task or --resume is required");
    assert_eq!(std::fs::read_dir(scene.path(".callstack/runs")).unwrap().count(), 0, "locks of runs that are over");
}

#[test]
fn the_command_that_is_printed_resumes_the_run() {
    let scene = scene_with_child("anthropic");
    let odd = scene.path("it's a folder");
    std::fs::create_dir(&odd).unwrap();
    let output = scene.run(&["Build a shop", "--max-steps", "1", "--dir", odd.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let text = stderr(&output);
    let next = text.lines().last().unwrap().strip_prefix("next: ").expect("the last line says how to go on").to_owned();
    assert!(next.contains(" agent --resume=f1 --model=scripted ") && !next.contains("Build a shop"), "{next}");
    let next = next.replace("--max-steps=1", "--max-steps=9");
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &next]).env("ANTHROPIC_API_KEY", scripted_model::KEY).output().unwrap();
    assert!(output.status.success(), "{next}\n{}", stderr(&output));
    assert_eq!(stdout(&output), "done");
}

/// The command in the last line of a failure, in a shell that does not have the environment of the failed
/// command.
fn next(output: &std::process::Output) -> std::process::Command {
    let text = stderr(output);
    let next = text.lines().last().unwrap().strip_prefix("next: ").expect("the last line says how to go on");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", next]).env("OPENAI_API_KEY", scripted_model::KEY).env("ANTHROPIC_API_KEY", scripted_model::KEY);
    shell
}

#[test]
fn an_instruction_survives_whatever_happens_before_the_model_reads_it() {
    for wire in WIRES {
        let wait = json!({"command": "touch begun; test -e go || sleep 600"});
        let steps = json!([
            {"calls": [{"name": "run_command", "arguments": wait}]},
            {"calls": [{"name": "pop_frame", "arguments": {"result": "done"}}]},
        ]);
        let scene = Scene::new(&json!({ "steps": steps }), wire);
        let begun = || {
            wait_until("the command", || scene.path("begun").exists());
            std::fs::remove_file(scene.path("begun")).unwrap();
        };
        let mut child = scene.start(&["Wait"]);
        begun();
        child.kill().unwrap();
        child.wait().unwrap();
        let child = scene.start(&["--resume", "Use SQLite"]);
        begun();
        signal(&child, Signal::INT);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(stderr(&output).contains("the model is told: Use SQLite\n"), "{wire}: {}", stderr(&output));
        let mut child = scene.start(&["--resume"]);
        begun();
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::write(scene.path("go"), "").unwrap();
        let resumed = next(&output).output().unwrap();
        assert!(resumed.status.success(), "{wire}: {}", stderr(&resumed));
        assert!(scene.newest(1).starts_with("Use SQLite\n\n<memory>"), "{wire}: {}", scene.newest(1));
        assert_eq!(scene.messages(1).matches("Use SQLite").count(), 1, "{wire}: the model is told once");
        assert_eq!(scene.model.requests().len(), 2, "{wire}");
    }
}

#[test]
fn the_command_that_is_printed_names_the_stack_of_the_run() {
    let scene = scene_with_child("openai");
    let other = scene.path("other stack");
    assert_eq!(scene.run(&["Another run", "--max-steps", "1"]).status.code(), Some(3));
    let mut command = scene.command(&["Build a shop", "--max-steps", "3"]);
    let output = command.env("CALLSTACK_DIR", &other).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let resumed = next(&output).output().unwrap();
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert_eq!(scene.results(), None, "the run of the workspace's own stack is another one");
    let stack = Stack::open(&other, StackOptions::default()).unwrap();
    assert_eq!(stack.frame("f1").unwrap().results.as_deref(), Some("done"));
}

#[test]
fn a_run_belongs_to_the_stack_of_its_workspace() {
    let scene = scene_with_child("openai");
    // A stack above the workspace, which all other commands would use.
    assert_eq!(scene.run(&["Above", "--max-steps", "1"]).status.code(), Some(3));
    let below = scene.path("below");
    std::fs::create_dir(&below).unwrap();
    let output = scene.command(&["--resume", "--dir", "."]).current_dir(&below).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("./.callstack contains no stack, and so no run to resume\nnext: name the workspace")
    );
    assert!(!below.join(".callstack").exists(), "nothing was made");
    let help = stdout(&scene.run(&["--help"])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("Default: .callstack in the workspace, even if there is a stack above it"), "{help}");
    assert!(!help.contains("the nearest .callstack"), "{help}");
    // The option also works before the name of the command.
    let program = std::process::Command::new(env!("CARGO_BIN_EXE_callstack"));
    for before in [true, false] {
        let mut command = std::process::Command::new(program.get_program());
        let stack = ["--stack", "elsewhere"];
        command.args(stack.iter().filter(|_| before)).args([
            "agent",
            "--resume",
            "--model",
            "m",
            "--base-url",
            "http://x/",
        ]);
        let output = command.args(stack.iter().filter(|_| !before)).output().unwrap();
        assert!(stderr(&output).contains("error: elsewhere contains no stack"), "{}", stderr(&output));
    }
}

#[test]
fn a_run_that_has_answered_before_waits_for_its_network() {
    for wire in WIRES {
        let scene = scene_with_child(wire);
        assert_eq!(scene.run(&["Build a shop", "--max-steps", "1"]).status.code(), Some(3));
        let nowhere = ["--base-url", "http://127.0.0.1:9/v1/", "--retries", "2"];
        let output = scene.run(&[&["--resume"], &nowhere[..]].concat());
        assert_eq!(output.status.code(), Some(1), "{wire}: {}", stderr(&output));
        assert_eq!(stderr(&output).matches("cannot be reached").count(), 3, "{wire}: {}", stderr(&output));
        // The page of a hotel's network. The program asks a second time after an answer with a
        // success status.
        let page = || Fault::Response(200, "text/html", "<html><title>Welcome</title></html>".into());
        (0..2).for_each(|_| scene.model.fail(2, page()));
        let output = scene.run(&["--resume"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        assert!(stderr(&output).contains("a web page, “welcome”"), "{wire}: {}", stderr(&output));
    }
}

#[test]
fn one_process_at_a_time_drives_a_run() {
    let scene = scene_with_child("openai");
    scene.model.fail(3, Fault::Hang);
    let mut child = scene.start(&["Build a shop"]);
    scene.wait_for_requests(3);
    for resume in ["--resume", "--resume=f1"] {
        let output = scene.run(&[resume]);
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        let expected = format!(
            "error: the run f1 (Build a shop) is driven by the process {0}\nnext: wait for its end, or end it: kill {0}\n",
            child.id()
        );
        assert!(stderr(&output).ends_with(&expected), "{}", stderr(&output));
    }
    assert!(stdout(&scene.callstack(&["runs"])).contains(&format!("driven by the process {}", child.id())));
    assert_eq!(scene.callstack(&["runs", "drop", "f1"]).status.code(), Some(4));
    assert_eq!(scene.model.requests().len(), 3, "no other process has asked the model");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(scene.run(&["--resume"]).status.success(), "the lock has gone with its process");
}

#[test]
fn a_dropped_run_is_not_resumed() {
    let scene = scene_with_child("openai");
    for task in ["First task", "Second task"] {
        assert_eq!(scene.run(&[task, "--max-steps", "1"]).status.code(), Some(3));
    }
    let output = scene.callstack(&["runs", "drop", "Second task", "--reason", "not needed"]);
    assert_eq!(stdout(&output), "dropped f3: Second task", "{}", stderr(&output));
    assert!(!scene.path(".callstack/runs/f3.lock").exists());
    let unfinished = stdout(&scene.callstack(&["runs", "--unfinished"]));
    assert!(unfinished.contains("First task") && !unfinished.contains("Second task"), "{unfinished}");
    let shown = stdout(&scene.callstack(&["runs", "show", "f3"]));
    assert!(shown.contains("not needed"), "{shown}");
    let stack = scene.stack();
    assert!(
        stack
            .read(|tree| tree.subtree(stack.resolve("f3").unwrap()).all(|frame| !tree.node(frame).status().is_open()))
            .unwrap()
    );
    drop(stack);
    let output = scene.run(&["--resume"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(scene.results().as_deref(), Some("done"), "the first run went on");
    assert_eq!(scene.callstack(&["runs", "drop", "f3"]).status.code(), Some(4), "it is over already");
}

#[test]
fn all_that_is_open_in_a_run_is_dropped_with_it() {
    let scene = scene_with_child("openai");
    assert_eq!(scene.run(&["Build a shop", "--max-steps", "1"]).status.code(), Some(3));
    let by_hand = ["push", "By hand", "--parent", "f2"];
    assert!(scene.callstack(&by_hand).status.success());
    // A process that was killed while it dropped a run leaves frames that are already dropped, and the root.
    assert!(scene.callstack(&["invalidate", "f3", "not needed"]).status.success());
    let output = scene.callstack(&["runs", "drop", "f1", "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let dropped: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(dropped["data"]["invalidated"], json!(["f2", "f1"]));
    assert_eq!(scene.callstack(&["runs", "drop", "f1"]).status.code(), Some(4), "nothing is left to drop");
}

#[test]
fn locks_of_runs_that_others_have_ended_do_not_stay() {
    let scene = scene_with_child("openai");
    for task in ["First task", "Second task", "Third task"] {
        assert_eq!(scene.run(&[task, "--max-steps", "1"]).status.code(), Some(3));
    }
    let locks = || std::fs::read_dir(scene.path(".callstack/runs")).unwrap().count();
    assert_eq!(locks(), 3);
    assert!(scene.callstack(&["invalidate", "First task", "not needed"]).status.success());
    assert!(scene.callstack(&["runs", "drop", "Second task"]).status.success());
    assert_eq!(locks(), 1, "the run that can be resumed");
    assert!(scene.callstack(&["invalidate", "Third task", "not needed"]).status.success());
    assert_eq!(scene.run(&["--resume=Third task"]).status.code(), Some(4));
    assert_eq!(locks(), 0);
}

//! Problems with a model: for which problems the program waits, and what it tells the person.

use std::process::Command;

use scripted_model::Fault;
use serde_json::json;

use crate::scene::*;

#[test]
fn passing_troubles_are_waited_for() {
    for wire in WIRES {
        let scene = Scene::new(&script("shortener-heap"), wire);
        scene.model.fail(1, Fault::Status(429, Some(0)));
        scene.model.fail(1, Fault::Status(500, None));
        scene.model.fail(2, Fault::Cut);
        scene.model.fail(5, Fault::Status(529, None));
        let output = scene.run(&["--memory", "heap", "Build"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        assert_eq!(scene.model.requests().len(), 15, "{wire}");
        assert_eq!(stderr(&output).matches("trying again in").count(), 4, "{wire}: {}", stderr(&output));
        assert!(stderr(&output).contains("scripted answers 429: try again later; trying again in 0.0 s"));

        let scene = Scene::new(&script("shortener-heap"), wire);
        (0..3).for_each(|_| scene.model.fail(2, Fault::Status(503, None)));
        let output = scene.run(&["--memory", "heap", "Build", "--retries", "2"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("error: scripted answers 503: try again later"), "{}", stderr(&output));
        assert!(scene.run(&["--resume"]).status.success(), "a run that has failed can go on");
    }
}

#[test]
fn a_model_that_falls_silent_is_not_waited_for_for_ever() {
    let scene = Scene::new(&script("shortener-heap"), "openai");
    scene.model.fail(2, Fault::Hang);
    let output = scene.run(&["--memory", "heap", "Build", "--timeout", "1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("trying again"), "{}", stderr(&output));
}

#[test]
fn wrong_keys_models_and_addresses_are_told_apart() {
    for wire in WIRES {
        let scene = Scene::new(&script("shortener-heap"), wire);
        let failed = |code: i32, command: &mut Command| {
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{wire}: {}", stderr(&output));
            let text = stderr(&output);
            let message = text.lines().find(|line| line.starts_with("error: ")).unwrap_or(&text).to_owned();
            assert!(!text.contains("--resume"), "{wire}: there is no run to resume:\n{text}");
            message
        };
        let url = &scene.model.base_url;
        let message = failed(1, scene.command(&["x"]).env("OPENAI_API_KEY", "wrong").env("ANTHROPIC_API_KEY", "wrong"));
        let variable = if wire == "openai" { "OPENAI_API_KEY" } else { "ANTHROPIC_API_KEY" };
        assert_eq!(
            message,
            format!("error: {url} refuses the API key in {variable} (401: Incorrect API key provided)")
        );
        let message = failed(1, scene.command(&["x"]).env_remove("OPENAI_API_KEY").env_remove("ANTHROPIC_API_KEY"));
        assert!(message.contains(&format!("wants an API key: set {variable} (401: ")), "{message}");
        let message = failed(1, &mut scene.command(&["x", "--model", "nobody"]));
        assert!(message.contains("has no model nobody; check --model (404: The model"), "{message}");
        let nowhere = url.replace("/v1/", "/v7");
        let message = failed(1, &mut scene.command(&["x", "--base-url", &nowhere]));
        let expected = "/v7/ is not the address of a model API; check --base-url, which usually ends in /v1/ (404: ";
        assert!(message.contains(expected), "{message}");
        let message = failed(1, &mut scene.command(&["x", "--base-url", "http://127.0.0.1:9/v1/"]));
        assert!(
            message.contains("http://127.0.0.1:9/v1/ cannot be reached") && message.contains("check --base-url"),
            "{message}"
        );
        let message = failed(2, &mut scene.command(&["x", "--base-url", "localhost"]));
        assert!(message.contains("must begin with http:// or https://"), "{message}");
        let message = failed(1, &mut scene.command(&["x", "--api-key-env", "NO_SUCH_VARIABLE"]));
        assert!(message.contains("there is no API key: set NO_SUCH_VARIABLE"), "{message}");
        let message = failed(2, &mut scene.command(&["x", "--dir", "/no/such/folder"]));
        assert!(message.contains("/no/such/folder is not a folder"), "{message}");
    }
}

#[test]
fn an_address_that_answers_with_a_page_is_named_as_such() {
    let page = "<!DOCTYPE html>\n<html><head><title>Welcome to nginx!</title></head><body>It works</body></html>";
    for wire in WIRES {
        for (status, expected) in [
            (
                200,
                "is not the address of a model API: it answers with a web page, “welcome to nginx!”; check --base-url",
            ),
            (404, "is not the address of a model API: it answers 404 with a web page, “welcome to nginx!”; check"),
            (501, "is not the address of a model API: it answers 501 with a web page, “welcome to nginx!”; check"),
            (403, "is not the address of a model API: it answers 403 with a web page, “welcome to nginx!”; check"),
        ] {
            let scene = Scene::new(&script("shortener-heap"), wire);
            let fault = || Fault::Response(status, "text/html; charset=utf-8", page.into());
            // The program asks a second time after an answer with a success status.
            (0..2).for_each(|_| scene.model.fail(1, fault()));
            let output = scene.run(&["Build"]);
            assert_eq!(output.status.code(), Some(1), "{wire} {status}: {}", stderr(&output));
            assert!(stderr(&output).contains(expected), "{wire} {status}: {}", stderr(&output));
            assert!(!stderr(&output).contains("<html>"), "{wire} {status}: {}", stderr(&output));
        }
        // A page from a server between the program and the provider is a temporary problem.
        let scene = Scene::new(&script("shortener-heap"), wire);
        scene.model.fail(2, Fault::Response(502, "text/html", "<html><title>Bad Gateway</title></html>".into()));
        let output = scene.run(&["--memory", "heap", "Build"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        let expected = "scripted answers 502: a web page, “bad gateway”; trying again";
        assert!(stderr(&output).contains(expected), "{wire}: {}", stderr(&output));
    }
}

#[test]
fn a_run_whose_first_request_fails_is_no_run() {
    let scene = Scene::new(&script("shortener-heap"), "openai");
    let output = scene.run(&["--memory", "heap", "Build", "--max-steps", "2"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    // A new run with a wrong model, and a run whose provider is not available.
    assert_eq!(scene.run(&["Other", "--model", "nobody"]).status.code(), Some(1));
    (0..2).for_each(|_| scene.model.fail(1, Fault::Status(503, None)));
    assert_eq!(scene.run(&["Third", "--retries", "1"]).status.code(), Some(1));
    let listed = scene.callstack(&["runs"]);
    assert!(stdout(&listed).starts_with("[>] f1 Build\n"), "{}", stdout(&listed));
    assert!(stdout(&listed).ends_with("... and 2 runs without an answer (--all)"), "{}", stdout(&listed));
    let output = scene.run(&["--resume"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), scene.results().unwrap());
    // A run without an answer is only found by its name, no matter how it ended. After that it is abandoned
    // like a new run.
    scene.model.fail(1, Fault::Hang);
    let mut child = scene.start(&["Fourth"]);
    let asked = scene.model.requests().len();
    scene.wait_for_requests(asked + 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(scene.run(&["--resume"]).status.code(), Some(4));
    let output = scene.run(&["--resume=Fourth", "--model", "nobody"]);
    assert_eq!(output.status.code(), Some(1));
    let expected = "next: run the command again; the model never answered, so there is no run to resume\n";
    assert!(stderr(&output).ends_with(expected), "{}", stderr(&output));
    assert!(!stdout(&scene.callstack(&["runs", "--unfinished", "--all"])).contains("Fourth"));
}

#[test]
fn a_refusal_without_words_is_told_as_such() {
    let scene = Scene::new(&script("shortener-heap"), "openai");
    scene.model.fail(1, Fault::Response(404, "application/json", String::new()));
    let output = scene.run(&["Build"]);
    assert!(stderr(&output).contains("(404: no message)\nnext: run the command again"), "{}", stderr(&output));
}

#[test]
fn an_answer_that_is_cut_by_its_length_is_not_carried_out() {
    for wire in WIRES {
        let write = |path: &str| json!({"name": "write_file", "arguments": {"path": path, "content": "x".repeat(500)}});
        let steps = json!([
            {"text": "All at once.", "calls": [write("first"), write("second")], "cut": true},
            {"text": "Thinking for very long", "cut": true},
            {"calls": [write("third")]},
            {"calls": [{"name": "pop_frame", "arguments": {"result": "done"}}]},
        ]);
        let scene = Scene::new(&json!({ "steps": steps }), wire);
        let output = scene.run(&["Write", "--max-tokens", "200"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        assert!(!scene.path("first").exists() && !scene.path("second").exists(), "{wire}: a cut call was carried out");
        assert!(scene.path("third").exists());
        let told = "not carried out: write_file, write_file. Reply again and more briefly";
        assert!(scene.newest(1).contains(told), "{wire}: {}", scene.newest(1));
        assert!(scene.newest(2).contains("because it reached its maximum length. Reply again"), "{}", scene.newest(2));
        assert!(scene.messages(1).contains("All at once."), "{wire}");
        assert!(scene.model.requests().iter().all(|request| request["max_tokens"] == 200), "{wire}: --max-tokens");
        assert_eq!(stderr(&output).matches("the answer was cut at its maximum length").count(), 2, "{wire}");
    }
}

#[test]
fn the_help_names_the_exit_codes() {
    let output = Scene::of_calls(&[]).run(&["--help"]);
    for line in [
        "0    the task is done",
        "2    wrong arguments",
        "3    a limit was reached",
        "4    refused",
        "130  interrupted",
    ] {
        assert!(stdout(&output).contains(line), "{line}:\n{}", stdout(&output));
    }
}

#[test]
fn a_provider_that_asks_for_a_day_is_not_waited_for() {
    let scene = Scene::new(&script("shortener-heap"), "openai");
    scene.model.fail(2, Fault::Status(429, Some(86_400)));
    let output = scene.run(&["--memory", "heap", "Build"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("--resume"), "the run can go on later: {}", stderr(&output));
    assert!(scene.run(&["--resume"]).status.success());
}

#[test]
fn an_answer_without_an_end_is_given_up() {
    let text = "word ".repeat(1 << 20);
    let scene = Scene::new(&json!({"steps": [{"text": text}]}), "openai");
    let output = scene.run(&["Build"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("has more than 4194304 bytes; limit it with --max-tokens"),
        "{:.300}",
        stderr(&output)
    );
}

//! The tools of the workspace: files and commands.

use rustix::process::{Signal, kill_process};
use scripted_model::KEY;
use serde_json::json;
use tempfile::TempDir;

use crate::scene::*;

#[test]
fn no_path_leads_out_of_the_workspace() {
    let outside = TempDir::new().unwrap();
    std::fs::write(outside.path().join("secret"), "not for agents").unwrap();
    let secret = outside.path().join("secret").display().to_string();
    let link = format!(
        "ln -s {0} out; ln -s ../{1}/secret up; mkfifo pipe; mkdir folder; ln -s .callstack mine; ln -s folder inner",
        outside.path().display(),
        outside.path().file_name().unwrap().to_string_lossy()
    );
    let calls = [
        ("run_command", json!({ "command": link })),
        ("read_file", json!({ "path": secret })),
        ("read_file", json!({"path": "../secret"})),
        ("read_file", json!({"path": "folder/../../secret"})),
        ("read_file", json!({"path": "out/secret"})),
        ("read_file", json!({"path": "up"})),
        ("write_file", json!({"path": "out/new", "content": "x"})),
        ("write_file", json!({"path": "/new", "content": "x"})),
        ("list_files", json!({"path": "out"})),
        ("list_files", json!({"path": ".."})),
        ("read_file", json!({"path": ".callstack/stack.db"})),
        ("write_file", json!({"path": "mine/stack.db", "content": "x"})),
        ("write_file", json!({"path": "folder/../.callstack/new", "content": "x"})),
        ("read_file", json!({"path": "pipe"})),
        ("write_file", json!({"path": "pipe", "content": "x"})),
        ("read_file", json!({"path": "folder"})),
        ("read_file", json!({"path": "nothing"})),
        ("read_file", json!({"path": "\0"})),
        // Paths inside of the workspace are accepted in any spelling.
        ("write_file", json!({"path": "inner/./deep/new.txt", "content": "fine"})),
        ("list_files", json!({})),
        ("pop_frame", json!({"result": "done"})),
    ];
    let scene = Scene::of_calls(&calls);
    let output = scene.run(&["Escape"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let outside_of_it = "outside of the workspace";
    for (step, expected) in [
        (2, outside_of_it),
        (3, outside_of_it),
        (4, outside_of_it),
        (5, outside_of_it),
        (6, outside_of_it),
        (7, outside_of_it),
        (8, outside_of_it),
        (9, outside_of_it),
        (10, outside_of_it),
        (11, "belongs to the run itself"),
        (12, "belongs to the run itself"),
        (13, "belongs to the run itself"),
        (14, "is not a regular file"),
        (15, "is not a regular file"),
        (16, "is a folder"),
        (17, "does not exist"),
        (18, "`\0`"),
    ] {
        let answer = scene.answer(step);
        assert!(answer.contains(expected), "{} was answered {answer:?}", calls[step - 1].1);
        assert!(!answer.contains("not for agents"));
    }
    assert_eq!(std::fs::read_to_string(scene.path("folder/deep/new.txt")).unwrap(), "fine");
    assert!(scene.answer(20).contains("folder/") && !scene.answer(20).contains(".callstack"), "{}", scene.answer(20));
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "something was written outside");
}

#[test]
fn a_command_that_forks_and_hangs_is_killed_with_its_process_group() {
    let mark = format!("5{}", std::process::id());
    let escaped = format!("9{}", std::process::id());
    let command = format!("echo begun; (sleep {mark} & sleep {mark} & wait) & setsid sleep {escaped} & sleep {mark}");
    let scene = Scene::of_calls(&[
        ("run_command", json!({ "command": command })),
        // Background processes of a command are killed together with it, and do not delay it.
        ("run_command", json!({ "command": format!("sleep {mark} & echo over") })),
        ("pop_frame", json!({"result": "done"})),
    ]);
    let output = scene.run(&["--command-timeout", "1", "Hang"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // On other systems, a process that has left the group stays alive. It keeps the pipe open, and the
    // program does not wait for it.
    let escaped = running(&format!("sleep {escaped}"));
    assert_eq!(escaped.len(), usize::from(!cfg!(target_os = "linux")));
    escaped.into_iter().for_each(|escaped| kill_process(escaped, Signal::KILL).unwrap());
    let killed = "begun\n[killed after 1 seconds, with its process group; give it a longer `timeout`, or run it with `background`]";
    assert_eq!(scene.answer(1), killed);
    assert_eq!(scene.answer(2), "over\n[exit status 0]");
    wait_until("the end of all", || running(&format!("sleep {mark}")).is_empty());
}

#[test]
fn output_and_files_of_any_size_are_cut_with_a_note() {
    let scene = Scene::of_calls(&[
        (
            "run_command",
            json!({"command": "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last >&2; exit 3"}),
        ),
        ("run_command", json!({"command": "seq 20000 > numbers; yes | head -c 70000000 > large"})),
        ("read_file", json!({"path": "numbers"})),
        ("read_file", json!({"path": "numbers", "offset": 100_000})),
        ("read_file", json!({"path": "large"})),
        ("run_command", json!({"command": "for i in $(seq 1500); do touch a-file-with-a-long-name-$i; done"})),
        ("list_files", json!({})),
        ("pop_frame", json!({"result": "done"})),
    ]);
    let output = scene.run(&["Print"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let answer = scene.answer(1);
    assert!(answer.starts_with("first\nxxx") && answer.ends_with("xxx\nlast\n[exit status 3]"));
    assert!(answer.contains("[… about 49990012 bytes are left out …]"), "{}", &answer[2_400..2_700]);
    assert!(answer.chars().count() < 10_100);
    let answer = scene.answer(3);
    assert!(answer.ends_with("[cut: characters 0 to 10000 of 108894; read on with offset 10000]"), "{answer}");
    assert!(scene.answer(4).ends_with("19999\n20000\n"));
    assert!(scene.answer(5).contains("has 70000000 bytes, too many to read"));
    assert!(scene.answer(7).contains(" more]") && scene.answer(7).len() < 10_100);
}

#[test]
fn commands_see_no_keys() {
    let scene =
        Scene::of_calls(&[("run_command", json!({"command": "env"})), ("pop_frame", json!({"result": "done"}))]);
    let mut command = scene.command(&["Look"]);
    command.env("GITHUB_TOKEN", "ghp_1").env("Db_Password", "hunter2").env("MY_AUTH", "x").env("HIDDEN", KEY);
    let output = command.env("HARMLESS", "visible").env("GIT_AUTHOR_NAME", "Ada").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let environment = scene.answer(1);
    for secret in [KEY, "ghp_1", "hunter2", "MY_AUTH", "API_KEY"] {
        assert!(!environment.contains(secret), "{secret} is in the environment:\n{environment}");
    }
    assert!(["HARMLESS=visible", "GIT_AUTHOR_NAME=Ada", "PATH="].iter().all(|variable| environment.contains(variable)));
}

#[test]
fn a_command_gets_the_time_that_the_model_asks_for() {
    let scene = Scene::of_calls(&[
        ("run_command", json!({"command": "echo begun; sleep 60", "timeout": 1})),
        ("run_command", json!({"command": "sleep 2; echo done", "timeout": 30})),
        ("run_command", json!({"command": "true", "timeout": 3601})),
        ("run_command", json!({"command": "true", "timeout": 0})),
        ("run_command", json!({"command": "true", "timeout": 5, "background": true})),
        ("pop_frame", json!({"result": "done"})),
    ]);
    let output = scene.run(&["Wait", "--command-timeout", "1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(scene.answer(1).starts_with("begun\n[killed after 1 seconds, "), "{}", scene.answer(1));
    assert_eq!(scene.answer(2), "done\n[exit status 0]");
    assert!(scene.answer(3).contains("`timeout` is 3601, but must be from 1 to 3600 seconds"), "{}", scene.answer(3));
    assert!(scene.answer(4).contains("must be from 1 to 3600 seconds"), "{}", scene.answer(4));
    assert!(scene.answer(5).contains("a background command has no time limit"), "{}", scene.answer(5));
    let tools = scene.model.requests()[0]["tools"].to_string();
    assert!(tools.contains("The time limit is 1 seconds, unless you give another one, up to 3600."), "{tools}");
}

#[test]
fn background_commands_run_until_they_are_ended() {
    let mark = format!("6{}", std::process::id());
    let serve = format!("echo serving; sleep {mark} & sleep {mark}");
    let lines = format!("for i in $(seq 3000); do echo line $i; done; exec sleep {mark}9");
    let scene = Scene::of_calls(&[
        ("list_commands", json!({})),
        ("run_command", json!({ "command": serve, "background": true })),
        ("run_command", json!({"command": "echo no port; exit 7", "background": true})),
        ("run_command", json!({ "command": lines, "background": true })),
        ("list_commands", json!({})),
        ("command_output", json!({"id": "c3", "characters": 20})),
        ("end_command", json!({"id": "c1"})),
        ("command_output", json!({"id": "c9"})),
        ("list_commands", json!({})),
        ("pop_frame", json!({"result": "done"})),
    ]);
    let output = scene.run(&["Serve"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(scene.answer(1), "[there are no background commands]");
    // How much of their output has arrived after a second depends on the machine.
    assert!(scene.answer(2).starts_with("c1 runs in the background. It"), "{}", scene.answer(2));
    assert!(scene.answer(3).starts_with("c2 "), "{}", scene.answer(3));
    let listed = scene.answer(5);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("c1 [running for ") && lines[0].ends_with(&serve), "{listed}");
    assert!(lines[1].starts_with("c2 [exit status 7] after ") && lines.len() == 3, "{listed}");
    let newest = scene.answer(6);
    let expected = "Its newest output:\n[… older output is left out …]\nline 2999\nline 3000\n[running for ";
    assert!(newest.starts_with(expected), "{newest}");
    let ended = scene.answer(7);
    assert!(ended.starts_with("Its newest output:\nserving\n[ended by end_command] after "), "{ended}");
    assert!(running(&format!("sleep {mark}")).is_empty(), "the whole group of the command has ended");
    assert!(
        scene.answer(8).contains("there is no background command `c9`; there are c1, c2, c3"),
        "{}",
        scene.answer(8)
    );
    assert!(scene.answer(9).contains("c1 [ended by end_command] after "), "{}", scene.answer(9));
    assert!(running(&format!("sleep {mark}9")).is_empty(), "the end of the run ends its commands");
}

#[test]
fn no_command_outlives_the_process_of_its_run() {
    for kind in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let mark = format!("7{}{}", kind.as_raw(), std::process::id());
        let scene = Scene::of_calls(&[
            ("run_command", json!({ "command": format!("sleep {mark} & sleep {mark}"), "background": true })),
            ("run_command", json!({ "command": format!("sleep {mark}; true") })),
        ]);
        let mut child = scene.start(&["Sleep"]);
        wait_until("the commands", || running(&format!("sleep {mark}")).len() == 3);
        signal(&child, kind);
        let code = child.wait().unwrap().code();
        assert_eq!(code, (kind != Signal::KILL).then_some(130), "{kind:?}");
        wait_until("the end of the commands", || running(&format!("sleep {mark}")).is_empty());
    }
}

#[test]
fn a_resumed_model_is_told_which_background_commands_have_ended() {
    let calls = |name: &str, arguments: serde_json::Value| json!({"calls": [{"name": name, "arguments": arguments}]});
    let steps = json!([
        calls("run_command", json!({"command": "echo one; exec sleep 600", "background": true})),
        calls("run_command", json!({"command": "echo two; exec sleep 600", "background": true})),
        calls("end_command", json!({"id": "c1"})),
        calls("run_command", json!({"command": "touch reached; sleep 600"})),
        calls("run_command", json!({"command": "echo three; exec sleep 600", "background": true})),
        calls("pop_frame", json!({"result": "done"})),
    ]);
    for wire in WIRES {
        let scene = Scene::new(&json!({ "steps": steps }), wire);
        let mut child = scene.start(&["Serve"]);
        wait_until("the last command", || scene.path("reached").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        let output = scene.run(&["--resume", "--command-timeout", "1"]);
        assert!(output.status.success(), "{wire}: {}", stderr(&output));
        let told = scene.newest(4);
        assert!(
            told.starts_with(
                "The program that runs you was restarted. These background commands have ended with the earlier one; \
                 start again those that are still needed:\n- c2: echo two; exec sleep 600\n\n<memory>"
            ),
            "{wire}: {told}"
        );
        assert!(scene.messages(4).contains("this command may have run twice"), "{wire}: the call is answered first");
        assert!(scene.answer(5).starts_with("c3 runs in the background."), "no ID is used twice: {}", scene.answer(5));
    }
}

//! Tests of the texts that the frames of a run share: results, artifacts and decisions in the prompts of
//! other frames, and their logs.

use callstack_core::context::{Approx, TokenCounter};
use callstack_core::frame::{MemoryModel, Message, RunSettings};
use callstack_core::memory::{ContextWindow, NewRun, Prompt};
use callstack_core::{Handle, MemoryStore, NewFrame, PopStatus, Stack, StackOptions, tools};
use serde_json::{Value, json};
use support::Queries;
use support::agent::Agent;

/// A run with these settings.
fn start(stack: Stack, settings: RunSettings) -> Agent {
    let run = stack.start_run(NewRun::new("Build an app\nwith accounts and an API").settings(settings)).unwrap();
    Agent { stack, run }
}

fn stack() -> Stack {
    Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap()
}

fn agent() -> Agent {
    start(Stack::in_memory(), RunSettings::default())
}

fn push(agent: &Agent, name: &str, objective: &str) -> Handle {
    agent.step(&[("push_frame", json!({"name": name, "objective": objective}))]);
    agent.stack.run(agent.run).status().unwrap().frame
}

fn pop(agent: &Agent, arguments: Value) {
    agent.step(&[("pop_frame", arguments)]);
}

/// The text of the first message of a prompt.
fn first(prompt: &Prompt) -> &str {
    prompt.messages[0].text()
}

/// The frames that the first message shows, in its order.
fn shown(prompt: &Prompt) -> Vec<String> {
    let ids = first(prompt).split("<frame id=\"").skip(1);
    ids.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

/// The tree of the specification: A with A1 and A2 is done, B is at work. Returns the agent in B1.
fn at_work_in_b1(settings: RunSettings) -> Agent {
    let agent = start(Stack::in_memory(), settings);
    push(&agent, "auth", "Log users in; the tests of auth pass");
    for (name, secret) in [("user-model", "bcrypt was slow"), ("login-routes", "the cookie was too long")] {
        push(&agent, name, &format!("Make the {name}"));
        agent.step(&[("run_command", json!({"command": secret}))]);
        pop(&agent, json!({"result": format!("{name} is there: {secret}")}));
    }
    let made = json!({
        "result": "JWT with refresh tokens; 14 tests pass",
        "artifacts": ["src/auth.ts", "src/user.ts"],
        "decisions": ["Tokens live 15 minutes, because they cannot be revoked"],
    });
    pop(&agent, made);
    push(&agent, "api-routes", "REST routes with pages");
    push(&agent, "crud", "GET, POST, PUT and DELETE of resources");
    agent
}

#[test]
fn a_frame_sees_the_aims_above_it_and_the_results_beside_them() {
    let agent = at_work_in_b1(RunSettings::default());
    let prompt = agent.prompt();
    // The root, B, then A: nothing of A1 and A2.
    assert_eq!(shown(&prompt), ["f1", "f5", "f2"]);
    let text = first(&prompt);
    for seen in [
        "with accounts and an API</success-criteria>",
        "<success-criteria>REST routes with pages</success-criteria>",
        "<ancestor-siblings beside=\"f5\">\n<frame id=\"f2\" status=\"completed\">\n<title>auth</title>\n\
         <results>JWT with refresh tokens; 14 tests pass</results>\n<artifacts>src/auth.ts, src/user.ts</artifacts>\n\
         <decisions>\n<decision>Tokens live 15 minutes, because they cannot be revoked</decision>",
        "</stack-context>\n\nObjective: GET, POST, PUT and DELETE of resources\n\n<memory>\n",
    ] {
        assert!(text.contains(seen), "{seen:?} is missing in {text}");
    }
    for hidden in ["user-model", "bcrypt", "cookie", "f3", "f4"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    // The next sibling sees a finished sibling. The parent has the results of the finished frame as the
    // answer to its push.
    pop(&agent, json!({"result": "Four routes in src/routes.ts"}));
    assert_eq!(shown(&agent.prompt()), ["f1", "f2"], "not the children whose results it has");
    push(&agent, "pages", "Pages by cursor");
    assert_eq!(shown(&agent.prompt()), ["f1", "f5", "f2", "f6"]);
    assert!(first(&agent.prompt()).contains("<completed-siblings>\n<frame id=\"f6\" status=\"completed\">"));
}

#[test]
fn the_root_sees_no_others_and_chunks_are_not_repeated() {
    let agent = agent();
    agent.step(&[("heap_alloc", json!({"name": "spec", "content": "one of a kind"}))]);
    assert!(first(&agent.prompt()).starts_with("Build an app\n"));
    push(&agent, "auth", "Log users in");
    let prompt = agent.prompt();
    assert!(!first(&prompt).contains("<heap"), "{prompt:?}");
    assert_eq!(first(&prompt).matches("one of a kind").count(), 1, "the memory alone has the chunk");
}

#[test]
fn the_beginning_of_a_prompt_stays_while_its_frame_works() {
    let agent = at_work_in_b1(RunSettings::default());
    let around = |agent: &Agent| {
        let prompt = agent.prompt();
        first(&prompt)[..first(&prompt).find("Objective: ").unwrap()].to_owned()
    };
    let before = around(&agent);
    let b1 = agent.stack.run(agent.run).status().unwrap().frame;
    let b = agent.stack.read(|tree| tree.node(b1).parent().unwrap()).unwrap();
    agent.stack.add_artifact(b1, "src/routes.ts").unwrap();
    agent.stack.add_artifact(b, "openapi.yaml").unwrap();
    agent.step(&[("read_file", json!({"path": "src/auth.ts"}))]);
    assert_eq!(around(&agent), before);
    push(&agent, "delete", "DELETE of resources");
    assert!(around(&agent).contains("<artifacts>openapi.yaml</artifacts>"), "frames see what those above have made");
    pop(&agent, json!({"result": "It deletes"}));
    let after = around(&agent);
    assert_eq!(after.replace("<artifacts>openapi.yaml</artifacts>\n", ""), before);
    // A frame that is taken out of the plan is no longer shown.
    agent.stack.invalidate("f2", "done in another way").unwrap();
    assert!(!around(&agent).contains("JWT"));
}

#[test]
fn a_budget_limits_what_a_frame_sees() {
    let of_budget = |budget: usize| {
        let agent = start(Stack::in_memory(), RunSettings::default().results_budget(budget));
        for part in ["cart", "search", "invoice"].into_iter().cycle().take(90) {
            push(&agent, part, &format!("Make the {part}"));
            pop(&agent, json!({"result": format!("The {part} is there. {}", "It has tests. ".repeat(30))}));
        }
        push(&agent, "checkout", "Join the cart and the invoice");
        let text = first(&agent.prompt()).to_owned();
        text[..text.find("Objective: ").unwrap()].to_owned()
    };
    let mut before = 0;
    for budget in [0, 20, 60, 150, 400, 800, 1_500, 20_000] {
        let text = of_budget(budget);
        let tokens = Approx.count(&text);
        assert!(tokens <= budget, "{tokens} of {budget}: {text}");
        assert!(text.len() >= before, "{budget}: a larger budget shows less");
        before = text.len();
    }
    assert_eq!(of_budget(20), "", "no room for the title of the parent");
    let default = of_budget(RunSettings::RESULTS_BUDGET);
    assert!(
        default.contains("The invoice is there.") && default.contains("<truncation omitted-siblings="),
        "{default}"
    );
    assert!(!of_budget(20_000).contains("<truncation"));
}

#[test]
fn the_frames_that_an_objective_names_are_shown_whenever_they_have_finished() {
    let agent = agent();
    for thing in ["invoice", "parcel", "account", "ticket", "sensor", "recipe", "tariff", "journal"] {
        for verb in ["import", "export", "merge", "archive", "sort", "print"] {
            push(&agent, &format!("{verb}-{thing}"), &format!("Write what can {verb} each {thing}; its tests pass"));
            pop(&agent, json!({"result": format!("The {thing}s: {verb}. {}", "It has tests. ".repeat(20))}));
        }
    }
    push(&agent, "totals", "Add up the totals, with the results of merge-parcel");
    let text = first(&agent.prompt()).to_owned();
    assert!(text.contains("<title>merge-parcel</title>\n<results>The parcels: merge."), "{text}");
}

#[test]
fn without_shared_results_a_frame_begins_with_its_briefing_alone() {
    let agent = at_work_in_b1(RunSettings::default().shared_results(false));
    assert!(first(&agent.prompt()).starts_with("Objective: GET, POST, PUT and DELETE of resources\n\n<memory>\n"));
    // The pop of A had arguments that this agent does not have. So it was refused, and B is below A.
    assert_eq!(agent.stack.frame("f5").unwrap().parent_session_id, Some(agent.stack.frame("f2").unwrap().session_id));
    pop(&agent, json!({"result": "Four routes", "decisions": ["None"]}));
    let (answer, is_error) = agent.answers()[0].clone();
    assert!(is_error && answer.starts_with("pop_frame: `decisions`: unknown field `decisions`"), "{answer}");
    agent.step(&[("read_frame_log", json!({"frame": "f2"}))]);
    assert_eq!(agent.answers()[0].0, "read_frame_log was done: {\"frame\":\"f2\"}", "it would be a tool of the host");
}

#[test]
fn a_pop_records_artifacts_and_decisions_and_its_parent_reads_them() {
    let agent = agent();
    let child = push(&agent, "auth", "Log users in");
    let refused = |arguments: Value, expected: &str| {
        let before = agent.stack.state().unwrap().frames;
        pop(&agent, arguments);
        let (answer, is_error) = agent.answers()[0].clone();
        assert!(is_error && answer.starts_with(expected), "{answer}");
        assert_eq!(agent.stack.state().unwrap().frames.len(), before.len());
        let frame = agent.stack.frame(child).unwrap();
        assert!(frame.status.is_open() && frame.artifacts.is_empty() && frame.decisions.is_empty(), "{frame:?}");
    };
    refused(json!({"result": "x", "artifacts": ["a.ts", " "]}), "pop_frame: `artifact` is empty");
    refused(json!({"result": "x", "artifacts": ["a.ts"], "decisions": [""]}), "pop_frame: `decision` is empty");
    refused(json!({"result": "x", "artifacts": "a.ts, b.ts"}), "pop_frame: `artifacts`: invalid type");
    agent.stack.add_artifact(child, "src/auth.ts").unwrap();
    let artifacts = json!(["src/auth.ts", "gen/user.ts", "gen/user.ts"]);
    pop(&agent, json!({"result": "It works", "artifacts": artifacts, "decisions": ["JWT,\nResult: no cookies"]}));
    let frame = agent.stack.frame(child).unwrap();
    assert_eq!(frame.artifacts, ["src/auth.ts", "gen/user.ts"]);
    assert_eq!(frame.decisions, ["JWT,\nResult: no cookies"]);
    assert_eq!(frame.results.as_deref(), Some("It works"));
    let answer = "Sub-task completed: Log users in\nResult: It works\nArtifact: src/auth.ts\nArtifact: gen/user.ts\n\
                  Decision: JWT,\n  Result: no cookies";
    assert_eq!(agent.answers(), [(answer.to_owned(), false)]);
}

#[cfg(feature = "sqlite")]
#[test]
fn an_agent_reads_the_logs_of_its_run_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let agent = start(Stack::open(folder.path(), StackOptions::default()).unwrap(), RunSettings::default());
    let child = push(&agent, "auth", "Log users in");
    agent.step(&[("run_command", json!({"command": "npm test"}))]);
    let lines: String = (0..400).map(|number| format!("line {number} of a long output\n")).collect();
    agent.step(&[("run_command", json!({ "command": lines }))]);
    pop(&agent, json!({"result": "It works"}));
    push(&agent, "routes", "Write the routes");
    let read = |arguments: Value| {
        agent.step(&[("read_frame_log", arguments)]);
        agent.answers()[0].clone()
    };
    let (answer, is_error) = read(json!({ "frame": child }));
    assert!(!is_error && answer.len() < 13_000, "{} bytes: {answer}", answer.len());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["handle"], &answer["total"], &answer["next"]), (&json!("f2"), &json!(6), &Value::Null));
    assert_eq!(answer["lines"][1]["calls"][0]["name"], "run_command");
    assert!(answer.get("path").is_none(), "tools of files cannot reach it");
    let (answer, _) = read(json!({"frame": "auth", "search": "npm", "tail": 1}));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["lines"].as_array().unwrap().len(), 1, "by its title");
    // The log of a parent that is at work has the results of its other children.
    assert!(read(json!({"frame": "f1", "search": "It works"})).0.contains("Sub-task completed"));

    let other = agent.stack.start_run(NewRun::new("Another task")).unwrap();
    agent.stack.push(NewFrame::new("Of a person").id("p")).unwrap();
    for frame in [other.to_string(), "p".to_owned()] {
        let (answer, is_error) = read(json!({ "frame": frame }));
        let expected = format!("read_frame_log: frame is `{frame}`, but must be a frame of this task");
        assert_eq!((answer, is_error), (expected, true));
    }
    for (arguments, expected) in [
        (json!({"frame": "f77"}), "read_frame_log: no frame matches `f77`"),
        (json!({}), "read_frame_log: missing field `frame`. Example: {"),
    ] {
        let (answer, is_error) = read(arguments);
        assert!(is_error && answer.starts_with(expected), "{answer}");
    }
}

#[test]
fn a_stack_without_logs_says_so() {
    let agent = agent();
    agent.step(&[("read_frame_log", json!({"frame": "f1"}))]);
    let (answer, is_error) = agent.answers()[0].clone();
    assert!(is_error && answer.starts_with("read_frame_log: "), "{answer}");
}

#[test]
fn a_window_that_is_too_small_leaves_out_the_others_before_the_newest_step() {
    let agent = at_work_in_b1(RunSettings::default());
    let long = |mark: &str| format!("{mark} {}", "x".repeat(4_000));
    for mark in ["old", "new"] {
        agent.step(&[("read_file", json!({"path": long(mark)}))]);
    }
    let untouched = agent.prompt();
    let measured = |prompt: &mut Prompt, room: usize| ContextWindow::default().fit(prompt, room, str::len).size;
    let whole = measured(&mut untouched.clone(), usize::MAX);
    let mut seen = vec![[true; 3]];
    for room in (1..whole).rev().step_by(100) {
        let mut prompt = untouched.clone();
        let size = measured(&mut prompt, room);
        let has = |text: &str| prompt.messages.iter().any(|message| message.text().contains(text));
        let now = [long("old"), "<stack-context>".to_owned(), long("new")].map(|text| has(&text));
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        assert!(has("Objective: GET, POST, PUT and DELETE of resources"), "the briefing stays whole");
        assert!(now[1] || has("[The frames around this one are left out here"), "{room}");
        assert!(size <= room || now == [false; 3], "{size} of {room}, and there is more to shorten: {now:?}");
    }
    assert_eq!(seen, [[true; 3], [false, true, true], [false, false, true], [false; 3]]);

    // Text that was left out once stays left out.
    let mut window = ContextWindow::default();
    window.fit(&mut untouched.clone(), 100, str::len);
    agent.step(&[("read_file", json!({"path": "short"}))]);
    let mut prompt = agent.prompt();
    window.fit(&mut prompt, whole * 2, str::len);
    assert!(!first(&prompt).contains("<stack-context>"));
}

#[test]
fn a_run_keeps_its_setting_and_one_from_before_it_has_the_default() {
    let at = |settings: RunSettings| {
        let agent = start(stack(), settings);
        let mut history = Vec::new();
        agent.stack.history().export(&mut history).unwrap();
        (String::from_utf8(history).unwrap(), agent.run)
    };
    let settings_in = |history: &str, run: Handle| {
        let store = MemoryStore::new();
        let stack = Stack::rebuild_in_store(store, history.as_bytes(), StackOptions::default()).unwrap();
        stack.run(run).status().unwrap().settings
    };
    let off = RunSettings::default().memory(MemoryModel::Registers).shared_results(false).results_budget(7);
    let (history, run) = at(off);
    assert_eq!(settings_in(&history, run), off);
    let without = history.replace(",\"sharedResults\":false,\"resultsBudget\":7", "");
    assert_ne!(without, history);
    assert_eq!(settings_in(&without, run), RunSettings::default().memory(MemoryModel::Registers));
}

#[test]
fn a_failed_sibling_is_shown_for_its_lesson() {
    let agent = agent();
    let child = push(&agent, "auth", "Log users in with passwords");
    agent.stack.pop(child, PopStatus::Failed, "The library has no salt").unwrap();
    assert!(agent.answers()[0].0.starts_with("Sub-task failed: "));
    push(&agent, "auth-again", "Log users in with keys");
    let text = first(&agent.prompt()).to_owned();
    assert!(text.contains("<frame id=\"f2\" status=\"failed\">") && text.contains("has no salt</results>"), "{text}");
}

#[test]
fn tools_follow_the_settings() {
    let names = |settings: RunSettings| tools::memory_tools(&settings).iter().map(|tool| tool.name).collect::<Vec<_>>();
    let shared = ["push_frame", "pop_frame", "read_frame_log", "heap_alloc", "heap_write", "heap_free"];
    assert_eq!(names(RunSettings::default()), shared);
    let alone = ["push_frame", "pop_frame", "heap_alloc", "heap_write", "heap_free", "update_registers"];
    assert_eq!(names(RunSettings::default().memory(MemoryModel::Registers).shared_results(false)), alone);
    let pop = |shared: bool| {
        let tools = tools::memory_tools(&RunSettings::default().shared_results(shared));
        let pop = tools.iter().find(|tool| tool.name == "pop_frame").unwrap();
        pop.parameters["properties"].as_object().unwrap().len()
    };
    assert_eq!((pop(true), pop(false)), (3, 1));
}

#[test]
fn messages_of_the_user_stay_behind_the_briefing() {
    let agent = at_work_in_b1(RunSettings::default());
    agent.stack.run(agent.run).tell("Use SQLite").unwrap();
    let prompt = agent.prompt();
    assert!(first(&prompt).starts_with("<stack-context>"));
    assert!(matches!(&*prompt.messages[1], Message::User { text } if text.starts_with("Use SQLite")), "{prompt:?}");
}

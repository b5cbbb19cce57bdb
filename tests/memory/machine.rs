//! Tests of agents that manage their own memory: the effect of each tool call, and the content of the
//! prompts.

use std::collections::HashMap;

use callstack_core::context::{Approx, TokenCounter};
use callstack_core::frame::{MemoryModel, Message, Register, RunSettings, ToolCall};
use callstack_core::memory::{NewRun, Next, Prompt, Reply, system_prompt};
use callstack_core::{Error, FrameStatus, Handle, MemoryStore, PopStatus, Stack, StackOptions, Store, Tree};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::agent::Agent;
use support::{Queries, Random};

fn stack() -> Stack {
    Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap()
}

/// A stack with the events of another one, read from a store through JSON.
fn reopened(stack: &Stack) -> Stack {
    let mut history = Vec::new();
    stack.history().export(&mut history).unwrap();
    let events: Vec<_> = callstack_core::read_history(&history[..]).collect::<Result<_, _>>().unwrap();
    let mut store = MemoryStore::new();
    store.begin(std::time::Duration::ZERO).unwrap();
    store.append(&events).unwrap();
    store.commit().unwrap();
    Stack::with_store(store, StackOptions::default()).unwrap()
}

fn agent(memory: MemoryModel) -> Agent {
    Agent::start(stack(), "Build a calculator with tests", memory)
}

/// Both memories, with and without shared results.
fn all_settings() -> impl Iterator<Item = RunSettings> {
    let with = |memory| [true, false].map(|shared| RunSettings::default().memory(memory).shared_results(shared));
    [MemoryModel::Heap, MemoryModel::Registers].into_iter().flat_map(with)
}

/// A run with these settings.
fn start(settings: RunSettings) -> Agent {
    let stack = stack();
    let run = stack.start_run(NewRun::new("Build a calculator with tests").settings(settings)).unwrap();
    Agent { stack, run }
}

fn push(name: &str) -> (&'static str, Value) {
    let push = json!({"name": name, "objective": format!("Do {name}"), "context": "All of it", "return_spec": "What came of it"});
    ("push_frame", push)
}

fn pop(result: &str) -> (&'static str, Value) {
    ("pop_frame", json!({ "result": result }))
}

fn alloc(name: &str, content: &str) -> (&'static str, Value) {
    ("heap_alloc", json!({ "name": name, "content": content }))
}

/// The complete prompt of a model.
fn sent(prompt: &Prompt) -> String {
    let messages: Vec<String> = prompt.messages.iter().map(|message| serde_json::to_string(message).unwrap()).collect();
    format!("{}\n{}", prompt.system, messages.join("\n"))
}

/// A prompt as readable text.
fn shown(prompt: &Prompt) -> String {
    let mut text = String::new();
    for message in &prompt.messages {
        let (head, calls): (String, &[ToolCall]) = match &**message {
            Message::User { .. } => ("user".into(), &[]),
            Message::Assistant { calls, .. } => ("assistant".into(), calls),
            Message::Tool { call, name, is_error, .. } => {
                (format!("tool {name} {call}{}", if *is_error { " (error)" } else { "" }), &[])
            }
            other => panic!("an unknown message: {other:?}"),
        };
        text.push_str(&format!("=== {head}\n{}\n", message.text()));
        calls.iter().for_each(|call| text.push_str(&format!("-> {} {} {}\n", call.id, call.name, call.arguments)));
    }
    text
}

#[test]
fn what_a_model_sees_is_written_down() {
    let agent = agent(MemoryModel::Registers);
    let mut text = format!("##### the first step\n{}", shown(&agent.prompt()));
    agent.step(&[
        (
            "update_registers",
            json!({"R0_GOAL": "calc.py + tests", "R1_PLAN": "1. code\n2. tests", "R4_CONSTRAINTS": "pure Python"}),
        ),
        ("heap_alloc", json!({"name": "api-spec", "content": "add(a, b)\ndivide(a, b)", "description": "signatures"})),
    ]);
    agent.step(&[
        ("update_registers", json!({"R2_NEXT": "push implement-calc"})),
        (
            "push_frame",
            json!({"name": "implement-calc", "objective": "Create calc.py", "context": "No dependencies", "return_spec": "Path, problems"}),
        ),
    ]);
    text.push_str(&format!("##### the child begins\n{}", shown(&agent.prompt())));
    agent.step(&[
        ("update_registers", json!({"R6_OPEN_QUESTIONS": "round or not?"})),
        ("write_file", json!({"path": "calc.py"})),
    ]);
    agent.step(&[alloc("long", &"many words ".repeat(500))]);
    text.push_str(&format!("##### the child at work\n{}", shown(&agent.prompt())));
    let pop = json!({
        "result": "calc.py has add and divide",
        "artifacts": ["calc.py", "https://example.org/calc"],
        "decisions": ["divide(a, 0) raises ValueError,\nbecause callers check for it"],
    });
    agent.step(&[("heap_free", json!({"name": "long"})), ("pop_frame", pop)]);
    text.push_str(&format!("##### the parent goes on\n{}", shown(&agent.prompt())));
    agent.step(&[push("write-tests")]);
    text.push_str(&format!("##### its sibling begins\n{}", shown(&agent.prompt())));
    support::assert_golden("memory/registers.txt", &text);

    let heap = Agent::start(stack(), "Build a calculator", MemoryModel::Heap);
    heap.step(&[alloc("plan", "1. code")]);
    support::assert_golden("memory/heap.txt", &shown(&heap.prompt()));
}

#[test]
fn system_prompts_name_every_tool_that_the_agent_has() {
    for settings in all_settings() {
        let memory = settings.memory;
        let system = start(settings).prompt().system;
        let tools = callstack_core::tools::memory_tools(&settings);
        for name in tools.iter().map(|tool| tool.name) {
            assert!(system.contains(name), "{settings:?}: the prompt does not name {name}");
        }
        for word in ["read_frame_log", "artifacts", "<stack-context>"] {
            assert_eq!(system.contains(word), settings.shared_results, "{settings:?}: {word}");
        }
        let registers = Register::ALL.iter().filter(|register| system.contains(register.name())).count();
        assert_eq!(registers, if memory == MemoryModel::Registers { 8 } else { 0 });
        assert_eq!(system.contains("update_registers"), memory == MemoryModel::Registers);
        for register in Register::ALL.iter().filter(|_| memory == MemoryModel::Registers) {
            assert!(system.contains(&format!("| {} | {} |", register.name(), register.limit())), "{}", register.name());
        }
    }
}

#[test]
fn system_prompts_describe_the_other_tools_as_the_host_does() {
    let tools = "\n# Flights\n\n- search(query): searches flights.\n";
    for settings in all_settings() {
        let plain = system_prompt(&settings, "");
        for word in ["file", "command", "workspace", "coding", "code"] {
            let holds = plain.to_lowercase().split(|letter: char| !letter.is_alphanumeric()).any(|other| other == word);
            assert!(!holds, "{settings:?}: the prompt promises {word}");
        }
        let stack = stack();
        let run = stack.start_run(NewRun::new("Fly").settings(settings).tools(tools)).unwrap();
        let Next::Ask(prompt) = stack.run(run).next().unwrap() else { panic!("a run begins with a question") };
        let (introduction, rest) =
            prompt.system.split_once("# Flights\n\n- search(query): searches flights.\n\n").unwrap();
        assert_eq!(format!("{introduction}{rest}"), plain);
        // Another process gets the same prompt.
        let again = reopened(&stack);
        let Next::Ask(resumed) = again.run(run).next().unwrap() else { panic!("the question is still there") };
        assert_eq!(resumed, prompt);
        let other = again.start_run(NewRun::new("Walk").settings(settings)).unwrap();
        assert_eq!(Agent { stack: again, run: other }.prompt().system, plain, "a run without tools");
    }
    let long = "x".repeat(NewRun::TOOLS_LIMIT + 1);
    let refused = stack().start_run(NewRun::new("Fly").tools(long)).unwrap_err();
    assert!(matches!(refused, Error::TooLong { field: "tools", .. }), "{refused}");
}

#[test]
fn frames_of_a_run_are_frames_of_the_tree() {
    let agent = agent(MemoryModel::Heap);
    agent.step(&[push("write-tests")]);
    let child = agent.stack.run(agent.run).status().unwrap().frame;
    let frame = agent.stack.frame(child).unwrap();
    assert_eq!((&*frame.title, &*frame.success_criteria), ("write-tests", "Do write-tests"));
    assert_eq!((frame.status, agent.stack.active()), (FrameStatus::InProgress, Some(child)));
    agent.step(&[pop("9 tests pass")]);
    let frame = agent.stack.frame(child).unwrap();
    assert_eq!((frame.status, frame.results.as_deref()), (FrameStatus::Completed, Some("9 tests pass")));
    assert_eq!(agent.stack.active(), Some(agent.run));
    assert_eq!(agent.answers(), [("Sub-task completed: Do write-tests\nResult: 9 tests pass".to_owned(), false)]);
    agent.step(&[pop("All done")]);
    assert_eq!(agent.next(), Next::Over { status: FrameStatus::Completed, results: "All done".into() });
    assert_eq!(agent.stack.frame(agent.run).unwrap().title, "Build a calculator with tests");
}

#[test]
fn a_child_is_five_deep_at_most_and_the_model_is_told() {
    let agent = agent(MemoryModel::Heap);
    (1..=5).for_each(|depth| agent.step(&[push(&format!("level-{depth}"))]));
    assert_eq!(agent.stack.run(agent.run).status().unwrap().depth, 5);
    agent.step(&[push("level-6")]);
    let [(text, true)] = &agent.answers()[..] else { panic!("a sixth level was made") };
    assert!(text.contains("the maximum depth is 5"), "{text}");

    let settings = RunSettings::default().max_depth(1);
    let shallow = stack().start_run(NewRun::new("x").settings(settings));
    assert!(shallow.is_ok());
}

#[test]
fn one_stack_operation_goes_into_a_step() {
    let agent = agent(MemoryModel::Heap);
    agent.step(&[push("one"), push("two"), alloc("later", "done when one has returned")]);
    assert!(agent.stack.heap(agent.run).chunks().unwrap().is_empty(), "calls behind a push wait for its results");
    agent.step(&[pop("one is done")]);
    let answers = agent.answers();
    assert_eq!(answers.iter().map(|(_, is_error)| *is_error).collect::<Vec<_>>(), [false, true, false]);
    assert!(answers[1].0.starts_with("push_frame: a step can have only one push_frame or pop_frame"), "{answers:?}");
    assert_eq!(agent.stack.children(agent.run).unwrap().len(), 1);
    assert_eq!(agent.stack.heap(agent.run).chunk("later").unwrap().1.content, "done when one has returned");

    // A refused push does not count as the only push that the step may have.
    agent.step(&[("push_frame", json!({"name": "", "objective": "x"})), push("three")]);
    assert_eq!(agent.stack.children(agent.run).unwrap().len(), 2);

    // Tool calls after a pop are not executed, and the parent is told so.
    agent.step(&[pop("three is done"), ("write_file", json!({})), alloc("lost", "x")]);
    let answers = agent.answers();
    let (text, _) = answers.last().unwrap();
    assert!(
        text.ends_with("Not carried out, because they came after its pop_frame: write_file, heap_alloc."),
        "{text}"
    );
}

#[test]
fn malformed_calls_are_answered_with_what_is_wrong() {
    let agent = agent(MemoryModel::Registers);
    let before = agent.stack.state().unwrap();
    agent.step(&[
        ("heap_alloc", json!({"name": "x"})),
        ("heap_alloc", json!({"name": "x", "content": "y", "size": 3})),
        ("heap_alloc", json!({"name": "two\nlines", "content": "y"})),
        ("heap_write", json!({"name": "nothing", "content": "y"})),
        ("heap_free", json!([])),
        ("push_frame", json!({"name": "a", "objective": " "})),
        ("pop_frame", json!({"result": ""})),
        ("update_registers", json!({"R9_MOOD": "fine"})),
    ]);
    let answers = agent.answers();
    for ((text, is_error), expected) in answers.iter().zip([
        "heap_alloc: missing field `content`. Example: {",
        "heap_alloc: `size`: unknown field `size`",
        "heap_alloc: `name` has line breaks",
        "heap_write: frame f1 sees no chunk named `nothing`; its heap is empty",
        "heap_free: the arguments are not a JSON object",
        "push_frame: `objective` is empty",
        "pop_frame: `result` is empty",
        "update_registers: `R9_MOOD`: unknown field `R9_MOOD`, expected one of `R0_GOAL`",
    ]) {
        assert!(*is_error && text.starts_with(expected), "{text}\n is not the answer\n{expected}");
    }
    assert_eq!(answers.len(), 8);
    assert_eq!(agent.stack.state().unwrap().frames, before.frames, "a refused call has changed something");

    // Arguments that are not JSON, and a tool call without an ID.
    let call = ToolCall { id: String::new(), name: "heap_free".into(), arguments: "{\"name\": ".into() };
    agent.stack.run(agent.run).reply(Reply::new("", vec![call.clone(), call])).unwrap();
    agent.carry_out();
    assert!(agent.answers().iter().all(|(text, _)| text.contains("the arguments are not valid JSON")));
    assert_eq!(agent.answers().len(), 2, "calls without IDs are told apart");
}

#[test]
fn over_long_registers_are_cut_and_the_answer_says_so() {
    let agent = agent(MemoryModel::Registers);
    agent.step(&[("update_registers", json!({"R3_PHASE": "é".repeat(70), "R7_STATUS": "fine"}))]);
    let answer = &agent.answers()[0].0;
    assert_eq!(
        answer,
        "Updated R3_PHASE, R7_STATUS. R3_PHASE had 70 characters and holds 60: the rest was cut, from \"éééééééééé\" on."
    );
    assert_eq!(agent.stack.registers(agent.run).unwrap().unwrap().get(Register::Phase), "é".repeat(60));
}

#[test]
fn a_model_that_calls_nothing_is_told_to() {
    let agent = agent(MemoryModel::Heap);
    agent.reply("I think I am done.", &[]);
    let prompt = agent.prompt();
    let [_, said, told] = &prompt.messages[..] else { panic!("{prompt:?}") };
    assert_eq!(said.text(), "I think I am done.");
    assert!(told.text().starts_with("You have called no tool."));
    assert_eq!(prompt.step, 2);
}

#[test]
fn repeated_calls_are_counted_and_the_model_is_told() {
    let agent = agent(MemoryModel::Registers);
    let repeats = || agent.stack.run(agent.run).status().unwrap().repeats;
    assert_eq!(repeats(), 0);
    for round in 1..=4 {
        let note = ("update_registers", json!({ "R7_STATUS": format!("round {round}") }));
        agent.step(&[note, ("read_file", json!({"path": "a.py"}))]);
        assert_eq!(repeats(), round);
        assert_eq!(agent.memory().contains("the same call"), round >= 3, "after {round}");
    }
    agent.step(&[("read_file", json!({"path": "b.py"}))]);
    assert_eq!(repeats(), 1);
    (0..3).for_each(|_| agent.reply("", &[]));
    assert_eq!(repeats(), 3, "saying nothing is a repetition, too");
}

#[test]
fn calls_out_of_turn_are_refused() {
    let agent = agent(MemoryModel::Heap);
    let out_of_turn = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert_eq!(error.code(), "out_of_turn", "{error}");
        error.to_string()
    };
    let before = agent.stack.state().unwrap();
    let message = out_of_turn(agent.stack.run(agent.run).answer("call_0", "x", false));
    assert_eq!(message, "the run of frame f1 does not expect an answer to call_0; it waits for a reply of the model");
    agent.reply("", &[("read_file", json!({})), alloc("x", "y")]);
    let message = out_of_turn(agent.stack.run(agent.run).reply(Reply::default()));
    assert_eq!(message, "the run of frame f1 does not expect a reply; it waits for the answer to call_0 (read_file)");
    out_of_turn(agent.stack.run(agent.run).operate("call_1", Err("no".into())).map(drop));
    assert_eq!(agent.stack.state().unwrap().frames, before.frames);
    agent.carry_out();
    agent.step(&[pop("done")]);
    out_of_turn(agent.stack.run(agent.run).reply(Reply::default()));

    let plain = agent.stack.push(callstack_core::NewFrame::new("No run").id("plain")).unwrap();
    assert_eq!(agent.stack.run(plain).next().unwrap_err(), Error::NoRun { handle: plain });
    assert_eq!(agent.stack.runs().unwrap(), [agent.run]);
}

#[test]
fn a_cut_reply_is_not_carried_out_and_the_model_is_told() {
    let agent = agent(MemoryModel::Heap);
    let call =
        |name: &str, arguments: &str| ToolCall { id: name.into(), name: name.into(), arguments: arguments.into() };
    let calls = vec![call("pop_frame", r#"{"result": "done"}"#), call("write_file", r#"{"path": "a", "cont"#)];
    agent.stack.run(agent.run).reply(Reply::new("I begin", calls).cut(true)).unwrap();
    let prompt = agent.prompt();
    assert!(
        matches!(&*prompt.messages[1], Message::Assistant { text, calls } if text == "I begin" && calls.is_empty())
    );
    let told = prompt.messages[2].text();
    assert!(
        told.contains("cut off, because it reached its maximum length, and not carried out: pop_frame, write_file.")
    );
    assert_eq!(prompt.step, 2, "a cut reply is a step");
    agent.stack.run(agent.run).reply(Reply::new("Only text", Vec::new()).cut(true)).unwrap();
    assert!(agent.prompt().messages[4].text().contains("reached its maximum length. Reply again"));
}

#[test]
fn the_user_can_tell_the_current_frame_something() {
    let agent = agent(MemoryModel::Heap);
    agent.step(&[push("write-tests")]);
    let run = agent.stack.run(agent.run);
    assert!(matches!(run.tell(" \n").unwrap_err(), Error::Empty { field: "text" }));
    run.tell("Use SQLite").unwrap();
    let prompt = agent.prompt();
    let newest = prompt.messages.last().unwrap();
    assert!(matches!(&**newest, Message::User { text } if text.starts_with("Use SQLite\n\n<memory>")), "{newest:?}");
    assert_eq!(prompt.frame.to_string(), "f2");
    assert_eq!(reopened(&agent.stack).run(agent.run).next().unwrap(), Next::Ask(prompt), "another process");
    agent.step(&[pop("done")]);
    assert!(!sent(&agent.prompt()).contains("Use SQLite"), "the message belongs to its frame");
    agent.step(&[pop("all done")]);
    assert!(matches!(run.tell("More").unwrap_err(), Error::OutOfTurn { .. }), "the run is over");
}

#[test]
fn a_message_of_the_user_is_read_before_its_frame_is_left() {
    for leaves in [push("next"), pop("done")] {
        let agent = agent(MemoryModel::Heap);
        agent.step(&[push("write-tests")]);
        agent.reply("", &[("read_file", json!({"path": "a"})), leaves.clone()]);
        let run = agent.stack.run(agent.run);
        run.tell("Stop reading").unwrap();
        run.tell("Use SQLite").unwrap();
        let other = reopened(&agent.stack);
        let next = other.run(agent.run).next().unwrap();
        assert!(matches!(next, Next::Call(call) if call.name == "read_file"), "calls are answered first");
        agent.carry_out();
        let prompt = agent.prompt();
        let behind: Vec<_> = prompt.messages.iter().rev().take(5).rev().map(|message| &**message).collect();
        let [
            Message::Assistant { .. },
            Message::Tool { name, is_error: false, .. },
            Message::Tool { name: refused, text, is_error: true, .. },
            Message::User { text: first },
            Message::User { text: second },
        ] = &behind[..]
        else {
            panic!("answers stand behind their calls, and messages behind the answers: {behind:#?}")
        };
        assert_eq!((name.as_str(), refused.as_str()), ("read_file", leaves.0));
        assert!(text.contains("not carried out, because the user has sent a message"), "{text}");
        assert!(first == "Stop reading" && second.starts_with("Use SQLite\n\n<memory>"), "{second}");
        assert_eq!(prompt.frame.to_string(), "f2", "the frame goes on");
        assert_eq!(reopened(&agent.stack).run(agent.run).next().unwrap(), Next::Ask(prompt), "another process");
        agent.step(&[leaves]);
        assert_ne!(agent.prompt().frame.to_string(), "f2", "the model has read the message");
    }
}

#[test]
fn a_frame_that_another_actor_finishes_does_not_stop_its_run() {
    let agent = agent(MemoryModel::Heap);
    agent.step(&[push("one")]);
    let child = agent.stack.run(agent.run).status().unwrap().frame;
    agent.stack.pop(child, PopStatus::Failed, "Stopped by hand").unwrap();
    assert_eq!(agent.answers(), [("Sub-task failed: Do one\nResult: Stopped by hand".to_owned(), false)]);

    agent.step(&[push("two")]);
    let child = agent.stack.run(agent.run).status().unwrap().frame;
    agent.stack.invalidate(child, "not wanted").unwrap();
    let answers = agent.answers();
    assert_eq!(answers[0].0, "Sub-task invalidated: Do two\nResult: \nReason: not wanted");
    agent.stack.invalidate(agent.run, "enough").unwrap();
    assert_eq!(agent.next(), Next::Over { status: FrameStatus::Invalidated, results: String::new() });
}

#[test]
fn conversations_stay_in_the_logs_of_their_frames() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::start(open(folder.path()), "Build", MemoryModel::Heap);
    agent.step(&[push("one")]);
    let child = agent.stack.run(agent.run).status().unwrap().frame;
    agent.step(&[("write_file", json!({"path": "a.py"}))]);
    agent.step(&[pop("done")]);
    let lines = |frame: Handle| {
        let page = agent.stack.log(frame).read(&Default::default()).unwrap();
        page.lines.into_iter().map(|line| line.entry).collect::<Vec<_>>()
    };
    let roles = |frame: Handle| {
        let role = |entry: &Value| format!("{}{}", entry["role"].as_str().unwrap(), entry["step"]);
        lines(frame).iter().map(role).collect::<Vec<_>>()
    };
    assert_eq!(roles(child), ["usernull", "assistant2", "toolnull", "assistant3"]);
    assert_eq!(roles(agent.run), ["usernull", "assistant1", "toolnull"]);
    assert_eq!(lines(child)[3]["calls"][0]["name"], "pop_frame");
    assert!(lines(child).iter().chain(&lines(agent.run)).all(|entry| entry["time"].is_u64()), "when each was logged");
    let frame = agent.stack.frame(child).unwrap();
    assert!(folder.path().join(frame.log_path.unwrap()).exists());
}

#[cfg(feature = "sqlite")]
fn open(folder: &std::path::Path) -> Stack {
    Stack::open(folder, StackOptions::default()).unwrap()
}

/// The part of a prompt that shows other frames. It is at the beginning of the first message.
fn surroundings(prompt: &Prompt) -> &str {
    let first = prompt.messages[0].text();
    let end = first.find("</stack-context>\n\n").map_or(0, |end| end + "</stack-context>\n".len());
    if first.starts_with("<stack-context>\n") { &first[..end] } else { "" }
}

/// The texts that a frame may see: the success criteria of its ancestors, and the results of the finished
/// siblings of the frame and of its ancestors.
fn visible_texts(tree: &Tree, frame: Handle) -> String {
    let mut texts = String::new();
    for above in tree.lineage(frame) {
        let record = tree.node(above).record();
        texts.extend([&*record.title, &record.success_criteria]);
        for sibling in tree.siblings(above).filter(|sibling| tree.node(*sibling).status().is_finished()) {
            let record = tree.node(sibling).record();
            texts.extend([&*record.title, record.dense_results()]);
            texts.extend(record.artifacts.iter().chain(&record.decisions).map(String::as_str));
        }
    }
    texts
}

/// A random step that is usually valid. All its texts contain the mark.
fn random_step(random: &mut Random, mark: &str) -> Vec<(&'static str, Value)> {
    let name = format!("chunk-{}", random.below(4));
    let text = |random: &mut Random| format!("{mark} {}", support::text(random, 20));
    let mut calls = Vec::new();
    for _ in 0..random.below(4) {
        calls.push(match random.below(12) {
            0 | 1 => ("push_frame", json!({"name": format!("{mark} push"), "objective": text(random), "context": text(random), "return_spec": text(random)})),
            2 if random.once_in(2) => {
                let texts = |random: &mut Random| (0..random.below(3)).map(|_| text(random)).collect::<Vec<_>>();
                ("pop_frame", json!({ "result": text(random), "artifacts": texts(random), "decisions": texts(random) }))
            }
            2 => ("pop_frame", json!({ "result": text(random) })),
            3 => ("heap_alloc", json!({ "name": name, "content": "shared ".repeat(random.below(200)) })),
            4 => ("heap_write", json!({ "name": name, "content": "shared ".repeat(random.below(200)) })),
            5 => ("heap_free", json!({ "name": name })),
            6 => {
                let register = Register::ALL[random.below(8)].name();
                ("update_registers", json!({ register: "note ".repeat(random.below(300)) }))
            }
            7 if random.once_in(2) => ("read_frame_log", json!({ "frame": format!("f{}", random.below(9)) })),
            7 => ("no_such_tool", json!({ "text": text(random) })),
            8 => ("pop_frame", json!({ "text": text(random) })),
            _ => ("read_file", json!({ "text": text(random) })),
        });
    }
    calls
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// For random tool calls: limits are kept, no prompt contains text of another frame's conversation, and a
    /// run that is read from the store continues with the same prompts.
    #[test]
    fn runs_keep_their_promises(seed in any::<u64>(), steps in 1usize..40) {
        let mut random = Random::new(seed);
        let settings = RunSettings::default()
            .memory(MemoryModel::Registers)
            .max_depth(random.below(6))
            .heap_ceiling(500)
            .shared_results(random.once_in(2))
            .results_budget(random.below(1_200));
        let stack = stack();
        let run = stack.start_run(NewRun::new("mark0root. The task").settings(settings)).unwrap();
        let agent = Agent { stack, run };
        // The marks that the conversation of each frame may contain: its briefing, its own steps, and the
        // results of its children.
        let mut said: Vec<(Handle, String)> = vec![(run, "mark0root".into())];
        // What each frame sees of others.
        let mut around: HashMap<Handle, String> = HashMap::new();
        for step in 1..=steps {
            let Next::Ask(prompt) = agent.next() else { break };
            let speaker = prompt.frame;
            prop_assert!(prompt.depth <= settings.max_depth, "{} is {} deep", speaker, prompt.depth);
            let surroundings = surroundings(&prompt);
            let tokens = Approx.count(surroundings);
            prop_assert!(settings.shared_results || surroundings.is_empty());
            prop_assert!(tokens <= settings.results_budget, "{} of {}", tokens, settings.results_budget);
            let known = around.entry(speaker).or_insert_with(|| surroundings.to_owned());
            prop_assert_eq!(&known[..], surroundings, "the beginning of the prompts of {} has changed", speaker);
            let visible = agent.stack.read(|tree| visible_texts(tree, speaker)).unwrap();
            for mark in surroundings.match_indices("mark").map(|(place, _)| &surroundings[place..]) {
                let mark = &mark[..mark.find('.').unwrap() + 1];
                prop_assert!(visible.contains(mark), "{} sees {} of a frame that is not around it", speaker, mark);
            }
            let text = sent(&prompt).replace(json!(surroundings).to_string().trim_matches('"'), "");
            let registers = agent.stack.registers(speaker).unwrap().unwrap();
            for register in Register::ALL {
                prop_assert!(registers.get(*register).chars().count() <= register.limit(), "{register:?}");
            }
            for (name, chunk) in agent.stack.heap(speaker).chunks().unwrap().iter().map(|(_, chunk)| (&chunk.name, chunk)) {
                let section = format!("--- {name} ---\n{}\n", chunk.content);
                prop_assert!(agent.memory().contains(&section), "{name} is not there word for word");
            }
            let shared: Vec<&str> = Register::ALL.iter().map(|register| registers.get(*register)).collect();
            for (frame, mark) in &said {
                let foreign = *frame != speaker && !shared.iter().any(|value| value.contains(&**mark));
                prop_assert!(!foreign || !text.contains(&**mark), "{speaker} sees {mark} of {frame}");
            }
            prop_assert_eq!(reopened(&agent.stack).run(run).next().unwrap(), Next::Ask(prompt));

            let mark = format!("mark{step}of{speaker}.");
            let before = agent.stack.read(callstack_core::Tree::len).unwrap();
            agent.step(&random_step(&mut random, &mark));
            said.push((speaker, mark.clone()));
            // The briefing of a pushed frame, and the result and objective of a popped one, appear in another
            // conversation.
            let count = agent.stack.read(callstack_core::Tree::len).unwrap();
            let present = agent.stack.run(run).status().unwrap().frame;
            if count > before || present != speaker {
                said.retain(|(_, other)| *other != mark);
                let parent = agent.stack.read(|tree| tree.node(speaker).parent()).unwrap();
                if parent == Some(present) {
                    // The parent's conversation now contains the result and the objective.
                    let objective = agent.stack.frame(speaker).unwrap().success_criteria;
                    said.retain(|(_, other)| !objective.contains(&**other));
                }
            }
        }
        prop_assert_eq!(reopened(&agent.stack).state().unwrap(), agent.stack.state().unwrap());
    }
}

/// Size of the complete prompt, in tokens.
fn tokens(prompt: &Prompt) -> usize {
    Approx.count(&sent(prompt))
}

/// 200 steps in 30 frames, each step with the output of a tool: compares the size of the prompts with that of
/// one long conversation with the same messages. `cargo test token_curve -- --nocapture` prints both.
#[test]
fn token_curve() {
    let agent = agent(MemoryModel::Registers);
    agent.step(&[alloc("spec", &"Each function has tests. ".repeat(40))]);
    let mut random = Random::new(6);
    let (mut curve, mut linear, mut transcript) = (Vec::new(), Vec::new(), tokens(&agent.prompt()));
    let mut work = |agent: &Agent, calls: &[(&str, Value)]| {
        let prompt = agent.prompt();
        curve.push(tokens(&prompt));
        linear.push(transcript);
        let newest = prompt.messages.len();
        agent.step(calls);
        // In a transcript, the reply of this step and the answers of its tools stay until the end.
        let Next::Ask(after) = agent.next() else { return };
        let said: usize =
            calls.iter().map(|(name, arguments)| Approx.count(name) + Approx.count(&arguments.to_string())).sum();
        let answered: usize = match after.frame == prompt.frame {
            true => after.messages[newest + 1..]
                .iter()
                .map(|message| Approx.count(message.text().split("\n\n<memory>").next().unwrap()))
                .sum(),
            false => Approx.count(after.messages.last().unwrap().text().split("\n\n<memory>").next().unwrap()),
        };
        transcript += said + answered;
    };
    for phase in 0..29 {
        work(
            &agent,
            &[
                ("update_registers", json!({"R1_PLAN": format!("phase {phase} of 29")})),
                push(&format!("phase-{phase}")),
            ],
        );
        // 29 frames below the root, each with a push, 5 steps of work and a pop: 203 steps.
        for step in 0..5 {
            let output =
                format!("{phase}.{step} {}", "fn test() { assert_eq!(add(2, 2), 4); } ".repeat(20 + random.below(20)));
            let note = ("update_registers", json!({"R2_NEXT": format!("step {step}"), "R7_STATUS": "tests pass"}));
            work(&agent, &[note, ("run_command", json!({ "command": output }))]);
        }
        work(&agent, &[pop(&format!("Phase {phase} is done: 20 tests pass, no problems"))]);
    }
    assert!(curve.len() >= 200, "{} steps", curve.len());
    assert_eq!(agent.stack.read(callstack_core::Tree::len).unwrap(), 30);

    println!("step    stack  transcript");
    for place in (0..curve.len()).step_by(14).chain([curve.len() - 1]) {
        println!("{:4}  {:7}  {:10}  {}", place + 1, curve[place], linear[place], "#".repeat(curve[place] / 1_000));
    }
    let (peak, highest) = (*curve.iter().max().unwrap(), *linear.iter().max().unwrap());
    println!("peak  {peak:7}  {highest:10}  {:.1} % smaller", 100.0 - 100.0 * peak as f64 / highest as f64);
    assert!(peak * 5 <= highest, "at its peak a step has {peak} tokens, the transcript {highest}");

    // The prompt of a step contains only its own frame's conversation and memory.
    agent.step(&[push("last")]);
    let prompt = agent.prompt();
    let own = Approx.count(&prompt.system)
        + Approx.count(&json!(surroundings(&prompt)).to_string())
        + Approx.count(&agent.memory())
        + Approx.count("Objective: Do last\n\nContext: All of it\n\nReturn with pop_frame: What came of it");
    assert!(tokens(&prompt) <= own + 100, "{} tokens, and the frame needs {own}", tokens(&prompt));
}

//! Tests of context windows: which parts of a prompt are shortened, which parts stay, and what the model is
//! told about it.

use callstack_core::frame::{MemoryModel, Message};
use callstack_core::memory::{ContextWindow, Next, Prompt};
use callstack_core::{MemoryStore, Stack, StackOptions};
use serde_json::{Value, json};
use support::agent::Agent;

fn agent() -> Agent {
    let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
    Agent::start(stack, "Read everything", MemoryModel::Heap)
}

/// A step with one tool call of the host, and the answer to it.
fn step(agent: &Agent, name: &str, arguments: Value, answer: &str) {
    agent.reply("", &[(name, arguments)]);
    let Next::Call(call) = agent.next() else { panic!("a call is next") };
    agent.stack.run(agent.run).answer(&call.id, answer, false).unwrap();
}

/// A text of 5,000 characters.
fn long(mark: &str) -> String {
    format!("{mark} begins {} {mark} ends", "x".repeat(5_000 - 14 - 2 * mark.len()))
}

fn read(agent: &Agent, name: &str) {
    step(agent, "read_file", json!({ "path": name }), &long(name));
}

/// The size of a prompt in bytes.
fn size(prompt: &Prompt) -> usize {
    let of = |message: &Message| {
        let calls = match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        };
        message.text().len() + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>()
    };
    prompt.system.len() + prompt.messages.iter().map(|message| of(message)).sum::<usize>()
}

/// The messages of a prompt, without the memory at the end.
fn conversation(prompt: &Prompt) -> Vec<String> {
    let without_memory = |message: &std::sync::Arc<Message>| {
        let mut message = json!(message);
        message["text"] = message["text"].as_str().unwrap().split("\n\n<memory>").next().unwrap().into();
        message.to_string()
    };
    prompt.messages.iter().map(without_memory).collect()
}

/// Whether each of these texts of 5,000 characters is whole in a prompt.
fn whole(prompt: &Prompt, names: &[&str]) -> Vec<bool> {
    let all = conversation(prompt).join("\n");
    names.iter().map(|name| all.contains(&long(name))).collect()
}

#[test]
fn the_oldest_outputs_are_shortened_first_and_the_history_keeps_them() {
    let agent = agent();
    let names = ["one", "two", "three", "four", "five"];
    names.iter().for_each(|name| read(&agent, name));
    let untouched = agent.prompt();
    let mut window = ContextWindow::default();

    let mut prompt = untouched.clone();
    let fit = window.fit(&mut prompt, size(&untouched) * 2, str::len);
    assert_eq!((fit.size, fit.shortened), (size(&untouched), 0));
    assert_eq!(prompt, untouched, "a prompt that fits is not changed");

    let room = size(&untouched) - 1;
    let fit = window.fit(&mut prompt, room, str::len);
    assert!(fit.size <= room - room / 3, "only {} of {room} bytes were made free", room - fit.size);
    assert_eq!(whole(&prompt, &names), [false, false, false, true, true]);
    let text = &conversation(&prompt)[2];
    assert!(text.contains("one begins xxx") && text.contains("xxx one ends"), "{text}");
    let note = "[… 4700 characters are left out here, because this conversation is near the limit of the model. If you need them, repeat the call, or ask for a part. …]";
    assert!(text.contains(note), "{text}");
    assert_eq!(agent.prompt(), untouched, "the history has changed");
}

#[test]
fn prompts_of_several_steps_have_the_same_beginning() {
    let agent = agent();
    let mut window = ContextWindow::default();
    let (mut earlier, mut changes) = (Vec::new(), 0);
    for number in 0..60 {
        read(&agent, &format!("file {number}"));
        let mut prompt = agent.prompt();
        let fit = window.fit(&mut prompt, 60_000, str::len);
        assert!(fit.size <= 60_000, "step {number}: {} bytes", fit.size);
        let now = conversation(&prompt);
        changes += usize::from(now[..earlier.len()] != earlier[..]);
        earlier = now;
    }
    assert!((3..=20).contains(&changes), "the prompt cache was lost {changes} times in 60 steps");
}

#[test]
fn results_and_arguments_are_shortened_after_outputs_and_the_newest_step_last() {
    let agent = agent();
    step(&agent, "write_file", json!({ "path": "a", "content": long("written") }), "done");
    agent.step(&[("push_frame", json!({"name": "sub", "objective": "x", "context": "", "return_spec": ""}))]);
    agent.step(&[("pop_frame", json!({ "result": long("result") }))]);
    read(&agent, "old");
    read(&agent, "new");
    let untouched = agent.prompt();
    let names = ["written", "result", "old", "new"];
    // Makes the prompt smaller step by step.
    let mut seen = vec![vec![true; 4]];
    for room in (0..size(&untouched)).rev().step_by(500) {
        let mut prompt = untouched.clone();
        ContextWindow::default().fit(&mut prompt, room, str::len);
        let now = whole(&prompt, &names);
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        let newest = prompt.messages.last().unwrap().text();
        assert!(newest.contains("\n\n<memory>\nStep 6, frame f1") && newest.ends_with("</memory>"), "{newest}");
    }
    assert_eq!(seen[0], [true, true, true, true]);
    assert!(seen[1..].iter().all(|now| !now[2]), "something else is shortened before the old output: {seen:?}");
    assert_eq!(seen.last().unwrap(), &[false; 4]);
    let newest_goes = seen.iter().position(|now| !now[3]).unwrap();
    assert!(seen[..newest_goes].contains(&vec![false, false, false, true]), "{seen:?}");

    let mut prompt = untouched.clone();
    let fit = ContextWindow::default().fit(&mut prompt, 10, str::len);
    assert!(fit.size > 10, "a prompt cannot be empty");
    let all = conversation(&prompt).join("\n");
    assert!(all.contains("The call was made with all of them."), "{all}");
    assert!(all.contains("If you need them, ask for them in a new frame."), "{all}");
    assert!(all.contains("Read everything"), "the task is never shortened");
}

#[test]
fn a_frame_keeps_what_was_shortened_while_others_work() {
    let agent = agent();
    (0..4).for_each(|number| read(&agent, &format!("file {number}")));
    agent.step(&[("push_frame", json!({"name": "sub", "objective": "x", "context": "", "return_spec": ""}))]);
    let mut window = ContextWindow::default();
    let child = agent.prompt();
    let mut fitted = child.clone();
    assert_eq!(window.fit(&mut fitted, 1_000_000, str::len).shortened, 0);
    assert_eq!(fitted, child);
    agent.step(&[("pop_frame", json!({"result": "y"}))]);
    let (mut first, room) = (agent.prompt(), size(&agent.prompt()) - 1);
    let shortened = window.fit(&mut first, room, str::len).shortened;
    agent.step(&[("push_frame", json!({"name": "sub", "objective": "x", "context": "", "return_spec": ""}))]);
    assert_eq!(
        window.fit(&mut agent.prompt(), 1_000_000, str::len).shortened,
        0,
        "the child has a conversation of its own"
    );
    agent.step(&[("pop_frame", json!({"result": "y"}))]);
    let mut again = agent.prompt();
    assert_eq!(window.fit(&mut again, room, str::len).shortened, shortened);
    assert_eq!(conversation(&again)[..conversation(&first).len()], conversation(&first)[..]);
}

#[test]
fn a_model_near_the_limit_is_told_at_the_end_of_the_prompt_alone() {
    let agent = agent();
    read(&agent, "file");
    let told = |room: usize| {
        let mut prompt = agent.prompt();
        ContextWindow::default().fit(&mut prompt, room, str::len);
        let newest = prompt.messages.last().unwrap().text().to_owned();
        assert_eq!(conversation(&prompt), conversation(&agent.prompt()), "only the memory at the end changes");
        newest.lines().find(|line| line.starts_with("This conversation fills")).map(ToOwned::to_owned)
    };
    let size = size(&agent.prompt());
    assert_eq!(told(size * 2), None);
    let root = told(size * 10 / 8).expect("80% are near the limit");
    assert_eq!(
        root,
        "This conversation fills 80% of what the model can read. Push what remains of the work: a new frame begins with an empty conversation."
    );
    agent.step(&[("push_frame", json!({"name": "sub", "objective": "x", "context": "", "return_spec": ""}))]);
    let child = told(self::size(&agent.prompt()) * 10 / 9).expect("90% are near the limit");
    assert!(child.ends_with("Pop this frame soon, with what is done and what remains to be done."), "{child}");
}

//! Each format becomes the tree of its session: golden files, and sums of the usage.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use callstack_core::transcript::{AgentFile, Session, SessionFile, TranscriptForm};
use callstack_core::{OutlineOptions, Stack};
use serde_json::{Value, json};
use support::{Queries, assert_golden};

use super::{CLAUDE, FIXTURES, Fixture, path, text};

/// The whole tree with the usage of each frame, and the log of each frame in lines.
fn shown(session: &mut Session) -> String {
    let stack = Stack::in_memory();
    stack.take_over(session).unwrap();
    let entries = session.take_entries();
    let facts = session.facts();
    let mut shown = format!(
        "{} {:?}: {} turns, {} subagents, {} compactions, {} unknown, in {:?}, by {:?}\n",
        session.form(),
        facts.id,
        facts.turns,
        facts.agents,
        facts.compactions,
        facts.unknown,
        facts.folder.as_deref().unwrap_or_default(),
        facts.version.as_deref().unwrap_or_default(),
    );
    shown.push_str(&stack.outline(&OutlineOptions::default().details(true)).unwrap());
    let tree = session.tree();
    for handle in tree.handles() {
        let record = tree.node(handle).record();
        for usage in &record.usage {
            shown.push_str(&format!(
                "{handle} {}: {} requests ({} failed), {} uncached, {} read, {} written, {} out, {} reasoning, {} micro-dollars\n",
                usage.model,
                usage.requests,
                usage.failed,
                usage.uncached_input,
                usage.cache_read,
                usage.cache_write,
                usage.output,
                usage.reasoning,
                tree.usage(handle).own_cost_micro_usd,
            ));
        }
    }
    for (frame, entry) in entries {
        shown.push_str(&format!("{frame} {}\n", sorted(&entry)));
    }
    shown
}

/// A value with the keys of its objects in their order, no matter which order the library keeps.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Object(object) => {
            let object: BTreeMap<&String, Value> = object.iter().map(|(key, value)| (key, sorted(value))).collect();
            object.into_iter().map(|(key, value)| (key.clone(), value)).collect::<serde_json::Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

#[test]
fn every_format_becomes_the_tree_of_its_session() {
    for fixture in &FIXTURES {
        assert_golden(&format!("sessions/{}.txt", fixture.name), &shown(&mut fixture.read()));
    }
}

/// Short jobs of the real agents with a scripted model. When a new version of an agent is used, this test
/// shows what has changed.
#[test]
fn sessions_of_real_agents_become_their_trees() {
    use TranscriptForm::{Claude, Codex, Copilot, Gemini, Qwen};
    for form in [Claude, Codex, Gemini, Qwen, Copilot] {
        let folder = path("../transcripts");
        let file = |name: String| BufReader::new(File::open(folder.join(name)).unwrap());
        let mut session = Session::new(form, "x").with_entries(None);
        let mut files = vec![SessionFile::new(0, file(format!("{form}.jsonl")), 0)];
        if form == Claude {
            let first = std::fs::read_to_string(folder.join("claude-agent.jsonl")).unwrap();
            let line: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
            let id = line["agentId"].as_str().unwrap_or_default().to_owned();
            let number = session.add_agent(AgentFile { id, ..AgentFile::default() });
            files.push(SessionFile::new(number, file("claude-agent.jsonl".to_owned()), 0));
        }
        session.follow_files(&mut files, true).unwrap();
        assert_golden(&format!("sessions/real-{form}.txt"), &shown(&mut session));
    }
}

#[test]
fn every_form_is_known_by_its_beginning() {
    let forms: Vec<TranscriptForm> = FIXTURES.iter().map(Fixture::form).collect();
    use TranscriptForm::{Atif, Claude, Codex, Copilot, Gemini, OpenCode, Pi, Qwen, SweAgent};
    let expected = [Claude, Claude, Codex, Codex, Gemini, Qwen, Copilot, Pi, OpenCode, Atif, SweAgent, SweAgent];
    assert_eq!(forms, expected);
    for other in
        [&b"{}"[..], b"[]", b"null", b"# A list\n- [ ] x", br#"{"id": "b-1", "title": "An issue", "status": "open"}"#]
    {
        assert_eq!(TranscriptForm::of_line(other), None, "{}", String::from_utf8_lossy(other));
    }
}

/// The numbers that are written by hand in the fixture: each answer counts once, with its last numbers, and
/// the answers of the subagents count too.
#[test]
fn sums_equal_what_was_recorded() {
    let session = FIXTURES[0].read();
    let mut expected = [0; 4];
    let mut answers = BTreeMap::new();
    for file in FIXTURES[0].files {
        for line in String::from_utf8(text(file)).unwrap().lines() {
            let line: Value = serde_json::from_str(&line.replace("\\ud83d", "")).unwrap();
            if line["message"]["usage"].is_object() && line["isApiErrorMessage"] != true {
                answers.insert(line["message"]["id"].as_str().unwrap().to_owned(), line["message"]["usage"].clone());
            }
        }
    }
    for usage in answers.values() {
        let keys = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];
        expected.iter_mut().zip(keys).for_each(|(sum, key)| *sum += usage[key].as_u64().unwrap());
    }
    let tree = session.tree();
    let total: callstack_core::frame::ModelUsage = tree.usage(tree.roots()[0]).total.iter().sum();
    assert_eq!([total.uncached_input, total.cache_read, total.cache_write, total.output], expected);
    assert_eq!((total.requests, total.failed), (answers.len() as u64 + 1, 1));
}

#[test]
fn a_session_that_grows_has_the_same_tree_in_the_end() {
    let whole = text(&format!("{CLAUDE}.jsonl"));
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let statuses = |session: &Session| -> Vec<(String, String, String)> {
        let tree = session.tree();
        let of = |frame| {
            let node = tree.node(frame);
            (node.title().to_owned(), node.status().to_string(), node.record().results.clone().unwrap_or_default())
        };
        tree.handles().map(of).collect()
    };
    let mut at_once = Session::new(TranscriptForm::Claude, "x");
    lines.iter().for_each(|line| at_once.follow_line(0, line));
    at_once.settle(true);
    let mut growing = Session::new(TranscriptForm::Claude, "x");
    let mut frames = 0;
    for line in &lines {
        growing.follow_line(0, line);
        growing.settle(false);
        assert!(growing.tree().len() >= frames, "the tree only grows");
        frames = growing.tree().len();
    }
    growing.settle(true);
    assert_eq!(statuses(&growing), statuses(&at_once));
}

/// Calls of the stack's tools with their answers: each frame has its own results, no matter in which order
/// the frames end.
#[test]
fn frames_of_the_stack_s_own_tools_are_as_they_were() {
    let call = |id: &str, tool: &str, arguments: Value| {
        json!({"type": "assistant", "message": {"id": id, "role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": format!("mcp__callstack__{tool}"), "input": arguments}]}})
    };
    let answer = |id: &str, text: &str| json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}});
    let mut session = Session::new(TranscriptForm::Claude, "x");
    for line in [
        json!({"type": "user", "message": {"role": "user", "content": "Build the shop."}}),
        call("1", "push", json!({"title": "Shop", "successCriteria": "It sells"})),
        answer("1", "f1 (Shop) has begun: work in it now, then finish it with pop."),
        call("2", "plan", json!({"frames": [{"title": "Cart", "successCriteria": "Totals"}]})),
        answer("2", "f2 (Cart) is planned."),
        call("3", "activate", json!({"frame": "f2"})),
        answer("3", "f2 (Cart) has begun: work in it now, then finish it with pop.\nYou are in f2 (Cart)."),
        call("4", "push", json!({"title": "Refused"})),
        json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "4", "is_error": true, "content": "refused"}]}}),
        call("5", "pop", json!({"frame": "f1", "results": "SHOP"})),
        answer("5", "f1 (Shop) is completed."),
        call("6", "pop", json!({"results": "CART"})),
        answer("6", "f2 (Cart) is completed."),
    ] {
        session.follow_line(0, line.to_string().as_bytes());
    }
    session.settle(true);
    let tree = session.tree();
    let frames: Vec<(&str, &str, Option<&str>)> = { tree.handles().skip(2) }
        .map(|frame| tree.node(frame).record())
        .map(|record| (&*record.title, &*record.success_criteria, record.results.as_deref()))
        .collect();
    assert_eq!(frames, [("Shop", "It sells", Some("SHOP")), ("Cart", "", Some("CART"))]);
}

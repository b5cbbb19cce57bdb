//! The words and the usage of the requests of conversations, in the logs and the usage of frames.

use callstack_core::fold::{AnswerPart, FoldSettings, Seen, Wire, transcript};
use callstack_core::frame::ModelRequest;
use callstack_core::tools::conversation::{Conversation, Watched};
use callstack_core::{Actor, HolderKind, LogQuery, NewFrame, Settings, Stack, StackOptions};
use serde_json::Value;
use support::conversations::{Round, pop, push, request, shell};

use super::transcripts::shop;

/// A request that offers the tools of the stack.
fn offering(request: String) -> String {
    request.replacen('{', r#"{"tools":[{"name":"mcp__callstack__pop"}],"#, 1)
}

/// The texts in the log of a frame, and the kind of each entry.
fn log(stack: &Stack, frame: &str) -> Vec<String> {
    let page = stack.log(frame).read(&LogQuery::default()).unwrap();
    let line = |entry: &Value| match entry["calls"][0]["name"].as_str() {
        Some(name) => format!("call {name}"),
        None => format!("{} {}", entry["role"].as_str().unwrap(), entry["text"].as_str().unwrap()),
    };
    page.lines.iter().map(|kept| line(&kept.entry)).collect()
}

#[test]
fn what_is_watched_is_in_the_logs_and_the_usage_of_frames_once() {
    let folder = tempfile::tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.push(NewFrame::new("Shop")).unwrap();
    stack.push(NewFrame::new("Cart").below("f1")).unwrap();
    let stack = stack.as_actor(Actor::new(HolderKind::Conversation, "codex/1"));
    let (settings, fold) = (Settings::default(), FoldSettings::default());
    let conversation = Conversation::new(&stack, &settings);
    let rounds = shop();
    let usage = || Some(ModelRequest { output: 10, ..ModelRequest::new("large") });
    let watch = |end: usize, watched: &mut Watched| {
        let body = offering(request(Wire::Anthropic, &rounds[..end]));
        let place = conversation.watch(Wire::Anthropic, &body, &[], &fold, usage(), watched).unwrap();
        place.map(|place| place.to_string())
    };
    let mut watched = Watched::default();
    assert_eq!(watch(1, &mut watched).as_deref(), Some("f1"));
    assert_eq!(watch(3, &mut watched).as_deref(), Some("f2"));
    assert_eq!(watch(4, &mut watched).as_deref(), Some("f1"));
    // A process that starts without memory finds the recorded items in the logs.
    assert_eq!(watch(5, &mut Watched::default()).as_deref(), Some("f1"));
    let said = log(&stack, "f2");
    let expected = ["assistant I read what is there.", "call mcp__callstack__pop"];
    assert!(expected.iter().all(|line| said.iter().filter(|said| said == line).count() == 1), "{said:#?}");
    assert_eq!(said.iter().filter(|line| line.contains("struct Cart")).count(), 1, "{said:#?}");
    let outer = log(&stack, "f1");
    assert!(!outer.iter().any(|line| line.contains("struct Cart")), "{outer:#?}");
    let beginning = ["user Build the shop.", "call mcp__callstack__push"];
    assert_eq!(outer[..2], beginning, "what led to the task is in its log: {outer:#?}");
    assert_eq!(outer.iter().filter(|line| beginning[0] == *line).count(), 1, "{outer:#?}");
    // Requests before the first frame count for the first frame.
    let outputs = ["f1", "f2"].map(|frame| stack.usage(frame).unwrap().own[0].output);
    assert_eq!(outputs, [30, 10], "three requests in f1, one in f2");
}

/// If a conversation names no frame, it is in the frame in which the stack knows it to be.
#[test]
fn a_conversation_that_names_no_frame_is_in_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let stack = stack.as_actor(Actor::new(HolderKind::Conversation, "claude/1/agent"));
    let (settings, fold) = (Settings::default(), FoldSettings::default());
    let conversation = Conversation::new(&stack, &settings);
    let body = offering(request(Wire::Anthropic, &[shell("ls", "src").words("Look.")]));
    let watch = |watched: &mut Watched| conversation.watch(Wire::Anthropic, &body, &[], &fold, None, watched).unwrap();
    assert_eq!(watch(&mut Watched::default()), None, "it is in no frame, and nothing is recorded");
    let frame = stack.push(NewFrame::new("Look around")).unwrap();
    assert_eq!(watch(&mut Watched::default()), Some(frame));
    assert!(log(&stack, "f1").contains(&"user Look.".to_owned()));
    // A request that a host makes outside of the conversation costs tokens, and is not a part of what
    // was said.
    let title = r#"{"messages": [{"role": "user", "content": "A title for: Look."}]}"#;
    let usage = ModelRequest { output: 7, ..ModelRequest::new("small") };
    let mut watched = Watched::default();
    assert_eq!(conversation.watch(Wire::Anthropic, title, &[], &fold, Some(usage), &mut watched).unwrap(), Some(frame));
    assert_eq!(stack.usage(frame).unwrap().own[0].output, 7);
    assert!(!log(&stack, "f1").iter().any(|line| line.contains("A title")));
}

/// A subagent to which a frame was handed over works in the frame. It does not need a call to enter
/// the frame.
#[test]
fn a_subagent_is_in_the_frame_that_its_prompt_hands_over() {
    let folder = tempfile::tempdir().unwrap();
    let whole = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let (settings, fold) = (Settings::default(), FoldSettings::default());
    let lead = whole.as_actor(Actor::new(HolderKind::Conversation, "claude/1"));
    let call =
        |name: &str, arguments: &str| Conversation::new(&lead, &settings).call(name, arguments).answer.text.unwrap();
    call("push", r#"{"title": "Shop", "successCriteria": "It is open"}"#);
    let handed = call("push", r#"{"title": "Cart", "successCriteria": "It works", "handOver": true}"#);
    let prompt = handed.lines().skip(1).collect::<Vec<_>>().join("\n");
    let body = offering(request(Wire::Anthropic, &[shell("ls", "src").words(prompt)]));
    let agent = whole.as_actor(Actor::new(HolderKind::Conversation, "claude/1/a").caller("claude/1"));
    let watched = &mut Watched::default();
    let place = Conversation::new(&agent, &settings).watch(Wire::Anthropic, &body, &[], &fold, None, watched).unwrap();
    assert_eq!(place.map(|place| place.to_string()).as_deref(), Some("f2"));
    assert!(log(&whole, "f2").contains(&"tool src".to_owned()), "{:?}", log(&whole, "f2"));
    assert_eq!(whole.frame("f2").unwrap().holder.unwrap().name, "claude/1/a", "it has entered the frame");
}

/// A process that starts without memory after a compaction does not log again the items that are in the logs
/// of earlier frames.
#[test]
fn what_another_frame_has_is_not_logged_again() {
    let folder = tempfile::tempdir().unwrap();
    let whole = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let stack = whole.as_actor(Actor::new(HolderKind::Conversation, "claude/1"));
    let (settings, fold) = (Settings::default(), FoldSettings::default());
    let conversation = Conversation::new(&stack, &settings);
    let shop = stack.push(NewFrame::new("Shop")).unwrap();
    let cart = stack.push(NewFrame::new("Cart").below(shop)).unwrap();
    let body = offering(request(Wire::Anthropic, &[shell("ls", "src").words("Look.")]));
    let watch = |body: &str| conversation.watch(Wire::Anthropic, body, &[], &fold, None, &mut Watched::default());
    assert_eq!(watch(&body).unwrap(), Some(cart));
    stack.pop(cart, callstack_core::PopStatus::Completed, "done").unwrap();
    let more = offering(request(Wire::Anthropic, &[shell("ls", "src").words("Look."), shell("cat a", "letter")]));
    assert_eq!(watch(&more).unwrap(), Some(shop));
    let outer = log(&whole, "f1");
    assert!(outer.contains(&"tool letter".to_owned()) && !outer.contains(&"tool src".to_owned()), "{outer:?}");
}

/// What is said after the last frame is recorded when the watching ends. The next watcher does not
/// record it again.
#[test]
fn the_end_of_a_conversation_and_what_its_fork_repeats_are_logged_once() {
    let folder = tempfile::tempdir().unwrap();
    let whole = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let frame = whole.push(NewFrame::new("Shop")).unwrap();
    whole.pop(frame, callstack_core::PopStatus::Completed, "done").unwrap();
    let (settings, fold) = (Settings::default(), FoldSettings::default());
    let rounds = [
        push("f1", "Shop").words("Build it."),
        shell("ls", "src").words("Look."),
        pop("f1", "Shop", "completed", "done", ""),
        shell("cat a", "letter").words("Behind all frames."),
    ];
    let watch = |name: &str, count: usize| {
        let stack = whole.as_actor(Actor::new(HolderKind::Conversation, name));
        let conversation = Conversation::new(&stack, &settings);
        let mut watched = Watched::default();
        let body = offering(request(Wire::Anthropic, &rounds[..count]));
        conversation.watch(Wire::Anthropic, &body, &[], &fold, None, &mut watched).unwrap();
        conversation.watched(watched).unwrap();
        log(&whole, "f1")
    };
    let logged = watch("claude/1", 4);
    assert!(logged.iter().any(|line| line.contains("Behind all frames.")), "{logged:#?}");
    assert_eq!(watch("claude/1", 4), logged, "another process");
    assert_eq!(watch("claude/fork", 3), logged, "a fork");
}

/// A call is in the log as soon as the model has made it. It is not logged again with its outcome.
#[test]
fn a_call_is_logged_when_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let whole = Stack::open(folder.path(), StackOptions::default()).unwrap();
    whole.push(NewFrame::new("Shop")).unwrap();
    let settings = Settings::default();
    for wire in [Wire::Anthropic, Wire::Chat, Wire::Responses] {
        let stack = whole.as_actor(Actor::new(HolderKind::Conversation, format!("codex/{wire}")));
        let frame = stack.push(NewFrame::new(wire.to_string()).below("f1")).unwrap();
        let conversation = Conversation::new(&stack, &settings);
        let rounds = [shell("ls", "src").words("Look."), shell("cat a", "letter").words("Read it.")];
        let asked = |rounds: &[Round]| offering(request(wire, rounds));
        let mut watched = Watched::default();
        // The answer calls the second tool in the same form in which the next request repeats the call.
        let more = asked(&rounds);
        let mut seen = Seen::default();
        let items = transcript(wire, &more, &FoldSettings::default(), &mut seen).unwrap().items;
        let calls: Vec<&Value> = items.iter().filter_map(|item| item.entry["calls"].get(0)).collect();
        let call = calls.last().unwrap();
        let text = |key: &str| call[key].as_str().unwrap().to_owned();
        let part = AnswerPart::call(text("id"), text("name"), call["arguments"].to_string());
        conversation.watch(wire, &asked(&rounds[..1]), &[part], &FoldSettings::default(), None, &mut watched).unwrap();
        let logged = log(&whole, &frame.to_string());
        assert_eq!(logged.iter().filter(|line| line.starts_with("call")).count(), 2, "{wire}: {logged:#?}");
        conversation.watch(wire, &more, &[], &FoldSettings::default(), None, &mut watched).unwrap();
        let logged = log(&whole, &frame.to_string());
        assert_eq!(logged.iter().filter(|line| line.starts_with("call")).count(), 2, "{wire}: {logged:#?}");
        assert_eq!(logged.iter().filter(|line| line.contains("letter")).count(), 1, "{wire}: {logged:#?}");
    }
}

//! The words and the usage of conversations are in the logs and the usage of their frames.

use std::io::Write;

use callstack_core::fold::Wire;
use callstack_core::{LogQuery, NewFrame, PopStatus, Stack, StackOptions};
use tempfile::tempdir;

use crate::requests::conversation;
use crate::world::{Proxy, Upstream};

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 70\r\n\r\n\
                      {\"model\":\"large\",\"usage\":{\"input_tokens\":100,\"output_tokens\":2222222}}";
const SESSION: &str = "x-claude-code-session-id: ses\r\n";

/// A request that offers the tools of the stack.
fn offering(wire: Wire) -> String {
    conversation(wire).0.replacen('{', r#"{"tools": [{"name": "mcp__callstack__pop"}],"#, 1)
}

/// The number of entries in the log of a frame that have a text.
fn times(stack: &Stack, frame: &str, text: &str) -> usize {
    let page = stack.log(frame).read(&LogQuery::default()).unwrap();
    page.lines.iter().filter(|line| line.entry["text"].as_str().is_some_and(|said| said.contains(text))).count()
}

#[test]
fn each_item_is_logged_once_and_each_request_counted() {
    for more in [&[][..], &["--no-fold"]] {
        let folder = tempdir().unwrap();
        let path = folder.path().join(".callstack");
        let stack = Stack::open(&path, StackOptions::default()).unwrap();
        stack.push(NewFrame::new("Shop")).unwrap();
        for title in ["Cart", "Pay"] {
            let frame = stack.push(NewFrame::new(title).below("f1")).unwrap();
            stack.pop(frame, PopStatus::Completed, "done").unwrap();
        }
        let upstream = Upstream::saying(ANSWER);
        let proxy = Proxy::before(&upstream.url(), &[more, &["--stack", path.to_str().unwrap()]].concat());
        let body = offering(Wire::Anthropic);
        for path in ["/v1/messages", "/v1/messages", "/v1/messages/count_tokens"] {
            assert_eq!(proxy.post(path, SESSION, body.as_bytes()).status(), 200);
        }
        // A request for a title costs tokens, but adds nothing to the log.
        let title = br#"{"messages": [{"role": "user", "content": "A title, please."}]}"#;
        proxy.post("/v1/messages", SESSION, title);
        let written = proxy.end();
        assert!(!written.errors.contains("struct Cart"), "{}", written.errors);
        stack.refresh().unwrap();
        assert_eq!((times(&stack, "f2", "struct Cart;"), times(&stack, "f3", "struct Pay;")), (1, 1));
        assert_eq!((times(&stack, "f1", "Build the shop."), times(&stack, "f1", "struct Cart;")), (1, 0));
        let used = stack.usage("f3").unwrap().own;
        assert_eq!(
            (used[0].model.as_str(), used[0].requests, used[0].uncached_input),
            ("large", 3, 300),
            "with the title's"
        );
        assert_eq!(times(&stack, "f1", "A title") + times(&stack, "f3", "A title"), 0);
    }
}

/// Two conversations at once: each has its own frames, and the words of one are not in the log of the other.
#[test]
fn conversations_do_not_mix() {
    let folder = tempdir().unwrap();
    let path = folder.path().join(".callstack");
    let stack = Stack::open(&path, StackOptions::default()).unwrap();
    for title in ["One", "Two"] {
        stack.push(NewFrame::new(title).root()).unwrap();
    }
    let upstream = Upstream::saying(ANSWER);
    let proxy = Proxy::before(&upstream.url(), &["--stack", path.to_str().unwrap()]);
    let body = |frame: &str, words: &str| {
        format!(
            r#"{{"tools": [{{"name": "mcp__callstack__pop"}}], "messages": [
                {{"role": "user", "content": "{words}"}},
                {{"role": "assistant", "content": [{{"type": "tool_use", "id": "t1", "name": "mcp__callstack__activate", "input": {{"frame": "{frame}"}}}}]}},
                {{"role": "user", "content": [{{"type": "tool_result", "tool_use_id": "t1",
                    "content": "{frame} (X) is in progress: work in it now, then finish it with pop.\nYou are in {frame} (X)."}}]}},
                {{"role": "assistant", "content": "I do {words}"}},
                {{"role": "user", "content": "Go on with {words}"}}]}}"#
        )
    };
    for _ in 0..2 {
        for (frame, words) in [("f1", "the one"), ("f2", "the other")] {
            assert_eq!(proxy.post("/v1/messages", "", body(frame, words).as_bytes()).status(), 200);
        }
    }
    proxy.end();
    stack.refresh().unwrap();
    for (frame, own, other) in [("f1", "I do the one", "the other"), ("f2", "I do the other", "the one")] {
        assert_eq!((times(&stack, frame, own), times(&stack, frame, other)), (1, 0), "{frame}");
        assert_eq!(stack.usage(frame).unwrap().own[0].requests, 2);
    }
}

/// The proxy does not make a stack that does not exist. A stack that is made later gets the earlier usage.
#[test]
fn a_stack_that_comes_later_has_what_was_said_before() {
    let folder = tempdir().unwrap();
    let path = folder.path().join(".callstack");
    let upstream = Upstream::saying(ANSWER);
    let proxy = Proxy::before(&upstream.url(), &["--stack", path.to_str().unwrap()]);
    let begun =
        r#"{"tools": [{"name": "mcp__callstack__pop"}], "messages": [{"role": "user", "content": "Build the shop."}]}"#;
    proxy.post("/v1/messages", SESSION, begun.as_bytes());
    assert!(!path.exists());
    let stack = Stack::open(&path, StackOptions::default()).unwrap();
    for title in ["Shop", "Cart", "Pay"] {
        stack.push(NewFrame::new(title)).unwrap();
    }
    proxy.post("/v1/messages", SESSION, offering(Wire::Anthropic).as_bytes());
    proxy.end();
    stack.refresh().unwrap();
    assert_eq!(times(&stack, "f1", "Build the shop."), 1);
    assert_eq!(stack.usage("f3").unwrap().own[0].requests, 2, "the request before the first frame counts too");
}

/// Each answer of a conversation is in its log exactly once. So is the last answer, which no request repeats.
#[test]
fn the_last_answer_is_logged_too() {
    let folder = tempdir().unwrap();
    let path = folder.path().join(".callstack");
    let stack = Stack::open(&path, StackOptions::default()).unwrap();
    for title in ["Shop", "Cart", "Pay"] {
        stack.push(NewFrame::new(title)).unwrap();
    }
    let upstream = Upstream::new(|_, stream| {
        let events = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
                      data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"All is \"}}\n\n\
                      data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"paid.\"}}\n\n\
                      data: {\"type\":\"message_stop\"}\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
        write!(stream, "{head}content-length: {}\r\n\r\n{events}", events.len()).unwrap();
    });
    let proxy = Proxy::before(&upstream.url(), &["--stack", path.to_str().unwrap()]);
    let mut body: serde_json::Value = serde_json::from_str(&offering(Wire::Anthropic)).unwrap();
    proxy.post("/v1/messages", SESSION, body.to_string().as_bytes());
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(serde_json::json!({"role": "assistant", "content": [{"type": "text", "text": "All is paid."}]}));
    messages.push(serde_json::json!({"role": "user", "content": "And now?"}));
    proxy.post("/v1/messages", SESSION, body.to_string().as_bytes());
    proxy.end();
    stack.refresh().unwrap();
    assert_eq!(times(&stack, "f3", "All is paid."), 2, "the two answers, each once");
}

//! Tests of the title and the criteria of the frames of sessions: they follow the session's title and its
//! newest task, until a caller sets them.

use callstack_core::{Command, FrameStatus, Identity, Stack};
use serde_json::json;

use super::host::{Host, SUBAGENT};

impl Host {
    fn titled(&mut self, id: &str, title: &str) -> &mut Self {
        self.tell(json!({"kind": "sessionUpdated", "sessionID": id, "title": title}))
    }

    /// Reports a message of the user in the session `root`.
    fn user(&mut self, text: &str) -> &mut Self {
        let id = format!("m{}", self.now);
        self.message("root", &id, "user", text)
    }

    /// The title and criteria of the frame of the session `root`.
    fn identity(&self) -> (String, String) {
        let frame = self.frame("root");
        (frame.title, frame.success_criteria)
    }

    /// A host with the session `root`, which has no title of its own.
    fn untitled() -> Self {
        let mut host = Self::default();
        host.created("root", None, "New session - 2026-11-22T05:28:04.000Z");
        host
    }
}

fn named(title: &str, criteria: &str) -> (String, String) {
    (title.to_owned(), criteria.to_owned())
}

#[test]
fn a_root_is_named_after_its_newest_task_and_keeps_the_earlier_ones() {
    let mut host = Host::untitled();
    assert!(host.tree.is_empty(), "a session without a message is nothing to work on");
    host.user("hello").message("root", "a1", "assistant", "Hi");
    assert_eq!(host.identity(), named("hello", "hello"));
    let text = "Build a shop where customers\ncan pay for what is in their cart";
    host.user(text);
    assert_eq!(host.identity(), named("Build a shop where customers can", text));
    let frame = host.frame("root");
    assert_eq!((frame.status, frame.placeholder, frame.parent_session_id), (FrameStatus::InProgress, true, None));
    assert!(!frame.success_criteria_compacted.contains('\n'));
    for short in ["go on", "  ", "Yes, please!"] {
        assert_eq!(host.user(short).identity().1, text, "{short:?} is no task");
    }
    host.user("use Postgres, please");
    let both = format!("{text}\nuse Postgres, please");
    assert_eq!(host.identity(), named("Build a shop where customers can", &both), "an answer belongs to the task");
    let next = "And now build a blog with a search for its articles";
    host.user(next);
    assert_eq!(host.identity(), named("And now build a blog with", &format!("{both}\n{next}")));
    assert_eq!(host.frame("root").success_criteria_compacted, format!("{both} {next}").replace('\n', " "));
    let long = "word ".repeat(388);
    host.user(&long);
    let (title, criteria) = host.identity();
    assert_eq!(title, "word word word word word word");
    assert_eq!(criteria, format!("{next}\n{}", long.trim()), "what is oldest goes first");
    let compacted = host.frame("root").success_criteria_compacted;
    assert!(compacted.starts_with(&format!("{next} … word word")) && compacted.chars().count() <= 300, "{compacted}");
    host.user(&long);
    assert_eq!(host.identity().1, long.trim());
    assert_eq!((host.tree.len(), host.refused.len()), (1, 0), "{:?}", host.refused);
}

#[test]
fn the_first_plan_or_push_sets_the_newest_identity_for_good() {
    for is_push in [false, true] {
        let mut host = Host::untitled();
        host.user("hello").user("please build a shop");
        match is_push {
            true => host.push("root", "child"),
            false => host.plan("root", "plan-1"),
        };
        assert!(!host.frame("root").placeholder);
        host.user("What is the state of it?").titled("root", "Question about state");
        assert_eq!(host.identity(), named("please build a shop", "please build a shop"));
        assert_eq!(host.refused, [""; 0]);
    }
}

#[test]
fn a_subagent_does_not_set_the_identity_of_its_parent() {
    let mut host = Host::untitled();
    host.user("Find out how the login works").created("child", Some("root"), SUBAGENT);
    host.user("Now add a second factor");
    assert_eq!(
        host.identity(),
        named("Now add a second factor", "Find out how the login works\nNow add a second factor")
    );
    assert_eq!(host.frame("child").title, SUBAGENT);
}

#[test]
fn what_is_set_on_purpose_stays() {
    let mut host = Host::untitled();
    host.user("hello");
    let identity =
        Identity { title: "The shop".into(), success_criteria: "Customers can pay".into(), ..Identity::default() };
    host.command(Command::Identify { frame: "root".into(), identity, provisional: false });
    host.user("please build a blog").titled("root", "A blog");
    assert_eq!(host.identity(), named("The shop", "Customers can pay"));
    assert_eq!(host.refused, [""; 0]);
}

#[test]
fn a_title_names_the_messages_before_it() {
    let mut host = Host::untitled();
    host.user("hello").titled("root", "Greeting");
    assert_eq!(host.identity(), named("Greeting", "hello"), "the host has made it of the first message");
    host.titled("root", "").titled("root", "Greeting").user("please build a shop").titled("root", "Greeting");
    assert_eq!(host.identity(), named("please build a shop", "please build a shop"), "it is no name of the shop");
    host.titled("root", " My shop ").user("with a search for toys");
    assert_eq!(
        host.identity(),
        named("My shop", "please build a shop\nwith a search for toys"),
        "a person has given it"
    );
}

#[test]
fn a_title_from_before_the_first_message_stays() {
    let mut host = Host::default();
    host.created("root", None, "").titled("root", " The shop ").user("  ").user("hello").user("please build a shop");
    assert_eq!(host.identity(), named("The shop", "please build a shop"));
}

#[test]
fn after_a_restart_the_frame_knows_the_task() {
    for title in ["", "Greeting"] {
        let mut host = Host::untitled();
        host.user("hello").titled("root", title).user("please build a shop");
        host.sessions = Default::default();
        host.user("go on").asked();
        host.created("root", None, title);
        assert_eq!(host.identity(), named("please build a shop", "please build a shop"), "{title:?}");
        let next = "and now a blog for the people of the town";
        host.user(next);
        let both = format!("please build a shop\n{next}");
        assert_eq!(host.identity(), named("and now a blog for the", &both), "{title:?}");
        host.sessions = Default::default();
        host.created("root", None, title);
        host.user("with a search");
        assert_eq!(host.identity(), named("and now a blog for the", &format!("{both}\nwith a search")), "{title:?}");
    }
}

#[test]
fn a_frame_that_is_finished_keeps_its_identity() {
    let mut host = Host::untitled();
    host.user("please build a shop");
    let first = host.tree.by_id("root").unwrap();
    host.pop(first, "It is open");
    host.titled("root", "A shop");
    assert_eq!(host.tree.node(first).title(), "please build a shop");
    host.user("Thanks");
    assert_eq!((host.tree.node(first).title(), host.identity().0.as_str()), ("please build a shop", "Thanks"));
    host.user("Now build a blog").titled("root", "A blog");
    assert_eq!(host.identity(), named("A blog", "Now build a blog"));
    assert_eq!(host.refused, [""; 0]);
}

#[test]
fn a_child_sees_the_task_that_its_ancestor_has_now() {
    let stack = Stack::in_memory();
    let tell = |event: serde_json::Value| drop(stack.host().report(serde_json::from_value(event).unwrap()));
    tell(json!({"kind": "sessionCreated", "sessionID": "root"}));
    for (id, text) in [("m1", "hello"), ("m2", "please build a shop")] {
        tell(json!({"kind": "message", "sessionID": "root", "messageID": id, "role": "user", "text": text}));
    }
    let child = stack.push(callstack_core::NewFrame::new("Cart").id("child").below(stack.resolve("root").unwrap()));
    let context = stack.context(child.unwrap(), &Default::default()).unwrap();
    assert!(context.stable.contains("<title>please build a shop</title>"), "{}", context.stable);
    tell(
        json!({"kind": "message", "sessionID": "root", "messageID": "m3", "role": "user", "text": "How far are you?"}),
    );
    assert_eq!(stack.context("child", &Default::default()).unwrap().stable, context.stable);
}

#[test]
fn words_of_scripts_without_spaces_count() {
    let mut host = Host::untitled();
    let task = "做一个网上商店,要有购物车、支付宝支付和发票";
    host.user("你好").user(task);
    assert_eq!(host.identity().1, task);
    assert_eq!(host.user("开始吧").identity().1, task, "“let's start” is no task");
    assert_eq!(host.user("请用支付宝沙箱").identity().1, format!("{task}\n请用支付宝沙箱"));
    let next = "现在修复登录页面上的错误并写测试";
    assert!(host.user(next).identity().1.ends_with(&format!("\n{next}")));
}

//! Conversations that a person has set back to an earlier point.

use callstack_core::session::calls::{CallPlace, CallSettings};
use callstack_core::session::{Effect, HostEvent};
use callstack_core::{FrameStatus, HostSettings, NewFrame, PopStatus, Results, Stack, StackOptions, tools};
use serde_json::{Value, json};
use support::Queries;

const SESSION: &str = "ses_1";

/// A session whose agent works on all frames in the conversation of the session.
struct Chat {
    stack: Stack,
    /// The answers of its tools.
    answers: Vec<String>,
}

impl Chat {
    fn new() -> Self {
        let stack = Stack::in_memory();
        let calls = CallSettings::default().place(CallPlace::Conversation);
        assert_eq!(stack.host().configure(HostSettings::default().calls(calls)), []);
        let chat = Self { stack, answers: Vec::new() };
        chat.tell(json!({"kind": "sessionCreated", "sessionID": SESSION, "title": "Shop"}));
        let text = "Build a shop where customers can pay";
        chat.tell(json!({"kind": "message", "sessionID": SESSION, "messageID": "m", "role": "user", "text": text}));
        chat
    }

    fn tell(&self, event: Value) -> Vec<Effect> {
        self.stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap())
    }

    /// Calls a tool in a message of its own.
    fn call(&mut self, name: &str, arguments: Value) -> String {
        self.context();
        let answer = tools::call(&self.stack, SESSION, name, &arguments.to_string());
        assert!(!answer.is_error, "{name} {arguments}: {:?}", answer.text);
        let text = answer.text.unwrap();
        self.answers.push(text.clone());
        text
    }

    fn push(&mut self, title: &str) {
        self.call(
            "stack_frame_push",
            json!({"title": title, "successCriteria": title, "successCriteriaCompacted": title}),
        );
    }

    fn pop(&mut self) {
        let results = "all of it works";
        self.call("stack_frame_pop", json!({"status": "completed", "results": results, "resultsCompacted": results}));
    }

    /// Sets the conversation back to its first answers. `answers` is their number.
    fn set_back(&mut self, answers: usize) {
        self.answers.truncate(answers);
        self.tell(json!({"kind": "sessionSetBack", "sessionID": SESSION, "answers": self.answers}));
    }

    /// The frame in which the conversation is.
    fn place(&self) -> String {
        self.stack.host().place(SESSION).unwrap().to_string()
    }

    fn status(&self, frame: &str) -> FrameStatus {
        self.stack.frame(frame).unwrap().status
    }

    fn context(&self) -> String {
        let context = self.stack.host().context(SESSION).unwrap().unwrap().context;
        format!("{}{}", context.stable, context.volatile)
    }
}

#[test]
fn a_conversation_is_where_it_was_and_what_it_has_begun_since_can_go_on() {
    let mut chat = Chat::new();
    chat.push("Cart");
    chat.push("Totals");
    chat.push("Taxes");
    assert_eq!(chat.place(), "f4");
    chat.set_back(1);
    assert_eq!(chat.place(), "f2");
    assert_eq!([chat.status("f3"), chat.status("f4")], [FrameStatus::Blocked; 2]);
    let question = chat.stack.frame("f4").unwrap().questions.pop().unwrap().question;
    assert_eq!(question, "It was interrupted: its conversation does not hold its beginning any more");
    let answer = chat.call("stack_frame_activate", json!({"sessionID": "f3"}));
    assert!(answer.ends_with("You are in f3 (Totals)."), "{answer}");
    assert_eq!((chat.place().as_str(), chat.status("f3")), ("f3", FrameStatus::InProgress));
}

#[test]
fn a_frame_that_has_ended_since_stays_so() {
    let mut chat = Chat::new();
    chat.push("Cart");
    chat.push("Totals");
    chat.pop();
    chat.pop();
    chat.push("Mail");
    chat.set_back(2);
    assert_eq!(chat.place(), "f1", "both have ended");
    assert_eq!(
        ["f2", "f3", "f4"].map(|frame| chat.status(frame)),
        [FrameStatus::Completed, FrameStatus::Completed, FrameStatus::Blocked]
    );
}

#[test]
fn results_that_a_conversation_has_lost_are_in_its_context() {
    let mut chat = Chat::new();
    chat.push("Cart");
    chat.pop();
    assert!(!chat.context().contains("all of it works"), "the conversation has them");
    chat.set_back(2);
    assert!(!chat.context().contains("all of it works"), "it still has them");
    chat.set_back(0);
    assert!(chat.context().contains("all of it works"), "{}", chat.context());
    assert_eq!(chat.place(), "f1");
}

#[test]
fn results_that_were_lost_within_a_frame_are_in_its_context() {
    let mut chat = Chat::new();
    chat.push("Cart");
    chat.push("Totals");
    chat.pop();
    chat.set_back(1);
    assert_eq!(chat.place(), "f2");
    assert!(chat.context().contains("all of it works"), "{}", chat.context());
    chat.pop();
    assert!(!chat.context().contains("all of it works"), "{}", chat.context());
}

#[test]
fn nothing_happens_to_a_conversation_that_was_only_opened_again() {
    let mut chat = Chat::new();
    chat.push("Cart");
    chat.call("stack_status", json!({}));
    let revision = || chat.stack.read(|tree| tree.revision()).unwrap();
    let before = revision();
    chat.tell(json!({"kind": "sessionSetBack", "sessionID": SESSION, "answers": chat.answers}));
    assert_eq!((chat.place().as_str(), revision()), ("f2", before));
}

#[test]
fn answers_that_name_no_frame_of_the_stack_are_harmless() {
    let mut chat = Chat::new();
    chat.push("Cart");
    let answers = ["f99 (Elsewhere) has begun.\nYou are in f99 (Elsewhere).", "", "f2 (Cart) is completed."];
    for (session, place) in [("ses_9", "f2"), (SESSION, "f1")] {
        chat.tell(json!({"kind": "sessionSetBack", "sessionID": session, "answers": answers}));
        assert_eq!(chat.place(), place);
    }
}

/// The conversation itself says that it is in a frame. That is no longer true.
#[test]
fn a_conversation_that_takes_itself_to_be_in_a_frame_that_has_ended_is_told_where_it_is() {
    let mut chat = Chat::new();
    chat.push("Cart");
    chat.push("Totals");
    chat.pop();
    chat.pop();
    chat.set_back(2);
    assert_eq!(chat.place(), "f1");
    assert!(chat.context().contains("<current-frame id=\"f1\""), "{}", chat.context());
    let decision = json!({"decision": "Round half up"});
    let refused = tools::call(&chat.stack, SESSION, "stack_add_decision", &decision.to_string());
    let text = refused.text.unwrap();
    assert!(refused.is_error && text.contains("not in f3 (Totals) any more: that is completed"), "{text}");
    assert!(text.contains("You are in f1 (Shop) now."), "{text}");
    // The model has written the other calls of the same message before it could read that answer.
    let pop = json!({"status": "completed", "results": "Totals are right", "resultsCompacted": "Totals are right"});
    let beside = tools::call(&chat.stack, SESSION, "stack_frame_pop", &pop.to_string());
    assert!(beside.is_error && chat.status("f1") == FrameStatus::InProgress, "{:?}", beside.text);
    let decided = chat.call("stack_add_decision", decision);
    assert_eq!(decided.lines().last(), Some("You are in f1 (Shop)."));
    assert!(!chat.context().contains("<current-frame"), "{}", chat.context());
    // The person undoes the step back: the frame that was begun since then is interrupted, and the
    // conversation learns of it.
    let mut chat = Chat::new();
    chat.push("Cart");
    chat.push("Totals");
    let all = chat.answers.clone();
    chat.set_back(1);
    chat.answers = all;
    chat.set_back(2);
    assert_eq!((chat.place().as_str(), chat.status("f3")), ("f2", FrameStatus::Blocked));
    assert!(chat.context().contains("<current-frame id=\"f2\""), "{}", chat.context());
    // A call that names its frame means this frame, no matter where the conversation is. Tools that only look
    // change nothing.
    assert!(chat.call("stack_status", json!({})).contains("works on f2 (Cart)"));
    let activated = chat.call("stack_frame_activate", json!({"sessionID": "f3"}));
    assert_eq!(activated.lines().last(), Some("You are in f3 (Totals)."));
}

/// Two frames are beside each other. The conversation was in the first frame last.
#[test]
fn frames_that_a_conversation_has_gone_through_stay_when_it_is_opened_again() {
    let mut chat = Chat::new();
    let child = |title: &str| json!({"title": title, "successCriteria": title});
    chat.call("stack_frame_plan_children", json!({"children": [child("Cart")]}));
    chat.push("Mail");
    let activated = chat.call("stack_frame_activate", json!({"sessionID": "f2"}));
    assert!(activated.contains(" It is below f1 (Shop).\n"), "{activated}");
    chat.set_back(usize::MAX);
    assert_eq!((chat.place().as_str(), chat.status("f3")), ("f2", FrameStatus::InProgress));
    chat.pop();
    assert_eq!(chat.place(), "f3");
    chat.pop();
    assert_eq!(chat.place(), "f1");
}

#[test]
fn a_plan_that_the_conversation_may_have_lost_is_in_its_context() {
    let mut chat = Chat::new();
    chat.call(
        "stack_frame_plan_children",
        json!({"children": [{"title": "Schema", "successCriteria": "Tables exist"}]}),
    );
    assert!(!chat.context().contains("Schema"), "the conversation has it");
    chat.set_back(0);
    assert!(chat.context().contains("Schema"), "{}", chat.context());
}

#[test]
fn where_each_frame_has_a_session_answers_without_a_place_are_heard() {
    let stack = Stack::in_memory();
    let tell = |event: Value| stack.host().report(serde_json::from_value::<HostEvent>(event).unwrap());
    tell(json!({"kind": "sessionCreated", "sessionID": SESSION, "title": "Shop"}));
    tell(json!({"kind": "message", "sessionID": SESSION, "messageID": "m", "role": "user", "text": "Build a shop"}));
    let child = stack.push(NewFrame::new("Cart").id("ses_2").below("f1")).unwrap();
    stack.pop(child, PopStatus::Completed, Results::new("all of it works")).unwrap();
    stack.deliver(child).unwrap();
    let shows_results = || stack.host().context(SESSION).unwrap().unwrap().context.stable.contains("all of it works");
    let set_back = |answers: Value| tell(json!({"kind": "sessionSetBack", "sessionID": SESSION, "answers": answers}));
    set_back(json!(["f2 (Cart) is completed.\nResults: all of it works"]));
    assert!(!shows_results(), "the conversation has them");
    set_back(json!([]));
    assert!(shows_results());
}

#[test]
fn a_message_that_the_person_has_taken_back_is_no_part_of_the_task() {
    let chat = Chat::new();
    let ask = |id: &str, text: &str| {
        chat.tell(json!({"kind": "message", "sessionID": SESSION, "messageID": id, "role": "user", "text": text}));
    };
    let set_back = |asked: Value| {
        chat.tell(json!({"kind": "sessionSetBack", "sessionID": SESSION, "answers": [], "asked": asked}));
    };
    let criteria = || chat.stack.frame("f1").unwrap().success_criteria;
    let (first, second) = ("Build a shop where customers can pay", "Write it in Cobol, on a mainframe");
    ask("m2", second);
    assert_eq!(criteria(), format!("{first}\n{second}"));
    set_back(json!([first, "Other words that were never a task of this"]));
    assert_eq!(criteria(), first);
    assert_eq!(chat.stack.frame("f1").unwrap().success_criteria_compacted, first);
    // The person restores the message.
    set_back(json!([first, second]));
    assert_eq!(criteria(), format!("{first}\n{second}"));
    // The person takes back all messages: the next words are the task.
    set_back(json!([]));
    ask("m3", "Write a letter");
    assert_eq!(criteria(), "Write a letter");
    set_back(json!([first, second, "Write a letter"]));
    assert_eq!(criteria(), format!("{first}\n{second}\nWrite a letter"));
    // If a host writes messages in another form than the one in which it reports them, nothing changes.
    set_back(json!(["<p>Write a letter</p>"]));
    assert_eq!(criteria(), format!("{first}\n{second}\nWrite a letter"));
}

#[test]
fn messages_that_are_too_long_and_such_of_earlier_tasks_are_told_apart() {
    let mut chat = Chat::new();
    let ask = |chat: &Chat, id: &str, text: &str| {
        chat.tell(json!({"kind": "message", "sessionID": SESSION, "messageID": id, "role": "user", "text": text}));
    };
    let set_back = |chat: &Chat, asked: Value| {
        chat.tell(json!({"kind": "sessionSetBack", "sessionID": SESSION, "answers": chat.answers, "asked": asked}));
    };
    let criteria = |chat: &Chat| chat.stack.frame(&*format!("id:{SESSION}")).unwrap().success_criteria;
    let first = "Build a shop where customers can pay";
    chat.pop();
    ask(&chat, "m2", first);
    set_back(&chat, json!([first, first]));
    assert_eq!(criteria(&chat), first, "the first task had the same words");
    let long: Vec<String> =
        (0..15).map(|line| format!("{line}: {}", "all of what is written here ".repeat(3))).collect();
    let (long, longer) = (long.join("\n"), "and more of this ".repeat(60));
    ask(&chat, "m3", &long);
    ask(&chat, "m4", &longer);
    let all = criteria(&chat);
    assert!(all.chars().count() <= 2_000 && all.ends_with(longer.trim()), "{all}");
    set_back(&chat, json!([first, first, long, longer]));
    assert_eq!(criteria(&chat), all, "nothing is gone");
    set_back(&chat, json!([first, first, long]));
    assert_eq!(criteria(&chat), format!("{first}\n{}", long.trim()));
}

/// An agent has planned for the frame, so its title and its criteria no longer change.
#[test]
fn words_instead_of_all_that_a_frame_is_about_begin_another_one() {
    for is_asked_first in [true, false] {
        let mut chat = Chat::new();
        chat.push("Cart");
        chat.answers.clear();
        let instead = "Write a letter to my grandmother";
        let ask = || {
            chat.tell(
                json!({"kind": "message", "sessionID": SESSION, "messageID": "m2", "role": "user", "text": instead}),
            );
        };
        let set_back = |asked: Value| {
            chat.tell(json!({"kind": "sessionSetBack", "sessionID": SESSION, "answers": [], "asked": asked}));
        };
        if is_asked_first {
            ask();
            set_back(json!([instead]));
        } else {
            set_back(json!([]));
            ask();
        }
        let frame = chat.stack.frame(&*format!("id:{SESSION}")).unwrap();
        assert_eq!((frame.success_criteria.as_str(), frame.status), (instead, FrameStatus::InProgress));
        assert_eq!([chat.status("f1"), chat.status("f2")], [FrameStatus::Blocked; 2]);
        assert!(chat.context().contains(instead), "{}", chat.context());
    }
}

/// The process does not know all messages of the frame.
#[test]
fn after_a_restart_an_undone_message_is_not_all_that_a_frame_is_about() {
    let mut chat = Chat::new();
    chat.push("Cart");
    let (stack, repairs) = Stack::from_state(chat.stack.state().unwrap(), StackOptions::default());
    assert!(repairs.is_empty(), "{repairs:?}");
    let calls = CallSettings::default().place(CallPlace::Conversation);
    assert_eq!(stack.host().configure(HostSettings::default().calls(calls)), []);
    chat.stack = stack;
    chat.tell(json!({"kind": "sessionCreated", "sessionID": SESSION, "title": "Shop"}));
    let ask = |chat: &Chat, id: &str, text: &str| {
        chat.tell(json!({"kind": "message", "sessionID": SESSION, "messageID": id, "role": "user", "text": text}));
    };
    ask(&chat, "m2", "Use Postgres for all of it");
    ask(&chat, "m3", "Use SQLite for all of it");
    let asked = ["Build a shop where customers can pay", "Use SQLite for all of it"];
    chat.tell(json!({"kind": "sessionSetBack", "sessionID": SESSION, "answers": chat.answers, "asked": asked}));
    assert_eq!(
        (chat.place().as_str(), chat.status("f1"), chat.status("f2")),
        ("f2", FrameStatus::InProgress, FrameStatus::InProgress)
    );
}

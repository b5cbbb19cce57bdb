//! A host that acts at random, and checks that must always pass. A property test and a fuzz target
//! share them.

use crate::Queries;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callstack_core::context::{Approx, TokenCounter};
use callstack_core::session::{Effect, HostEvent};
use callstack_core::{Stack, ToolNames, Tree, tools};
use serde_json::{Value, json};

use super::{Random, options_at};

/// Tools that change frames.
const OFTEN: [&str; 12] = [
    "stack_frame_push",
    "stack_frame_pop",
    "stack_add_artifact",
    "stack_frame_plan",
    "stack_frame_plan_children",
    "stack_frame_activate",
    "stack_frame_invalidate",
    "stack_frame_answer",
    "stack_frame_activate_ready",
    "stack_wait",
    "stack_frame_stop",
    "stack_frame_edit",
];
/// Number of random actions of one run.
const STEPS: usize = 60;
/// Maximum number of rounds in which the run is brought to an end.
const ENDING: usize = 2_000;

struct Host {
    stack: Stack,
    now: Arc<AtomicU64>,
    sessions: Vec<String>,
    /// Effects that have not been performed.
    pending: Vec<Effect>,
    /// Calls that have not been answered.
    waiting: BTreeSet<u64>,
    answered: BTreeMap<u64, String>,
    messages: usize,
    tools: Vec<tools::Tool>,
}

/// Runs a host at random and checks the promises.
pub fn run(random: &mut Random) {
    let now = Arc::new(AtomicU64::new(1_000_000));
    let count = AtomicU64::new(0);
    let options = options_at(&now).random(Arc::new(move || count.fetch_add(1, Ordering::Relaxed)));
    let mut host = Host {
        stack: Stack::with_options(options),
        now,
        sessions: ["a", "b", "c"].map(str::to_owned).to_vec(),
        pending: Vec::new(),
        waiting: BTreeSet::new(),
        answered: BTreeMap::new(),
        messages: 0,
        tools: tools::list(&ToolNames::default()),
    };
    host.tell(json!({"kind": "sessionCreated", "sessionID": "a", "title": "Root"}));
    host.message("a", "user", "Build it");
    for _ in 0..STEPS {
        host.now.fetch_add(random.below(3_000) as u64, Ordering::Relaxed);
        match random.below(8) {
            0..=2 => host.use_tool(random),
            3 => host.happen(random),
            4 => {
                let effects = host.stack.host().poll();
                host.take(effects);
            }
            _ => host.carry_out_one(random),
        }
        host.check();
    }
    host.bring_to_an_end(random);
}

impl Host {
    fn tell(&mut self, event: Value) {
        let event: HostEvent = serde_json::from_value(event).unwrap();
        let effects = self.stack.host().report(event);
        self.take(effects);
    }

    fn message(&mut self, session: &str, role: &str, text: &str) {
        self.messages += 1;
        let id = format!("m{}", self.messages);
        let tokens = self.messages.is_multiple_of(7).then_some(99_000);
        let event = json!({"kind": "message", "sessionID": session, "messageID": id, "role": role, "text": text, "tokens": tokens});
        self.tell(event);
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Log { .. } | Effect::CompactionPrompt { .. } => {}
                // The host need not report the end of a prompt that was aborted.
                Effect::AbortSession { session_id } => self.forget_prompt(&session_id),
                Effect::Answer { call, text, .. } => {
                    assert!(self.waiting.remove(&call), "call {call} was answered, but no caller waits for it");
                    assert!(!text.is_empty());
                    self.answered.insert(call, text);
                }
                Effect::Prompt { session_id, .. } if self.is_prompted(&session_id) => {
                    panic!("{session_id} is prompted while it works")
                }
                other => self.pending.push(other),
            }
        }
    }

    fn is_prompted(&self, session: &str) -> bool {
        let is_prompt = |effect: &Effect| matches!(effect, Effect::Prompt { session_id, .. } if session_id == session);
        self.pending.iter().any(is_prompt)
    }

    fn forget_prompt(&mut self, session: &str) {
        self.pending.retain(|effect| !matches!(effect, Effect::Prompt { session_id, .. } if session_id == session));
    }

    fn session(&self, random: &mut Random) -> String {
        self.sessions[random.below(self.sessions.len())].clone()
    }

    fn use_tool(&mut self, random: &mut Random) {
        // Chooses the tools that change frames more often.
        let tool = match random.once_in(3) {
            true => &self.tools[random.below(self.tools.len())],
            false => {
                let often = random.pick(&OFTEN);
                self.tools.iter().find(|tool| tool.name == often).unwrap()
            }
        };
        let (name, mut arguments) = (tool.name, tool.example.clone());
        if name == "stack_wait" {
            arguments["frames"] =
                json!((0..random.below(3)).map(|_| format!("f{}", 1 + random.below(12))).collect::<Vec<_>>());
            arguments["timeLimit"] = (random.below(4) * 1_000).into();
        }
        for key in ["frameID", "sessionID", "parentSessionID", "rootID"] {
            if !tool.parameters["properties"][key].is_null() && !random.once_in(3) {
                arguments[key] = format!("f{}", 1 + random.below(12)).into();
            }
        }
        if !tool.parameters["properties"]["background"].is_null() {
            arguments["background"] = random.once_in(4).into();
            arguments["timeLimit"] = (random.below(4) * 1_000).into();
        }
        if name == "stack_frame_pop" && random.once_in(3) {
            arguments["status"] = "blocked".into();
            arguments["question"] = ["", "Which rate?"][random.below(2)].into();
        }
        if name == "stack_frame_activate" {
            arguments["anyway"] = random.once_in(2).into();
            if random.once_in(4) {
                arguments["answer"] = "20 %".into();
            }
        }
        if name == "stack_frame_edit" {
            let handle = |random: &mut Random| format!("f{}", 1 + random.below(12));
            arguments["dependsOn"] = (0..random.below(3)).map(|_| handle(random)).collect();
            arguments["before"] = if random.once_in(2) { String::new() } else { handle(random) }.into();
        }
        if name == "stack_autonomy" {
            arguments["level"] = ["manual", "suggest", "auto"][random.below(3)].into();
        }
        let session = self.session(random);
        // A poll extends the leases of the calls of this host, so the tool call does not need to do that.
        let effects = self.stack.host().poll();
        self.take(effects);
        let revision = self.stack.read(Tree::revision).unwrap();
        let answer = tools::call(&self.stack, &session, name, &arguments.to_string());
        if answer.is_error {
            assert_eq!(
                self.stack.read(Tree::revision).unwrap(),
                revision,
                "{name} {arguments} has failed and changed something"
            );
        }
        assert!(answer.text.is_some() != answer.call.is_some(), "{name} {arguments}: {answer:?}");
        self.waiting.extend(answer.call);
        self.take(answer.effects);
    }

    /// Reports an event that no effect has caused.
    fn happen(&mut self, random: &mut Random) {
        let session = self.session(random);
        match random.below(11) {
            10 => {
                if random.once_in(2) {
                    let message =
                        json!({"id": random.pick(&["w", "s", "x"]), "role": "assistant", "text": "The lexer works"});
                    self.tell(json!({"kind": "messageFinished", "sessionID": session, "message": message}));
                } else {
                    // The answer comes from outside of the sessions of this host. Only a blocked frame can be
                    // answered.
                    let _ = self.stack.answer(format!("f{}", 1 + random.below(12)), "20 %");
                }
            }
            9 => self.return_from_tool(&session, random),
            0 => self.message(&session, "user", "Now build that"),
            1 => self.message(&session, "assistant", "I have built a part of it"),
            2 => self.tell(json!({"kind": "sessionIdle", "sessionID": session})),
            3 if random.once_in(2) => {
                let changes =
                    json!([{"kind": "deleted", "path": "a.rs"}, {"kind": "renamed", "from": "b.rs", "to": "a.rs"}]);
                self.tell(
                    json!({"kind": "toolExecuted", "sessionID": session, "tool": "apply_patch", "changes": changes}),
                );
            }
            3 => self.tell(json!({"kind": "toolExecuted", "sessionID": session, "tool": "write", "path": "a.rs"})),
            4 => self.tell(json!({"kind": "sessionCompacting", "sessionID": session})),
            5 => {
                let messages = json!([{"id": "s", "role": "assistant", "summary": true, "text": "Parser, printer and tests are there"}]);
                self.tell(json!({"kind": "sessionCompacted", "sessionID": session, "messages": messages}));
            }
            6 => {
                let parent = self.session(random);
                let id = format!("s{}", self.sessions.len());
                self.tell(json!({"kind": "sessionCreated", "sessionID": id, "parentID": parent, "title": "look (@general subagent)"}));
                self.sessions.push(id);
            }
            7 => {
                if let Some(call) = self.waiting.iter().nth(random.below(self.waiting.len())).copied() {
                    self.tell(json!({"kind": "callAborted", "call": call}));
                }
            }
            _ if random.once_in(4) => {
                self.tell(json!({"kind": "sessionDeleted", "sessionID": session}));
                self.forget_prompt(&session);
            }
            _ => self.tell(json!({"kind": "sessionError", "sessionID": session, "message": "no luck"})),
        }
    }

    /// Reports that a tool has returned which worked in another session. The reports come in any order and
    /// more than once.
    fn return_from_tool(&mut self, session: &str, random: &mut Random) {
        let (child, call) = (self.session(random), random.once_in(3).then(|| format!("c{}", random.below(9))));
        self.tell(json!({"kind": "toolExecuted", "sessionID": session, "toolCallID": call, "tool": "task",
            "failed": random.once_in(3), "childID": child, "answer": random.pick(&["", "The lexer works"])}));
    }

    /// Performs one of the pending effects, successfully or not.
    fn carry_out_one(&mut self, random: &mut Random) {
        if self.pending.is_empty() {
            return;
        }
        let effect = self.pending.swap_remove(random.below(self.pending.len()));
        let fails = random.once_in(5);
        match effect {
            Effect::DescribeSession { session_id } if fails => {
                self.tell(json!({"kind": "sessionDeleted", "sessionID": session_id}))
            }
            Effect::DescribeSession { session_id } => {
                let parent = random.once_in(2).then(|| self.session(random)).filter(|parent| *parent != session_id);
                self.tell(
                    json!({"kind": "sessionCreated", "sessionID": session_id, "parentID": parent, "title": "Some"}),
                );
            }
            Effect::ReadMessages { session_id } | Effect::CompactSession { session_id } if fails => {
                self.tell(json!({"kind": "sessionMessages", "sessionID": session_id, "messages": []}));
                self.tell(json!({"kind": "sessionCompacted", "sessionID": session_id, "messages": []}));
            }
            Effect::ReadMessages { session_id } => {
                let words = json!([{"id": "w", "role": "assistant", "text": "The lexer works"}]);
                self.tell(json!({"kind": "sessionMessages", "sessionID": session_id, "messages": words}));
            }
            Effect::CompactSession { session_id } => {
                let words = json!([{"id": "w", "role": "assistant", "summary": true, "text": "Lexer and parser work, tests pass"}]);
                self.tell(json!({"kind": "sessionCompacted", "sessionID": session_id, "messages": words}));
            }
            Effect::CreateSession { call, .. } if fails => {
                self.tell(json!({"kind": "callEnded", "call": call, "error": "no more"}))
            }
            Effect::CreateSession { call, parent_id, title } => {
                let id = format!("s{}", self.sessions.len());
                self.sessions.push(id.clone());
                // The host also reports the new session as an event, before or after its answer.
                let created = json!({"kind": "sessionCreated", "sessionID": id, "parentID": parent_id, "title": title});
                let is_early = random.once_in(2);
                if is_early {
                    self.tell(created.clone());
                }
                self.tell(json!({"kind": "callStarted", "call": call, "sessionID": id}));
                if !is_early {
                    self.tell(created);
                }
            }
            Effect::Prompt { call, session_id, text, .. } => {
                self.message(&session_id, "user", &text);
                let answers = |stack: &Stack| {
                    let answers =
                        |tree: &Tree, frame| tree.frame(frame).questions.into_iter().filter_map(|asked| asked.answer);
                    stack
                        .read(|tree| tree.handles().flat_map(|frame| answers(tree, frame)).collect::<String>())
                        .unwrap()
                };
                assert!(!answers(&self.stack).contains(&text), "a prompt is taken for an answer");
                if random.once_in(2) {
                    let arguments = match random.once_in(3) {
                        true => r#"{"status": "blocked", "question": "Which?", "results": "", "resultsCompacted": ""}"#,
                        false => r#"{"status": "completed", "results": "Done", "resultsCompacted": ""}"#,
                    };
                    let answer = tools::call(&self.stack, &session_id, "stack_frame_pop", arguments);
                    self.take(answer.effects);
                }
                let error = fails.then_some("the model is gone");
                self.tell(json!({"kind": "callEnded", "call": call, "error": error}));
            }
            other => panic!("{other:?} is nothing to carry out"),
        }
    }

    fn check(&self) {
        let (_, repairs) = Tree::from_state(self.stack.state().unwrap());
        assert!(repairs.is_empty(), "the tree is not consistent: {repairs:?}");
        for session in &self.sessions {
            if let Some(context) = self.stack.host().context(session).unwrap() {
                let made = &context.context;
                assert!(
                    made.tokens <= 4000 && Approx.count(&made.xml) <= made.tokens,
                    "{} tokens:\n{}",
                    made.tokens,
                    made.xml
                );
                for part in [&made.xml, &made.stable, &made.volatile] {
                    roxmltree::Document::parse(part).unwrap_or_else(|error| panic!("{error}:\n{part}"));
                }
                assert_eq!(self.stack.frame(context.handle).unwrap().session_id, *session);
            }
        }
    }

    /// Performs all pending effects, and checks that every call has been answered.
    fn bring_to_an_end(&mut self, random: &mut Random) {
        for _ in 0..ENDING {
            if self.pending.is_empty() {
                // All sessions come to rest.
                for session in self.sessions.clone() {
                    self.tell(json!({"kind": "sessionIdle", "sessionID": session}));
                }
                self.now.fetch_add(1_000, Ordering::Relaxed);
                let effects = self.stack.host().poll();
                self.take(effects);
                if self.pending.is_empty() {
                    break;
                }
            }
            self.carry_out_one(random);
            self.check();
        }
        assert!(self.pending.is_empty(), "effects follow from one another without end: {:?}", self.pending);
        assert!(self.waiting.is_empty(), "these calls were never answered: {:?}", self.waiting);
    }
}

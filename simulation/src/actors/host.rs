//! A host with sessions: its agent calls tools, and each call of a sub-task runs in a session of its own. The host
//! reports events, and carries out effects late, in any order, or not at all because it has died.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::session::{Effect, HostEvent};
use callstack_core::{Settings, Stack, tools};
use serde_json::{Value, json};
use support::Random;

use super::{Actor, Answered, Command, judge};
use crate::oracle::Violation;
use crate::process::Process;

/// The refusals that a host can meet, because others act too.
const REFUSALS: [&str; 10] = [
    "not_blocked",
    "identity_fixed",
    "transition",
    "parent_closed",
    "parent_planned",
    "unknown_frame",
    "held",
    "not_free",
    "not_open",
    "wait_circle",
];
/// How often a host polls when all frames are done, and the time between its polls, in milliseconds.
const LAST_POLLS: usize = 8;
const LAST_WAIT: u64 = 60_000;

pub(crate) struct Host {
    /// The sessions that it has, the root first. They outlive its process, as transcripts do.
    sessions: Vec<String>,
    /// Effects that are not carried out yet.
    pending: Vec<Effect>,
    /// Calls for whose answers an agent waits, with its session.
    waiting: BTreeMap<u64, String>,
    /// Calls whose agent was aborted: an answer may still come.
    unheard: BTreeSet<u64>,
    messages: usize,
    /// True: the host reports each event of the present step twice, as after an answer that was lost.
    repeats: bool,
}

impl Host {
    pub(crate) fn new(name: &str) -> Self {
        let sessions = vec![format!("{name}/root")];
        Self {
            sessions,
            pending: Vec::new(),
            waiting: BTreeMap::new(),
            unheard: BTreeSet::new(),
            messages: 0,
            repeats: false,
        }
    }

    fn tell(&mut self, process: &mut Process, stack: &Stack, event: Value) {
        process.begin_command("host event");
        process.tell(|| format!("reports {event}"));
        let event: HostEvent = serde_json::from_value(event).expect("an event of a host");
        for _ in 0..1 + usize::from(self.repeats) {
            let effects = stack.host().report(event.clone());
            self.take(process, effects);
        }
    }

    fn take(&mut self, process: &mut Process, effects: Vec<Effect>) {
        for effect in effects {
            if !matches!(effect, Effect::Log { .. }) {
                process.tell(|| format!("is to {}", serde_json::to_string(&effect).unwrap_or_default()));
            }
            match effect {
                Effect::Log { message, data, .. } if message == "Refused" => {
                    let code = data["code"].as_str().unwrap_or_default();
                    judge(process, "host event", code, &data, &REFUSALS);
                }
                Effect::Log { .. } | Effect::CompactionPrompt { .. } => {}
                Effect::AbortSession { session_id } => self.abort(&session_id),
                Effect::Answer { call, .. } => {
                    if self.waiting.remove(&call).is_none() && !self.unheard.remove(&call) {
                        let what = format!("{} has no caller that waits for call {call}", process.name());
                        process.world().fail(Violation::new("a call is answered once", what));
                    }
                }
                other => self.pending.push(other),
            }
        }
    }

    /// A session works no more, and its agent waits for no call.
    fn abort(&mut self, session: &str) {
        self.pending.retain(|effect| !prompts(effect, session));
        let calls = self.waiting.iter().filter(|(_, caller)| *caller == session).map(|(call, _)| *call);
        self.unheard.extend(calls);
        self.waiting.retain(|_, caller| caller != session);
    }

    fn session(&self, random: &mut Random) -> String {
        self.sessions[random.below(self.sessions.len())].clone()
    }

    fn message(&mut self, process: &mut Process, stack: &Stack, session: &str, role: &str, text: &str) {
        self.messages += 1;
        let id = format!("m{}", self.messages);
        let event = json!({"kind": "message", "sessionID": session, "messageID": id, "role": role, "text": text});
        self.tell(process, stack, event);
    }

    /// The agent of a session calls a tool.
    fn use_tool(
        &mut self,
        process: &mut Process,
        stack: &Stack,
        session: &str,
        name: &'static str,
        arguments: &Value,
        mark: Option<String>,
    ) {
        let begun = Command::begin_uncounted(process, name, mark);
        let answer = tools::call(stack, session, name, &arguments.to_string());
        let answered = if !answer.is_error {
            Answered::Done
        } else if process.is_struck() {
            // The text does not say whether the outcome is known.
            Answered::Unknown
        } else {
            Answered::Refused(answer.text.clone().unwrap_or_default())
        };
        begun.end(process, &answered);
        process.tell(|| {
            let said = answer.text.as_deref().unwrap_or("runs").lines().next().unwrap_or_default().to_owned();
            format!("{session}: {name} {arguments}: {said}")
        });
        self.waiting.extend(answer.call.map(|call| (call, session.to_owned())));
        self.take(process, answer.effects);
    }

    fn work(&mut self, process: &mut Process, stack: &Stack, random: &mut Random) {
        let session = self.session(random);
        let mark = process.world().mark();
        match random.below(8) {
            0 | 1 => {
                let arguments =
                    json!({"title": "Sub-task", "successCriteria": "It is done", "background": random.once_in(3)});
                self.use_tool(process, stack, &session, "stack_frame_push", &arguments, None);
            }
            2 => {
                let arguments = json!({"title": "A part", "successCriteria": "It is done"});
                self.use_tool(process, stack, &session, "stack_frame_plan", &arguments, None);
            }
            3 => self.use_tool(process, stack, &session, "stack_frame_activate_ready", &json!({}), None),
            4 => {
                let status = ["completed", "failed"][usize::from(random.once_in(8))];
                let arguments = json!({"status": status, "results": mark, "resultsCompacted": ""});
                self.use_tool(process, stack, &session, "stack_frame_pop", &arguments, Some(mark));
            }
            5 => {
                let arguments =
                    json!({"status": "blocked", "question": "Which?", "results": "", "resultsCompacted": ""});
                self.use_tool(process, stack, &session, "stack_frame_pop", &arguments, None);
            }
            _ => {
                let arguments = json!({"decision": mark});
                self.use_tool(process, stack, &session, "stack_add_decision", &arguments, Some(mark));
            }
        }
    }

    /// Something happens that no effect has caused.
    fn happen(&mut self, process: &mut Process, stack: &Stack, random: &mut Random) {
        let session = self.session(random);
        match random.below(8) {
            0 | 1 => self.message(process, stack, &session, "user", "Now build that"),
            2 => self.tell(process, stack, json!({"kind": "sessionIdle", "sessionID": session})),
            3 => self.tell(
                process,
                stack,
                json!({"kind": "toolExecuted", "sessionID": session, "tool": "write", "path": "a.rs"}),
            ),
            4 => {
                let messages =
                    json!([{"id": "s", "role": "assistant", "summary": true, "text": "The parts are there"}]);
                self.tell(process, stack, json!({"kind": "sessionCompacting", "sessionID": session}));
                self.tell(
                    process,
                    stack,
                    json!({"kind": "sessionCompacted", "sessionID": session, "messages": messages}),
                );
            }
            5 => {
                let call = self.waiting.keys().nth(random.below(self.waiting.len())).copied();
                call.into_iter().for_each(|call| {
                    self.waiting.remove(&call);
                    self.unheard.insert(call);
                    self.tell(process, stack, json!({"kind": "callAborted", "call": call}));
                });
            }
            6 => self.tell(process, stack, json!({"kind": "sessionError", "sessionID": session, "message": "no luck"})),
            _ if random.once_in(4) && self.sessions.len() > 1 => {
                self.abort(&session);
                self.tell(process, stack, json!({"kind": "sessionDeleted", "sessionID": session}));
            }
            _ => {}
        }
    }

    /// Carries one effect out, with success or not. Returns false if there is none.
    fn carry_out(&mut self, process: &mut Process, stack: &Stack, random: &mut Random) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let effect = self.pending.swap_remove(random.below(self.pending.len()));
        let fails = random.once_in(6);
        match effect {
            Effect::DescribeSession { session_id } => {
                let title = "Some work";
                self.tell(process, stack, json!({"kind": "sessionCreated", "sessionID": session_id, "title": title}));
            }
            Effect::ReadMessages { session_id } => {
                let messages = json!([{"id": "w", "role": "assistant", "text": "The lexer works"}]);
                self.tell(
                    process,
                    stack,
                    json!({"kind": "sessionMessages", "sessionID": session_id, "messages": messages}),
                );
            }
            Effect::CompactSession { session_id } => {
                let messages = json!([{"id": "w", "role": "assistant", "summary": true, "text": "The lexer works"}]);
                self.tell(
                    process,
                    stack,
                    json!({"kind": "sessionCompacted", "sessionID": session_id, "messages": messages}),
                );
            }
            Effect::CreateSession { call, .. } if fails => {
                self.tell(process, stack, json!({"kind": "callEnded", "call": call, "error": "no more"}));
            }
            Effect::CreateSession { call, parent_id, title } => {
                let id = format!("{}/{}", process.name(), process.world().mark());
                self.sessions.push(id.clone());
                self.tell(process, stack, json!({"kind": "callStarted", "call": call, "sessionID": id}));
                let created = json!({"kind": "sessionCreated", "sessionID": id, "parentID": parent_id, "title": title});
                self.tell(process, stack, created);
            }
            Effect::Prompt { call, session_id, text, .. } => {
                self.message(process, stack, &session_id, "user", &text);
                if random.once_in(2) {
                    let mark = process.world().mark();
                    let arguments = json!({"status": "completed", "results": mark, "resultsCompacted": ""});
                    self.use_tool(process, stack, &session_id, "stack_frame_pop", &arguments, Some(mark));
                }
                let error = fails.then_some("the model is gone");
                self.tell(process, stack, json!({"kind": "callEnded", "call": call, "error": error}));
            }
            _ => {}
        }
        true
    }

    /// The contexts of the sessions keep to their budget.
    fn look(&self, process: &mut Process, stack: &Stack, random: &mut Random) {
        let session = self.session(random);
        match stack.host().context(&session) {
            Ok(Some(found)) => process.world().check_budget(&session, &found.context, &Settings::default()),
            Ok(None) => {}
            Err(error) => judge(process, "context", error.code(), &error, &REFUSALS),
        }
    }
}

fn prompts(effect: &Effect, session: &str) -> bool {
    matches!(effect, Effect::Prompt { session_id, .. } if session_id == session)
}

impl Actor for Host {
    fn act(&mut self, process: &mut Process, random: &mut Random) {
        // A host that cannot open the stack tries again later.
        let was_open = process.is_open();
        let Ok(stack) = process.stack() else { return };
        self.repeats = random.once_in(8);
        if !was_open {
            let root = self.sessions[0].clone();
            self.tell(process, &stack, json!({"kind": "sessionCreated", "sessionID": root, "title": "Root"}));
            self.message(process, &stack, &root, "user", "Build it");
        }
        match random.below(8) {
            0..=2 => self.work(process, &stack, random),
            3 => self.happen(process, &stack, random),
            4 => {
                process.begin_command("host poll");
                let effects = stack.host().poll();
                self.take(process, effects);
            }
            5 => self.look(process, &stack, random),
            _ => {
                self.carry_out(process, &stack, random);
            }
        }
    }

    /// All that it still has to do is done, and each agent that waits for an answer gets it.
    fn end(&mut self, process: &mut Process, random: &mut Random) {
        let Ok(stack) = process.stack() else { return };
        self.repeats = false;
        for _ in 0..LAST_POLLS {
            process.world().time().pass(LAST_WAIT);
            let effects = stack.host().poll();
            self.take(process, effects);
            while self.carry_out(process, &stack, random) {}
            // What its agents have done is done.
            for session in self.sessions.clone() {
                self.tell(process, &stack, json!({"kind": "sessionIdle", "sessionID": session}));
            }
        }
        if let Some((call, session)) = self.waiting.first_key_value() {
            let what = format!("{session} has no answer for call {call}, and nothing more to do");
            process.world().fail(Violation::new("a call is answered once", what));
        }
    }

    fn reopen(&mut self) {
        // The calls were those of the closed stack.
        self.die();
    }

    fn die(&mut self) {
        self.pending.clear();
        self.waiting.clear();
        self.unheard.clear();
    }
}

//! A host that executes the actions that follow from its events, for tests of sessions event by event.

use std::collections::BTreeMap;

use callstack_core::session::calls::{self, CallId, CallOptions};
use callstack_core::session::{Action, Effect, HostEvent, LogLevel, Sessions, Turn};
use callstack_core::{Command, Frame, Handle, NewFrame, PopStatus, Tree, decide};
use serde_json::{Value, json};

/// A title of a subagent.
pub(super) const SUBAGENT: &str = "look around (@general subagent)";

/// A host that executes the actions that follow from its events.
pub(super) struct Host {
    pub(super) tree: Tree,
    pub(super) sessions: Sessions,
    pub(super) now: u64,
    pub(super) effects: Vec<Effect>,
    pub(super) refused: Vec<String>,
    /// IDs of the messages of all `KeepMessages` actions.
    pub(super) logs: BTreeMap<Handle, Vec<String>>,
}

impl Default for Host {
    fn default() -> Self {
        let mut sessions = Sessions::default();
        sessions.host = "host".to_owned();
        Self {
            tree: Tree::default(),
            sessions,
            now: 0,
            effects: Vec::new(),
            refused: Vec::new(),
            logs: BTreeMap::new(),
        }
    }
}

impl Host {
    /// Reports an event, in JSON, a second after the last one.
    pub(super) fn tell(&mut self, event: Value) -> &mut Self {
        self.now += 1_000;
        let text = event.to_string();
        let event: HostEvent = serde_json::from_value(event).unwrap_or_else(|error| panic!("{error}: {text}"));
        let actions = self.sessions.report(&self.tree, event, self.now);
        self.carry_out(actions)
    }

    pub(super) fn poll(&mut self, now: u64) -> &mut Self {
        self.now = now;
        let actions = self.sessions.poll(&self.tree, now);
        self.carry_out(actions)
    }

    pub(super) fn carry_out(&mut self, actions: Vec<Action>) -> &mut Self {
        let mut actions = actions;
        loop {
            self.perform(actions);
            let mut turn = Turn::new(&mut self.sessions, &self.tree, self.now);
            turn.settle();
            actions = turn.into_actions();
            if actions.is_empty() {
                return self;
            }
        }
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Command(command) => match decide(&self.tree, *command, self.now) {
                    Ok(commit) => commit.events.iter().for_each(|event| self.tree.apply(event)),
                    Err(error) => self.refused.push(error.to_string()),
                },
                Action::KeepMessages { frame, messages, .. } => {
                    let Ok(handle) = self.tree.resolve(&frame) else { continue };
                    let log = self.logs.entry(handle).or_default();
                    log.extend(messages.into_iter().map(|message| message.id));
                }
                Action::Answer { call, handle, problem, .. } => {
                    let text = calls::answer(&self.tree, handle, problem.as_deref(), &self.sessions.tools);
                    self.effects.push(Effect::Answer { call, text, title: String::new(), ended: Vec::new() });
                }
                Action::Begin { handle, caller, session_id, prompt, .. } => {
                    let begin = Command::BeginCall {
                        frame: handle.into(),
                        session_id,
                        caller,
                        host: "host".into(),
                        lease: 30_000,
                        limits: Box::default(),
                    };
                    let prompt = prompt.map(Action::Effect);
                    self.perform([Action::Command(Box::new(begin))].into_iter().chain(prompt).collect());
                }
                Action::End { handle } => {
                    let end = Command::EndCall { frame: handle.into(), host: "host".into(), interrupted: false };
                    self.perform(vec![Action::Command(Box::new(end))]);
                }
                Action::Effect(effect) => self.effects.push(effect),
                other => panic!("this host cannot carry out {other:?}"),
            }
        }
    }

    pub(super) fn created(&mut self, id: &str, parent: Option<&str>, title: &str) -> &mut Self {
        self.tell(json!({"kind": "sessionCreated", "sessionID": id, "parentID": parent, "title": title}))
    }

    pub(super) fn message(&mut self, id: &str, message: &str, role: &str, text: &str) -> &mut Self {
        self.tell(json!({"kind": "message", "sessionID": id, "messageID": message, "role": role, "text": text}))
    }

    pub(super) fn tool(&mut self, id: &str, tool: &str, path: &str) -> &mut Self {
        self.tell(json!({"kind": "toolExecuted", "sessionID": id, "tool": tool, "path": path}))
    }

    pub(super) fn about(&mut self, kind: &str, id: &str) -> &mut Self {
        self.tell(json!({"kind": kind, "sessionID": id}))
    }

    pub(super) fn frame(&self, id: &str) -> Frame {
        self.tree.frame(self.tree.by_id(id).unwrap_or_else(|| panic!("{id} has no frame")))
    }

    /// The effects since the last call, without log lines.
    pub(super) fn asked(&mut self) -> Vec<Effect> {
        self.effects.drain(..).filter(|effect| !matches!(effect, Effect::Log { .. })).collect()
    }

    /// The log lines since the last call.
    pub(super) fn logged(&mut self) -> Vec<(LogLevel, String)> {
        let lines = self.effects.drain(..).filter_map(|effect| match effect {
            Effect::Log { level, message, .. } => Some((level, message)),
            _ => None,
        });
        lines.collect()
    }

    pub(super) fn command(&mut self, command: Command) -> Handle {
        let commit = decide(&self.tree, command, self.now).unwrap();
        commit.events.iter().for_each(|event| self.tree.apply(event));
        commit.events[0].handle
    }

    pub(super) fn push(&mut self, parent: &str, id: &str) -> Handle {
        self.command(Command::Push(NewFrame::new(format!("Frame {id}")).id(id).below(parent)))
    }

    pub(super) fn plan(&mut self, parent: &str, id: &str) -> Handle {
        self.command(Command::Plan(NewFrame::new(format!("Frame {id}")).id(id).criteria("It works").below(parent)))
    }

    /// A host with the session `root`, its frame, and a planned child.
    pub(super) fn with_plan() -> (Self, Handle) {
        let mut host = Self::default();
        host.created("root", None, "Root").message("root", "m1", "user", "Build it");
        let frame = host.plan("root", "plan-1");
        host.asked();
        (host, frame)
    }

    pub(super) fn call(&mut self, frame: Handle, caller: &str) -> CallId {
        self.call_with(frame, CallOptions::new(caller))
    }

    pub(super) fn call_with(&mut self, frame: Handle, options: CallOptions) -> CallId {
        let mut turn = Turn::new(&mut self.sessions, &self.tree, self.now);
        let call = turn.call(frame, options).unwrap();
        let actions = turn.into_actions();
        self.carry_out(actions);
        call
    }

    /// Calls a frame, and reports the session that the host creates for it.
    pub(super) fn started(&mut self, frame: Handle, caller: &str, session: &str) -> CallId {
        let call = self.call(frame, caller);
        self.tell(json!({"kind": "callStarted", "call": call, "sessionID": session}));
        self.asked();
        call
    }

    pub(super) fn ended(&mut self, call: CallId, error: Option<&str>) -> &mut Self {
        self.tell(json!({"kind": "callEnded", "call": call, "error": error}))
    }

    pub(super) fn pop(&mut self, frame: Handle, results: &str) {
        let results = results.into();
        self.command(Command::Pop { frame: frame.into(), status: PopStatus::Completed, results });
    }

    pub(super) fn block(&mut self, frame: Handle, question: &str) {
        let results = question.into();
        self.command(Command::Pop { frame: frame.into(), status: PopStatus::Blocked, results });
    }

    /// Reports the messages of a session. The last message has this text.
    pub(super) fn last_words(&mut self, session: &str, text: &str) -> &mut Self {
        let messages = json!([{"id": "m9", "role": "assistant", "text": text}]);
        self.tell(json!({"kind": "sessionMessages", "sessionID": session, "messages": messages}))
    }

    /// The answer to a call. Checks that it is the only one since the last call of this function.
    pub(super) fn answer(&mut self, call: CallId) -> String {
        let answers: Vec<_> =
            self.asked().into_iter().filter(|effect| matches!(effect, Effect::Answer { .. })).collect();
        match &answers[..] {
            [Effect::Answer { call: answered, text, .. }] if *answered == call => text.clone(),
            other => panic!("call {call} has no answer of its own: {other:?}"),
        }
    }
}

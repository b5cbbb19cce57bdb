//! The conversation of an agent in a host with one conversation for all frames. The agent calls the tools, reads
//! files, and hears what a person says. Its transcript outlives the process that answers the tools, is cut by rewinds,
//! and is folded before each request. The frames in it may not be its own any more.

mod transcript;

use callstack_core::fold::{FoldSettings, Wire, fold};
use callstack_core::tools::conversation::{Called, Conversation as Tools, names};
use callstack_core::{Actor as Giver, FrameStatus, HolderKind, Settings, Stack};
use serde_json::json;
use support::{Queries, Random};

use self::transcript::{Call, Request, Transcript};
use super::{Actor, Answered, Command, judge};
use crate::oracle::Violation;
use crate::process::Process;

/// The codes with which a tool can refuse a call at any time, because others act too.
const REFUSALS: [&str; 12] = [
    "refused",
    "unknown_frame",
    "transition",
    "parent_closed",
    "parent_planned",
    "not_open",
    "held",
    "not_ready",
    "not_planned",
    "parts_left",
    "hold_lost",
    "not_retriable",
];
/// The number of calls after which the person begins a new conversation.
const LONGEST: usize = 60;

#[derive(Default)]
pub(crate) struct Conversation {
    transcript: Transcript,
    /// How many conversations came before this one.
    number: usize,
    /// How often events had been lost when it began.
    losses: usize,
}

impl Conversation {
    fn name(&self, process: &Process) -> String {
        format!("{}/{}", process.name(), self.number)
    }

    /// Does one thing, or says which request the agent makes.
    fn go_on(&mut self, process: &Process, stack: &Stack, random: &mut Random) -> Option<Request> {
        let world = process.world();
        let place = self.transcript.place();
        let own = |random: &mut Random| place.filter(|_| random.once_in(2)).map(|frame| frame.to_string());
        match random.below(if place.is_some() { 16 } else { 8 }) {
            0 | 1 => self.transcript.say(world.mark()),
            2 if random.once_in(4) => {
                process.tell(|| "the conversation is rewound".to_owned());
                self.transcript.rewind(random);
            }
            3..=5 | 8 => {
                let frame = random.once_in(4).then_some("new");
                let arguments = json!({"title": "Sub-task", "successCriteria": "It is done", "frame": frame});
                return Some(Request::new("push", arguments));
            }
            6 | 7 => {
                // Also one that may not be its own any more.
                let mut frames = stack.with_status(FrameStatus::Planned).ok()?;
                frames.extend(self.transcript.frames());
                let frame = (!frames.is_empty()).then(|| frames[random.below(frames.len())].to_string())?;
                return Some(Request::new("activate", json!({"frame": frame})));
            }
            9 | 10 => {
                let mark = world.mark();
                let arguments = json!({"decisions": [mark], "frame": own(random)});
                return Some(Request::marked("record", arguments, mark));
            }
            11 => {
                let part = json!([{"title": "Part", "successCriteria": "It is done"}]);
                return Some(Request::new("plan", json!({"frames": part, "frame": own(random)})));
            }
            12 | 13 => self.transcript.read_file(world.mark()),
            _ => {
                let mark = world.mark();
                let status = if random.once_in(8) { "failed" } else { "completed" };
                let arguments = json!({"status": status, "results": mark, "frame": own(random)});
                return Some(Request::marked("pop", arguments, mark));
            }
        }
        None
    }

    /// Calls a tool. Some calls come twice, as from a host that tries again whatever the answer was.
    fn use_tool(&mut self, process: &mut Process, stack: &Stack, request: &Request, random: &mut Random) {
        let has_ended = self.call(process, stack, request);
        let is_safe = request.tool == "pop" && request.arguments["frame"].is_string();
        if has_ended && is_safe && random.once_in(4) && process.is_open() && !process.has_died() {
            let world = process.world();
            let losses = world.losses();
            if self.call(process, stack, request) && losses == world.losses() {
                let what = format!("{} was accepted twice", request.arguments);
                world.fail(Violation::new("each result comes once", what));
            }
        }
    }

    /// Calls a tool once. Returns true if the answer says that it was done.
    fn call(&mut self, process: &mut Process, stack: &Stack, request: &Request) -> bool {
        let Request { tool, arguments, mark } = request;
        let own = stack.as_actor(Giver::new(HolderKind::Conversation, self.name(process)));
        let settings = Settings::default().tools(names(&[]));
        // Activating a failed frame is two commands: the new attempt is kept if its beginning is refused.
        let begin = if *tool == "activate" { Command::begin_uncounted } else { Command::begin };
        let begun = begin(process, tool, mark.clone());
        let moment = process.world().moment();
        let Called { answer, refusal, .. } = Tools::new(&own, &settings).call(tool, &arguments.to_string());
        let text = answer.text.unwrap_or_default();
        process.tell(|| format!("{tool} {arguments}: {}", text.lines().next().unwrap_or_default()));
        let answered = match refusal {
            None => Answered::Done,
            // The outcome of a broken connection, or of a failed disk, is not known.
            Some("disconnected" | "io") => Answered::Unknown,
            Some(_) => Answered::Refused(text.clone()),
        };
        begun.end(process, &answered);
        if let Some(code) = refusal {
            judge(process, tool, code, &text, &REFUSALS);
        }
        let is_done = refusal.is_none() && !process.has_died();
        // A host says so itself when the process that answers is gone.
        let text = if process.has_died() { "The server has ended.".to_owned() } else { text };
        let call = Call { request: request.clone(), answer: text, is_done };
        if let Some((frame, status)) = call.effect() {
            process.world().check_effect(moment, |oracle| oracle.contradicts_status(frame, status));
        }
        self.transcript.call(call);
        is_done
    }

    /// Folds the transcript, as a host does before each request.
    fn check_fold(&self, process: &Process) {
        let request = self.transcript.request();
        let settings = FoldSettings::default();
        let folded = fold(Wire::Anthropic, &request, &settings);
        // The handles of frames that are lost are given again: then one handle can mean two frames.
        let is_clear = self.losses == process.world().losses();
        // The answer of a push can be lost; what is folded may then be all that has said where the conversation was. The
        // same is true of a frame to which the conversation has gone back from another task.
        let is_whole = is_clear && self.transcript.is_whole();
        let is_stable = !is_whole || fold(Wire::Anthropic, &folded.text, &settings).text == folded.text;
        let twice = (!is_stable).then(|| "folding twice is not the same as folding once".to_owned());
        let wrong = self.transcript.wrong_in(&folded.text, is_clear).or(twice);
        wrong.into_iter().for_each(|what| {
            let what = format!("{}: {what}\n{request}\nfolded:\n{}", self.name(process), folded.text);
            process.world().fail(Violation::new("a fold keeps what is needed", what));
        });
    }
}

impl Actor for Conversation {
    fn act(&mut self, process: &mut Process, random: &mut Random) {
        // An agent tries again later.
        let Ok(stack) = process.stack() else { return };
        if process.refresh(&stack).is_ok()
            && let Some(request) = self.go_on(process, &stack, random)
        {
            self.use_tool(process, &stack, &request, random);
        }
        // Each of its requests holds all that came before.
        if random.once_in(4) {
            self.check_fold(process);
        }
        if self.transcript.len() > LONGEST {
            let (number, losses) = (self.number + 1, process.world().losses());
            *self = Self { transcript: Transcript::default(), number, losses };
        }
    }
}

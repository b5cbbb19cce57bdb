//! Conversations of an agent that works on frames, in the form of each wire, and the parts that must remain
//! after folding.

use callstack_core::fold::Wire;
use serde_json::{Value, json};

use crate::Random;

/// A step of a conversation: the words of the person, and the answer of the model with the outcomes
/// of its calls.
#[derive(Debug, Clone, Default)]
pub struct Round {
    /// The text that the person writes before the model's answer.
    pub words: Option<String>,
    /// The content of a picture beside the person's words.
    pub picture: Option<String>,
    /// The text that the host adds to the person's words.
    pub note: Option<String>,
    /// The text that the host adds on its own, in a message of the system.
    pub system: Option<String>,
    /// The summary. The provider or the host drops everything that came before it.
    pub summary: Option<String>,
    pub reasoning: Option<String>,
    pub text: Option<String>,
    /// The text of the model in a block of a kind that is not known here.
    pub unknown: Option<String>,
    pub calls: Vec<Called>,
}

/// A call, and its outcome.
#[derive(Debug, Clone)]
pub struct Called {
    /// The name in the MCP server, or the name of a tool of the host.
    pub name: &'static str,
    pub arguments: Value,
    /// `None`: the conversation ends before the outcome.
    pub answer: Option<String>,
    /// The content of a picture that the tool has returned.
    pub picture: Option<String>,
    pub is_error: bool,
}

impl Round {
    /// A call with this answer.
    pub fn call(name: &'static str, arguments: Value, answer: impl Into<String>) -> Self {
        Self { calls: vec![Called::new(name, arguments, answer)], ..Self::default() }
    }

    pub fn words(mut self, words: impl Into<String>) -> Self {
        self.words = Some(words.into());
        self
    }

    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    pub fn reasoning(mut self, reasoning: impl Into<String>) -> Self {
        self.reasoning = Some(reasoning.into());
        self
    }

    pub fn and(mut self, other: Self) -> Self {
        self.calls.extend(other.calls);
        self
    }
}

impl Called {
    pub fn new(name: &'static str, arguments: Value, answer: impl Into<String>) -> Self {
        Self { name, arguments, answer: Some(answer.into()), picture: None, is_error: false }
    }
}

/// Begins a frame.
pub fn push(frame: &str, title: &str) -> Round {
    Round::call(
        "push",
        json!({ "title": title }),
        format!("{frame} ({title}) has begun: work in it now, then pop it.\nYou are in {frame} ({title})."),
    )
}

/// Resumes a frame.
pub fn activate(frame: &str, title: &str) -> Round {
    Round::call(
        "activate",
        json!({ "frame": frame }),
        format!(
            "{frame} ({title}) is in progress: work in it now, then pop it.\n<stack-context/>\nYou are in {frame} ({title})."
        ),
    )
}

/// Ends a frame. After that, the conversation is in the frame `place`, such as `f1 (Shop)`, or in no frame.
pub fn pop(frame: &str, title: &str, status: &str, results: &str, place: &str) -> Round {
    let last = if place.is_empty() { "You are in no frame.".to_owned() } else { format!("You are in {place}.") };
    Round::call(
        "pop",
        json!({ "status": status, "results": results }),
        format!("{frame} ({title}) is {status}.\n{last}"),
    )
}

/// A command of a shell, with its output.
pub fn shell(command: &str, output: &str) -> Round {
    Round::call("Bash", json!({ "command": command }), output)
}

/// The tools of the MCP server. Hosts add a prefix to their names.
const SERVED: [&str; 7] = ["push", "pop", "activate", "invalidate", "record", "plan", "status"];

/// A number in a form in which a program may write it. A program that reads the number and writes it again
/// changes its bytes.
const NUMBER: &str = "1.50E+2";
const PLACEHOLDER: &str = "\"@number\"";

/// Writes a request in the way hosts do: with unknown keys, numbers in an unusual form, and escapes that are
/// not necessary.
pub fn request(wire: Wire, rounds: &[Round]) -> String {
    let body = match wire {
        Wire::Anthropic => anthropic(rounds),
        Wire::Responses => responses(rounds),
        Wire::Chat => chat(rounds),
        Wire::Gemini => gemini(rounds),
        Wire::Opencode => opencode(rounds),
        Wire::Pi => pi(rounds),
        other => unreachable!("{other}"),
    };
    body.to_string().replace(PLACEHOLDER, NUMBER).replace('é', "\\u00e9").replace("},{\"role\"", "},\n  {\"role\"")
}

fn full_name(name: &str, prefix: &str) -> String {
    if SERVED.contains(&name) { format!("{prefix}{name}") } else { name.to_owned() }
}

/// Each call with its number in the conversation, in rounds.
fn numbered(rounds: &[Round]) -> Vec<(&Round, Vec<(String, &Called)>)> {
    let mut number = 0;
    let mut of_round = |round: &'_ Round| -> Vec<String> {
        let ids = (number..number + round.calls.len()).map(|number| format!("call_{number}"));
        number += round.calls.len();
        ids.collect()
    };
    rounds.iter().map(|round| (round, of_round(round).into_iter().zip(&round.calls).collect())).collect()
}

fn note(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

fn anthropic(rounds: &[Round]) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    let mut outcomes: Vec<Value> = Vec::new();
    for (round, calls) in numbered(rounds) {
        let mut content = std::mem::take(&mut outcomes);
        content.extend(round.note.iter().map(|text| json!({ "type": "text", "text": note(text) })));
        content.extend(round.words.iter().map(|text| json!({ "type": "text", "text": text })));
        let picture = |data: &String| json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": data } });
        content.extend(round.picture.iter().map(picture));
        if !content.is_empty() {
            messages.push(json!({ "role": "user", "content": content }));
        }
        messages.extend(round.system.iter().map(|text| json!({ "role": "system", "content": text })));
        let mut said: Vec<Value> = Vec::new();
        said.extend(round.summary.iter().map(|text| json!({ "type": "compaction", "content": text })));
        said.extend(
            round
                .reasoning
                .iter()
                .map(|text| json!({ "type": "thinking", "thinking": text, "signature": "c2ln", "n": "@number" })),
        );
        said.extend(round.text.iter().map(|text| json!({ "type": "text", "text": text })));
        said.extend(round.unknown.iter().map(|text| json!({ "type": "of_tomorrow", "says": text, "n": "@number" })));
        for (id, call) in &calls {
            said.push(json!({ "type": "tool_use", "id": id, "name": full_name(call.name, "mcp__callstack__"), "input": call.arguments }));
            if let Some(answer) = &call.answer {
                let mut outcome = json!({ "tool_use_id": id, "type": "tool_result" });
                outcome["content"] = match SERVED.contains(&call.name) {
                    true => {
                        json!([{ "type": "text", "text": answer }, { "type": "text", "text": note("tokens left") }])
                    }
                    false => json!(answer),
                };
                if let Some(data) = &call.picture {
                    outcome["content"] = json!([{ "type": "text", "text": answer }, picture(data)]);
                }
                if call.is_error {
                    outcome["is_error"] = json!(true);
                }
                outcomes.push(outcome);
            }
        }
        if !said.is_empty() {
            messages.push(json!({ "role": "assistant", "content": said }));
        }
    }
    if !outcomes.is_empty() {
        messages.push(json!({ "role": "user", "content": outcomes }));
    }
    if let Some(last) = messages.last_mut().and_then(|message| message["content"].as_array_mut()?.last_mut()) {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
    // Models of both kinds: models that are told how much to think, and models that bind each thought to the
    // text before it.
    let thinking = match rounds.first().is_some_and(|round| round.text.is_none()) {
        true => json!({ "type": "enabled", "budget_tokens": 1000 }),
        false => json!({ "type": "adaptive" }),
    };
    json!({ "model": "m", "temperature": "@number", "system": "é", "messages": messages, "thinking": thinking, "stream": true })
}

fn responses(rounds: &[Round]) -> Value {
    let mut input: Vec<Value> = Vec::new();
    let mut outcomes: Vec<Value> = Vec::new();
    for (round, calls) in numbered(rounds) {
        input.append(&mut outcomes);
        let words = round.note.iter().map(|text| note(text));
        for text in words.chain(round.words.clone()) {
            input.push(
                json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] }),
            );
        }
        let picture =
            |data: &String| json!({ "type": "input_image", "image_url": format!("data:image/png;base64,{data}") });
        input.extend(
            round.picture.iter().map(|data| json!({ "type": "message", "role": "user", "content": [picture(data)] })),
        );
        input.extend(round.system.iter().map(|text| {
            json!({ "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": text }] })
        }));
        input.extend(round.summary.iter().map(|text| json!({ "type": "compaction", "encrypted_content": text })));
        input.extend(round.reasoning.iter().map(|text| {
            json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": text }], "encrypted_content": "ZW5j", "n": "@number" })
        }));
        input.extend(round.text.iter().map(|text| {
            json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
        }));
        input.extend(
            round
                .unknown
                .iter()
                .map(|text| json!({ "type": "web_search_call", "action": { "query": text }, "n": "@number" })),
        );
        for (id, call) in &calls {
            let mut item = json!({ "type": "function_call", "name": call.name, "arguments": call.arguments.to_string(), "call_id": id });
            if SERVED.contains(&call.name) {
                item["namespace"] = json!("mcp__callstack");
            }
            input.push(item);
            if let Some(answer) = &call.answer {
                let output = match SERVED.contains(&call.name) && !call.is_error {
                    true => {
                        json!([{ "type": "input_text", "text": "Wall time: 0.1 seconds\nOutput:" }, { "type": "input_text", "text": answer }])
                    }
                    false => json!(answer),
                };
                let output = match &call.picture {
                    Some(data) => json!([{ "type": "input_text", "text": answer }, picture(data)]),
                    None => output,
                };
                outcomes.push(json!({ "type": "function_call_output", "call_id": id, "output": output }));
            }
        }
    }
    input.append(&mut outcomes);
    json!({ "model": "m", "instructions": "é", "input": input, "store": false })
}

fn chat(rounds: &[Round]) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": "é" })];
    for (round, calls) in numbered(rounds) {
        let words = round.note.iter().map(|text| note(text));
        messages.extend(words.chain(round.words.clone()).map(|text| json!({ "role": "user", "content": text })));
        messages.extend(round.picture.iter().map(|data| {
            let url = json!({ "url": format!("data:image/png;base64,{data}") });
            json!({ "role": "user", "content": [{ "type": "text", "text": "See:" }, { "type": "image_url", "image_url": url }] })
        }));
        messages.extend(round.system.iter().map(|text| json!({ "role": "developer", "content": text })));
        let mut said = json!({ "role": "assistant", "content": round.text, "refusal": null });
        if let Some(reasoning) = &round.reasoning {
            said["reasoning_content"] = json!(reasoning);
        }
        let call = |(id, call): &(String, &Called)| {
            let function =
                json!({ "name": full_name(call.name, "callstack-"), "arguments": call.arguments.to_string() });
            json!({ "id": id, "type": "function", "function": function })
        };
        if !calls.is_empty() {
            said["tool_calls"] = calls.iter().map(call).collect();
        }
        if !calls.is_empty() || round.text.is_some() {
            messages.push(said);
        }
        for (id, call) in &calls {
            if let Some(answer) = &call.answer {
                messages.push(json!({ "role": "tool", "tool_call_id": id, "content": answer }));
            }
        }
    }
    json!({ "model": "m", "temperature": "@number", "messages": messages })
}

/// True if Gemini's calls have IDs: newer models write them.
pub fn has_ids(rounds: &[Round]) -> bool {
    rounds.first().is_some_and(|round| round.reasoning.is_some())
}

fn gemini(rounds: &[Round]) -> Value {
    let mut contents: Vec<Value> = Vec::new();
    let has_ids = has_ids(rounds);
    for (round, calls) in numbered(rounds) {
        let mut words: Vec<Value> = { round.note.iter().map(|text| note(text)) }
            .chain(round.words.clone())
            .map(|text| json!({ "text": text }))
            .collect();
        let picture = |data: &String| json!({ "inlineData": { "mimeType": "image/png", "data": data } });
        words.extend(round.picture.iter().map(picture));
        if !words.is_empty() {
            contents.push(json!({ "role": "user", "parts": words }));
        }
        let mut said: Vec<Value> = Vec::new();
        said.extend(round.reasoning.iter().map(|text| json!({ "text": text, "thought": true })));
        said.extend(round.text.iter().map(|text| json!({ "text": text, "n": "@number" })));
        said.extend(round.unknown.iter().map(|text| json!({ "executableCode": { "code": text } })));
        for (place, (id, call)) in calls.iter().enumerate() {
            let mut part =
                json!({ "functionCall": { "name": full_name(call.name, "mcp_callstack_"), "args": call.arguments } });
            if has_ids {
                part["functionCall"]["id"] = json!(id);
            }
            if place == 0 {
                part["thoughtSignature"] = json!("c2ln");
            }
            said.push(part);
        }
        if !said.is_empty() {
            contents.push(json!({ "role": "model", "parts": said }));
        }
        let outcome = |id: &String, call: &Called| {
            let answer = call.answer.as_ref()?;
            let response = match call.is_error {
                true => json!({ "error": answer }),
                false => json!({ "output": format!("<untrusted_context>\n{answer}\n</untrusted_context>") }),
            };
            let mut part =
                json!({ "functionResponse": { "name": full_name(call.name, "mcp_callstack_"), "response": response } });
            if has_ids {
                part["functionResponse"]["id"] = json!(id);
            }
            Some([part].into_iter().chain(call.picture.as_ref().map(picture)).collect::<Vec<_>>())
        };
        let outcomes: Vec<Value> = calls.iter().filter_map(|(id, call)| outcome(id, call)).flatten().collect();
        if !outcomes.is_empty() {
            contents.push(json!({ "role": "user", "parts": outcomes }));
        }
    }
    json!({ "contents": contents, "generationConfig": { "temperature": "@number" } })
}

fn opencode(rounds: &[Round]) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    for (round, calls) in numbered(rounds) {
        let mut parts: Vec<Value> = Vec::new();
        parts.extend(round.words.iter().map(|text| json!({ "type": "text", "text": text })));
        parts.extend(round.note.iter().map(|text| json!({ "type": "text", "text": text, "synthetic": true })));
        let picture = |data: &String| json!({ "type": "file", "mime": "image/png", "url": format!("data:image/png;base64,{data}") });
        parts.extend(round.picture.iter().map(picture));
        if !parts.is_empty() {
            messages.push(json!({ "info": { "role": "user", "id": "msg" }, "parts": parts }));
        }
        if let Some(text) = &round.summary {
            messages.push(
                json!({ "info": { "role": "user", "id": "msg" }, "parts": [{ "type": "compaction", "auto": true }] }),
            );
            let info = json!({ "role": "assistant", "id": "msg", "summary": true });
            messages
                .push(json!({ "info": info, "parts": [{ "type": "step-start" }, { "type": "text", "text": text }] }));
        }
        let mut parts = vec![json!({ "type": "step-start" })];
        parts.extend(round.reasoning.iter().map(|text| json!({ "type": "reasoning", "text": text })));
        parts.extend(round.text.iter().map(|text| json!({ "type": "text", "text": text })));
        parts.extend(round.unknown.iter().map(|text| json!({ "type": "of_tomorrow", "says": text })));
        for (id, call) in &calls {
            let mut state = match (&call.answer, call.is_error) {
                (None, _) => json!({ "status": "running", "input": call.arguments }),
                (Some(answer), true) => json!({ "status": "error", "input": call.arguments, "error": answer }),
                (Some(answer), false) => {
                    json!({ "status": "completed", "input": call.arguments, "output": answer, "time": "@number" })
                }
            };
            if let Some(data) = call.picture.as_ref().filter(|_| !call.is_error) {
                state["attachments"] = json!([picture(data)]);
            }
            parts.push(
                json!({ "type": "tool", "callID": id, "tool": full_name(call.name, "callstack_"), "state": state }),
            );
        }
        messages.push(json!({ "info": { "role": "assistant", "id": "msg" }, "parts": parts }));
    }
    Value::Array(messages)
}

fn pi(rounds: &[Round]) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    for (round, calls) in numbered(rounds) {
        let picture = |data: &String| json!({ "type": "image", "mimeType": "image/png", "data": data });
        messages.extend(round.words.iter().map(|text| {
            let content = match &round.picture {
                Some(data) => json!([{ "type": "text", "text": text }, picture(data)]),
                None => json!(text),
            };
            json!({ "role": "user", "content": content, "timestamp": "@number" })
        }));
        messages.extend(round.summary.iter().map(|text| json!({ "role": "compactionSummary", "summary": text })));
        let mut content: Vec<Value> = Vec::new();
        content.extend(round.reasoning.iter().map(|text| json!({ "type": "thinking", "thinking": text })));
        content.extend(round.text.iter().map(|text| json!({ "type": "text", "text": text })));
        content.extend(round.unknown.iter().map(|text| json!({ "type": "of_tomorrow", "says": text })));
        content.extend(calls.iter().map(|(id, call)| {
            json!({ "type": "toolCall", "id": id, "name": full_name(call.name, "callstack_"), "arguments": call.arguments })
        }));
        messages.push(json!({ "role": "assistant", "content": content }));
        for (id, call) in &calls {
            if let Some(answer) = &call.answer {
                let mut content = vec![json!({ "type": "text", "text": answer })];
                content.extend(call.picture.as_ref().map(picture));
                messages.push(json!({ "role": "toolResult", "toolCallId": id, "toolName": full_name(call.name, "callstack_"), "content": content, "isError": call.is_error }));
            }
        }
    }
    Value::Array(messages)
}

/// A frame of a [`Job`].
#[derive(Debug, Clone)]
struct Work {
    title: String,
    status: &'static str,
    /// Another frame was begun after this frame was blocked.
    is_passed: bool,
    /// The place where the frame was resumed after it was blocked.
    resumed: Option<Around>,
    /// The place where the frame has ended.
    ended: Around,
    /// The place where the frame has begun.
    around: Around,
    /// The round in which the frame has begun.
    round: usize,
    /// The round in which the frame was begun or resumed last.
    entered: usize,
    /// The number of words at that time.
    since: usize,
}

/// The frames around a place. The flag of each frame says whether it has begun after the last summary.
type Around = Vec<(usize, bool)>;

/// A word that occurs nowhere else, and the place in the conversation where it was written.
#[derive(Debug, Clone)]
struct Word {
    text: String,
    around: Around,
    kind: WordKind,
    /// The round in which the word was written.
    round: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordKind {
    /// The word is removed when one of the frames around it has ended.
    Plain,
    /// A thought before several calls. One of these calls can stay.
    Shared,
    /// The first call of such a message. A provider checks its signature.
    Signed,
    /// The word always stays.
    Person,
    /// Text that the host adds on its own. It stays, unless a provider refuses it beside the remaining
    /// messages.
    System,
    /// The word is removed like the others, but not every wire has such words: pictures of tools, and blocks
    /// of unknown kinds.
    Rare,
}

/// An agent at work: it makes a random conversation, and knows which parts must remain.
#[derive(Debug, Clone)]
pub struct Job {
    pub rounds: Vec<Round>,
    frames: Vec<Work>,
    /// The frames in which the conversation is, the outermost one first.
    path: Vec<usize>,
    /// The frames of `path` that have begun before the last summary. The conversation no longer shows where
    /// they began.
    hidden: Vec<usize>,
    /// The person's words begin tasks. Each task is a frame that no call has begun.
    has_tasks: bool,
    /// The host compacts the conversation.
    has_summaries: bool,
    /// The round that is being made contains words of the person.
    has_words: bool,
    /// The frames that began with words of the person.
    tasks: Vec<usize>,
    words: Vec<Word>,
    /// The rounds with a call that is removed although the conversation stays in a frame inside the frame
    /// that the call has ended. The text beside such calls can be removed with them.
    ended_outside: Vec<usize>,
    /// The results of each frame, and the frames around its beginning.
    results: Vec<(usize, String)>,
}

impl Job {
    pub fn new(random: &mut Random, rounds: usize) -> Self {
        let has_tasks = random.once_in(3);
        let has_summaries = !has_tasks && random.once_in(2);
        let mut job = Self {
            rounds: Vec::new(),
            frames: Vec::new(),
            path: Vec::new(),
            hidden: Vec::new(),
            has_tasks,
            has_summaries,
            has_words: false,
            tasks: Vec::new(),
            words: Vec::new(),
            ended_outside: Vec::new(),
            results: Vec::new(),
        };
        for _ in 0..rounds {
            job.round(random);
        }
        job
    }

    fn word(&mut self, kind: WordKind) -> String {
        let text = format!("nonsense{}é", self.words.len());
        self.words.push(Word { text: text.clone(), around: self.around(), kind, round: self.rounds.len() });
        text
    }

    fn around(&self) -> Around {
        self.path.iter().map(|frame| (*frame, !self.hidden.contains(frame))).collect()
    }

    fn round(&mut self, random: &mut Random) {
        let mut round = Round::default();
        if self.rounds.is_empty() || random.once_in(6) {
            round.words = Some(self.word(WordKind::Person));
        }
        if round.words.is_some() && random.once_in(4) {
            round.picture = Some(self.word(WordKind::Person));
        }
        if random.once_in(8) {
            round.note = Some(self.word(WordKind::Plain));
        }
        if !self.rounds.is_empty() && random.once_in(12) {
            round.system = Some(self.word(WordKind::System));
        }
        self.has_words = round.words.is_some();
        if self.has_tasks && self.path.is_empty() && self.has_words {
            self.begin_task();
        }
        if !self.rounds.is_empty() && self.has_summaries && random.once_in(12) {
            round.summary = Some(self.word(WordKind::Person));
            self.hidden.clone_from(&self.path);
        }
        let thinks = random.once_in(3);
        let count = if random.once_in(3) { 2 + random.below(3) } else { 1 };
        let names: Vec<usize> = (0..count).map(|_| random.below(12)).collect();
        // Messages that can stay in part have a call of the stack and another call.
        let is_mixed = names.iter().any(|name| *name < 7);
        if thinks {
            round.reasoning = Some(self.word(if is_mixed { WordKind::Shared } else { WordKind::Plain }));
        }
        if random.once_in(2) {
            round.text = Some(self.word(WordKind::Plain));
        }
        if random.once_in(10) {
            round.unknown = Some(self.word(WordKind::Rare));
        }
        for (place, name) in names.into_iter().enumerate() {
            let kind = if is_mixed && place == 0 { WordKind::Signed } else { WordKind::Plain };
            let called = self.call(random, name, kind);
            round.calls.push(called);
        }
        self.rounds.push(round);
    }

    fn name(&self, frame: usize) -> String {
        format!("f{} ({})", frame + 1, self.frames[frame].title)
    }

    fn last_line(&self) -> String {
        self.path.last().map_or("You are in no frame.".into(), |frame| format!("You are in {}.", self.name(*frame)))
    }

    fn enter(&mut self, frame: usize) {
        for (other, work) in self.frames.iter_mut().enumerate() {
            work.is_passed |= other != frame && work.status == "blocked";
        }
        if self.frames[frame].status == "blocked" {
            self.frames[frame].resumed = Some(self.around());
        }
        (self.frames[frame].status, self.frames[frame].is_passed) = ("in_progress", false);
        (self.frames[frame].entered, self.frames[frame].since) = (self.rounds.len(), self.words.len());
        match self.path.iter().position(|other| *other == frame) {
            Some(place) => {
                // The beginning of the innermost frame is known again.
                if place + 1 == self.path.len() {
                    self.hidden.retain(|other| *other != frame);
                }
                self.path.truncate(place + 1);
            }
            None => {
                self.hidden.retain(|other| *other != frame);
                self.path.push(frame);
            }
        }
    }

    fn begin(&mut self) -> usize {
        let frame = self.add();
        self.enter(frame);
        frame
    }

    fn add(&mut self) -> usize {
        let frame = self.frames.len();
        let title = ["Cart", "You are in f1 (x)", "is completed.", "Pay \"now\""][frame % 4].to_owned();
        self.frames.push(Work {
            title,
            status: "in_progress",
            is_passed: false,
            resumed: None,
            ended: Vec::new(),
            around: self.around(),
            round: self.rounds.len(),
            entered: self.rounds.len(),
            since: self.words.len(),
        });
        frame
    }

    fn end(&mut self, frame: usize, status: &'static str, stays_inside: bool) -> String {
        let results = format!("results{}of{frame}", self.results.len());
        self.results.push((frame, results.clone()));
        self.frames[frame].status = status;
        self.frames[frame].ended = self.around().into_iter().filter(|(other, _)| *other != frame).collect();
        if stays_inside {
            // The call is removed together with the frame that it has ended.
            self.frames[frame].ended = self.around().into_iter().take_while(|(other, _)| *other != frame).collect();
        }
        if let Some(place) = self.path.iter().position(|other| *other == frame) {
            if stays_inside {
                self.ended_outside.push(self.rounds.len());
                self.take_out(place);
            } else {
                self.path.truncate(place);
            }
        }
        results
    }

    /// A frame of the path has ended, and the conversation stays in the frame inside it. From its beginning
    /// on, the inner frame now counts as beside the ended frame.
    fn take_out(&mut self, place: usize) {
        let (outer, inner) = (self.path.remove(place), self.path[place]);
        let since = self.frames[inner].since;
        let take_out = |around: &mut Around| {
            if around.iter().any(|(frame, _)| *frame == inner) {
                around.retain(|(frame, _)| *frame != outer);
            }
        };
        self.words[since..].iter_mut().for_each(|word| take_out(&mut word.around));
        for work in self.frames.iter_mut().filter(|work| work.since >= since) {
            take_out(&mut work.around);
            take_out(&mut work.ended);
            work.resumed.iter_mut().for_each(take_out);
        }
        let work = &mut self.frames[inner];
        work.resumed.as_mut().unwrap_or(&mut work.around).retain(|(frame, _)| *frame != outer);
    }

    /// If the person has written words in a frame that has ended, and the conversation is then in no frame,
    /// these words begin a task.
    fn begin_task_of_words(&mut self, ended: usize) {
        let since = self.frames[ended].entered + 1;
        let written = self.rounds.len() > since && self.rounds[since..].iter().any(|round| round.words.is_some());
        if self.has_tasks
            && self.path.is_empty()
            && !self.tasks.contains(&ended)
            && (written || self.has_words && self.rounds.len() >= since)
        {
            self.begin_task();
        }
    }

    fn begin_task(&mut self) {
        // The conversation does not show yet that this is a task, so it passes no blocked frame.
        let task = self.add();
        self.path.push(task);
        self.tasks.push(task);
    }

    fn call(&mut self, random: &mut Random, name: usize, kind: WordKind) -> Called {
        let current = self.path.last().copied();
        let blocked = self.frames.iter().position(|frame| frame.status == "blocked");
        match (name, current) {
            (0 | 1, _) if self.frames.len() < 12 => {
                let frame = self.begin();
                let answer =
                    format!("{} has begun: work in it now, then pop it.\n{}", self.name(frame), self.last_line());
                Called::new("push", json!({ "title": self.frames[frame].title }), answer)
            }
            (2 | 3, Some(_)) => {
                // In most cases the frame of the conversation, otherwise a frame around it.
                let place = if random.once_in(5) { random.below(self.path.len()) } else { self.path.len() - 1 };
                let frame = self.path[place];
                let is_task = self.tasks.contains(&frame);
                let status = *random.pick(&[&"completed", &"completed", &"failed", &"blocked"]);
                let status = if is_task && status == "blocked" { "failed" } else { status };
                let inner = self.path.get(place + 1).filter(|_| !self.has_tasks && !self.has_summaries);
                let stays_inside = inner.is_some() && random.once_in(2);
                let results = self.end(frame, status, stays_inside);
                let mut arguments = json!({ "status": status, "results": results });
                let mut answer = format!("{} is {status}.", self.name(frame));
                if status != "blocked" && !is_task && !stays_inside && random.once_in(3) {
                    arguments["next"] = json!(true);
                    let next = self.begin();
                    answer += &format!("\n{} is in progress: work in it now.\n<stack-context/>", self.name(next));
                }
                answer += &format!("\n{}", self.last_line());
                self.begin_task_of_words(frame);
                Called::new("pop", arguments, answer)
            }
            (4, _) if blocked.is_some() => {
                let frame = blocked.unwrap_or_default();
                self.enter(frame);
                let answer =
                    format!("{} is in progress: work in it now, then pop it.\n{}", self.name(frame), self.last_line());
                Called::new("activate", json!({ "frame": format!("f{}", frame + 1), "answer": "yes" }), answer)
            }
            (5, Some(frame)) if !self.tasks.contains(&frame) && random.once_in(3) => {
                let reason = self.end(frame, "invalidated", false);
                let answer = format!("{} is out of the plan.\n{}", self.name(frame), self.last_line());
                self.begin_task_of_words(frame);
                Called::new("invalidate", json!({ "frame": format!("f{}", frame + 1), "reason": reason }), answer)
            }
            (6, Some(frame)) => {
                let arguments = json!({ "status": "completed", "results": self.word(kind) });
                let answer = format!("{} is not done: below it are f9", self.name(frame));
                Called { is_error: random.once_in(2), ..Called::new("pop", arguments, answer) }
            }
            _ => {
                let (command, output) = (self.word(kind), self.word(kind));
                let is_error = random.once_in(9);
                let picture = (!is_error && random.once_in(6)).then(|| self.word(WordKind::Rare));
                Called { is_error, picture, ..Called::new("Bash", json!({ "command": command }), output) }
            }
        }
    }

    /// True if a place is no longer visible. `has_summaries`: the conversation shows summaries.
    fn is_folded(&self, around: &Around, has_summaries: bool) -> bool {
        self.is_folded_beside(around, has_summaries, &mut Vec::new())
    }

    /// Two frames can hide the ends of each other. Frames that were asked about before do not count.
    fn is_folded_beside(&self, around: &Around, has_summaries: bool, asked: &mut Vec<usize>) -> bool {
        around.iter().filter(|(_, is_whole)| *is_whole || !has_summaries).any(|(frame, _)| {
            if asked.contains(frame) {
                return false;
            }
            asked.push(*frame);
            let work = &self.frames[*frame];
            let mut is_folded = |around: &Around| self.is_folded_beside(around, has_summaries, asked);
            match work.status {
                // If it is no longer visible that the frame was resumed, the frame counts as blocked.
                "in_progress" => work.resumed.as_ref().is_some_and(is_folded),
                "blocked" => work.is_passed || is_folded(&work.ended),
                _ => true,
            }
        })
    }

    /// The text at the beginning of the first frame that looks different from the beginning of this
    /// conversation. It is the ID of the first call of the round, or, for a task, the person's words.
    pub fn first_change(&self, earlier: &Self, wire: Wire) -> Option<String> {
        let is_seen_otherwise = |frame: &usize| {
            let is_new = *frame >= earlier.frames.len();
            let has_ended_again = || self.frames[*frame].ended != earlier.frames[*frame].ended;
            !is_new
                && (self.has_gone(*frame, wire) != earlier.has_gone(*frame, wire)
                    || has_ended_again()
                    || self.results_of(*frame) != earlier.results_of(*frame))
        };
        let changed = (0..self.frames.len()).filter(is_seen_otherwise);
        let first = changed.min_by_key(|frame| (self.frames[*frame].round, !self.tasks.contains(frame)))?;
        let round = self.frames[first].round;
        if self.tasks.contains(&first) {
            let words = self.rounds[..=round].iter().rev().find_map(|round| round.words.as_ref());
            return words.map(|words| words.trim_end_matches('é').to_owned());
        }
        let calls: usize = self.rounds[..round].iter().map(|round| round.calls.len()).sum();
        Some(format!("\"call_{calls}\""))
    }

    /// True if the stretch that a frame has begun was removed.
    fn has_gone(&self, frame: usize, wire: Wire) -> bool {
        self.is_folded(&vec![(frame, true)], has_summaries(wire))
    }

    /// True if a blocked frame was resumed.
    pub fn has_gone_on(&self) -> bool {
        self.frames.iter().any(|frame| frame.resumed.is_some())
    }

    fn results_of(&self, frame: usize) -> usize {
        self.results.iter().filter(|(other, _)| *other == frame).count()
    }

    /// Says what is wrong with a folded request of this conversation.
    ///
    /// # Panics
    /// If something is left that must be removed, or something was removed that must stay.
    pub fn check(&self, wire: Wire, folded: &str) {
        // The words have an escape, and some wires contain JSON inside JSON.
        let has = |text: &str| folded.contains(text.trim_end_matches('é'));
        let thinking = self.thinking_of_turns();
        for word in &self.words {
            if !has_kind(wire, word.kind) {
                continue;
            }
            let can_go = !matches!(word.kind, WordKind::Person | WordKind::System);
            let goes = can_go && self.is_folded(&word.around, has_summaries(wire));
            let may_stay = match word.kind {
                WordKind::Shared => true,
                WordKind::Signed => wire == Wire::Gemini,
                _ => false,
            } || wire == Wire::Anthropic && thinking.contains(&word.round)
                || wire == Wire::Opencode && self.is_beside_words(word);
            let is_left = has_word(folded, &word.text);
            assert!(!(goes && is_left && !may_stay), "{wire}: {} of {:?} is left: {folded}", word.text, word.around);
            // Thoughts can be bound to text that was removed.
            let is_thought = wire == Wire::Anthropic && self.rounds[word.round].reasoning.as_ref() == Some(&word.text);
            let is_summary = self.rounds[word.round].summary.as_ref() == Some(&word.text) && !has_summaries(wire);
            // A provider can refuse the text beside the remaining messages.
            let is_refused = wire == Wire::Anthropic && word.kind == WordKind::System;
            let is_beside = word.kind != WordKind::Person && self.ended_outside.contains(&word.round);
            let may_go = is_thought || is_beside || is_summary || is_refused || self.is_note_of_pi(wire, &word.text);
            assert!(goes || is_left || may_go, "{wire}: {} is gone: {folded}", word.text);
        }
        for (frame, results) in &self.results {
            let work = &self.frames[*frame];
            let is_last =
                self.results.iter().rfind(|(other, _)| other == frame).is_some_and(|(_, last)| last == results);
            if is_last && work.status != "in_progress" && !self.is_folded(&work.around, has_summaries(wire)) {
                assert!(has(results), "{wire}: the results of f{} are gone: {folded}", frame + 1);
            }
        }
    }

    /// In OpenCode's messages, a word that the host adds to the person's words.
    fn is_beside_words(&self, word: &Word) -> bool {
        let round = &self.rounds[word.round];
        round.words.is_some() && round.note.as_ref() == Some(&word.text)
    }

    /// The first round with thinking after each text of the person. A turn that begins with thinking must
    /// still begin with thinking.
    fn thinking_of_turns(&self) -> Vec<usize> {
        let mut is_open = false;
        let mut found = Vec::new();
        for (number, round) in self.rounds.iter().enumerate() {
            is_open |= round.words.is_some();
            if is_open && round.reasoning.is_some() {
                found.push(number);
                is_open = false;
            }
        }
        found
    }

    /// pi's messages have no notes.
    fn is_note_of_pi(&self, wire: Wire, word: &str) -> bool {
        wire == Wire::Pi && self.rounds.iter().any(|round| round.note.as_deref() == Some(word))
    }
}

/// True if the conversations of a wire can have a summary in place of the earlier messages.
fn has_summaries(wire: Wire) -> bool {
    !matches!(wire, Wire::Chat | Wire::Gemini)
}

/// True if a wire can write the part in which a word is.
fn has_kind(wire: Wire, kind: WordKind) -> bool {
    match kind {
        WordKind::System => matches!(wire, Wire::Anthropic | Wire::Responses | Wire::Chat),
        WordKind::Rare => wire != Wire::Chat,
        _ => true,
    }
}

/// True if a text has this word, and not only a longer word that contains it.
fn has_word(text: &str, word: &str) -> bool {
    let word = word.trim_end_matches('é');
    text.match_indices(word)
        .any(|(place, _)| !text[place + word.len()..].starts_with(|next: char| next.is_ascii_digit()))
}

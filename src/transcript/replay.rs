//! What folding would have saved in a session: its requests are counted again, with the turns folded that a
//! policy folds.
//!
//! The method is the one in `docs/fold.md`. The prompt of the first request is the base. What was said
//! between two requests is scaled to the recorded growth of the prompt. A prompt cache keeps the longest
//! common beginning of two requests for its lifetime. A name of eight characters or more that the agent uses
//! is *needed*, if it was seen within the last 40 requests. It is hidden if everything that contains it is
//! folded. What is hidden is read again, and that costs tokens.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::Value as Json;

use super::copies::Copies;
use super::document::{self, Records};
use super::form::TranscriptForm;
use super::line::{By, Line, Request, Turn, time};
use super::parts::{Part, parts, text_of};
use crate::context::{Approx, TokenCounter};
use crate::frame::ModelRequest;
use crate::text::{fnv_of, from_json};

/// A shorter name can be in a text by chance. In characters.
const SHORTEST_NAME: usize = 8;
/// For how many requests a name counts as known.
const KNOWN_FOR: usize = 40;
/// A prompt that shrinks to less than this share of the one before was compacted.
const COMPACTED: f64 = 0.8;
/// What tokens cost compared with uncached ones: tokens that are read from a cache, tokens that are written
/// for five minutes or for an hour, and tokens of an answer.
const READ: f64 = 0.1;
const WRITTEN: [f64; 2] = [1.25, 2.0];
const ANSWERED: f64 = 5.0;
/// The lifetimes of a cache, in milliseconds.
const LIFETIMES: [u64; 2] = [300_000, 3_600_000];
/// The floors of the turns that are folded, in tokens; 0: each turn folds when it ends, as a frame does.
const FLOORS: [u64; 4] = [0, 20_000, 40_000, 60_000];

/// The outcome that a policy would have had for the requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PolicyOutcome {
    /// `unfolded`, `frames` (each turn folds when it ends), or `turns` with a floor.
    pub policy: String,
    /// The floor of `turns`, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<u64>,
    /// Tokens of all prompts together.
    pub prompt_tokens: u64,
    /// The largest prompt.
    pub peak: u64,
    /// Cost in uncached tokens, with a cache of five minutes, and with a cache of an hour. A token that is
    /// read counts 0.1, a token that is written 1.25 or 2, and a token of an answer 5.
    pub cost: [u64; 2],
    /// Number of folds.
    pub folds: usize,
    /// Names that were needed and hidden.
    pub hidden: usize,
}

/// What folding would have saved in a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Replayed {
    /// Number of requests.
    pub requests: usize,
    /// Tokens of all recorded prompts together, and of all answers (`answer_tokens`).
    pub prompt_tokens: u64,
    /// See `prompt_tokens`.
    pub answer_tokens: u64,
    /// The recorded cost in uncached tokens, computed from what was read from the cache and written to it:
    /// with the price of a cache of five minutes, and with the price of a cache of an hour.
    pub recorded_cost: [u64; 2],
    /// The same cost, but each written token has the price for five minutes or for an hour, as the answers
    /// tell it.
    pub told_cost: u64,
    /// Number of tokens that were written for an hour.
    pub written_for_hour: u64,
    /// Number of compactions.
    pub compactions: usize,
    /// Number of names that were needed.
    pub needed: usize,
    /// The outcome of each policy; the first policy folds nothing.
    pub policies: Vec<PolicyOutcome>,
}

/// Follows a conversation, line by line.
pub struct Replay {
    form: TranscriptForm,
    /// What was said since the last request: whether it stays when its turn is folded, and estimated tokens.
    new: Vec<Said>,
    /// The turns since the last compaction.
    turns: Vec<Tokens>,
    answer: Option<String>,
    is_answering: bool,
    /// What is in the prompt of the answer that is read.
    asked_with: Vec<Said>,
    request: Option<(Request, u64)>,
    counted: HashSet<u64>,
    count: String,
    has_records: bool,
    prompt: f64,
    base: f64,
    asked: u64,
    /// The file belongs to a subagent.
    is_aside: Option<bool>,
    /// Tokens that were written to the cache.
    written: u64,
    names: HashMap<u64, Name>,
    policies: Vec<Policy>,
    replayed: Replayed,
    is_new_turn: bool,
    /// The number of the turn that is seen, counted since the last compaction.
    turn: usize,
    copies: Copies,
    /// Subagents within the file of the session.
    agents: Vec<(String, Replay)>,
}

/// The scaled tokens of a turn.
#[derive(Default)]
struct Tokens {
    /// What goes when it is folded.
    goes: f64,
    /// The words, which stay.
    words: f64,
    /// The last answer, which stays.
    answer: f64,
}

/// What happens to a part of the conversation when its turn is folded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Goes,
    Words,
    /// It stays if it is the last answer.
    Answer,
}

#[derive(Clone, Copy)]
struct Said {
    kept: Kept,
    begins_turn: bool,
    tokens: f64,
}

/// Where a name was seen last.
struct Name {
    turn: usize,
    request: usize,
    /// It is in a part that stays.
    stays: bool,
    tokens: u32,
}

#[derive(Default)]
struct Policy {
    floor: Option<u64>,
    /// The turns before this one are folded.
    folded: usize,
    /// The prompt of the last request.
    last: f64,
    /// What the next request has in common with that prompt.
    common: Option<f64>,
    read_again: f64,
    /// Tokens that a cache of each lifetime would have had.
    read: [f64; 2],
    outcome: PolicyOutcome,
}

impl Replay {
    /// A conversation of this form.
    pub fn new(form: TranscriptForm) -> Self {
        let named = |floor: Option<u64>| Policy {
            floor,
            outcome: PolicyOutcome {
                policy: match floor {
                    None => "unfolded",
                    Some(0) => "frames",
                    Some(_) => "turns",
                }
                .to_owned(),
                floor: floor.filter(|floor| *floor > 0),
                ..PolicyOutcome::default()
            },
            ..Policy::default()
        };
        Self {
            form,
            new: Vec::new(),
            turns: vec![Tokens::default()],
            answer: None,
            is_answering: false,
            asked_with: Vec::new(),
            request: None,
            counted: HashSet::new(),
            count: String::new(),
            has_records: false,
            prompt: 0.0,
            base: 0.0,
            asked: 0,
            is_aside: None,
            written: 0,
            names: HashMap::new(),
            policies: [None].into_iter().chain(FLOORS.map(Some)).map(named).collect(),
            replayed: Replayed::default(),
            is_new_turn: false,
            turn: 0,
            copies: Copies::default(),
            agents: Vec::new(),
        }
    }

    /// Follows a line.
    pub fn follow_line(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if let Some(value) = from_json::<Json>(&text).ok().filter(Json::is_object) {
            self.follow_record(&value);
        }
    }

    /// Follows a record that is not a line of its own.
    pub fn follow_record(&mut self, value: &Json) {
        // Old versions of Claude Code write subagents into the file of the session.
        let is_aside = value.get("isSidechain").is_some_and(|is| is == true);
        let is_agent = value.get("message").is_some() && *self.is_aside.get_or_insert(is_aside) != is_aside;
        let Some(mut line) = self.form.line(value) else { return };
        if let Some(agent) = line.agent.take().or_else(|| is_agent.then(String::new)) {
            let place = self.agents.iter().position(|(known, _)| *known == agent).unwrap_or_else(|| {
                self.agents.push((agent, Self::new(self.form)));
                self.agents.len() - 1
            });
            return self.agents[place].1.follow(line, time(value));
        }
        self.follow(line, time(value));
    }

    fn follow(&mut self, line: Line, at: Option<u64>) {
        if self.form == TranscriptForm::Codex && self.copies.follow(&line, at) {
            return;
        }
        let at = at.unwrap_or(self.asked);
        let Line { messages, turn, by, requests, counts, .. } = line;
        if let Turn::Answer(id) = &turn
            && (!self.is_answering || id.is_some() && *id != self.answer)
        {
            self.end_request();
            // What was said before the answer is in the prompt of the answer. The parts of the answer are in
            // the next prompt.
            self.asked_with.append(&mut self.new);
            self.answer.clone_from(id);
        }
        if !matches!(turn, Turn::Aside) {
            self.is_answering = matches!(turn, Turn::Answer(_));
        }
        if matches!(turn, Turn::Words | Turn::Outcomes) {
            self.end_request();
            let begins = matches!(turn, Turn::Words) && by == By::Person && !self.is_new_turn;
            self.is_new_turn |= begins;
            self.turn += usize::from(begins);
        }
        for part in messages.iter().flat_map(parts) {
            self.part(&part);
        }
        for request in requests {
            self.has_records = true;
            self.note(request, at);
        }
        for count in counts {
            if !self.has_records && self.count != count.id {
                self.count.clone_from(&count.id);
                self.note(count, at);
            }
        }
    }

    fn part(&mut self, part: &Part<'_>) {
        let (kept, text) = match part {
            Part::Words(text) => (Kept::Words, text.clone()),
            Part::Answer(text) => (Kept::Answer, text.clone()),
            Part::Reasoning(text) => (Kept::Goes, text.clone()),
            Part::Call { arguments, .. } => {
                let text = text_of_values(arguments);
                self.need(&text);
                (Kept::Goes, text)
            }
            Part::Outcome { content, .. } => (Kept::Goes, text_of(content)),
        };
        let tokens = Approx.count(&text) as f64;
        self.see(&text, tokens, kept != Kept::Goes);
        let begins_turn = std::mem::take(&mut self.is_new_turn);
        self.new.push(Said { kept, begins_turn, tokens });
    }

    /// Notes the names of a text.
    fn see(&mut self, text: &str, tokens: f64, stays: bool) {
        let (turn, request) = (self.turn, self.replayed.requests);
        let tokens = tokens.min(f64::from(u32::MAX)) as u32;
        for name in names(text) {
            let seen = self.names.entry(name).or_insert(Name { turn, request, stays: false, tokens });
            let stays = stays || seen.stays;
            *seen = Name { turn, request, stays, tokens };
        }
    }

    /// Notes that the agent uses the names of a text.
    fn need(&mut self, text: &str) {
        let now = self.replayed.requests;
        for name in names(text) {
            let Some(seen) = self.names.get(&name).filter(|seen| now - seen.request <= KNOWN_FOR) else { continue };
            self.replayed.needed += 1;
            for policy in self.policies.iter_mut().filter(|policy| seen.turn < policy.folded && !seen.stays) {
                policy.outcome.hidden += 1;
                policy.read_again += f64::from(seen.tokens);
            }
        }
    }

    fn note(&mut self, request: Request, at: u64) {
        match &mut self.request {
            Some((known, _)) if known.id == request.id => {
                if request.used.output >= known.used.output {
                    *known = request;
                }
            }
            _ => {
                self.end_request();
                self.request = Some((request, at));
            }
        }
    }

    fn end_request(&mut self) {
        let Some((request, at)) = self.request.take() else { return };
        let number = fnv_of(&request.id);
        if !request.used.failed && (request.id.is_empty() || self.counted.insert(number)) {
            let said = std::mem::take(&mut self.asked_with);
            self.count_request(&request.used, at, &said);
        }
    }

    fn count_request(&mut self, used: &ModelRequest, at: u64, said: &[Said]) {
        let prompt = (used.uncached_input + used.cache_read + used.cache_write) as f64;
        let answer = (used.output + used.reasoning) as f64;
        let estimated: f64 = said.iter().map(|said| said.tokens).sum();
        let is_first = self.replayed.requests == 0;
        let is_compacted = !is_first && prompt < self.prompt * COMPACTED;
        if is_first || is_compacted {
            self.base = (prompt - estimated).max(0.0);
            self.turns = vec![Tokens::default()];
            if is_compacted {
                // What was seen before may or may not be in the summary.
                self.names.clear();
                self.turn = usize::from(said.iter().any(|said| said.begins_turn));
            }
            self.replayed.compactions += usize::from(is_compacted);
            for policy in &mut self.policies {
                (policy.folded, policy.read_again) = (0, 0.0);
                // What the new prompt has in common with the old one is the part of it that the cache had.
                policy.common = Some(used.cache_read as f64);
            }
        }
        let growth = if is_first || is_compacted { prompt - self.base } else { (prompt - self.prompt).max(0.0) };
        let scale = if estimated > 0.0 { growth / estimated } else { 0.0 };
        for said in said {
            if said.begins_turn {
                self.fold();
                self.turns.push(Tokens::default());
            }
            let Some(turn) = self.turns.last_mut() else { continue };
            let tokens = said.tokens * scale;
            match said.kept {
                Kept::Goes => turn.goes += tokens,
                Kept::Words => turn.words += tokens,
                Kept::Answer => turn.goes += std::mem::replace(&mut turn.answer, tokens),
            }
        }
        let pause = at.saturating_sub(self.asked);
        for policy in &mut self.policies {
            let gone: f64 = self.turns[..policy.folded].iter().map(|turn| turn.goes).sum();
            let folded = (prompt - gone + policy.read_again).max(0.0);
            let common = policy.common.take().unwrap_or(policy.last).min(folded);
            for (place, lifetime) in LIFETIMES.iter().enumerate() {
                let read = if pause <= *lifetime && !is_first { common } else { 0.0 };
                policy.read[place] += read;
            }
            policy.last = folded;
            policy.outcome.prompt_tokens += folded.round() as u64;
            policy.outcome.peak = policy.outcome.peak.max(folded.round() as u64);
        }
        let replayed = &mut self.replayed;
        self.written += used.cache_write;
        replayed.requests += 1;
        replayed.prompt_tokens += prompt as u64;
        replayed.answer_tokens += answer as u64;
        for (place, written) in WRITTEN.iter().enumerate() {
            let cost = used.uncached_input as f64
                + READ * used.cache_read as f64
                + written * used.cache_write as f64
                + ANSWERED * answer;
            replayed.recorded_cost[place] += cost.round() as u64;
        }
        let hour = used.cache_write_hour.min(used.cache_write);
        let told = used.uncached_input as f64
            + READ * used.cache_read as f64
            + WRITTEN[0] * (used.cache_write - hour) as f64
            + WRITTEN[1] * hour as f64
            + ANSWERED * answer;
        replayed.told_cost += told.round() as u64;
        replayed.written_for_hour += hour;
        (self.prompt, self.asked) = (prompt, at);
    }

    /// A turn has ended: each policy folds what is finished, if it is enough.
    fn fold(&mut self) {
        let ended = self.turns.len();
        for policy in &mut self.policies {
            let Some(floor) = policy.floor else { continue };
            let waiting: f64 = self.turns[policy.folded..].iter().map(|turn| turn.goes).sum();
            if waiting > floor as f64 && waiting > 0.0 {
                let before: f64 = self.turns[..policy.folded].iter().map(|turn| turn.words + turn.answer).sum();
                policy.common = Some(self.base + before);
                (policy.folded, policy.read_again) = (ended, 0.0);
                policy.outcome.folds += 1;
            }
        }
    }

    /// The replay of a session in one JSON document. `None`: it is not a known kind of session.
    pub fn of_document(text: &str) -> Option<Replayed> {
        let (form, Records { own, agents }) = document::read(text)?;
        let mut sum = Replayed::default();
        for records in [own].into_iter().chain(agents.into_iter().map(|(_, records)| records)) {
            let mut replay = Self::new(form);
            records.iter().for_each(|record| replay.follow_record(record));
            sum.add(&replay.finish());
        }
        Some(sum)
    }

    /// The outcomes of the policies for the requests so far.
    pub fn finish(mut self) -> Replayed {
        self.end_request();
        // Some providers charge nothing for what is written to the cache, and do not report it.
        let written = if self.written > 0 { WRITTEN } else { [1.0; 2] };
        let answered = ANSWERED * self.replayed.answer_tokens as f64;
        let priced = |policy: Policy| {
            let whole = policy.outcome.prompt_tokens as f64;
            let cost =
                |place: usize| READ * policy.read[place] + written[place] * (whole - policy.read[place]) + answered;
            PolicyOutcome { cost: [0, 1].map(|place| cost(place).round() as u64), ..policy.outcome }
        };
        self.replayed.policies = self.policies.into_iter().map(priced).collect();
        self.agents.into_iter().for_each(|(_, agent)| self.replayed.add(&agent.finish()));
        self.replayed
    }
}

impl Replayed {
    /// Adds another conversation: the one of a subagent, or of another session.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.prompt_tokens += other.prompt_tokens;
        self.answer_tokens += other.answer_tokens;
        self.compactions += other.compactions;
        self.needed += other.needed;
        for place in 0..2 {
            self.recorded_cost[place] += other.recorded_cost[place];
        }
        self.told_cost += other.told_cost;
        self.written_for_hour += other.written_for_hour;
        if self.policies.is_empty() {
            self.policies.clone_from(&other.policies);
            return;
        }
        for (own, other) in self.policies.iter_mut().zip(&other.policies) {
            own.prompt_tokens += other.prompt_tokens;
            own.peak = own.peak.max(other.peak);
            own.folds += other.folds;
            own.hidden += other.hidden;
            for place in 0..2 {
                own.cost[place] += other.cost[place];
            }
        }
    }
}

/// The texts in a value, without the keys.
fn text_of_values(value: &Json) -> String {
    let mut texts = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Json::String(text) => texts.push(text.as_str()),
            Json::Array(values) => open.extend(values.iter().rev()),
            Json::Object(object) => open.extend(object.values().rev()),
            _ => {}
        }
    }
    texts.join("\n")
}

/// The names in a text (identifiers and paths), each once, as numbers.
fn names(text: &str) -> HashSet<u64> {
    let is_of_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/');
    let words = text.split(|character: char| !is_of_name(character)).map(|word| word.trim_matches(['.', '-', '/']));
    let is_name =
        |word: &&str| word.len() >= SHORTEST_NAME && word.contains(|character: char| !character.is_lowercase());
    words.filter(is_name).map(fnv_of).collect()
}

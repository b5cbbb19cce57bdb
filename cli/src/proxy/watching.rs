//! What conversations say and use, for the logs and the usage of their frames. A thread writes it after the
//! answers, so that no request waits for the stack.

use std::collections::HashMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use callstack_core::fold::{AnswerPart, FoldSettings, Wire, beginning, opening, outcome_of};
use callstack_core::frame::ModelRequest;
use callstack_core::tools::conversation::{Conversation, Watched};
use callstack_core::{Error, ErrorClass, Settings, Stack};
use http::HeaderMap;

use super::encoding::Encoding;
use super::folding::LONGEST;
use super::meter::Usage;
use super::subagents::{Asking, Ended, Subagents, last_words};
use crate::caller::{self, CODEX_TURN, Caller};
use crate::clock::until_files_are_due;
use crate::folder::StackFolder;

/// How many requests may wait for the stack. Other requests are left out of the logs until their conversation
/// sends the next request.
const MOST_WAITING: usize = 64;
/// How long the end waits for what is not recorded yet: the stack may be locked.
const LONGEST_END: Duration = Duration::from_secs(5);
/// Longest pause between two polls of the stack.
const PAUSE: Duration = Duration::from_secs(1);
/// How many conversations are remembered: those that have sent a request last.
const MOST_CONVERSATIONS: usize = 256;

/// A request that an agent has sent.
#[derive(Clone)]
pub struct Sent {
    /// `None`: the host names no conversation.
    pub caller: Option<Caller>,
    pub wire: Wire,
    pub encoding: Encoding,
    /// As the agent has sent it.
    pub body: Bytes,
}

/// A request with its answer.
pub struct Watching {
    pub sent: Sent,
    pub request: ModelRequest,
    /// The texts of the answer, and its calls.
    pub answer: Vec<AnswerPart>,
    /// True if the answer calls no tools: the turn of the agent is over.
    pub is_last: bool,
}

/// News of a request, for the thread that records it.
enum News {
    /// A request has come.
    Asked(Sent),
    Answered(Box<Watching>),
}

/// Hands requests to the thread that records them.
pub struct Watcher {
    waiting: Mutex<Option<SyncSender<News>>>,
    /// Closed when all is recorded.
    is_done: Mutex<Receiver<()>>,
}

impl Watcher {
    /// `folder`: the stack, which may be created later. `conversation`: the conversation of requests that
    /// name no conversation. It ends with this.
    pub fn new(folder: Arc<StackFolder>, fold: FoldSettings, conversation: Option<Caller>) -> Self {
        let (waiting, requests) = sync_channel(MOST_WAITING);
        let recorder = Recorder {
            folder,
            fold,
            conversation,
            subagents: Subagents::default(),
            stack: None,
            conversations: HashMap::new(),
            turn: 0,
        };
        let (recording, is_done) = channel();
        thread::spawn(move || {
            recorder.record_all(&requests);
            drop::<Sender<()>>(recording);
        });
        Self { waiting: Mutex::new(Some(waiting)), is_done: Mutex::new(is_done) }
    }

    /// Looks at a request before its answer: the request can tell that a subagent has ended whose caller
    /// continues with the answer.
    pub fn look(&self, sent: &Sent) {
        // Without it, the end is seen when the next request comes.
        taken(&self.waiting, |waiting| waiting.as_ref().map(|waiting| waiting.try_send(News::Asked(sent.clone()))));
    }

    /// Records a request soon. If there is no room for it, it is recorded with the next request of its
    /// conversation, except for what it has used.
    pub fn watch(&self, watching: Watching) {
        let sent = taken(&self.waiting, |waiting| {
            waiting.as_ref().map(|waiting| waiting.try_send(News::Answered(watching.into())))
        });
        if let Some(Err(TrySendError::Full(_))) = sent {
            tracing::warn!("a request is not in the usage of its frame: the stack is too slow");
        }
    }

    /// Waits until all requests are recorded. Later requests are not recorded. False: some are not recorded,
    /// because the stack is locked or too slow.
    pub fn finish(&self) -> bool {
        taken(&self.waiting, Option::take);
        let ended = taken(&self.is_done, |is_done| is_done.recv_timeout(LONGEST_END));
        ended != Err(RecvTimeoutError::Timeout)
    }
}

fn taken<T, R>(mutex: &Mutex<T>, take: impl FnOnce(&mut T) -> R) -> R {
    take(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Writes into the stack.
struct Recorder {
    folder: Arc<StackFolder>,
    fold: FoldSettings,
    /// The conversation of requests that name no conversation.
    conversation: Option<Caller>,
    /// The subagents of that conversation.
    subagents: Subagents,
    stack: Option<Stack>,
    conversations: HashMap<String, Seen>,
    turn: u64,
}

/// What was seen of a conversation.
#[derive(Default)]
struct Seen {
    /// The number of its last request.
    turn: u64,
    caller: Option<Caller>,
    watched: Watched,
}

impl Recorder {
    fn record_all(mut self, requests: &Receiver<News>) {
        while let Some(news) = self.next(requests) {
            // A fault in reading one request does not affect the next one.
            let recorded = catch_unwind(AssertUnwindSafe(|| match &news {
                News::Asked(sent) => self.look(sent),
                News::Answered(watching) => self.record(watching),
            }));
            match recorded {
                Ok(Ok(())) => {}
                Ok(Err(problem)) => tracing::warn!("a request is not in the log of its frame: {problem}"),
                Err(_) => tracing::error!(
                    "a request is not in the log of its frame: reading it has failed; please report this"
                ),
            }
        }
        let opened = self.open();
        let left = self.subagents.left();
        if let Err(problem) = self.end_agents(left) {
            tracing::warn!("the end of a subagent is not recorded: {problem}");
        }
        for seen in mem::take(&mut self.conversations).into_values() {
            self.forget(seen);
        }
        if let (Ok(()), Some(conversation)) = (opened, &self.conversation) {
            self.let_go(conversation);
        }
        if let Some(stack) = self.stack {
            stack.leave();
        }
    }

    /// Waits for the next request, and polls the stack meanwhile. `None`: there are no more.
    fn next(&self, requests: &Receiver<News>) -> Option<News> {
        loop {
            let pause = self.stack.as_ref().map_or(PAUSE, |stack| until_files_are_due(stack, PAUSE));
            match requests.recv_timeout(pause) {
                Ok(news) => return Some(news),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(stack) = &self.stack {
                        stack.upkeep().poll();
                    }
                }
            }
        }
    }

    /// Ends the watch of a conversation. At the end of a run, other holders can continue its frames at once,
    /// and so can this conversation if it comes back.
    fn forget(&self, seen: Seen) {
        let Seen { caller, watched, .. } = seen;
        self.write_last(caller.as_ref(), watched);
        if let Some(caller) = caller.filter(|_| self.conversation.is_some()) {
            self.let_go(&caller);
        }
    }

    fn write_last(&self, conversation: Option<&Caller>, watched: Watched) {
        if let Err(error) = self.in_conversation(conversation, |conversation| conversation.watched(watched)) {
            tracing::warn!("what was said last is in no log: {error}");
        }
    }

    fn let_go(&self, conversation: &Caller) {
        if let Err(error) = self.in_conversation(Some(conversation), |conversation| conversation.ended()) {
            tracing::warn!("frames stay with the conversation that has ended: {error}");
        }
    }

    /// Does something in the name of a conversation. As long as there is no stack, an empty stack is used
    /// instead.
    fn in_conversation<T>(&self, caller: Option<&Caller>, act: impl FnOnce(&Conversation<'_>) -> T) -> T {
        let stack = self.stack.clone().unwrap_or_else(Stack::in_memory);
        act(&Conversation::new(&caller::as_conversation(&stack, caller), &Settings::default()))
    }

    /// Opens the stack if there is one, or looks for what is new in it.
    fn open(&mut self) -> Result<(), String> {
        match &self.stack {
            Some(stack) => {
                if let Err(error) = stack.refresh() {
                    // A stack whose files were replaced is opened again.
                    if error.class() != ErrorClass::Passing {
                        self.stack = None;
                    }
                    return Err(error.to_string());
                }
            }
            None => self.stack = self.folder.open_to_serve(false).map_err(|failure| failure.for_agents())?,
        }
        Ok(())
    }

    /// Ends the subagents whose starter has their answers in this request.
    fn look(&mut self, sent: &Sent) -> Result<(), String> {
        let Some(starter) = sent.caller.clone().filter(|_| self.subagents.has_open()) else { return Ok(()) };
        let body = sent.encoding.decoded(&sent.body, LONGEST as u64).map_err(|error| error.to_string())?;
        let Ok(text) = std::str::from_utf8(&body) else { return Ok(()) };
        // Subagents that a subagent has started end when the next request of that subagent is recorded.
        if self.subagents.is_of_agent(&opening(sent.wire, text)) {
            return Ok(());
        }
        self.open()?;
        let ended = self.subagents.returned(&starter, |call| outcome_of(sent.wire, text, call));
        self.end_agents(ended).map_err(|error| error.to_string())
    }

    fn end_agents(&self, ended: Vec<Ended>) -> Result<(), Error> {
        let mut result = Ok(());
        for Ended { caller, prompt, answer } in ended {
            let recorded = self.in_conversation(Some(&caller), |conversation| match answer {
                Ok(words) => conversation.agent_ended(&prompt, &words),
                Err(reason) => conversation.agent_failed(&prompt, &reason),
            });
            result = result.and(recorded);
        }
        result
    }

    fn record(&mut self, watching: &Watching) -> Result<(), String> {
        let Watching { sent, request, answer, is_last } = watching;
        let body = sent.encoding.decoded(&sent.body, LONGEST as u64).map_err(|error| error.to_string())?;
        // A body that is not a text was reported when it was to be folded.
        let Ok(text) = std::str::from_utf8(&body) else { return Ok(()) };
        self.open()?;
        let caller = self.asking(sent, text).map_err(|error| error.to_string())?;
        let name = match &caller {
            Some(caller) => caller.to_string(),
            None => beginning(sent.wire, text).unwrap_or_default().to_string(),
        };
        self.turn += 1;
        let mut seen = self.conversations.remove(&name).unwrap_or_default();
        (seen.turn, seen.caller) = (self.turn, caller.clone());
        // A subagent that its host names has no call here whose outcome would tell its end.
        let is_named = sent.caller == caller;
        let agent = caller.as_ref().filter(|caller| caller.is_subagent());
        let words = agent.and_then(|_| last_words(answer, *is_last));
        let recorded = self.in_conversation(caller.as_ref(), |conversation| {
            let request = request.clone();
            conversation.watch(sent.wire, text, answer, &self.fold, Some(request), &mut seen.watched)?;
            match words.as_deref().filter(|_| is_named) {
                Some(words) => conversation.agent_ended("", words),
                None => Ok(()),
            }
        });
        self.conversations.insert(name, seen);
        self.forget_oldest();
        let mut ended = Vec::new();
        if let Some(caller) = caller.filter(|_| sent.caller.is_some() && sent.caller == self.conversation) {
            // The outcomes of calls of this answer come with a later request.
            if self.subagents.has_open() {
                ended = self.subagents.returned(&caller, |call| outcome_of(sent.wire, text, call));
            }
            self.subagents.start(&caller, answer);
            ended.extend(words.and_then(|words| self.subagents.said(&caller, words)));
        }
        recorded.and_then(|()| self.end_agents(ended)).map_err(|error| error.to_string())
    }

    /// The conversation of a request. If the agent does not name the conversation, a subagent is recognized
    /// by its first words, and gets its frame.
    fn asking(&mut self, sent: &Sent, text: &str) -> Result<Option<Caller>, Error> {
        let caller = sent.caller.clone();
        let Some(own) = caller.clone().filter(|_| caller == self.conversation) else { return Ok(caller) };
        // As long as the conversation has no frame, everything that is said and used belongs to the frame
        // that it begins.
        let has_no_frame = self.in_conversation(Some(&own), |conversation| conversation.place()).is_none();
        let asking = self.subagents.asking(&opening(sent.wire, text), has_no_frame);
        let Some(Asking { caller, task }) = asking else { return Ok(Some(own)) };
        if let Some(task) = task {
            self.in_conversation(Some(&task.starter), |conversation| {
                conversation.agent_named(&caller.actor(), &task.description, &task.prompt)
            })?;
        }
        Ok(Some(caller))
    }

    fn forget_oldest(&mut self) {
        if self.conversations.len() > MOST_CONVERSATIONS
            && let Some(oldest) = self.conversations.iter().min_by_key(|(_, seen)| seen.turn)
        {
            let oldest = oldest.0.clone();
            let watched = self.conversations.remove(&oldest).unwrap_or_default().watched;
            self.write_last(None, watched);
        }
    }
}

/// The conversation that a request belongs to, by its headers.
pub fn caller_of(headers: &HeaderMap) -> Option<Caller> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    if let Some(session) = text("x-claude-code-session-id") {
        return Caller::of_claude(session, text("x-claude-code-agent-id"));
    }
    if let Some(thread) = text(CODEX_TURN).and_then(|turn| Caller::of_codex_turn(&turn.into())) {
        return Some(thread);
    }
    let codex = ["thread-id", "session-id", "session_id"].iter().find_map(|name| Caller::of("codex", text(name)?));
    codex.or_else(|| Caller::of("opencode", text("x-session-id")?))
}

/// What a request has used, as the stack records it.
pub fn used(usage: &Usage, milliseconds: u64, has_failed: bool) -> ModelRequest {
    ModelRequest {
        uncached_input: usage.uncached,
        cache_read: usage.read,
        cache_write: usage.written,
        cache_write_hour: usage.written_for_hour,
        output: usage.output,
        duration: milliseconds,
        failed: has_failed,
        ..ModelRequest::new(usage.model.clone().unwrap_or_default())
    }
}

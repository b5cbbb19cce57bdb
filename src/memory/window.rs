//! The context window of a model: keeps the prompts of a run within it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::section::{MEMORY_BEGINS, MEMORY_ENDS};
use super::step::Prompt;
use crate::frame::{Handle, Message, ToolCall};
use crate::text::{beginning, ending, from_json};

/// Texts up to this length are never shortened, in characters.
const SHORT: usize = 1_000;
/// The place of the first message, the task or briefing of the frame. Only what comes before the task or
/// briefing is left out of it.
const FIRST: usize = 0;
/// What remains of the beginning and of the end of a shortened text, in characters.
const BEGINNING: usize = 200;
const END: usize = 100;

/// Keeps the prompts of a run within a model's context window.
///
/// If a prompt is too large, old texts of the conversation are shortened in it, each to its beginning, a note
/// and its end: first the outputs of tools, then the results of sub-tasks, the model's own texts and the
/// arguments of its tool calls, in each case the oldest first. Only if that is not enough, what the frame
/// sees of other frames is left out, and then the newest step is shortened too. The history and the logs keep
/// all texts as they are.
///
/// What is shortened stays shortened, and a third of the room is made free at once. So the prompts of several
/// steps have the same beginning, and prompt caches keep it. This value remembers what is shortened in each
/// frame. Another process can begin with a new value.
///
/// ```
/// use callstack_core::Stack;
/// use callstack_core::frame::ToolCall;
/// use callstack_core::memory::{ContextWindow, NewRun, Next, Reply};
///
/// let stack = Stack::in_memory();
/// let root = stack.start_run(NewRun::new("Summarise the log"))?;
/// let run = stack.run(root);
/// for step in 0..3 {
///     let call = ToolCall { id: format!("call_{step}"), name: "read_log".into(), arguments: "{}".into() };
///     run.reply(Reply::new("", vec![call]))?;
///     run.answer(&format!("call_{step}"), "a line of the log\n".repeat(500), false)?;
/// }
/// let Next::Ask(mut prompt) = run.next()? else { panic!("the model is next") };
/// let fit = ContextWindow::default().fit(&mut prompt, 25_000, str::len);
/// assert!(fit.size <= 25_000 && fit.shortened == 2);
/// # Ok::<(), callstack_core::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ContextWindow {
    /// The places of the shortened messages in the conversation of each frame.
    shortened: BTreeMap<Handle, BTreeSet<usize>>,
}

/// How a prompt fits into a context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fit {
    /// The size of the prompt, in the unit of the measure.
    pub size: usize,
    /// Number of messages that are shortened in it.
    pub shortened: usize,
}

impl ContextWindow {
    /// Shortens a prompt until it has at most the size `room`, or until nothing is left to shorten. Then
    /// [`Fit::size`] is still larger.
    ///
    /// `measure` returns the size of a text, mostly in tokens. From three quarters of the room on, a line at
    /// the end of the memory tells the model to end the frame or to push what remains of its work. The line
    /// is not in the history.
    pub fn fit(&mut self, prompt: &mut Prompt, room: usize, measure: impl Fn(&str) -> usize) -> Fit {
        let earlier = self.shortened.entry(prompt.frame).or_default();
        let messages = &mut prompt.messages;
        let mut whole = measure(&prompt.system) + messages.iter().map(|message| size(message, &measure)).sum::<usize>();
        let surroundings = prompt.surroundings;
        let shorten = |message: &mut Arc<Message>, place: usize| match place {
            FIRST => replace(message, without_surroundings(message, surroundings), &measure),
            _ => replace(message, shortened(message), &measure),
        };
        for place in earlier.iter() {
            let saved = messages.get_mut(*place).map_or(0, |message| shorten(message, *place));
            whole = whole.saturating_sub(saved);
        }
        if whole > room {
            let Candidates { old, newest } = Candidates::of(messages);
            let goals = old.into_iter().map(|place| (place, room - room / 3));
            for (place, goal) in goals.chain([FIRST].into_iter().chain(newest).map(|place| (place, room))) {
                if whole > goal && !earlier.contains(&place) {
                    let saved = shorten(&mut messages[place], place);
                    whole = whole.saturating_sub(saved);
                    if saved > 0 {
                        earlier.insert(place);
                    }
                }
            }
        }
        let fit = Fit { size: whole, shortened: earlier.len() };
        if fit.shortened > 0 || fit.size > room / 4 * 3 {
            warn(prompt, fit, room);
        }
        fit
    }
}

/// The places of messages that can be shortened, in the order in which they are shortened.
struct Candidates {
    /// The messages before the model's last message.
    old: Vec<usize>,
    /// The model's last message, and the answers to it.
    newest: Vec<usize>,
}

impl Candidates {
    fn of(messages: &[Arc<Message>]) -> Self {
        let is_reply = |message: &Arc<Message>| matches!(&**message, Message::Assistant { .. });
        let last = messages.iter().rposition(is_reply).unwrap_or(messages.len());
        let is_output =
            |place: &usize| matches!(&*messages[*place], Message::Tool { name, .. } if name != "push_frame");
        let is_other = |place: &usize| !is_output(place) && !matches!(&*messages[*place], Message::User { .. });
        let old = (0..last).filter(is_output).chain((0..last).filter(is_other)).collect();
        let newest = last..messages.len();
        Self { old, newest: newest.clone().filter(is_output).chain(newest.filter(is_other)).collect() }
    }
}

fn size(message: &Message, measure: impl Fn(&str) -> usize) -> usize {
    let calls = match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    };
    measure(message.text()) + calls.iter().map(|call| measure(&call.name) + measure(&call.arguments)).sum::<usize>()
}

/// Replaces a message by a shorter one, if there is one, and returns how much smaller it has become.
fn replace(message: &mut Arc<Message>, short: Option<Message>, measure: impl Fn(&str) -> usize) -> usize {
    let Some(short) = short else { return 0 };
    let saved = size(message, &measure).saturating_sub(size(&short, &measure));
    if saved > 0 {
        *message = Arc::new(short);
    }
    saved
}

/// Returns the first message of a frame without what the frame sees of other frames, which is the first
/// `surroundings` bytes; `None` if there are none.
fn without_surroundings(message: &Message, surroundings: usize) -> Option<Message> {
    let note =
        "[The frames around this one are left out here, because this conversation is near the limit of the model.]\n\n";
    (surroundings > 0).then(|| message.with_text([note, &message.text()[surroundings..]].concat()))
}

/// Returns a message with short texts; `None` if they are all short already.
fn shortened(message: &Message) -> Option<Message> {
    // The section of the memory, at the end of the newest message, stays whole.
    let (text, memory) = match message.text().rfind(MEMORY_BEGINS) {
        Some(begin) => message.text().split_at(begin),
        None => (message.text(), ""),
    };
    let advice = match message {
        Message::Tool { name, .. } if name == "push_frame" => " If you need them, ask for them in a new frame.",
        Message::Tool { .. } => " If you need them, repeat the call, or ask for a part.",
        _ => "",
    };
    let short_text = short(text, advice);
    let mut other = message.with_text([short_text.as_deref().unwrap_or(text), memory].concat());
    let mut has_changed = short_text.is_some();
    if let Message::Assistant { calls, .. } = &mut other {
        for call in calls {
            has_changed |= shorten_arguments(call);
        }
    }
    has_changed.then_some(other)
}

/// Returns the beginning and the end of a text, with a note between them; `None` if the text is short.
fn short(text: &str, advice: &str) -> Option<String> {
    let characters = text.chars().count();
    if characters <= SHORT {
        return None;
    }
    let missing = characters - BEGINNING - END;
    let note = format!(
        "[… {missing} characters are left out here, because this conversation is near the limit of the model.{advice} …]"
    );
    Some(format!("{}\n{note}\n{}", beginning(text, BEGINNING), ending(text, END)))
}

/// Shortens the texts in the arguments of a tool call. Returns false if no text is long.
fn shorten_arguments(call: &mut ToolCall) -> bool {
    if call.arguments.len() <= SHORT {
        return false;
    }
    let Ok(Value::Object(mut arguments)) = from_json(&call.arguments) else { return false };
    let mut has_changed = false;
    for argument in arguments.values_mut() {
        let advice = " The call was made with all of them.";
        let Some(short) = argument.as_str().and_then(|text| short(text, advice)) else { continue };
        *argument = short.into();
        has_changed = true;
    }
    if has_changed {
        call.arguments = Value::Object(arguments).to_string();
    }
    has_changed
}

/// Adds a line to the memory of a prompt that says how much of the room it fills, and what to do.
fn warn(prompt: &mut Prompt, fit: Fit, room: usize) {
    let Some(newest) = prompt.messages.last_mut() else { return };
    let Some(before) = newest.text().strip_suffix(MEMORY_ENDS) else { return };
    let share = fit.size.saturating_mul(100) / room.max(1);
    let shortened = if fit.shortened > 0 { ", and old texts in it are shortened" } else { "" };
    let advice = match prompt.depth {
        0 => "Push what remains of the work: a new frame begins with an empty conversation.",
        _ => "Pop this frame soon, with what is done and what remains to be done.",
    };
    let line = format!("\nThis conversation fills {share}% of what the model can read{shortened}. {advice}\n");
    *newest = Arc::new(newest.with_text([before, &line, MEMORY_ENDS].concat()));
}

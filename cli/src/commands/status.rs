//! `callstack status`: where the work stands, and what to do next.

use std::io;

use callstack_core::frame::ModelUsage;
use callstack_core::text::one_line;
use callstack_core::work::Overview;
use callstack_core::{FrameRef, FrameStatus, Handle, Tree};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::next;
use super::frame_line::FrameLine;
use super::invalidate::other_dependency;
use super::usage::requests_in_words;
use crate::clock::now;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{FAINT, Line, Page, Report, duration, us_dollars};
use crate::same_stack::SameStack;

/// The number of frames of one kind that are shown.
const SHOWN: usize = 5;
/// The width of the words before the frames, in columns.
const LABEL: usize = 13;

#[derive(Args)]
pub struct Arguments {
    /// Only this frame, and the frames below it. Default: all unfinished work.
    #[arg(value_name = "FRAME")]
    frame: Option<FrameRef>,
}

/// Where the work stands.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The frame that was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<FrameLine>,
    /// Number of completed frames in the unfinished trees, or below the frame.
    completed: usize,
    /// Number of frames there, without invalidated ones and attempts that another one replaces.
    of: usize,
    /// Frames in progress with work of their own.
    running: Standings,
    /// Frames whose work was interrupted or stopped, or put back by a worker, and has not resumed.
    interrupted: Standings,
    /// Blocked frames that wait for an answer.
    asking: Standings,
    /// Blocked frames that are answered, and have not resumed.
    answered: Standings,
    /// Failed frames, and other frames that have ended and keep planned frames from beginning.
    in_the_way: Standings,
    /// Planned frames that can begin.
    ready: Standings,
    /// Planned frames that wait for others.
    waiting: Standings,
    /// The requests to models there, by model.
    usage: Vec<ModelUsage>,
    /// The cost of these requests, in millionths of a US dollar: what hosts have told, and an estimate of the
    /// requests after that.
    cost_micro_usd: u64,
    /// True if something is planned below a frame that has ended.
    #[serde(skip)]
    has_leftovers: bool,
    /// The first planned frame that waits for one that has ended.
    #[serde(skip)]
    stuck: Option<Handle>,
    /// The first failed frame that is in the way.
    #[serde(skip)]
    failed: Option<Handle>,
    #[serde(skip)]
    now: u64,
    #[serde(skip)]
    same_stack: SameStack,
}

/// Frames in one state.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
struct Standings {
    frames: Vec<Standing>,
    /// The number of further ones. A page of text shows the first ones only.
    #[serde(skip)]
    more: usize,
}

/// A frame, and why it is in this state.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Standing {
    #[serde(flatten)]
    frame: FrameLine,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// Since when it is in this state, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    /// What it asks for, why it was interrupted, or how it has failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    /// The frames for which it waits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits_for: Vec<Handle>,
}

/// `is_json`: the status is written with all frames, not as a page of text.
pub fn run(arguments: &Arguments, folder: &StackFolder, is_json: bool) -> Result<Status, Failure> {
    let stack = folder.open_to_read()?;
    let frame = arguments.frame.as_ref().map(|frame| stack.resolve(frame.clone())).transpose()?;
    Ok(stack.read(|tree| Status::of(tree, frame, folder.same_stack(), is_json))?)
}

impl Status {
    fn of(tree: &Tree, frame: Option<Handle>, same_stack: SameStack, is_whole: bool) -> Self {
        let now = now();
        let overview = tree.overview(frame);
        let stand = |handles: &[Handle], of: &dyn Fn(&mut Standing, Handle)| {
            let standing = |handle: &Handle| {
                let frame = FrameLine::of(tree, *handle);
                let mut standing = Standing { frame, by: None, since: None, why: String::new(), waits_for: Vec::new() };
                of(&mut standing, *handle);
                standing
            };
            let shown = if is_whole { handles.len() } else { SHOWN };
            let frames: Vec<Standing> = handles.iter().take(shown).map(standing).collect();
            Standings { more: handles.len() - frames.len(), frames }
        };
        let record = |handle: Handle| tree.node(handle).record();
        let Overview { running, interrupted, asking, answered, in_the_way, ready, waiting, .. } = &overview;
        let works = |standing: &mut Standing, handle: Handle| {
            let holder = tree.holder(handle, now).filter(|holder| !holder.described().is_empty());
            standing.by = holder.map(|holder| holder.described());
            standing.since = holder.map(|holder| holder.since);
        };
        let asks = |standing: &mut Standing, handle: Handle| {
            // An imported question can have no time.
            let asked_at = record(handle).questions.last().map(|question| question.asked_at);
            standing.since = asked_at.filter(|asked_at| *asked_at > 0);
            record(handle).waits_for().clone_into(&mut standing.why);
        };
        Self {
            frame: frame.map(|frame| FrameLine::of(tree, frame)),
            completed: overview.completed,
            of: overview.frames,
            running: stand(running, &works),
            interrupted: stand(interrupted, &|standing, handle| match record(handle).is_interrupted() {
                true => standing.why = record(handle).interruption(),
                false if record(handle).status == FrameStatus::Blocked => asks(standing, handle),
                false => standing.why = "its worker has released it; another worker resumes it".to_owned(),
            }),
            asking: stand(asking, &asks),
            answered: stand(answered, &|standing, handle| {
                record(handle).pending_answer().unwrap_or_default().clone_into(&mut standing.why);
            }),
            in_the_way: stand(in_the_way, &|standing, handle| match tree.status(handle).is_unfinished() {
                true => standing.why = "it waits for frames that wait for it".to_owned(),
                false => record(handle).dense_results().clone_into(&mut standing.why),
            }),
            ready: stand(ready, &|_, _| {}),
            waiting: stand(waiting, &|standing, handle| standing.waits_for = tree.waits_for(handle).collect()),
            // The text tells them of frames that are in the way, which are in creation order.
            has_leftovers: !in_the_way.is_empty() && !tree.leftovers(frame).is_empty(),
            stuck: waiting.iter().chain(in_the_way).copied().filter(|_| !in_the_way.is_empty()).find(|frame| {
                let is_planned = tree.status(*frame) == FrameStatus::Planned;
                is_planned && tree.unfinished_dependencies(*frame).any(|other| in_the_way.binary_search(&other).is_ok())
            }),
            failed: in_the_way.iter().copied().find(|frame| tree.status(*frame) == FrameStatus::Failed),
            usage: overview.usage,
            cost_micro_usd: overview.cost_micro_usd,
            now,
            same_stack,
        }
    }

    /// The command that helps most.
    fn step(&self) -> Option<String> {
        let first = |frames: &Standings| frames.frames.first().map(|standing| standing.frame.handle);
        let asks = first(&self.asking).map(|frame| format!("callstack answer {frame} TEXT"));
        let failed = self.failed.map(|frame| format!("callstack retry {frame} --note TEXT"));
        let ended = first(&self.in_the_way).map(|frame| match self.stuck {
            _ if self.has_leftovers => format!(
                "`callstack tidy` removes what is planned below frames that have ended; `callstack show {frame}`"
            ),
            Some(stuck) => other_dependency(stuck),
            None => format!("callstack show {frame}"),
        });
        let goes_on = first(&self.answered).or(first(&self.interrupted));
        let begins = first(&self.ready).filter(|_| self.running.frames.is_empty());
        let activate = |frame| format!("callstack activate {frame}");
        let ends = first(&self.running).map(|frame| format!("callstack show {frame}"));
        asks.or(failed).or(ended).or(goes_on.map(activate)).or(begins.map(activate)).or(ends)
    }
}

impl Report for Status {
    const KIND: &'static str = "status";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if let Some(frame) = &self.frame {
            page.line(frame.line(0))?;
        }
        if self.of == 0 {
            page.line(Line::new().plain("No work is planned or open."))?;
            return next(page, &self.same_stack, "callstack push TITLE");
        }
        page.line(Line::new().plain(format!("{} of {} done", self.completed, self.of)))?;
        for (label, frames) in [
            ("runs", &self.running),
            ("interrupted", &self.interrupted),
            ("asks", &self.asking),
            ("answered", &self.answered),
            ("in the way", &self.in_the_way),
            ("ready", &self.ready),
            ("waits", &self.waiting),
        ] {
            self.frames(page, label, frames)?;
        }
        let cost = (self.cost_micro_usd > 0).then(|| us_dollars(self.cost_micro_usd));
        let used: Vec<String> = cost.into_iter().chain(requests_in_words(&self.usage)).collect();
        if !used.is_empty() {
            page.line(Line::new().plain(format!("{:LABEL$}{}", "cost", used.join(", "))))?;
        }
        self.step().map_or(Ok(()), |step| next(page, &self.same_stack, step))
    }
}

impl Status {
    fn frames(&self, page: &mut Page<'_>, label: &str, frames: &Standings) -> io::Result<()> {
        for (index, standing) in frames.frames.iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            let line = Line::new().styled(FAINT, format!("{label:LABEL$}")).followed_by(standing.frame.line(0));
            page.line_with_end(line, Line::new().styled(FAINT, self.remark(standing)))?;
            if !standing.why.trim().is_empty() {
                page.text(LABEL + 4, &one_line(&standing.why))?;
            }
        }
        match frames.more {
            0 => Ok(()),
            more => page.line(Line::new().styled(FAINT, format!("{:LABEL$}... and {more} more", ""))),
        }
    }

    /// What is said after a frame.
    fn remark(&self, standing: &Standing) -> String {
        let waits_for: Vec<String> = standing.waits_for.iter().take(SHOWN).map(Handle::to_string).collect();
        let by = standing.by.iter().map(|by| one_line(by));
        let since = standing.since.map(|since| format!("for {}", duration(self.now.saturating_sub(since))));
        let after = (!waits_for.is_empty()).then(|| format!("after {}", waits_for.join(", ")));
        let words: Vec<String> = by.chain(since).chain(after).collect();
        if words.is_empty() { String::new() } else { format!("  {}", words.join(", ")) }
    }
}

//! `callstack show`: everything about one frame.

use std::io;

use anstyle::Style;
use callstack_core::frame::{Chunk, Frame, FrameSpans, FrameUsage, Question, Release};
use callstack_core::{FrameRef, FrameStatus, Handle, HolderKind, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::named_or_active;
use super::frame_line::FrameLine;
use super::usage::requests_in_words;
use crate::clock::now;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{EMPHASIS, Line, Page, Report, duration, moment, of_status, past, us_dollars};

#[derive(Args)]
pub struct Arguments {
    /// The frame; or a session of an agent, by its file or its ID, followed by the frame. Default: the active
    /// frame.
    #[arg(value_name = "FRAME or SESSION")]
    pub frame: Option<FrameRef>,
    /// The frame of the session.
    #[arg(value_name = "FRAME", hide = true)]
    pub within: Option<FrameRef>,
}

/// A frame, with the frames around it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameDetails {
    handle: Handle,
    /// The record of the frame, as in the files of the stack. Times are in milliseconds since the Unix epoch.
    record: Frame,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<FrameLine>,
    children: Vec<FrameLine>,
    /// The frames whose results this one needs, each in its newest attempt.
    dependencies: Vec<FrameLine>,
    /// The frames that need the results of this one.
    dependents: Vec<FrameLine>,
    /// Which attempt at its work the frame is, counted from 1.
    attempt: usize,
    /// The attempt before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_of: Option<Handle>,
    /// The next attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    retried_as: Option<Handle>,
    /// True if this is the active frame.
    is_active: bool,
    spans: FrameSpans,
    /// The time that the frame was worked on so far, in milliseconds, without the times when it was blocked.
    /// Absent if a compaction has removed the events that are needed for this.
    #[serde(skip_serializing_if = "Option::is_none")]
    worked: Option<u64>,
    usage: FrameUsage,
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<FrameDetails, Failure> {
    let stack = folder.open_to_read()?;
    let handle = named_or_active(&stack, arguments.frame.clone())?;
    let spans = stack.history().spans(handle)?;
    FrameDetails::of(&stack, handle, spans)
}

impl FrameDetails {
    pub fn of(stack: &Stack, handle: Handle, spans: FrameSpans) -> Result<Self, Failure> {
        Ok(stack.read(|tree| {
            let node = tree.node(handle);
            let lines = |handles: &[Handle]| handles.iter().map(|handle| FrameLine::of(tree, *handle)).collect();
            let dependencies: Vec<Handle> = tree.newest_dependencies(handle).collect();
            Self {
                handle,
                record: tree.frame(handle),
                parent: node.parent().map(|parent| FrameLine::of(tree, parent)),
                children: lines(node.children()),
                dependencies: lines(&dependencies),
                dependents: lines(tree.dependents(handle)),
                attempt: node.attempt(),
                retry_of: node.retry_of(),
                retried_as: node.retried_as(),
                is_active: tree.active() == Some(handle),
                worked: (spans.begun_at.is_some() || !node.status().is_finished()).then(|| spans.worked(now())),
                spans,
                usage: tree.usage(handle),
            }
        })?)
    }
}

impl Report for FrameDetails {
    const KIND: &'static str = "frame";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Frame { status, title, .. } = &self.record;
        let active = if self.is_active { "  <-- ACTIVE" } else { "" };
        let line = Line::new().styled(EMPHASIS, self.handle.to_string()).plain(" ").said(title);
        page.line_with_end(line, Line::new().styled(EMPHASIS, active))?;
        page.field("status", of_status(*status), &format!("{status}{}", self.remark_on_status()))?;
        self.facts(page, Self::times)?;
        self.texts(page, &self.record.questions)?;
        self.frames(page)
    }
}

impl FrameDetails {
    /// Writes the frame for a screen that shows its title, status and age elsewhere: its current question
    /// comes first.
    pub fn overview(&self, page: &mut Page<'_>) -> io::Result<()> {
        let record = &self.record;
        let current = record.current_question();
        if let Some(question) = current {
            let heading = if question.interruption { "Interrupted" } else { "Waits for" };
            page.line(Line::new().styled(EMPHASIS, heading))?;
            page.text(2, &question.question)?;
            if let Some(answer) = &question.answer {
                page.line(Line::new().styled(EMPHASIS, "Answered"))?;
                page.text(2, answer)?;
            }
            page.gap()?;
        }
        self.facts(page, Self::whole_work)?;
        let earlier = record.questions.len() - usize::from(current.is_some());
        self.texts(page, &record.questions[..earlier])?;
        self.frames(page)
    }

    /// Writes the short facts below each other.
    fn facts(&self, page: &mut Page<'_>, times: fn(&Self, &mut Page<'_>) -> io::Result<()>) -> io::Result<()> {
        let Frame { session_id, log_path, .. } = &self.record;
        page.field("id", Style::new(), session_id)?;
        if let Some(parent) = &self.parent {
            page.field("below", Style::new(), &parent.plain())?;
        }
        if let Some(word) = &self.record.no_work {
            page.field("no work", Style::new(), word)?;
        }
        self.attempts(page)?;
        times(self, page)?;
        self.holder(page)?;
        if let Some(path) = log_path {
            page.field("log", Style::new(), path)?;
        }
        if let Some(words) = requests_in_words(&self.usage.own) {
            page.field("usage", Style::new(), &words)?;
        }
        if let Some(words) = requests_in_words(&self.usage.total).filter(|_| self.usage.own != self.usage.total) {
            page.field("in all", Style::new(), &words)?;
        }
        let FrameUsage { own_cost_micro_usd: own, total_cost_micro_usd: total, .. } = self.usage;
        if total > 0 {
            let below = if own == total { String::new() } else { format!("; {} in all", us_dollars(total)) };
            page.field("cost", Style::new(), &format!("{}{below}", us_dollars(own)))?;
        }
        match self.record.limits.as_deref().map(ToString::to_string).filter(|limits| !limits.is_empty()) {
            Some(limits) => page.field("limits", Style::new(), &limits),
            None => Ok(()),
        }
    }

    /// Writes who has the frame, or which worker had it last and how this worker has released it.
    fn holder(&self, page: &mut Page<'_>) -> io::Result<()> {
        let Some(holder) = self.record.holder.as_deref().filter(|holder| !holder.name.is_empty()) else {
            return Ok(());
        };
        let name = match holder.kind {
            HolderKind::Host => "runs in",
            kind => kind.as_str(),
        };
        let state = match (holder.released.as_ref().map(|released| &released.how), holder.until) {
            (None, Some(until)) if holder.holds(now()) => {
                format!(", since {}, until {}", moment(holder.since), moment(until))
            }
            (None, Some(until)) => format!(", which has been silent since {}", moment(until)),
            (None, None) => format!(", taken {}", past(holder.since)),
            (Some(Release::PutBack { until }), _) if holder.is_put_back(now()) => {
                format!(", which has put it back until {}", moment(*until))
            }
            (Some(_), _) if holder.kind != HolderKind::Worker => return Ok(()),
            (Some(Release::Ended {}), _) if self.record.status == FrameStatus::InProgress => {
                ", which has released it".to_owned()
            }
            _ => String::new(),
        };
        page.field(name, Style::new(), &format!("{}{state}", holder.name))
    }

    /// Writes for how long a frame that has ended was worked on.
    fn whole_work(&self, page: &mut Page<'_>) -> io::Result<()> {
        match (self.spans.begun_at, self.spans.ended_at) {
            (Some(_), Some(_)) => page.field("worked", Style::new(), &duration(self.worked.unwrap_or_default())),
            _ => Ok(()),
        }
    }

    fn remark_on_status(&self) -> String {
        let released = self.record.holder.as_deref().and_then(|holder| holder.released.as_ref());
        match (released.filter(|_| self.record.is_interrupted()), self.record.placeholder) {
            (Some(released), _) => format!(", interrupted {}: {}", past(released.at), self.record.interruption()),
            (None, true) => ", a placeholder: its title follows its session".to_owned(),
            (None, false) => String::new(),
        }
    }

    fn attempts(&self, page: &mut Page<'_>) -> io::Result<()> {
        let before = self.retry_of.map(|before| format!(", after {before}")).unwrap_or_default();
        let next = self.retried_as.map(|next| format!(", retried as {next}")).unwrap_or_default();
        if before.is_empty() && next.is_empty() {
            return Ok(());
        }
        page.field("attempt", Style::new(), &format!("{}{before}{next}", self.attempt))
    }

    fn times(&self, page: &mut Page<'_>) -> io::Result<()> {
        let FrameSpans { begun_at, ended_at, blocked, .. } = &self.spans;
        if let Some(priority) = self.record.priority {
            page.field("priority", Style::new(), &priority.to_string())?;
        }
        if let Some(assignee) = &self.record.assignee {
            page.field("assignee", Style::new(), assignee)?;
        }
        if !self.record.labels.is_empty() {
            page.field("labels", Style::new(), &self.record.labels.join(", "))?;
        }
        page.field("created", Style::new(), &past(self.record.created_at))?;
        if let Some(begun_at) = begun_at {
            page.field("begun", Style::new(), &past(*begun_at))?;
        }
        for span in blocked {
            let end = match span.to {
                Some(end) => format!(", for {}", duration(end.saturating_sub(span.from))),
                None => ", until now".to_owned(),
            };
            page.field("blocked", Style::new(), &format!("{}{end}", past(span.from)))?;
        }
        let worked = duration(self.worked.unwrap_or_default());
        match (begun_at, ended_at) {
            (Some(_), Some(end)) => {
                page.field("ended", Style::new(), &format!("{}, after {worked} of work", past(*end)))
            }
            (None, Some(end)) => page.field("ended", Style::new(), &past(*end)),
            (Some(_), None) => page.field("worked", Style::new(), &format!("{worked} so far")),
            (None, None) => Ok(()),
        }
    }

    /// Writes the texts of the frame, including these of its questions.
    fn texts(&self, page: &mut Page<'_>, questions: &[Question]) -> io::Result<()> {
        let record = &self.record;
        text(page, "Criteria", &record.success_criteria)?;
        text(page, "Criteria in short", &record.success_criteria_compacted)?;
        text(page, "Task", &record.task)?;
        let results = match record.status {
            FrameStatus::InProgress => "Results so far",
            FrameStatus::Blocked if record.has_partial_results() => "Results so far",
            FrameStatus::Blocked => "Waits for",
            _ => "Results",
        };
        text(page, results, record.results.as_deref().unwrap_or_default())?;
        text(page, "Results in short", record.results_compacted.as_deref().unwrap_or_default())?;
        text(page, "Invalidated", record.invalidation_reason.as_deref().unwrap_or_default())?;
        questions.iter().try_for_each(|question| asked(page, question))?;
        list(page, "Artifacts", &record.artifacts)?;
        list(page, "Decisions", &record.decisions)?;
        if let Some(registers) = &record.registers {
            let values = serde_json::to_value(registers)?;
            heading(page, "Registers")?;
            for (name, value) in values.as_object().into_iter().flatten() {
                page.text(2, &format!("{name}: {}", value.as_str().unwrap_or_default()))?;
            }
        }
        record.heap.iter().try_for_each(|chunk| kept(page, chunk))
    }

    /// Writes the frames around the frame.
    fn frames(&self, page: &mut Page<'_>) -> io::Result<()> {
        frames(page, "Depends on", &self.dependencies)?;
        frames(page, "Needed by", &self.dependents)?;
        frames(page, "Children", &self.children)
    }
}

fn heading(page: &mut Page<'_>, name: &str) -> io::Result<()> {
    page.gap()?;
    page.line(Line::new().styled(EMPHASIS, name))
}

/// Writes a text with its heading, unless it is blank.
fn text(page: &mut Page<'_>, name: &str, text: &str) -> io::Result<()> {
    if text.trim().is_empty() {
        return Ok(());
    }
    heading(page, name)?;
    page.text(2, text)
}

fn list(page: &mut Page<'_>, name: &str, texts: &[String]) -> io::Result<()> {
    if texts.is_empty() {
        return Ok(());
    }
    heading(page, name)?;
    texts.iter().try_for_each(|text| page.item(text))
}

fn frames(page: &mut Page<'_>, name: &str, frames: &[FrameLine]) -> io::Result<()> {
    if frames.is_empty() {
        return Ok(());
    }
    heading(page, name)?;
    frames.iter().try_for_each(|frame| match page.width() {
        usize::MAX => page.line(frame.line(2)),
        _ => page.line(frame.beginning(2)),
    })
}

fn asked(page: &mut Page<'_>, question: &Question) -> io::Result<()> {
    let Question { question, asked_at, answer, answered_at, interruption, until, .. } = question;
    let name = if *interruption { "Interrupted" } else { "Asked" };
    let until = until.map(|until| format!(", until {}", moment(until))).unwrap_or_default();
    heading(page, &format!("{name} {}{until}", past(*asked_at)))?;
    page.text(2, question)?;
    match (answer, answered_at) {
        (Some(answer), Some(time)) => {
            page.line(Line::new().styled(EMPHASIS, format!("Answered {}", past(*time))))?;
            page.text(2, answer)
        }
        (Some(answer), None) => page.text(2, answer),
        _ => Ok(()),
    }
}

fn kept(page: &mut Page<'_>, chunk: &Chunk) -> io::Result<()> {
    page.gap()?;
    let description = if chunk.description.is_empty() { String::new() } else { format!(": {}", chunk.description) };
    page.line(Line::new().styled(EMPHASIS, "Heap ").said(&format!("{}{description}", chunk.name)))?;
    page.text(2, &chunk.content)
}

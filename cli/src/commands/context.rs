//! `callstack context`: what the agent of a frame sees.

use std::io;
use std::num::NonZeroUsize;

use callstack_core::context::{DetailLevel, Omission, Report as ContextReport, Section, Shown};
use callstack_core::{Budget, BudgetUnit, Error, FrameRef, Handle, Settings};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::named_or_active;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{EMPHASIS, FAINT, Line, Page, Report, count, number};

#[derive(Args)]
pub struct Arguments {
    /// The frame. Default: the active one.
    frame: Option<FrameRef>,
    /// Budget of the context, in tokens. Default: STACK_TOKEN_BUDGET_TOTAL, or 4000.
    #[arg(long, value_name = "TOKENS")]
    budget: Option<NonZeroUsize>,
    /// Which part of the context: the part for the system prompt, or the part after the newest message.
    /// Default: both, as one document.
    #[arg(long, value_enum, value_name = "PART")]
    part: Option<Part>,
    /// Write, in place of the text, which frames were considered, how much of each is shown, and why others
    /// are left out.
    #[arg(long)]
    report: bool,
}

/// A part of a context.
#[derive(Clone, Copy, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Part {
    /// Changes seldom: for the system prompt.
    Stable,
    /// Changes often: after the newest message.
    Volatile,
}

/// The context of a frame.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameContext {
    handle: Handle,
    /// The part that `text` is; absent: the whole context.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
    /// The text for the agent: XML.
    text: String,
    /// Upper bound of the tokens of the whole context.
    tokens: usize,
    /// The budget of the whole context, in tokens.
    budget: usize,
    report: ContextReport,
    #[serde(skip)]
    shows_report: bool,
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<FrameContext, Failure> {
    let stack = folder.open_to_read()?;
    let budget = budget(arguments.budget)?;
    let total = budget.total;
    let frame = named_or_active(&stack, arguments.frame.clone())?;
    let context = stack.context_uncached(frame, &Settings::default().budget(budget));
    let context = context.map_err(|error| match error {
        Error::BudgetTooSmall { handle, needed, unit: BudgetUnit::Tokens, .. } => {
            Failure::from(error).next(format!("callstack context {handle} --budget {needed}"))
        }
        other => other.into(),
    })?;
    let text = match arguments.part {
        None => context.xml,
        Some(Part::Stable) => context.stable,
        Some(Part::Volatile) => context.volatile,
    };
    Ok(FrameContext {
        handle: context.report.handle,
        part: arguments.part,
        text,
        tokens: context.tokens,
        budget: total,
        report: context.report,
        shows_report: arguments.report,
    })
}

/// The budget of contexts: that of the environment, with another total if one is given.
pub fn budget(total: Option<NonZeroUsize>) -> Result<Budget, Failure> {
    let (mut budget, problems) = Budget::from_environment();
    if let Some(problem) = problems.into_iter().next() {
        return Err(problem.into());
    }
    budget.total = total.map_or(budget.total, NonZeroUsize::get);
    Ok(budget)
}

impl Report for FrameContext {
    const KIND: &'static str = "context";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if !self.shows_report {
            return page.raw(&self.text);
        }
        let title = format!("Context of {}: at most {} of {}", self.handle, self.tokens, count(self.budget, "token"));
        page.line(Line::new().styled(EMPHASIS, title))?;
        page.line(Line::new().plain(format!(
            "{} in the stable part, which seldom changes and stays in the prompt cache; {} in the volatile part, which is sent again",
            self.report.stable_tokens, self.report.volatile_tokens
        )))?;
        page.gap()?;
        let handles = self.report.entries.iter().map(|entry| entry.handle.to_string().len()).max().unwrap_or_default();
        for entry in &self.report.entries {
            let handle = entry.handle.to_string();
            let line = Line::new().plain(format!("{handle:handles$}  {:<30}", place(entry.section)));
            page.line(match entry.omission {
                None => {
                    line.plain(format!("{:<26} {:>6} tokens", shown(entry.detail_level), number(entry.tokens as u64)))
                }
                Some(omission) => line.styled(FAINT, format!("left out: {}", reason(omission, entry.score))),
            })?;
        }
        for chunk in &self.report.chunks {
            let line = Line::new().plain(format!("{:handles$}  heap: ", chunk.handle.to_string())).said(&chunk.name);
            let how = match chunk.shown {
                Shown::Whole => "word for word",
                Shown::Index => "its name alone",
                _ => "left out: the budget has no room for it",
            };
            page.line_with_end(line, Line::new().plain(format!("  {how}")))?;
        }
        Ok(())
    }
}

/// Where a frame stands, seen from the frame of the context.
fn place(section: Section) -> &'static str {
    match section {
        Section::CurrentFrame => "the frame itself",
        Section::Ancestors => "above it",
        Section::Dependencies => "what it needs",
        Section::InheritedDependencies => "what a frame above needs",
        Section::EarlierAttempts => "an earlier attempt",
        Section::AncestorSiblings => "finished beside a frame above",
        Section::CompletedSiblings => "finished beside it",
        Section::FinishedChildren => "finished below it",
        Section::PlannedChildren => "planned below it",
        _ => "elsewhere",
    }
}

/// How much of a frame is shown.
fn shown(level: DetailLevel) -> &'static str {
    match level {
        DetailLevel::Omitted => "not at all",
        DetailLevel::Stub => "its title alone",
        DetailLevel::Compact => "in short",
        DetailLevel::Standard => "with artifacts",
        DetailLevel::Full => "with decisions",
        DetailLevel::Whole => "whole",
        _ => "partly",
    }
}

/// Why a frame is left out.
fn reason(omission: Omission, score: f32) -> String {
    let reason = match omission {
        Omission::Irrelevant => return format!("it has too little in common with the frame (score {score:.0} of 100)"),
        Omission::Budget => "the budget has no room for it",
        Omission::Rank => "others matter more",
        _ => "it is not shown",
    };
    reason.to_owned()
}

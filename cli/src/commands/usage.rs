//! `callstack usage`: what the requests to models have used, and what they cost.

use std::io;

use callstack_core::frame::{FrameLimits, FrameUsage, ModelUsage, Prices, TotalCost};
use callstack_core::text::one_line;
use callstack_core::{FrameRef, Handle, Tree};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::frame_line::FrameLine;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::table::{self, Row};
use crate::output::{EMPHASIS, Line, Page, Report, count, duration, money, number, us_dollars};
use crate::prices::PricesFile;

#[derive(Args)]
pub struct Arguments {
    /// Only this frame, and the frames below it. Default: all frames. Or a session of an agent: its file or
    /// its ID.
    #[arg(value_name = "FRAME or SESSION")]
    pub frame: Option<FrameRef>,
    #[command(flatten)]
    prices: PricesFile,
}

/// The usage of a frame, or of all frames.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The frame; absent: all frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<FrameLine>,
    /// The requests of the frame itself, by model. Absent for all frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<Sums>,
    /// The requests of the frame and of everything below it, by model.
    total: Sums,
    /// The frames directly below the frame, or the roots, each with everything below it. Frames without
    /// requests are left out.
    below: Vec<BelowUsage>,
    /// The cost in millionths of a US dollar: the amounts that hosts have reported, and an estimate of the
    /// requests after them.
    #[serde(skip_serializing_if = "is_zero")]
    total_cost_micro_usd: u64,
    /// The limits of the frame. Absent if the frame has no limits of its own, and for all frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<FrameLimits>,
    /// True if prices were given.
    has_prices: bool,
}

/// Sums by model.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Sums {
    models: Vec<ModelSum>,
    /// The cost of all models together. Absent without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_cost: Option<TotalCost>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ModelSum {
    #[serde(flatten)]
    usage: ModelUsage,
    /// In the currency of the prices. Absent if a price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BelowUsage {
    frame: FrameLine,
    total: Sums,
}

pub fn run(arguments: &Arguments, folder: &StackFolder) -> Result<Usage, Failure> {
    let prices = arguments.prices.read()?;
    let stack = folder.open_to_read()?;
    let frame = arguments.frame.as_ref().map(|frame| stack.resolve(frame.clone())).transpose()?;
    Ok(stack.read(|tree| Usage::of(tree, frame, prices.as_ref()))?)
}

impl Usage {
    fn of(tree: &Tree, frame: Option<Handle>, prices: Option<&Prices>) -> Self {
        let below = frame.map_or(tree.roots(), |frame| tree.children(frame));
        let below: Vec<(Handle, FrameUsage)> = below.iter().map(|below| (*below, tree.usage(*below))).collect();
        let (own, total, total_cost_micro_usd) = match frame.map(|frame| tree.usage(frame)) {
            Some(usage) => (Some(usage.own), usage.total, usage.total_cost_micro_usd),
            None => {
                let costs = below.iter().map(|(_, usage)| usage.total_cost_micro_usd);
                (None, tree.usage_of_all(), costs.fold(0, u64::saturating_add))
            }
        };
        let below = below.into_iter().filter(|(_, usage)| !usage.total.is_empty()).map(|(handle, usage)| BelowUsage {
            frame: FrameLine::of(tree, handle),
            total: Sums::of(usage.total, prices),
        });
        Self {
            frame: frame.map(|frame| FrameLine::of(tree, frame)),
            own: own.map(|own| Sums::of(own, prices)),
            total: Sums::of(total, prices),
            below: below.collect(),
            total_cost_micro_usd,
            limits: frame.and_then(|frame| tree.node(frame).record().limits.as_deref().cloned()),
            has_prices: prices.is_some(),
        }
    }
}

impl Sums {
    fn of(usage: Vec<ModelUsage>, prices: Option<&Prices>) -> Self {
        let total_cost = prices.map(|prices| prices.total(&usage));
        let sum = |usage: ModelUsage| ModelSum { cost: prices.and_then(|prices| prices.cost(&usage)), usage };
        Self { models: usage.into_iter().map(sum).collect(), total_cost }
    }

    /// All models together.
    fn sum(&self) -> ModelUsage {
        self.models.iter().map(|model| &model.usage).sum()
    }
}

impl Report for Usage {
    const KIND: &'static str = "usage";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if let Some(frame) = &self.frame {
            page.line(frame.line(0))?;
        }
        if let Some(limits) = self.limits.as_ref().map(ToString::to_string).filter(|limits| !limits.is_empty()) {
            page.line(Line::new().plain("Limits: ").said(&limits))?;
        }
        if self.total.models.is_empty() {
            page.line(Line::new().plain("No request to a model was recorded."))?;
            return self.cost(page);
        }
        if let Some(own) = self.own.as_ref().filter(|_| !self.below.is_empty()) {
            page.line(Line::new().styled(EMPHASIS, "The frame itself"))?;
            self.table(page, own)?;
            page.gap()?;
            page.line(Line::new().styled(EMPHASIS, "With everything below"))?;
        }
        self.table(page, &self.total)?;
        let is_one_tree = self.frame.is_none() && self.below.len() == 1;
        if !self.below.is_empty() && !is_one_tree {
            page.gap()?;
            page.line(Line::new().styled(EMPHASIS, if self.frame.is_some() { "Below" } else { "Trees" }))?;
            let rows: Vec<Row> = self
                .below
                .iter()
                .map(|below| self.row(&below.frame.plain(), &below.total.sum(), below.total.cost_text()))
                .collect();
            table::write(page, self.columns(), &rows)?;
        }
        self.cost(page)
    }
}

const COLUMNS: [&str; 8] = ["requests", "uncached", "cache read", "written", "output", "reasoning", "time", "cost"];

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Writes the cost, if hosts have told one.
    fn cost(&self, page: &mut Page<'_>) -> io::Result<()> {
        match self.total_cost_micro_usd {
            0 => Ok(()),
            cost => page.line(Line::new().plain(format!("Cost as reported by hosts: {}", us_dollars(cost)))),
        }
    }

    fn columns(&self) -> &'static [&'static str] {
        if self.has_prices { &COLUMNS } else { &COLUMNS[..COLUMNS.len() - 1] }
    }

    fn table(&self, page: &mut Page<'_>, sums: &Sums) -> io::Result<()> {
        if sums.models.is_empty() {
            return page.line(Line::new().plain("no requests"));
        }
        let cost = |model: &ModelSum| model.cost.map_or("?".to_owned(), money);
        let mut rows: Vec<Row> =
            sums.models.iter().map(|model| self.row(&name_of(&model.usage), &model.usage, cost(model))).collect();
        if sums.models.len() > 1 {
            rows.push(self.row("total", &sums.sum(), sums.cost_text()));
        }
        table::write(page, self.columns(), &rows)
    }

    fn row(&self, label: &str, usage: &ModelUsage, cost: String) -> Row {
        let failed = if usage.failed > 0 { format!(" ({} failed)", number(usage.failed)) } else { String::new() };
        let mut cells = vec![format!("{}{failed}", number(usage.requests))];
        cells.extend(
            [usage.uncached_input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning].map(number),
        );
        cells.push(duration(usage.duration));
        if self.has_prices {
            cells.push(cost);
        }
        Row { label: label.to_owned(), cells }
    }
}

impl Sums {
    /// The cost of all models. If a part of it is not known, the text says so.
    fn cost_text(&self) -> String {
        match self.total_cost {
            None => String::new(),
            Some(TotalCost { known, is_complete: true, .. }) => money(known),
            Some(TotalCost { known, .. }) if known > 0.0 => format!("{} + ?", money(known)),
            Some(_) => "?".to_owned(),
        }
    }
}

fn name_of(usage: &ModelUsage) -> String {
    let name = one_line(&usage.model);
    if name.is_empty() { "(unknown model)".to_owned() } else { name }
}

/// The sums of all models in a line; `None` if there were no requests.
pub fn requests_in_words(models: &[ModelUsage]) -> Option<String> {
    let sum: ModelUsage = models.iter().sum();
    let failed = if sum.failed > 0 { format!(" ({} failed)", number(sum.failed)) } else { String::new() };
    let requests = count(usize::try_from(sum.requests).unwrap_or(usize::MAX), "request");
    (sum.requests > 0)
        .then(|| format!("{requests}{failed}, {} tokens in, {} out", number(sum.input()), number(sum.answer())))
}

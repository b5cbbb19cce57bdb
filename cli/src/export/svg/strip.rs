//! The strip of the requests: how many prompt tokens they had over time, and how many of these came from a
//! cache.

use callstack_core::FrameStatus;
use callstack_core::context::escape;
use callstack_core::frame::ModelUsage;

use super::{MARGIN, Scale, WIDTH, draw_sign, percent, rectangle, text};
use crate::chart::Chart;
use crate::output::{count, duration, number};

/// The width of a column with the gap after it.
const COLUMN: f64 = 8.0;
const GAP: f64 = 1.0;
pub const HEADING: f64 = 20.0;
const HEIGHT: f64 = 60.0;
pub const BOTTOM: f64 = 12.0;

/// The requests that ended in a part of the run.
#[derive(Clone, Default)]
struct Column {
    requests: usize,
    failed: usize,
    input: u64,
    cached: u64,
}

/// Draws the strip. Returns its height, which is 0 without requests.
pub fn draw(chart: &Chart, scale: &Scale, top: f64) -> (String, f64) {
    if chart.requests.is_empty() {
        return (String::new(), 0.0);
    }
    let columns = columns(chart, scale);
    let largest = columns.iter().map(|column| column.input).max().unwrap_or(0);
    let span = scale.length / columns.len().max(1) as u64;
    let heading = match largest {
        0 => "Requests".to_owned(),
        _ => format!("Prompt tokens of requests, up to {} per {}", number(largest), duration(span)),
    };
    let base = top + HEADING + HEIGHT;
    let mut drawn = text(MARGIN, top + 12.0, "faint", &heading);
    drawn.push('\n');
    for (place, column) in columns.iter().enumerate().filter(|(_, column)| column.requests > 0) {
        let x = MARGIN + place as f64 * COLUMN;
        drawn.push_str(&draw_column(column, x, base, largest));
    }
    drawn.push_str(&format!("<path class=\"grid\" d=\"M{MARGIN} {base}H{}\"/>\n", WIDTH - MARGIN));
    (drawn, HEADING + HEIGHT + BOTTOM)
}

fn columns(chart: &Chart, scale: &Scale) -> Vec<Column> {
    let number = ((WIDTH - 2.0 * MARGIN) / COLUMN) as usize;
    let mut columns = vec![Column::default(); number];
    for timed in &chart.requests {
        let place = ((scale.x(timed.ended_at) - MARGIN) / COLUMN) as usize;
        let Some(column) = columns.get_mut(place.min(number - 1)) else { continue };
        let request = &timed.request;
        column.requests += 1;
        column.failed += usize::from(request.failed);
        column.input = column.input.saturating_add(ModelUsage::from(request).input());
        column.cached = column.cached.saturating_add(request.cache_read);
    }
    columns
}

fn draw_column(column: &Column, x: f64, base: f64, largest: u64) -> String {
    let height = |tokens: u64| tokens as f64 / largest.max(1) as f64 * HEIGHT;
    let (all, cached) = (height(column.input), height(column.cached.min(column.input)));
    let share = percent(column.cached, column.input).map(|share| format!(", {share} % cached")).unwrap_or_default();
    let failed = if column.failed > 0 { format!(" ({} failed)", number(column.failed as u64)) } else { String::new() };
    let words = format!("{}{failed}, {} tokens in{share}", count(column.requests, "request"), number(column.input));
    let width = COLUMN - GAP;
    let mut drawn = format!("<g><title>{}</title>", escape(&words));
    if cached > 0.0 {
        drawn.push_str(&rectangle("cached", x, base - cached, width, cached, 0.0));
    }
    if all > cached {
        drawn.push_str(&rectangle("not-cached", x, base - all, width, all - cached, 0.0));
    }
    if column.failed > 0 {
        drawn.push_str(&draw_sign(FrameStatus::Failed, x - 1.5, base - all - 11.0));
    }
    drawn.push_str("</g>\n");
    drawn
}

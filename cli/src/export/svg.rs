//! A picture of a run for documents: the bars of the frames over time, and below them the prompt tokens of
//! the requests with their cached share. It has no scripts and no fonts of its own, and follows the reader's
//! choice of light or dark.

mod axis;
mod strip;

use callstack_core::FrameStatus;
use callstack_core::context::escape;
use callstack_core::frame::ModelUsage;
use callstack_core::text::one_line;
use unicode_width::UnicodeWidthChar;

use super::{Run, label};
use crate::chart::palette::{self, Color};
use crate::chart::{Bar, Chart, ChartFrame};
use crate::output::{count, duration, number, timestamp};

const WIDTH: f64 = 1000.0;
const MARGIN: f64 = 16.0;
const TOP: f64 = 88.0;
const ROW_HEIGHT: f64 = 26.0;
const BAR_HEIGHT: f64 = 22.0;
const LEGEND_ROW_HEIGHT: f64 = 22.0;
/// Rows below these are left out.
const MOST_ROWS: usize = 32;
/// Shorter bars are drawn with this width.
const LEAST_WIDTH: f64 = 1.0;
/// An outline would hide the colour of bars that are narrower than this.
const LEAST_OUTLINED: f64 = 6.0;
/// The width of a sign with the blanks around it.
const SIGN_WIDTH: f64 = 18.0;

/// The order of the legend.
const STATUSES: [FrameStatus; 6] = [
    FrameStatus::Completed,
    FrameStatus::InProgress,
    FrameStatus::Blocked,
    FrameStatus::Failed,
    FrameStatus::Invalidated,
    FrameStatus::Planned,
];

/// The signs of the statuses, as paths in a square of 10 pixels.
const fn sign(status: FrameStatus) -> &'static str {
    match status {
        FrameStatus::Planned => "M5 2a3 3 0 1 0 .01 0",
        FrameStatus::InProgress => "M3 1.5l5 3.5-5 3.5z",
        FrameStatus::Completed => "M1.5 5.5l2.5 2.5 4.5-6",
        FrameStatus::Failed => "M2 2l6 6M8 2l-6 6",
        FrameStatus::Blocked => "M3 3.3a2 2 0 1 1 3 1.7c-.7.4-1 .8-1 1.6M5 8.7v.01",
        FrameStatus::Invalidated => "M1.5 5h7",
    }
}

/// Where times are on the picture.
struct Scale {
    from: u64,
    length: u64,
}

impl Scale {
    fn of(chart: &Chart) -> Self {
        Self { from: chart.from, length: chart.to.saturating_sub(chart.from).max(1) }
    }

    fn x(&self, time: u64) -> f64 {
        self.x_after(time.saturating_sub(self.from))
    }

    /// The place of a time since the beginning of the run.
    fn x_after(&self, elapsed: u64) -> f64 {
        MARGIN + elapsed.min(self.length) as f64 / self.length as f64 * (WIDTH - 2.0 * MARGIN)
    }
}

/// The picture, as the text of an SVG file.
pub fn picture(run: &Run<'_>) -> String {
    let chart = run.chart;
    let scale = Scale::of(chart);
    let rows = chart.rows.min(MOST_ROWS);
    let bottom = TOP + rows as f64 * ROW_HEIGHT;
    let (bars, left_out) = bars(chart, &scale);
    let note = left_out.text();
    let note_height = if note.is_empty() { 0.0 } else { 22.0 };
    let strip_top = bottom + note_height + 8.0;
    let (strip, strip_height) = strip::draw(chart, &scale, strip_top);
    let legend_top = strip_top + strip_height;
    let (legend, legend_height) = legend(chart, legend_top + 8.0);
    let height = legend_top + legend_height + MARGIN;
    let has_begun = rows > 0 || !chart.requests.is_empty();
    let title = run.name();
    let summary = summary(run);
    let mut svg = head(height, &title, &summary);
    svg.push_str(&text(MARGIN, 30.0, "title", &shortened(&title, WIDTH - 2.0 * MARGIN, 18.0)));
    svg.push_str(&text(MARGIN, 50.0, "faint", &summary));
    if has_begun {
        let strip_lines = (strip_top + strip::HEADING, strip_top + strip_height - strip::BOTTOM);
        svg.push_str(&axis::draw(&scale, (TOP - 8.0, bottom), strip_lines));
    } else {
        svg.push_str(&text(MARGIN, TOP, "faint", "No frame has begun."));
    }
    svg.push_str(&bars);
    if !note.is_empty() {
        svg.push_str(&text(MARGIN, bottom + 14.0, "faint", &note));
    }
    svg.push_str(&strip);
    svg.push_str(&legend);
    svg.push_str("</svg>\n");
    svg
}

fn head(height: f64, title: &str, summary: &str) -> String {
    let (title, summary) = (escape(title), escape(summary));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-labelledby=\"callstack-title callstack-summary\">\n\
         <title id=\"callstack-title\">{title}</title>\n\
         <desc id=\"callstack-summary\">{summary}</desc>\n\
         <style>\n{}</style>\n\
         <defs>\n\
         <pattern id=\"callstack-hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><path class=\"hatch\" d=\"M1.5 0v6\"/></pattern>\n\
         {}</defs>\n\
         <rect class=\"background\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\"/>\n",
        style(),
        STATUSES.map(|status| format!("<path id=\"callstack-{status}\" d=\"{}\"/>\n", sign(status))).concat(),
    )
}

/// The rules of the style, first for light, then what differs in dark.
fn style() -> String {
    let fills = [("background", palette::BACKGROUND), ("cached", palette::CACHED), ("not-cached", palette::NOT_CACHED)];
    let colors = |pick: fn(Color) -> &'static str| {
        // A text has an edge in the colour of its bar, so that it can be read on a hatching.
        let statuses = STATUSES.map(|status| {
            let color = pick(palette::of_status(status));
            format!(".{status}{{fill:{color}}}\n.bar>title+.{status}~text{{stroke:{color}}}\n")
        });
        let fills = fills.map(|(class, color)| format!(".{class}{{fill:{}}}\n", pick(color)));
        format!(
            "text{{fill:{}}}\n.faint{{fill:{}}}\n.grid{{stroke:{}}}\n.sign,.hatch,.open{{stroke:{}}}\n\
             .outline{{stroke:{}}}\n{}{}",
            pick(palette::TEXT),
            pick(palette::FAINT_TEXT),
            pick(palette::GRID),
            pick(palette::INK),
            pick(palette::INK),
            statuses.concat(),
            fills.concat(),
        )
    };
    format!(
        "text{{font:12px -apple-system,\"Segoe UI\",\"Noto Sans\",\"DejaVu Sans\",Helvetica,Arial,sans-serif}}\n\
         .title{{font-size:16px;font-weight:600}}\n.sign,.hatch,.open,.grid{{fill:none}}\n\
         .bar>text{{stroke-width:3;stroke-linejoin:round;paint-order:stroke}}\n\
         .sign{{stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round}}\n.hatch{{stroke-width:1.5;opacity:.5}}\n\
         .open{{stroke-width:2;stroke-dasharray:3 2}}\n.invalidated.outline{{stroke-dasharray:2 2}}\n{}\
         @media (prefers-color-scheme:dark){{\n{}}}\n",
        colors(|color| color.light),
        colors(|color| color.dark),
    )
}

fn summary(run: &Run<'_>) -> String {
    let chart = run.chart;
    let usage = run.usage();
    let begun = chart.frames.iter().filter(|frame| frame.bar.is_some()).count();
    let mut parts = vec![count(chart.frames.len(), "frame")];
    if begun < chart.frames.len() {
        parts.push(format!("{} not begun", number((chart.frames.len() - begun) as u64)));
    }
    if usage.requests > 0 {
        let requests = count(usize::try_from(usage.requests).unwrap_or(usize::MAX), "request");
        parts.push(requests);
        let input = usage.input();
        let cached = percent(usage.cache_read, input).map(|cached| format!(" ({cached} % cached)")).unwrap_or_default();
        parts.push(format!("{} tokens in{cached}, {} out", number(input), number(usage.answer())));
    }
    if chart.to > chart.from {
        parts.push(duration(chart.to - chart.from));
    }
    if let Some(begin) = timestamp(chart.from).filter(|_| chart.from > 0) {
        parts.push(format!("from {} UTC", begin.strftime("%Y-%m-%d %H:%M")));
    }
    parts.join(" · ")
}

/// A share in percent, rounded; `None` if the whole is nothing.
fn percent(part: u64, whole: u64) -> Option<u64> {
    let rounded = || (u128::from(part) * 100 + u128::from(whole) / 2) / u128::from(whole);
    (whole > 0).then(|| u64::try_from(rounded()).unwrap_or(100))
}

/// The numbers of frames that the picture does not show.
#[derive(Default)]
struct LeftOut {
    /// Frames on the rows below the last one.
    below: usize,
    /// Frames whose bars would be hidden by the bar before them, because both are within the same pixel.
    covered: usize,
}

impl LeftOut {
    fn text(&self) -> String {
        let below = (self.below > 0).then(|| format!("{} on rows further down", count(self.below, "frame")));
        let covered = (self.covered > 0).then(|| format!("{} too short to be seen", count(self.covered, "frame")));
        let parts: Vec<String> = below.into_iter().chain(covered).collect();
        if parts.is_empty() { String::new() } else { format!("Left out: {}", parts.join(", ")) }
    }
}

fn bars(chart: &Chart, scale: &Scale) -> (String, LeftOut) {
    let mut bars: Vec<(&ChartFrame, &Bar)> =
        chart.frames.iter().filter_map(|frame| Some((frame, frame.bar.as_ref()?))).collect();
    bars.sort_by_key(|(_, bar)| (bar.row, bar.from));
    let mut left_out = LeftOut::default();
    let mut drawn = String::new();
    // The row of the previous bar, and where that bar ends.
    let mut before = (usize::MAX, 0.0);
    for (frame, bar) in bars {
        if bar.row >= MOST_ROWS {
            left_out.below += 1;
            continue;
        }
        let (x, end) = (scale.x(bar.from), scale.x(bar.to));
        // A failed frame is never left out.
        let is_covered = before.0 == bar.row && end <= before.1 && frame.status != FrameStatus::Failed;
        if is_covered {
            left_out.covered += 1;
            continue;
        }
        let width = (end - x).max(LEAST_WIDTH);
        before = (bar.row, x + width);
        drawn.push_str(&draw_bar(frame, bar, scale, x, width));
    }
    (drawn, left_out)
}

fn draw_bar(frame: &ChartFrame, bar: &Bar, scale: &Scale, x: f64, width: f64) -> String {
    let y = TOP + bar.row as f64 * ROW_HEIGHT;
    let status = frame.status;
    // Neighbours have a gap if there is room for it.
    let inner = if width > 4.0 { width - 1.0 } else { width };
    let mut drawn = format!("<g class=\"bar\"><title>{}</title>", escape(&description(frame, bar)));
    let class = if inner > LEAST_OUTLINED { bar_class(status) } else { status.as_str() };
    drawn.push_str(&rectangle(class, x, y, inner, BAR_HEIGHT, 3.0));
    for span in &bar.blocked {
        let (from, to) = (scale.x(span.from), scale.x(span.to.unwrap_or(bar.to)).min(x + inner));
        if to > from {
            drawn.push_str(&rectangle("blocked", from, y, to - from, BAR_HEIGHT, 0.0));
            drawn.push_str(&hatching(from, y, to - from, BAR_HEIGHT));
        }
    }
    if bar.is_open && inner > 2.0 {
        drawn.push_str(&format!("<path class=\"open\" d=\"M{:.1} {y}v{BAR_HEIGHT}\"/>", x + inner - 1.0));
    }
    if inner > SIGN_WIDTH {
        drawn.push_str(&draw_sign(status, x + 5.0, y + 6.0));
        let name = bar_name(frame, inner - SIGN_WIDTH - 3.0);
        if !name.is_empty() {
            drawn.push_str(&text(x + SIGN_WIDTH, y + 15.5, "", &name));
        }
    }
    drawn.push_str("</g>\n");
    drawn
}

/// The handle, and as much of the title as there is room for.
fn bar_name(frame: &ChartFrame, room: f64) -> String {
    let handle = frame.handle.to_string();
    let name = shortened(&label(frame.handle, &frame.title), room, 12.0);
    // A title of one letter says nothing.
    match name.ends_with('…') && name.chars().count() < handle.len() + 4 {
        true => shortened(&handle, room, 12.0),
        false => name,
    }
}

/// The text that browsers show when the pointer rests on a bar.
fn description(frame: &ChartFrame, bar: &Bar) -> String {
    let own = frame.usage.own.iter().map(|usage| usage.requests).fold(0, u64::saturating_add);
    let mut parts = vec![frame.status.to_string(), duration(bar.to - bar.from)];
    if bar.is_open {
        parts.push("not ended".to_owned());
    }
    if own > 0 {
        let sum: ModelUsage = frame.usage.own.iter().sum();
        let requests = count(usize::try_from(own).unwrap_or(usize::MAX), "request");
        parts.push(format!("{requests}, {} tokens in, {} out", number(sum.input()), number(sum.answer())));
    }
    format!("{} — {}", label(frame.handle, &frame.title), parts.join(", "))
}

/// The meaning of the colours and signs that the picture has. Also returns its height.
fn legend(chart: &Chart, top: f64) -> (String, f64) {
    let (mut x, mut y) = (MARGIN, top);
    let mut drawn = String::new();
    let mut entry = |swatch: &dyn Fn(f64, f64) -> String, name: &str| {
        let width = 22.0 + text_width(name, 12.0);
        if x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + LEGEND_ROW_HEIGHT);
        }
        drawn.push_str(&swatch(x, y));
        drawn.push_str(&text(x + 22.0, y + 12.0, "faint", name));
        drawn.push('\n');
        x += width + 16.0;
    };
    let bars = || chart.frames.iter().filter_map(|frame| Some((frame, frame.bar.as_ref()?)));
    for status in STATUSES {
        if bars().any(|(frame, _)| frame.status == status) {
            let swatch =
                |x, y| rectangle(bar_class(status), x, y, 16.0, 16.0, 3.0) + &draw_sign(status, x + 3.0, y + 3.0);
            entry(&swatch, &status.to_string().replace('_', " "));
        }
    }
    if bars().any(|(_, bar)| !bar.blocked.is_empty()) {
        let hatched = |x: f64, y: f64| rectangle("blocked", x, y, 16.0, 16.0, 0.0) + &hatching(x, y, 16.0, 16.0);
        entry(&hatched, "was blocked");
    }
    if !chart.requests.is_empty() {
        entry(&|x, y| rectangle("not-cached", x, y, 16.0, 16.0, 0.0), "prompt tokens, not cached");
        entry(&|x, y| rectangle("cached", x, y, 16.0, 16.0, 0.0), "read from a cache");
    }
    if chart.requests.iter().any(|request| request.request.failed) {
        entry(&|x, y| draw_sign(FrameStatus::Failed, x + 3.0, y + 3.0), "failed request");
    }
    let height = if drawn.is_empty() { 0.0 } else { y + LEGEND_ROW_HEIGHT - top };
    (drawn, height)
}

/// Frames that are not as they should be have an outline.
const fn bar_class(status: FrameStatus) -> &'static str {
    match status {
        FrameStatus::Failed => "failed outline",
        FrameStatus::Invalidated => "invalidated outline",
        _ => status.as_str(),
    }
}

fn draw_sign(status: FrameStatus, x: f64, y: f64) -> String {
    format!("<use class=\"sign\" href=\"#callstack-{status}\" x=\"{x:.1}\" y=\"{y:.1}\"/>")
}

fn hatching(x: f64, y: f64, width: f64, height: f64) -> String {
    format!(
        "<rect fill=\"url(#callstack-hatch)\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
    )
}

fn rectangle(class: &str, x: f64, y: f64, width: f64, height: f64, radius: f64) -> String {
    let radius = radius.min(width / 2.0);
    let round = if radius > 0.0 { format!(" rx=\"{radius:.1}\"") } else { String::new() };
    format!("<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"{round}/>")
}

fn text(x: f64, y: f64, class: &str, content: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(content))
}

/// The beginning of a text that fits into a width. Fonts differ, so the characters are assumed to be rather
/// wide.
fn shortened(content: &str, room: f64, size: f64) -> String {
    let line = one_line(content);
    if text_width(&line, size) <= room {
        return line;
    }
    let mut left = room - text_width("…", size);
    let fits = line.chars().take_while(|character| {
        left -= character_width(*character) * size;
        left >= 0.0
    });
    match fits.count() {
        // A shorter text says nothing.
        0..=2 => String::new(),
        shown => format!("{}…", line.chars().take(shown).collect::<String>().trim_end()),
    }
}

fn text_width(content: &str, size: f64) -> f64 {
    content.chars().map(character_width).sum::<f64>() * size
}

/// The width of a character, as a part of the size of the font.
fn character_width(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')' | '[' | ']' => {
            0.4
        }
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' | '—' => 1.0,
        'A'..='Z' => 0.7,
        ' '..='~' => 0.6,
        _ if character.width() == Some(2) => 1.1,
        _ => 0.75,
    }
}

//! The surroundings of the panes: the header, the lines between the parts, the prompt, and the line of the
//! keys.

use callstack_core::{FrameStatus, Tree};
use ratatui::layout::{Position, Rect};

use super::super::canvas::Canvas;
use super::super::filter::Filter;
use super::super::layout::{Layout, WITH_MARGIN};
use super::super::palette::ALERT;
use super::super::prompt::{MARGIN, MARK, Prompt};
use super::super::refusal::TROUBLE;
use super::super::screen::Screen;
use super::super::short::amount;
use super::super::view::Notice;
use super::tree;
use crate::output::{EMPHASIS, FAINT, Line, number, of_status};

/// Below this width the header leaves out what the tree shows too.
const NARROW: u16 = 60;

/// The end of the last line while keys are discarded.
const RESTING: &str = "keys rest";

/// The statuses in the header, the most urgent first.
const COUNTED: [FrameStatus; 6] = [
    FrameStatus::InProgress,
    FrameStatus::Blocked,
    FrameStatus::Planned,
    FrameStatus::Completed,
    FrameStatus::Failed,
    FrameStatus::Invalidated,
];

/// The keys in the last line, the most important first.
const KEYS: [(&str, &str); 17] = [
    ("?", "help"),
    ("q", "quit"),
    ("/", "search"),
    ("s", "filter"),
    ("a", "answer"),
    ("x", "stop"),
    ("r", "retry"),
    ("i", "invalidate"),
    ("d", "done"),
    ("b", "begin"),
    ("p", "plan"),
    ("e", "edit"),
    ("u", "undo"),
    ("f", "follow"),
    ("c", "at work"),
    ("v", "view"),
    ("Tab", "details"),
];

pub fn header(screen: &Screen<'_>, layout: &Layout, canvas: &mut Canvas<'_>) {
    let rows = &screen.view.rows;
    let area = inset(layout.header);
    let name = Line::new().styled(EMPHASIS, "callstack").styled(FAINT, format!("  {}", screen.name));
    let waiting = match (&screen.trouble, rows.waiting) {
        (Some(_), _) => Line::new().styled(TROUBLE.invert(), " cannot read the stack "),
        (None, 0) if area.width < NARROW => Line::new(),
        (None, 0) => Line::new().styled(FAINT, "nothing waits for you"),
        (None, 1) => Line::new().styled(ALERT.invert(), " 1 waits for you "),
        (None, several) => Line::new().styled(ALERT.invert(), format!(" {several} wait for you ")),
    };
    canvas.line_with_end(area, name, waiting);
    if area.height < 2 {
        return;
    }
    let tokens = format!("{} tokens", amount(rows.tokens));
    let with_revision = format!("{tokens}   revision {}", screen.revision());
    // The names of the statuses say more than the revision.
    let room = usize::from(area.width);
    let no_end = String::new();
    let forms = [(true, &with_revision), (true, &tokens), (false, &with_revision), (false, &tokens)];
    let forms = forms.into_iter().map(|(is_named, end)| (counts(screen, is_named), end));
    let fitting = forms.into_iter().find(|(counts, end)| counts.width() + 2 + end.len() <= room);
    let (counts, end) = fitting.unwrap_or_else(|| (counts(screen, false), &no_end));
    canvas.line_with_end(Rect { y: area.y + 1, ..area }, counts, Line::new().styled(FAINT, end.as_str()));
}

/// The number of frames of each status.
fn counts(screen: &Screen<'_>, is_named: bool) -> Line {
    let rows = &screen.view.rows;
    let mut counts = Line::new();
    for status in COUNTED.into_iter().filter(|status| rows.count(*status) > 0) {
        let frames = number(u64::try_from(rows.count(status)).unwrap_or(u64::MAX));
        let gap = match (counts.width(), is_named) {
            (0, _) => "",
            (_, true) => "  ",
            (_, false) => " ",
        };
        counts = counts.plain(gap).styled(of_status(status), status.mark()).plain(format!(" {frames}"));
        if is_named {
            counts = counts.plain(format!(" {}", status.as_str()));
        }
    }
    match rows.frames() {
        0 => counts.plain("no frames yet"),
        _ => counts,
    }
}

/// An area without the columns at its edges.
fn inset(area: Rect) -> Rect {
    let margin = u16::from(area.width >= WITH_MARGIN);
    Rect { x: area.x + margin, width: area.width - 2 * margin, ..area }
}

/// Draws the lines between the parts, with what is shown of the tree and of the text.
pub fn rules(screen: &Screen<'_>, layout: &Layout, canvas: &mut Canvas<'_>) {
    let view = &screen.view;
    if let Some(divider) = layout.divider {
        canvas.divider(divider);
    }
    let rules = [(layout.upper_rule, "┬"), (layout.lower_rule, "┴")];
    for (area, joint) in rules.into_iter().filter_map(|(area, joint)| Some((area?, joint))) {
        canvas.rule(area);
        if let Some(divider) = layout.divider {
            canvas.joint(divider.x, area.y, joint);
        }
    }
    if let Some((area, tree)) = layout.upper_rule.zip(layout.tree) {
        let heading = Rect { x: tree.x + 1, width: tree.width.saturating_sub(2), ..area };
        if view.chosen.filter != Filter::Plan {
            canvas.line(heading, Line::new().styled(ALERT, format!(" {} ", view.chosen.filter.heading())));
        } else if view.chosen.follows {
            canvas.line(heading, Line::new().styled(FAINT, " follows the active frame "));
        }
        tree::columns(Rect { y: area.y, height: 1, ..tree }, canvas);
    }
    let Some(area) = layout.lower_rule else { return };
    if let Some(tree) = layout.tree {
        let rows = view.rows.rows.len();
        if rows > view.height {
            let place = view.place.map_or(0, |place| place + 1);
            place_at_end(Rect { y: area.y, height: 1, ..tree }, &format!(" {place} of {rows} "), canvas);
        }
    }
    if let Some(details) = layout.details {
        let (lines, height) = (screen.details.lines().len(), usize::from(layout.text().height));
        if lines > height {
            let last = (view.scroll + height).min(lines);
            let text = format!(" {}-{last} of {lines} ", view.scroll + 1);
            place_at_end(Rect { y: area.y, height: 1, ..details }, &text, canvas);
        }
    }
}

fn place_at_end(area: Rect, text: &str, canvas: &mut Canvas<'_>) {
    let width = u16::try_from(text.len()).unwrap_or(u16::MAX).min(area.width);
    let x = area.right().saturating_sub(width + 1).max(area.x);
    canvas.line(Rect { x, width, ..area }, Line::new().styled(FAINT, text));
}

/// Draws the last line: what has happened, or the keys.
pub fn footer(screen: &Screen<'_>, layout: &Layout, canvas: &mut Canvas<'_>) {
    let view = &screen.view;
    let area = inset(layout.footer);
    let rest = if screen.quiet.is_over() { Line::new() } else { Line::new().styled(FAINT, RESTING) };
    if let Some(Notice::Said(text)) = &view.notice {
        return canvas.line_with_end(area, Line::new().said(text), rest);
    }
    // Longer refusals are at the place of the prompt.
    let is_elsewhere = !screen.refusal_lines(usize::from(layout.whole.width)).is_empty();
    if let Some(refusal) = screen.current_refusal().filter(|_| view.sheet.is_some() || !is_elsewhere) {
        return canvas.line_with_end(area, refusal.line(), rest);
    }
    let keys = match &view.prompt {
        Some(prompt) => keys(prompt.keys(), usize::from(area.width)),
        None if view.sheet.is_some() => {
            let (lines, height) = screen.sheet_extent(layout);
            let all: &[(&str, &str)] = match lines > height {
                true => &[("↑ ↓", "scroll"), ("any other key", "back")],
                false => &[("any key", "back")],
            };
            keys(all, usize::from(area.width))
        }
        None if view.is_in_details() && layout.tree.is_none() => keys(
            &[("Esc", "tree"), ("q", "quit"), ("← →", "view"), ("↑ ↓", "scroll"), ("a", "answer"), ("?", "help")],
            usize::from(area.width),
        ),
        None => {
            let waiting = (view.rows.waiting > 0).then_some(("w", "waiting"));
            let mut all: Vec<(&str, &str)> = waiting.into_iter().chain(KEYS).collect();
            if area.width < NARROW {
                // There must be room for the key that ends the program.
                all.sort_by_key(|(key, _)| *key != "q");
            }
            keys(&all, usize::from(area.width))
        }
    };
    // Without lines between the parts, this is the place of the filter.
    let filter = match layout.upper_rule {
        None if view.chosen.filter != Filter::Plan => Line::new().styled(ALERT, view.chosen.filter.heading()),
        _ => Line::new(),
    };
    let end = if screen.quiet.is_over() { filter } else { rest };
    canvas.line_with_end(area, keys, end);
}

/// Keys with what they do, as many as there is room for.
fn keys(all: &[(&str, &str)], room: usize) -> Line {
    let mut line = Line::new();
    for (key, meaning) in all {
        let gap = if line.width() > 0 { "   " } else { "" };
        let next = Line::new().plain(gap).styled(EMPHASIS, *key).styled(FAINT, format!(" {meaning}"));
        if line.width() + next.width() > room {
            break;
        }
        line = line.followed_by(next);
    }
    line
}

/// Draws a refusal at the place of the prompt.
pub fn refusal(screen: &Screen<'_>, area: Rect, canvas: &mut Canvas<'_>) {
    canvas.clear(area);
    canvas.rule(area);
    let inner = below_rule(area);
    for (line, y) in screen.refusal_lines(usize::from(area.width)).into_iter().zip(inner.top()..inner.bottom()) {
        canvas.line(Rect { y, height: 1, ..inner }, line);
    }
}

/// The area of the lines of a prompt.
fn below_rule(area: Rect) -> Rect {
    let margin = u16::try_from(MARGIN).unwrap_or_default();
    Rect {
        x: area.x + margin,
        y: area.y + 1,
        width: area.width.saturating_sub(2 * margin),
        height: area.height.saturating_sub(1),
    }
}

/// Draws the prompt. Returns the place of the cursor.
pub fn prompt(prompt: &Prompt, tree: &Tree, area: Rect, canvas: &mut Canvas<'_>) -> Option<Position> {
    if area.is_empty() {
        return None;
    }
    canvas.clear(area);
    canvas.rule(area);
    let heading = Line::new().styled(ALERT, format!(" {} ", prompt.heading(tree)));
    canvas.line(Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area }, heading);
    let inner = below_rule(area);
    let width = usize::from(inner.width);
    let (typed, row, column) =
        prompt.input().map_or((Vec::new(), 0, 0), |input| input.layout(width.saturating_sub(MARK)));
    // The typed text has at least half of the room.
    let height = usize::from(inner.height);
    let for_typing = if prompt.input().is_some() { typed.len().min((height / 2).max(1)) } else { 0 };
    let (lines, is_whole) = prompt.explained(width, height.saturating_sub(for_typing));
    let mut rest = inner;
    let shown = lines.len();
    for (index, line) in lines.into_iter().enumerate() {
        let line = if !is_whole && index + 1 == shown { line.cut(width.saturating_sub(2)).plain(" …") } else { line };
        canvas.line(Rect { height: 1, ..rest }, line);
        rest = Rect { y: rest.y + 1, height: rest.height.saturating_sub(1), ..rest };
    }
    prompt.input()?;
    let height = usize::from(rest.height);
    let first = (row + 1).saturating_sub(height);
    for (line, y) in typed.iter().enumerate().skip(first).take(height).zip(rest.y..) {
        let mark = if line.0 == 0 { "> " } else { "  " };
        canvas.line(Rect { y, height: 1, ..rest }, Line::new().styled(EMPHASIS, mark).plain(line.1.as_str()));
    }
    let column = u16::try_from(column + 2).unwrap_or(u16::MAX);
    let row = u16::try_from(row.saturating_sub(first)).unwrap_or(u16::MAX);
    Some(Position::new(rest.x.saturating_add(column).min(area.right().saturating_sub(1)), rest.y.saturating_add(row)))
}

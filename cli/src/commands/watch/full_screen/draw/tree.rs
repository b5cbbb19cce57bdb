//! The pane of the tree.

use callstack_core::{FrameStatus, Handle, Tree};
use ratatui::layout::Rect;

use super::super::canvas::Canvas;
use super::super::filter::{Filter, waits_for_person};
use super::super::palette::ALERT;
use super::super::rows::{Fold, Row};
use super::super::screen::Screen;
use super::super::short::{self, age, amount};
use super::super::view::matches;
use crate::output::{EMPHASIS, FAINT, Line, Lines, Page, count, of_status};

/// Maximum number of levels that are drawn as indentation. Deeper rows state their level.
const INDENTED_LEVELS: usize = 24;
/// The room of a row in addition to its indentation, in columns.
const LEAST_ROOM: usize = 44;
/// The width of a level, in columns.
const BRANCH: usize = 2;
/// The width of a number at the end of a row.
const NUMBER: usize = 6;
/// From the first of these widths on rows have their age, and from the second one on their tokens.
const WITH_AGE: u16 = 30;
const WITH_TOKENS: u16 = 44;
/// The columns that a title keeps before the remarks after it are left out.
const LEAST_TITLE: usize = 16;
/// Maximum number of dependencies that a row names.
const NAMED: usize = 3;

pub fn draw(screen: &Screen<'_>, area: Rect, rows: Rect, canvas: &mut Canvas<'_>) {
    let view = &screen.view;
    if view.rows.rows.is_empty() {
        let mut lines = Lines::at_most(usize::from(area.height));
        // Lines that do not fit are not needed.
        let _ = Page::collecting(&mut lines, usize::from(area.width.saturating_sub(2))).text(0, &nothing(screen));
        for (line, y) in lines.lines.into_iter().zip(area.y..) {
            canvas.line(Rect { x: area.x + 1, y, width: area.width.saturating_sub(2), height: 1 }, line);
        }
        return;
    }
    // If a frame cannot be read, the last line tells this trouble.
    let _ = screen.stack.read(|tree| {
        for (place, y) in (view.top..view.rows.rows.len()).zip(rows.top()..rows.bottom()) {
            let line = Rect { y, height: 1, ..rows };
            let row = view.rows.rows[place];
            canvas.line_with_end(
                inner(line),
                title(screen, tree, place, line.width),
                numbers(screen, tree, row, line.width),
            );
            if view.chosen.selected == Some(row.handle) {
                canvas.select(line, view.is_in_details());
            }
        }
    });
}

/// Says that there is nothing to show, and what to do.
fn nothing(screen: &Screen<'_>) -> String {
    let frames = screen.view.rows.frames();
    let none = match screen.view.chosen.filter {
        _ if frames == 0 => return "No frames yet. They appear here as soon as one begins.".to_owned(),
        Filter::Waiting => "No frame waits for you.".to_owned(),
        filter => format!("No frame is {filter}."),
    };
    format!("{none} 0 shows all {}.", count(frames, "frame"))
}

/// The names of the numbers at the end of the rows.
pub fn columns(area: Rect, canvas: &mut Canvas<'_>) {
    let names = match area.width {
        WITH_TOKENS.. => " tokens  age ",
        WITH_AGE.. => "  age ",
        _ => return,
    };
    let width = u16::try_from(names.len()).unwrap_or(u16::MAX).min(area.width);
    canvas.line(Rect { x: area.right() - width, width, ..area }, Line::new().styled(FAINT, names));
}

/// A row without the columns at its edges.
fn inner(line: Rect) -> Rect {
    let margin = u16::from(line.width >= WITH_AGE);
    Rect { x: line.x + margin, width: line.width - 2 * margin, ..line }
}

/// The frame of a row, cut to its room.
fn title(screen: &Screen<'_>, tree: &Tree, place: usize, width: u16) -> Line {
    let row = screen.view.rows.rows[place];
    let node = tree.node(row.handle);
    let status = node.status();
    let style = if row.is_chosen { of_status(status) } else { FAINT };
    let mut line = branch(screen, place, width).styled(style, status.mark()).plain(format!(" {} ", row.handle));
    let is_found = !screen.view.chosen.search.is_empty() && matches(tree, row.handle, &screen.view.chosen.search);
    let mut said = match status {
        FrameStatus::Blocked | FrameStatus::InProgress if row.is_chosen => style,
        FrameStatus::Invalidated => FAINT,
        _ if !row.is_chosen => FAINT,
        _ => anstyle::Style::new(),
    };
    if is_found {
        said = said.underline().bold();
    }
    let numbers = match width {
        WITH_TOKENS.. => 2 * NUMBER + 3,
        WITH_AGE.. => NUMBER + 3,
        _ => 0,
    };
    let room = usize::from(width).saturating_sub(line.width() + numbers);
    let remarks = remarks(tree, row, room.saturating_sub(LEAST_TITLE));
    let title = Line::new().styled(said, short::title(tree, row.handle));
    line = line.followed_by(title.cut(room.saturating_sub(remarks.width())));
    line.followed_by(remarks)
}

/// The remarks after a title, the most important first, as far as there is room.
fn remarks(tree: &Tree, row: Row, room: usize) -> Line {
    let node = tree.node(row.handle);
    let record = node.record();
    let mut remarks: Vec<(anstyle::Style, String)> = Vec::new();
    if waits_for_person(tree, row.handle) {
        remarks.push((ALERT, "waits for you".to_owned()));
    } else if record.pending_answer().is_some() {
        remarks.push((EMPHASIS, "answered".to_owned()));
    }
    if record.is_interrupted() {
        remarks.push((ALERT, "interrupted".to_owned()));
    }
    if tree.active() == Some(row.handle) {
        remarks.push((EMPHASIS, "← active".to_owned()));
    }
    if let Some(next) = node.retried_as() {
        remarks.push((FAINT, format!("retried as {next}")));
    } else if node.attempt() > 1 {
        remarks.push((FAINT, format!("attempt {}", node.attempt())));
    }
    if node.status() == FrameStatus::Planned {
        let waits_for: Vec<Handle> = tree.unfinished_dependencies(row.handle).collect();
        if !waits_for.is_empty() {
            remarks.push((FAINT, format!("after {}", named(&waits_for))));
        }
    }
    if let Fold::Closed(below) = row.fold {
        remarks.push((FAINT, format!("+{below}")));
    }
    let mut line = Line::new();
    for (style, remark) in remarks {
        let next = Line::new().plain("  ").styled(style, remark);
        if line.width() + next.width() <= room {
            line = line.followed_by(next);
        }
    }
    line
}

fn named(frames: &[Handle]) -> String {
    let named: Vec<String> = frames.iter().take(NAMED).map(Handle::to_string).collect();
    let more = if frames.len() > NAMED { ", …" } else { "" };
    format!("{}{more}", named.join(", "))
}

/// The tokens and the age of a frame, to the right.
fn numbers(screen: &Screen<'_>, tree: &Tree, row: Row, width: u16) -> Line {
    let status = tree.node(row.handle).status();
    let aged = screen.times.age(row.handle, status, screen.now).map(age).unwrap_or_default();
    let style = match status {
        _ if waits_for_person(tree, row.handle) => ALERT,
        FrameStatus::InProgress => anstyle::Style::new(),
        _ => FAINT,
    };
    let line = Line::new();
    if width < WITH_AGE {
        return line;
    }
    let tokens = if row.tokens > 0 { amount(row.tokens) } else { String::new() };
    let line = if width >= WITH_TOKENS { line.styled(FAINT, format!("{tokens:>NUMBER$}")) } else { line };
    line.styled(style, format!("{aged:>NUMBER$}"))
}

/// The branches before a frame, and the mark of its fold.
fn branch(screen: &Screen<'_>, place: usize, width: u16) -> Line {
    let rows = &screen.view.rows.rows;
    let row = rows[place];
    let drawn = row.level.min((usize::from(width).saturating_sub(LEAST_ROOM) / BRANCH).clamp(2, INDENTED_LEVELS));
    // From the row upwards: whether each level continues below.
    let mut levels: Vec<&str> = Vec::with_capacity(drawn);
    let mut current = Some(place);
    while let Some(above) = current.map(|place| rows[place]).filter(|above| above.level > 0) {
        if above.level <= drawn {
            let is_own = above.level == row.level;
            levels.push(match (is_own, above.is_last) {
                (true, true) => "└─",
                (true, false) => "├─",
                (false, true) => "  ",
                (false, false) => "│ ",
            });
        }
        current = above.parent;
    }
    let branches: String = levels.into_iter().rev().collect();
    let fold = match row.fold {
        Fold::Open => "▾ ",
        Fold::Closed(_) => "▸ ",
        Fold::Leaf if row.level > 0 && row.level == drawn => "─ ",
        Fold::Leaf => "  ",
    };
    let line = Line::new().styled(FAINT, branches);
    match row.level > drawn {
        true => line.styled(FAINT, format!("{fold}level {} ", row.level)),
        false => line.styled(FAINT, fold),
    }
}

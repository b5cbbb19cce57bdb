//! A sheet, over everything else.

use ratatui::layout::Rect;

use super::super::canvas::Canvas;
use super::super::help;
use super::super::layout::Layout;
use super::super::screen::Screen;
use super::super::sheet::{Content, Sheet, area};
use crate::output::Line;

/// The largest width of the first of two columns.
const WIDEST: u16 = 50;

pub fn draw(screen: &Screen<'_>, sheet: Sheet, layout: &Layout, canvas: &mut Canvas<'_>) {
    let top = layout.header.bottom();
    canvas.clear(Rect { y: top, height: layout.footer.y.saturating_sub(top), ..layout.whole });
    if let Some(rule) = layout.upper_rule {
        canvas.rule(rule);
    }
    let area = area(layout);
    match sheet.of {
        Content::AtWork => {
            let copied = screen.at_work.lines().iter().map(Line::copied);
            lines(copied, sheet.first, area, canvas);
        }
        Content::Keys => {
            let columns = help::columns(area);
            let width = area.width / u16::try_from(columns.len()).unwrap_or(1);
            let width = if columns.len() > 1 { width.min(WIDEST) } else { width };
            for (column, x) in columns.into_iter().zip((area.left()..).step_by(usize::from(width.max(1)))) {
                let room = Rect { x, width: area.right().saturating_sub(x), ..area };
                lines(column.into_iter(), sheet.first, room, canvas);
            }
        }
    }
}

fn lines(lines: impl Iterator<Item = Line>, first: usize, room: Rect, canvas: &mut Canvas<'_>) {
    for (line, y) in lines.skip(first).zip(room.top()..room.bottom()) {
        canvas.line(Rect { y, height: 1, ..room }, line);
    }
}

//! The list of the keys, over everything else.

use ratatui::layout::Rect;

use super::super::canvas::Canvas;
use super::super::help::{area, columns};
use super::super::layout::Layout;

/// The largest width of the first of two columns.
const WIDEST: u16 = 50;

pub fn draw(first: usize, layout: &Layout, canvas: &mut Canvas<'_>) {
    let top = layout.header.bottom();
    canvas.clear(Rect { y: top, height: layout.footer.y.saturating_sub(top), ..layout.whole });
    if let Some(rule) = layout.upper_rule {
        canvas.rule(rule);
    }
    let area = area(layout);
    let columns = columns(area);
    let width = area.width / u16::try_from(columns.len()).unwrap_or(1);
    let width = if columns.len() > 1 { width.min(WIDEST) } else { width };
    for (lines, x) in columns.into_iter().zip((area.left()..).step_by(usize::from(width.max(1)))) {
        let room = Rect { x, width: area.right().saturating_sub(x), ..area };
        for (line, y) in lines.into_iter().skip(first).zip(room.top()..room.bottom()) {
            canvas.line(Rect { y, height: 1, ..room }, line);
        }
    }
}

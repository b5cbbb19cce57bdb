//! The list of the keys.

use ratatui::layout::Rect;

use super::super::canvas::Canvas;
use super::super::keys::HELP;
use super::super::layout::Layout;
use crate::output::{EMPHASIS, FAINT, Line};

/// The width of the keys, in columns.
const KEYS: usize = 12;
/// From this width on there are two columns of groups.
const TWO_COLUMNS: u16 = 76;

pub fn draw(layout: &Layout, canvas: &mut Canvas<'_>) {
    let top = layout.header.bottom();
    let area = Rect { y: top, height: layout.footer.y.saturating_sub(top), ..layout.whole };
    canvas.clear(area);
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    if let Some(rule) = layout.upper_rule {
        canvas.rule(rule);
    }
    let below_rule = u16::from(layout.upper_rule.is_some());
    let area = Rect { y: area.y + below_rule, height: area.height.saturating_sub(below_rule), ..area };
    match area.width {
        TWO_COLUMNS.. => {
            let half = (area.width / 2).min(50);
            column(&HELP[..2], Rect { width: half - 1, ..area }, canvas);
            column(&HELP[2..], Rect { x: area.x + half, width: area.width - half, ..area }, canvas);
        }
        _ => column(&HELP, area, canvas),
    }
}

/// Draws groups of keys below each other.
fn column(groups: &[(&str, &[(&str, &str)])], area: Rect, canvas: &mut Canvas<'_>) {
    let mut y = area.top();
    for (index, (name, keys)) in groups.iter().enumerate() {
        let gap = (index > 0).then(Line::new);
        let heading = Line::new().styled(EMPHASIS, *name);
        let keys = keys.iter().map(|(key, meaning)| {
            let pad = KEYS.saturating_sub(key.chars().count());
            Line::new().plain(format!(" {key}{:pad$}", "")).styled(FAINT, *meaning)
        });
        for line in gap.into_iter().chain([heading]).chain(keys) {
            if y < area.bottom() {
                canvas.line(Rect { y, height: 1, ..area }, line);
            }
            y += 1;
        }
    }
}

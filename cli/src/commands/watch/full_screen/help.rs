//! The list of the keys: its lines.

use ratatui::layout::Rect;

use super::keys::HELP;
use crate::output::{EMPHASIS, FAINT, Line};

/// The width of the keys, in columns.
const KEYS: usize = 12;
/// From this width on there are two columns of groups.
const TWO_COLUMNS: u16 = 76;

/// The number of lines of the longest column.
pub fn height(area: Rect) -> usize {
    columns(area).iter().map(Vec::len).max().unwrap_or(0)
}

/// The groups of keys beside each other, or below each other.
pub fn columns(area: Rect) -> Vec<Vec<Line>> {
    match area.width {
        TWO_COLUMNS.. => vec![lines(&HELP[..2]), lines(&HELP[2..])],
        _ => vec![lines(&HELP)],
    }
}

/// The lines of groups of keys below each other.
fn lines(groups: &[(&str, &[(&str, &str)])]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, keys) in groups {
        if !lines.is_empty() {
            lines.push(Line::new());
        }
        lines.push(Line::new().styled(EMPHASIS, *name));
        lines.extend(keys.iter().map(|(key, meaning)| {
            let pad = KEYS.saturating_sub(key.chars().count());
            Line::new().plain(format!(" {key}{:pad$}", "")).styled(FAINT, *meaning)
        }));
    }
    lines
}

//! A sheet over everything else: the list of the keys, or who is at work.

use ratatui::layout::Rect;

use super::layout::Layout;

/// What a sheet shows, and its first line on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sheet {
    pub of: Content,
    pub first: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Keys,
    AtWork,
}

impl Sheet {
    pub fn of(content: Content) -> Self {
        Self { of: content, first: 0 }
    }
}

/// The area of the lines.
pub fn area(layout: &Layout) -> Rect {
    let top = layout.header.bottom() + u16::from(layout.upper_rule.is_some());
    let whole = layout.whole;
    let height = layout.footer.y.saturating_sub(top);
    Rect { x: whole.x + 1, y: top, width: whole.width.saturating_sub(2), height }
}

//! Where the parts of the screen are, at any size.

use ratatui::layout::{Rect, Size};

use super::view::Pane;

/// From this width on the tree and the details are side by side.
const WIDE: u16 = 100;
/// The largest width of the tree beside the details.
const WIDEST_TREE: u16 = 110;
/// From this height on there are lines between the parts.
const RULED: u16 = 14;
/// From this height on the counts have a line of their own.
const COUNTED: u16 = 8;
/// From this height on the keys have a line.
const WITH_KEYS: u16 = 4;
/// From this width on texts have a margin.
pub const WITH_MARGIN: u16 = 30;
/// The lines of the details above their text: the views, the title, the status, and an empty one.
const HEAD: u16 = 4;

/// The areas of a screen. Parts for which there is no room are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub whole: Rect,
    pub header: Rect,
    /// The line below the header.
    pub upper_rule: Option<Rect>,
    pub tree: Option<Rect>,
    /// The column between the tree and the details.
    pub divider: Option<Rect>,
    pub details: Option<Rect>,
    /// The line above the keys.
    pub lower_rule: Option<Rect>,
    pub footer: Rect,
    /// The part that a prompt covers.
    pub prompt: Option<Rect>,
}

impl Layout {
    /// `prompt`: the number of lines that a prompt wants, if there is one.
    pub fn of(size: Size, pane: Pane, prompt: Option<u16>) -> Self {
        let Size { width, height } = size;
        let line = |y: u16, lines: u16| Rect::new(0, y.min(height), width, lines.min(height.saturating_sub(y)));
        let header = line(0, if height >= COUNTED { 2 } else { 1 });
        let footer_lines = u16::from(height >= WITH_KEYS);
        let footer = line(height - footer_lines, footer_lines);
        let is_ruled = height >= RULED;
        let upper_rule = is_ruled.then(|| line(header.bottom(), 1));
        let lower_rule = is_ruled.then(|| line(footer.y - 1, 1));
        let top = header.bottom() + u16::from(is_ruled);
        let bottom = footer.y.saturating_sub(u16::from(is_ruled));
        let body = line(top, bottom.saturating_sub(top));
        let is_wide = width >= WIDE;
        let tree_width = (width / 2).min(WIDEST_TREE);
        let tree = match (is_wide, pane) {
            (true, _) => Some(Rect { width: tree_width, ..body }),
            (false, Pane::Tree) => Some(body),
            (false, Pane::Details) => None,
        };
        let divider = is_wide.then_some(Rect { x: tree_width, width: 1, ..body });
        let details = match (is_wide, pane) {
            // A space on each side.
            (true, _) => Some(Rect { x: tree_width + 2, width: width - tree_width - 3, ..body }),
            (false, Pane::Details) => {
                let margin = u16::from(width >= WITH_MARGIN);
                Some(Rect { x: margin, width: width - 2 * margin, ..body })
            }
            (false, Pane::Tree) => None,
        };
        let prompt = prompt.map(|wanted| {
            let lines = wanted.min((height / 2).max(3)).min(height.saturating_sub(footer_lines));
            line(footer.y - lines, lines)
        });
        Self { whole: line(0, height), header, upper_rule, tree, divider, details, lower_rule, footer, prompt }
    }

    /// The area of the rows of the tree, or an empty one.
    pub fn rows(&self) -> Rect {
        let rows = self.tree.unwrap_or_default();
        let covered = self.prompt.map_or(0, |prompt| rows.bottom().saturating_sub(prompt.y));
        Rect { height: rows.height.saturating_sub(covered), ..rows }
    }

    /// The area of the text of the details, or an empty one.
    pub fn text(&self) -> Rect {
        let details = self.details.unwrap_or_default();
        let head = HEAD.min(details.height / 2);
        Rect { y: details.y + head, height: details.height - head, ..details }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_inside_the_screen_and_do_not_overlap_at_any_size() {
        for (width, height) in (0..=130).flat_map(|width| (0..=40).map(move |height| (width, height))) {
            for (pane, prompt) in
                [(Pane::Tree, None), (Pane::Details, None), (Pane::Tree, Some(3)), (Pane::Details, Some(60))]
            {
                let layout = Layout::of(Size::new(width, height), pane, prompt);
                let parts = [Some(layout.header), layout.upper_rule, layout.tree, layout.divider, layout.details];
                let parts = parts.into_iter().chain([layout.lower_rule, Some(layout.footer)]).flatten();
                let parts: Vec<Rect> = parts.filter(|part| !part.is_empty()).collect();
                for (index, part) in parts.iter().enumerate() {
                    assert_eq!(part.intersection(layout.whole), *part, "{width}x{height}: {layout:?}");
                    let overlaps = parts[..index].iter().any(|other| other.intersects(*part));
                    assert!(!overlaps, "{width}x{height}: {part:?} in {layout:?}");
                }
                let prompt = layout.prompt.unwrap_or_default();
                assert_eq!(prompt.intersection(layout.whole), prompt, "{width}x{height}");
            }
        }
    }
}

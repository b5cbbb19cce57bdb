//! Lines of the program on the cells of the screen.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::palette::Palette;
use crate::output::{FAINT, Line};

/// Returns a text with a replacement for characters that a terminal does not have to know, and to which
/// terminals give different widths: noncharacters, and the unassigned characters among the Hangul letters.
fn drawable(text: &str) -> Cow<'_, str> {
    let is_undrawable = |character: char| {
        let is_noncharacter = u32::from(character) & 0xFFFE == 0xFFFE;
        let is_unassigned = matches!(character, '\u{D7C7}'..='\u{D7CA}' | '\u{D7FC}'..='\u{D7FF}');
        is_noncharacter || is_unassigned || matches!(character, '\u{FDD0}'..='\u{FDEF}')
    };
    match text.contains(is_undrawable) {
        true => Cow::Owned(text.replace(is_undrawable, "\u{FFFD}")),
        false => Cow::Borrowed(text),
    }
}

/// The cells of the screen.
pub struct Canvas<'a> {
    buffer: &'a mut Buffer,
    palette: Palette,
}

impl<'a> Canvas<'a> {
    pub fn new(buffer: &'a mut Buffer, palette: Palette) -> Self {
        Self { buffer, palette }
    }

    /// Writes a line into the first row of an area. If it is too wide, it is cut and ends in `…`.
    pub fn line(&mut self, area: Rect, line: Line) {
        let area = area.intersection(self.buffer.area);
        if area.is_empty() {
            return;
        }
        let mut x = area.x;
        for (style, text) in line.cut(usize::from(area.width)).parts() {
            let room = usize::from(area.right().saturating_sub(x));
            (x, _) = self.buffer.set_stringn(x, area.y, drawable(text), room, self.palette.style(style));
        }
    }

    /// Writes a line, and another one at the right end. The first one is cut if both are too wide.
    pub fn line_with_end(&mut self, area: Rect, line: Line, end: Line) {
        let width = u16::try_from(end.width()).unwrap_or(u16::MAX).min(area.width);
        let gap = u16::from(width > 0 && width < area.width);
        self.line(Rect { width: area.width - width - gap, ..area }, line);
        self.line(Rect { x: area.right() - width, width, ..area }, end);
    }

    /// Draws a line across an area.
    pub fn rule(&mut self, area: Rect) {
        let style = self.palette.style(FAINT);
        for x in area.left()..area.right() {
            self.buffer.set_stringn(x, area.y, "─", 1, style);
        }
    }

    /// Draws a line down an area.
    pub fn divider(&mut self, area: Rect) {
        let style = self.palette.style(FAINT);
        for y in area.top()..area.bottom() {
            self.buffer.set_stringn(area.x, y, "│", 1, style);
        }
    }

    /// Puts a character of a line where it meets another one.
    pub fn joint(&mut self, x: u16, y: u16, joint: &str) {
        let style = self.palette.style(FAINT);
        if self.buffer.area.contains((x, y).into()) {
            self.buffer.set_stringn(x, y, joint, 1, style);
        }
    }

    /// Empties an area.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for (x, y) in (area.top()..area.bottom()).flat_map(|y| (area.left()..area.right()).map(move |x| (x, y))) {
            self.buffer[(x, y)].reset();
        }
    }

    /// Marks an area as selected. `is_faint`: the keys go elsewhere.
    pub fn select(&mut self, area: Rect, is_faint: bool) {
        let style = Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM).add_modifier(Modifier::REVERSED);
        let style = if is_faint { style.add_modifier(Modifier::DIM) } else { style };
        self.buffer.set_style(area.intersection(self.buffer.area), style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_unclear_width_are_replaced() {
        let shown = drawable("a\u{D7FF}\u{FFFE}\u{FDD0}\u{1FFFF}b");
        assert_eq!(shown, "a\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}b");
        assert_eq!(drawable("größe 日本 한글"), "größe 日本 한글");
    }
}

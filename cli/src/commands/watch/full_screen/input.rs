//! A text that is being typed.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_width::UnicodeWidthChar;

/// Maximum size of a typed or pasted text, in bytes.
const MOST: usize = 64 * 1024;

/// A text and the place of the cursor in it.
#[derive(Debug, Clone, Default)]
pub struct Input {
    text: String,
    /// The place of the cursor in bytes: at the border of a character.
    cursor: usize,
    /// True if the text can have several lines.
    has_lines: bool,
}

/// The effect of a key on a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    Changed,
    /// The text is complete.
    Entered,
    /// The person does not want the text any more.
    Cancelled,
    Nothing,
}

impl Input {
    pub fn line() -> Self {
        Self::default()
    }

    /// A line that begins with a text, which the person changes.
    pub fn line_with(text: &str) -> Self {
        let mut input = Self::default();
        input.insert(text);
        input
    }

    pub fn lines() -> Self {
        Self { has_lines: true, ..Self::default() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn key(&mut self, key: KeyEvent) -> Typed {
        let with = |modifier| key.modifiers.contains(modifier);
        match key.code {
            KeyCode::Esc => return Typed::Cancelled,
            KeyCode::Char('c' | 'g') if with(KeyModifiers::CONTROL) => return Typed::Cancelled,
            KeyCode::Enter if !self.has_lines || !with(KeyModifiers::ALT) => return Typed::Entered,
            KeyCode::Enter => self.insert("\n"),
            KeyCode::Char('j') if with(KeyModifiers::CONTROL) => self.insert("\n"),
            KeyCode::Char('u') if with(KeyModifiers::CONTROL) => self.remove_to(0),
            KeyCode::Char('w') if with(KeyModifiers::CONTROL) => self.remove_to(self.word_before()),
            KeyCode::Char('a') if with(KeyModifiers::CONTROL) => self.cursor = 0,
            KeyCode::Char('e') if with(KeyModifiers::CONTROL) => self.cursor = self.text.len(),
            KeyCode::Char(_) if with(KeyModifiers::CONTROL) || with(KeyModifiers::ALT) => return Typed::Nothing,
            KeyCode::Char(character) => self.insert(character.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => self.remove_to(self.before()),
            KeyCode::Delete => {
                let end = self.after();
                self.text.replace_range(self.cursor..end, "");
            }
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => return Typed::Nothing,
        }
        Typed::Changed
    }

    /// Inserts a text at the cursor, as far as there is room. Line ends become spaces in a text of one line.
    pub fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text = if self.has_lines { text } else { text.replace('\n', " ") };
        let room = MOST.saturating_sub(self.text.len());
        let fitting = text.char_indices().map(|(place, character)| place + character.len_utf8());
        let end = fitting.take_while(|end| *end <= room).last().unwrap_or(0);
        self.text.insert_str(self.cursor, &text[..end]);
        self.cursor += end;
    }

    fn remove_to(&mut self, start: usize) {
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(place, _)| place)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |character| self.cursor + character.len_utf8())
    }

    fn word_before(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before
            .rfind(char::is_whitespace)
            .map_or(0, |space| space + before[space..].chars().next().map_or(1, char::len_utf8))
    }

    /// The lines of the text at this width, and the row and column of the cursor in them.
    pub fn layout(&self, width: usize) -> (Vec<String>, usize, usize) {
        let width = width.max(2);
        let mut lines = vec![String::new()];
        let (mut column, mut cursor) = (0, (0, 0));
        for (place, character) in self.text.char_indices() {
            // A character that is hidden, or a control character, takes the column of its replacement.
            let shown = callstack_core::text::visible(character.encode_utf8(&mut [0; 4])).into_owned();
            let columns =
                if character == '\t' { 1 } else { shown.chars().map(|shown| shown.width().unwrap_or(0)).sum() };
            if character != '\n' && column + columns >= width {
                lines.push(String::new());
                column = 0;
            }
            if place == self.cursor {
                cursor = (lines.len() - 1, column);
            }
            match character {
                '\n' => {
                    lines.push(String::new());
                    column = 0;
                    continue;
                }
                '\t' => lines.last_mut().into_iter().for_each(|line| line.push(' ')),
                _ => lines.last_mut().into_iter().for_each(|line| line.push_str(&shown)),
            }
            column += columns;
        }
        if self.cursor == self.text.len() {
            cursor = (lines.len() - 1, column);
        }
        (lines, cursor.0, cursor.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(input: &mut Input, codes: &[KeyCode]) {
        for code in codes {
            input.key(KeyEvent::new(*code, KeyModifiers::NONE));
        }
    }

    #[test]
    fn keys_edit_the_text_at_the_cursor() {
        let mut input = Input::line();
        input.insert("größe 日本");
        typed(&mut input, &[KeyCode::Left, KeyCode::Backspace, KeyCode::Char('x'), KeyCode::Delete]);
        assert_eq!(input.text(), "größe x");
        input.key(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(input.text(), "größe ");
        typed(&mut input, &[KeyCode::Home, KeyCode::Delete, KeyCode::Left, KeyCode::Backspace]);
        assert_eq!(input.text(), "röße ");
        assert_eq!(input.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)), Typed::Entered);
        assert_eq!(input.key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)), Typed::Cancelled);
    }

    #[test]
    fn a_paste_keeps_its_lines_where_there_are_lines_and_has_an_end() {
        let (mut line, mut lines) = (Input::line(), Input::lines());
        line.insert("a\r\nb\nc");
        lines.insert("a\r\nb\nc");
        assert_eq!((line.text(), lines.text()), ("a b c", "a\nb\nc"));
        lines.insert(&"é".repeat(MOST));
        assert!(lines.text().len() <= MOST && lines.text().ends_with('é'));
    }

    #[test]
    fn the_cursor_is_behind_what_was_typed() {
        let mut input = Input::lines();
        input.insert("12345678901\n日本");
        assert_eq!(input.layout(10), (vec!["123456789".into(), "01".into(), "日本".into()], 2, 4));
        input.insert("\u{1b}[2J");
        assert_eq!(input.layout(80).0[1], "日本\u{fffd}[2J", "a pasted escape sequence is not obeyed");
    }
}

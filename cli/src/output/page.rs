//! Text for people: lines that are cut or wrapped at the width of the terminal, without characters that a terminal obeys.

use std::io::{self, IsTerminal, Write};

use super::FAINT;
use anstyle::{AnsiColor, Style};
use callstack_core::text::{lines, one_line, visible};
use terminal_size::{Width, terminal_size_of};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The smallest width: narrower terminals get lines of this width.
const NARROWEST: usize = 20;
/// What is written for a tab, so that the width of a line is known.
const TAB: &str = "    ";
/// The room that a wrapped text has at least beside its indentation.
const LEAST_ROOM: usize = 16;

/// The width of lines on the standard output, in columns: `COLUMNS`, else that of the terminal. No terminal has no limit.
pub(super) fn width_of_output() -> usize {
    width(terminal_size_of(io::stdout()))
}

/// The same for the standard error.
pub fn width_of_errors() -> usize {
    width(terminal_size_of(io::stderr()))
}

fn width(terminal: Option<(Width, terminal_size::Height)>) -> usize {
    let wanted = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let found = wanted.or(terminal.map(|(Width(columns), _)| usize::from(columns)));
    found.map_or(usize::MAX, |columns| columns.max(NARROWEST))
}

/// A number and its noun: `1 frame`, `2 frames`.
pub fn count(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// A number with its thousands apart: `88,120`.
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut apart = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// A part of a line in one style.
struct Span {
    style: Style,
    text: String,
}

/// A line of styled parts.
#[derive(Default)]
pub struct Line {
    spans: Vec<Span>,
}

impl Line {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text of the program, or text that is known to be plain.
    pub fn plain(self, text: impl Into<String>) -> Self {
        self.styled(Style::new(), text)
    }

    /// Adds text of the program in a style.
    pub fn styled(mut self, style: Style, text: impl Into<String>) -> Self {
        self.spans.push(Span { style, text: text.into() });
        self
    }

    /// Adds a text of a frame: on one line, with its control characters replaced.
    pub fn said(self, text: &str) -> Self {
        self.plain(one_line(text))
    }

    /// Adds another line behind this one.
    pub fn followed_by(mut self, other: Line) -> Self {
        self.spans.extend(other.spans);
        self
    }

    fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }
}

/// The output of one report.
pub struct Page<'a> {
    writer: &'a mut dyn Write,
    width: usize,
}

impl<'a> Page<'a> {
    /// `width`: the number of columns; `usize::MAX` for no limit.
    pub fn new(writer: &'a mut dyn Write, width: usize) -> Self {
        Self { writer, width }
    }

    /// The number of columns; `usize::MAX` for no limit.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Writes an empty line.
    pub fn gap(&mut self) -> io::Result<()> {
        writeln!(self.writer)
    }

    /// Writes a line. If it is too wide, it is cut and ends in `…`.
    pub fn line(&mut self, line: Line) -> io::Result<()> {
        self.line_with_end(line, Line::new())
    }

    /// Writes a line and its end. If both are too wide, the line is cut and ends in `…`, and the end is whole.
    pub fn line_with_end(&mut self, line: Line, end: Line) -> io::Result<()> {
        let room = self.width.saturating_sub(end.width()).max(1);
        let is_cut = self.width != usize::MAX && line.width() > room;
        let mut left = if is_cut { room - 1 } else { usize::MAX };
        for span in &line.spans {
            let shown = columns(&span.text, left);
            self.span(span.style, shown)?;
            if shown.len() < span.text.len() {
                break;
            }
            left = left.saturating_sub(shown.width());
        }
        if is_cut {
            write!(self.writer, "…")?;
        }
        end.spans.iter().try_for_each(|span| self.span(span.style, &span.text))?;
        writeln!(self.writer)
    }

    fn span(&mut self, style: Style, text: &str) -> io::Result<()> {
        match style.is_plain() || text.is_empty() {
            true => write!(self.writer, "{text}"),
            false => write!(self.writer, "{style}{text}{style:#}"),
        }
    }

    /// Writes a text of a frame with all of its lines, indented and wrapped. Control characters are replaced.
    pub fn text(&mut self, indentation: usize, text: &str) -> io::Result<()> {
        self.hanging("", indentation, text)
    }

    /// Writes a short text beside its name, wrapped.
    pub fn field(&mut self, name: &str, style: Style, text: &str) -> io::Result<()> {
        let name = format!("  {name:<9}");
        let room = self.width.saturating_sub(name.width()).max(LEAST_ROOM);
        let text = one_line(text);
        let mut before = format!("{FAINT}{name}{FAINT:#}");
        for piece in wrapped(&text, room) {
            writeln!(self.writer, "{before}{style}{piece}{style:#}")?;
            before = " ".repeat(name.width());
        }
        Ok(())
    }

    /// Writes a text of a frame as an entry of a list.
    pub fn item(&mut self, text: &str) -> io::Result<()> {
        self.hanging("  - ", 4, text)
    }

    /// Writes a text, indented and wrapped, with something before its first line.
    fn hanging(&mut self, first: &str, indentation: usize, text: &str) -> io::Result<()> {
        let room = self.width.saturating_sub(indentation).max(LEAST_ROOM);
        let mut before = first;
        for line in lines(text) {
            for piece in wrapped(&visible(line).replace('\t', TAB), room) {
                writeln!(self.writer, "{before:indentation$}{piece}")?;
                before = "";
            }
        }
        Ok(())
    }

    /// Writes a text for other programs: as it is, unless a terminal would obey its control characters.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        let text = if io::stdout().is_terminal() { visible(text) } else { text.into() };
        self.writer.write_all(text.as_bytes())
    }

    /// Writes a message of the program for the standard error, such as `error: …`. It can contain texts of frames.
    pub fn notice(&mut self, label: &str, message: &str) -> io::Result<()> {
        let style = match label {
            "error" => AnsiColor::Red.on_default().bold(),
            _ => Style::new().bold(),
        };
        writeln!(self.writer, "{style}{label}:{style:#} {}", one_line(message))
    }
}

/// The beginning of a text that has at most this many columns.
fn columns(text: &str, limit: usize) -> &str {
    let mut taken = 0;
    for (place, character) in text.char_indices() {
        taken += character.width().unwrap_or(0);
        if taken > limit {
            return &text[..place];
        }
    }
    text
}

/// The pieces of a line that have at most `room` columns: broken at spaces where there are any.
fn wrapped(line: &str, room: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let fitting = columns(text, room).len();
        if fitting == text.len() {
            return rest.take();
        }
        let fitting = fitting.max(text.chars().next().map_or(1, char::len_utf8));
        // A space directly behind the piece is a good end too.
        let reachable = text.get(..=fitting).unwrap_or(&text[..fitting]);
        let end = reachable.rfind(' ').filter(|space| !text[..*space].trim().is_empty()).unwrap_or(fitting);
        rest = Some(text[end..].trim_start_matches(' '));
        Some(&text[..end])
    })
}

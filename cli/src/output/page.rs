//! Text for people: lines that are cut or wrapped at the width of the terminal, without characters that a
//! terminal obeys. They are written to a stream, or collected for a part of a screen.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use callstack_core::text::{escape_hidden, lines, one_line, visible};
use terminal_size::{Height, Width, terminal_size_of};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::FAINT;
use super::terminal::harmless;

/// The smallest width: narrower terminals get lines of this width.
const NARROWEST: usize = 20;
/// The replacement of a tab, so that the width of a line is known.
const TAB: &str = "    ";
/// The room that a wrapped text has at least, in addition to its indentation.
const LEAST_ROOM: usize = 16;

/// The receiver of text. It decides about colours, the width of lines, and characters that a terminal obeys;
/// files and pipes get all data unchanged.
#[derive(Debug, Clone, Copy)]
pub struct Medium {
    pub is_terminal: bool,
    is_colored: bool,
    /// The number of columns; `usize::MAX` for no limit.
    width: usize,
}

impl Medium {
    /// The standard output.
    pub fn output() -> Self {
        let out = io::stdout();
        Self::of(AutoStream::choice(&out), out.is_terminal(), terminal_size_of(&out))
    }

    /// The standard error.
    pub fn errors() -> Self {
        let error = io::stderr();
        Self::of(AutoStream::choice(&error), error.is_terminal(), terminal_size_of(&error))
    }

    /// The width is `COLUMNS`, else the width of the terminal. Without a terminal there is no limit.
    fn of(color: ColorChoice, is_terminal: bool, size: Option<(Width, Height)>) -> Self {
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let found = columns.filter(|columns| *columns > 0).or(size.map(|(Width(columns), _)| usize::from(columns)));
        let width = found.map_or(usize::MAX, |columns| columns.max(NARROWEST));
        Self { is_terminal, is_colored: color != ColorChoice::Never, width }
    }

    /// True if people see colours there, and want them.
    pub fn has_colors(self) -> bool {
        self.is_colored
    }

    /// The same with lines of at most this many columns.
    #[cfg(all(unix, feature = "agent"))]
    pub fn at_most(self, width: usize) -> Self {
        Self { width: self.width.min(width), ..self }
    }

    /// A style, or no style if it cannot be seen there.
    fn style(self, style: Style) -> Style {
        if self.is_colored { style } else { Style::new() }
    }
}

/// A number and its noun: `1 frame`, `2 frames`.
pub fn count(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// A number with separated thousands: `88,120`.
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

/// An amount of money as all commands write it.
pub fn money(amount: f64) -> String {
    format!("{amount:.4}")
}

/// An amount of money in US dollars, given in millionths, as all commands write it.
pub fn us_dollars(micro_usd: u64) -> String {
    format!("{} US dollars", money(micro_usd as f64 / 1e6))
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

    /// Adds another line after this one.
    pub fn followed_by(mut self, other: Line) -> Self {
        self.spans.extend(other.spans);
        self
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// The parts of the line with their styles.
    pub fn parts(&self) -> impl Iterator<Item = (Style, &str)> {
        self.spans.iter().map(|span| (span.style, span.text.as_str()))
    }

    /// The same line once more.
    pub fn copied(&self) -> Self {
        self.parts().fold(Self::new(), |copy, (style, part)| copy.styled(style, part))
    }

    /// The line with at most this many columns. If it is too wide, it is cut and ends in `…`.
    pub fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut left = width.saturating_sub(1);
        let mut cut = Self::new();
        for span in self.spans {
            let shown = columns(&span.text, left);
            let is_last = shown.len() < span.text.len();
            left = left.saturating_sub(shown.width());
            cut = cut.styled(span.style, shown);
            if is_last {
                break;
            }
        }
        cut.plain("…")
    }
}

/// Lines that a page collects for a part of a screen.
#[derive(Default)]
pub struct Lines {
    pub lines: Vec<Line>,
    most: usize,
}

impl Lines {
    /// Takes at most this number of lines. The next one fails with [`io::ErrorKind::StorageFull`], so that
    /// the texts after it are not wrapped in vain.
    pub fn at_most(most: usize) -> Self {
        Self { lines: Vec::new(), most }
    }

    fn push(&mut self, line: Line) -> io::Result<()> {
        if self.lines.len() == self.most {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.lines.push(line);
        Ok(())
    }
}

/// The receiver of the lines of a page.
enum Sheet<'a> {
    Stream(&'a mut dyn Write),
    Lines(&'a mut Lines),
}

/// The output of one report.
pub struct Page<'a> {
    sheet: Sheet<'a>,
    medium: Medium,
}

impl<'a> Page<'a> {
    pub fn new(writer: &'a mut dyn Write, medium: Medium) -> Self {
        Self { sheet: Sheet::Stream(writer), medium }
    }

    /// A page of a part of a screen, this many columns wide.
    pub fn collecting(lines: &'a mut Lines, width: usize) -> Self {
        let medium = Medium { is_terminal: true, is_colored: true, width: width.max(NARROWEST) };
        Self { sheet: Sheet::Lines(lines), medium }
    }

    /// The number of columns; `usize::MAX` for no limit.
    pub fn width(&self) -> usize {
        self.medium.width
    }

    /// Writes an empty line.
    pub fn gap(&mut self) -> io::Result<()> {
        self.put(Line::new())
    }

    /// Writes a line. If it is too wide, it is cut and ends in `…`.
    pub fn line(&mut self, line: Line) -> io::Result<()> {
        self.line_with_end(line, Line::new())
    }

    /// Writes a line and its end. If both are too wide, the line is cut and ends in `…`, and the end is
    /// whole.
    pub fn line_with_end(&mut self, line: Line, end: Line) -> io::Result<()> {
        let room = self.width().saturating_sub(end.width()).max(1);
        let line = if self.width() == usize::MAX { line } else { line.cut(room) };
        self.put(line.followed_by(end))
    }

    /// Writes a line as it is.
    fn put(&mut self, line: Line) -> io::Result<()> {
        let medium = self.medium;
        match &mut self.sheet {
            Sheet::Lines(lines) => lines.push(line),
            Sheet::Stream(writer) => {
                for (style, text) in line.parts() {
                    let style = if text.is_empty() { Style::new() } else { medium.style(style) };
                    write!(writer, "{style}{text}{style:#}")?;
                }
                writeln!(writer)
            }
        }
    }

    /// Writes a text of a frame with all of its lines, indented and wrapped. Control characters are replaced.
    pub fn text(&mut self, indentation: usize, text: &str) -> io::Result<()> {
        self.hanging("", indentation, text)
    }

    /// Writes a short text next to its name, wrapped.
    pub fn field(&mut self, name: &str, style: Style, text: &str) -> io::Result<()> {
        let name = format!("  {name:<8} ");
        let room = self.width().saturating_sub(name.width()).max(LEAST_ROOM);
        let text = one_line(text);
        let mut before = name.as_str();
        let indentation = name.width();
        for piece in wrapped(&text, room) {
            self.put(Line::new().styled(FAINT, format!("{before:indentation$}")).styled(style, piece))?;
            before = "";
        }
        Ok(())
    }

    /// Writes a text of a frame as an entry of a list.
    pub fn item(&mut self, text: &str) -> io::Result<()> {
        self.hanging("  - ", 4, text)
    }

    /// Writes a text, indented and wrapped, with something before its first line.
    fn hanging(&mut self, first: &str, indentation: usize, text: &str) -> io::Result<()> {
        let room = self.width().saturating_sub(indentation).max(LEAST_ROOM);
        let mut before = first;
        for line in lines(text) {
            for piece in wrapped(&visible(line).replace('\t', TAB), room) {
                self.put(Line::new().plain(format!("{before:indentation$}{piece}")))?;
                before = "";
            }
        }
        Ok(())
    }

    /// Writes a text for other programs: unchanged, unless a terminal would obey its control characters. A
    /// part of a screen gets the text wrapped.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        let text = if self.medium.is_terminal { harmless(text) } else { text.into() };
        match &mut self.sheet {
            Sheet::Stream(writer) => writer.write_all(text.as_bytes()),
            Sheet::Lines(_) => self.text(0, text.trim_end_matches('\n')),
        }
    }

    /// Writes JSON for other programs on a line. What a terminal would obey is escaped, which changes no
    /// value.
    pub fn json(&mut self, json: &str) -> io::Result<()> {
        self.raw(&format!("{}\n", escape_hidden(json)))
    }

    /// Writes a message of the program for the standard error, such as `error: …`. It can contain texts of
    /// frames.
    pub fn notice(&mut self, label: &str, message: &str) -> io::Result<()> {
        let style = match label {
            "error" => AnsiColor::Red.on_default().bold(),
            _ => Style::new().bold(),
        };
        self.put(Line::new().styled(style, format!("{label}:")).plain(" ").said(message))
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
        // A space directly after the piece is a good end too.
        let reachable = text.get(..=fitting).unwrap_or(&text[..fitting]);
        let end = reachable.rfind(' ').filter(|space| !text[..*space].trim().is_empty()).unwrap_or(fitting);
        rest = Some(text[end..].trim_start_matches(' '));
        Some(&text[..end])
    })
}

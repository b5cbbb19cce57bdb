//! Import of check lists in Markdown: `PLAN.md`, `TODO.md`, task lists of GitHub.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::collector::Group;
use super::fate::Fate::{self, *};
use super::{Collector, Imported, Texts, in_conflict, task_frame, task_of};
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameStatus};
use crate::text::{beginning, one_line, without_mark};

/// The name of the file in errors.
const WHAT: &str = "the check list";

/// The longest part of an ID that is made from a title, and the longest ID, in characters.
const LONGEST_PART: usize = 60;
const LONGEST_ID: usize = 900;

/// What the marks of items mean for work.
const MARKS: &[(&str, Fate)] = &[
    (" ", Work),
    ("x", Finished),
    ("✓", Finished),
    ("✔", Finished),
    ("/", Begun),
    ("-", Removed),
    ("~", Waits("It is marked with `[~]`.")),
    (">", Waits("It is marked with `[>]`.")),
    ("?", Waits("It is marked with `[?]`.")),
    ("!", Waits("It is marked with `[!]`.")),
];

/// Signs that stand for a mark, at the beginning or at the end of the words.
const SIGNS: &[(&str, &str)] =
    &[("✅", "x"), ("☑", "x"), ("✔", "x"), ("☐", " "), ("⬜", " "), ("❌", "-"), ("🚧", "/"), ("⏳", "~"), ("⏸", "~")];

/// Reads a check list in Markdown.
///
/// An item or heading with a mark is a frame, below the item or the heading around it. `[ ]` is planned,
/// `[x]` completed, `[/]` in progress, and `[-]` out of the plan. `[~]` and every other mark waits until a
/// person answers. Other headings with items below them are frames that are not work, and hold these items
/// together. Signs such as `✅` before or after the words are marks too. The words of an item are its title,
/// without a number before them (`1.`). What else is in the item, also in code fences, is the task of its
/// frame. The prose below a heading is its criteria, which the items below it see. In a file without any
/// mark, all items are planned.
///
/// IDs are made from titles: `release-plan/write-the-parser/grammar`.
///
/// ```
/// let plan = callstack_core::import::checklist("# Shop\n- [x] Schema\n- [ ] Cart\n  - [ ] Totals\n")?;
/// assert!(plan.problems.is_empty());
/// let ids: Vec<&str> = plan.frames.iter().map(|frame| frame.session_id.as_str()).collect();
/// assert_eq!(ids, ["shop", "shop/schema", "shop/cart", "shop/cart/totals"]);
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Json`] if the text has no list.
pub fn checklist(text: &str) -> Result<Imported> {
    let text = without_mark(text);
    if let Some(error) = in_conflict(WHAT, text) {
        return Err(error);
    }
    let entries = Reader::new(text).read();
    if !entries.iter().any(|entry| entry.kind == Kind::Item) {
        return Err(Error::json(WHAT, "it has no items"));
    }
    let has_marks = entries.iter().any(|entry| entry.kind == Kind::Item && entry.mark.is_some());
    let line_ends = text.match_indices('\n').map(|(end, _)| end).collect();
    Ok(Plan { text, line_ends, has_marks, entries }.frames())
}

/// True if a text is Markdown with a list: a line is an item with a mark, or there are headings or code
/// fences as well as items. JSON is not such a text.
pub fn is_checklist(text: &str) -> bool {
    let mut fence = None;
    let (mut has_items, mut is_markdown) = (false, false);
    for line in without_mark(text).lines().map(str::trim_start) {
        let marks = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, marks) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => (fence, is_markdown) = (Some(mark), true),
            (Some(_), _) => {}
            (None, None) => {
                let words = after_bullet(line);
                if words.is_some_and(|words| split_mark(words).0.is_some()) {
                    return true;
                }
                has_items |= words.is_some();
                is_markdown |= line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
            }
        }
    }
    has_items && is_markdown
}

/// What follows the mark of a list on a line.
fn after_bullet(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+'])?,
        _ => line[digits..].strip_prefix(['.', ')'])?,
    };
    rest.starts_with([' ', '\t']).then(|| rest.trim())
}

/// The mark of an item, `x` in `[x] Schema`, and the words after it. Other forms that people write are read
/// too: `[]`, `[ x ]`, `[x]Schema`. A link is not a mark.
fn split_mark(words: &str) -> (Option<&str>, &str) {
    let mark = words.strip_prefix('[').and_then(|rest| {
        let (inner, rest) = rest.split_once(']')?;
        let inner = if inner.trim().is_empty() { " " } else { inner.trim() };
        let is_mark = inner.chars().count() == 1 && inner.len() <= 4;
        let is_link = rest.starts_with(['(', '[', ':']);
        (is_mark && !is_link).then(|| (inner, rest.trim()))
    });
    match mark {
        // A box that is not ticked, and a sign that says otherwise: it is not known whether the item is done.
        Some((" ", rest)) => match split_sign(rest) {
            (Some("x"), title) => (Some("?"), title),
            (Some(sign), title) => (Some(sign), title),
            (None, _) => (Some(" "), rest),
        },
        Some((mark, rest)) => (Some(mark), rest),
        None => split_sign(words.trim()),
    }
}

/// The mark that a sign at the beginning or at the end of words stands for, and the other words.
fn split_sign(words: &str) -> (Option<&str>, &str) {
    /// It makes the sign before it a picture.
    const PICTURE: char = '\u{fe0f}';
    let found = SIGNS.iter().find_map(|(sign, mark)| {
        let before = words.strip_prefix(sign).map(|rest| rest.trim_start_matches(PICTURE));
        let behind = || words.trim_end_matches(PICTURE).strip_suffix(sign);
        before.or_else(behind).map(|rest| (Some(*mark), rest.trim()))
    });
    // A sign alone is a title.
    found.filter(|(_, rest)| !rest.is_empty()).unwrap_or((None, words))
}

/// A title without a number before it: `Cart` of `2. Cart`.
fn without_number(title: &str) -> &str {
    let digits = title.bytes().take_while(u8::is_ascii_digit).count();
    let rest = title[digits..].strip_prefix(['.', ')']).filter(|rest| digits > 0 && rest.starts_with(' '));
    rest.map(str::trim).filter(|rest| !rest.is_empty()).unwrap_or(title)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Heading,
    Item,
}

/// A heading or an item of a list.
struct Entry {
    kind: Kind,
    /// The entry around it.
    above: Option<usize>,
    /// The place of its words.
    words: Range<usize>,
    /// The mark of the item or heading.
    mark: Option<String>,
    /// The places of its further paragraphs, code and other blocks.
    notes: Vec<Range<usize>>,
}

/// Reads the entries of a text.
struct Reader<'a> {
    text: &'a str,
    entries: Vec<Entry>,
    /// The headings around what is read, each with its level.
    headings: Vec<(usize, usize)>,
    /// The items around what is read, each with whether its words are still read.
    items: Vec<(usize, bool)>,
    /// The block that is kept unchanged as a note.
    note: Range<usize>,
    /// True while the words of a heading are read.
    is_in_heading: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, entries: Vec::new(), headings: Vec::new(), items: Vec::new(), note: 0..0, is_in_heading: false }
    }

    fn read(mut self) -> Vec<Entry> {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
            | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
        for (event, range) in Parser::new_ext(self.text, options).into_offset_iter() {
            let is_in_note = range.start >= self.note.start && range.end <= self.note.end;
            if !is_in_note {
                self.event(event, range);
            }
        }
        self.entries
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::Heading { level, .. }) if self.items.is_empty() => {
                self.headings.retain(|(_, other)| *other < level as usize);
                let above = self.headings.last().map(|(above, _)| *above);
                self.headings.push((self.entries.len(), level as usize));
                self.add(Kind::Heading, above, range.start);
                self.is_in_heading = true;
            }
            Event::End(TagEnd::Heading(_)) => self.is_in_heading = false,
            Event::Start(Tag::Item) => {
                let above = self.innermost();
                self.end_words();
                self.items.push((self.entries.len(), true));
                self.add(Kind::Item, above, range.start);
            }
            Event::End(TagEnd::Item) => drop(self.items.pop()),
            Event::Start(Tag::List(_)) => self.end_words(),
            // The first paragraph of an item has its words.
            Event::Start(Tag::Paragraph) if self.reads_words() => {}
            Event::End(TagEnd::Paragraph) => self.end_words(),
            Event::Start(Tag::MetadataBlock(_)) => self.note = range,
            Event::Start(
                Tag::Paragraph
                | Tag::Heading { .. }
                | Tag::BlockQuote(_)
                | Tag::CodeBlock(_)
                | Tag::HtmlBlock
                | Tag::Table(_)
                | Tag::FootnoteDefinition(_),
            ) => {
                self.end_words();
                self.note = range.clone();
                if let Some(entry) = self.innermost() {
                    self.entries[entry].notes.push(range);
                }
            }
            Event::Rule | Event::End(_) => {}
            _ if self.is_in_heading => self.extend(self.headings.last().map(|(entry, _)| *entry), &range),
            _ if self.reads_words() => self.extend(self.items.last().map(|(entry, _)| *entry), &range),
            _ => {}
        }
    }

    fn add(&mut self, kind: Kind, above: Option<usize>, at: usize) {
        self.entries.push(Entry { kind, above, words: at..at, mark: None, notes: Vec::new() });
    }

    /// The item or heading around what is read.
    fn innermost(&self) -> Option<usize> {
        self.items.last().map(|(entry, _)| *entry).or_else(|| self.headings.last().map(|(entry, _)| *entry))
    }

    fn reads_words(&self) -> bool {
        self.items.last().is_some_and(|(_, reads)| *reads)
    }

    fn end_words(&mut self) {
        if let Some((entry, reads)) = self.items.last_mut().filter(|(_, reads)| *reads) {
            *reads = false;
            let entry = &mut self.entries[*entry];
            entry.mark = split_mark(self.text[entry.words.clone()].trim()).0.map(str::to_owned);
        }
    }

    /// Adds a piece to the words of an entry.
    fn extend(&mut self, entry: Option<usize>, range: &Range<usize>) {
        let Some(entry) = entry else { return };
        let words = &mut self.entries[entry].words;
        *words = if words.start == words.end { range.clone() } else { words.start..words.end.max(range.end) };
        let item = self.items.last().filter(|(_, reads)| *reads).map(|(item, _)| *item);
        let heading = self.headings.last().map(|(heading, _)| *heading).filter(|_| self.is_in_heading);
        if let Some(entry) = item.or(heading) {
            let entry = &mut self.entries[entry];
            entry.mark = split_mark(self.text[entry.words.clone()].trim()).0.map(str::to_owned);
        }
    }
}

/// The entries of a text.
struct Plan<'a> {
    text: &'a str,
    /// The places of its line feeds.
    line_ends: Vec<usize>,
    entries: Vec<Entry>,
    has_marks: bool,
}

impl Plan<'_> {
    fn frames(self) -> Imported {
        let mut collector = Collector::default();
        // The kept entries are items with a mark, or all items if there are no marks, and the entries around
        // them.
        let mut is_kept: Vec<bool> = self.entries.iter().map(|entry| self.is_task(entry)).collect();
        for index in (0..self.entries.len()).rev() {
            if let Some(above) = self.entries[index].above.filter(|_| is_kept[index]) {
                is_kept[above] = true;
            }
        }
        let notes = self.notes(&is_kept, &mut collector);
        let mut ids: Vec<String> = vec![String::new(); self.entries.len()];
        for (index, notes) in notes.into_iter().enumerate().filter(|(index, _)| is_kept[*index]) {
            let above = self.entries[index].above.map(|above| ids[above].clone());
            ids[index] = self.add(index, above.as_deref(), &notes, &mut collector);
        }
        collector.finish()
    }

    fn is_task(&self, entry: &Entry) -> bool {
        entry.mark.is_some() || (entry.kind == Kind::Item && !self.has_marks)
    }

    /// The notes of each entry. The notes of an entry that is not kept belong to the kept entry around it.
    fn notes(&self, is_kept: &[bool], collector: &mut Collector) -> Vec<Vec<String>> {
        let mut notes: Vec<Vec<String>> = vec![Vec::new(); self.entries.len()];
        for (index, entry) in self.entries.iter().enumerate() {
            let own = entry.notes.iter().map(|range| self.block(range));
            let named = match entry.kind {
                _ if is_kept[index] => None,
                Kind::Heading => Some(self.words(entry)),
                Kind::Item => Some(format!("- {}", self.words(entry))),
            };
            let mut around = Some(index);
            while let Some(above) = around.filter(|above| !is_kept[*above]) {
                around = self.entries[above].above;
            }
            let said: Vec<String> = named.into_iter().chain(own).filter(|note| !note.trim().is_empty()).collect();
            match around {
                Some(around) => notes[around].extend(said),
                None if said.is_empty() => {}
                None => {
                    collector.report(self.place(entry), "belongs to no item; left out");
                }
            }
        }
        notes
    }

    /// The line of an entry, as reports name it.
    fn place(&self, entry: &Entry) -> String {
        format!("line {}", 1 + self.line_ends.partition_point(|end| *end < entry.words.start))
    }

    /// Adds the frame of an entry, and returns its ID.
    fn add(&self, index: usize, above: Option<&str>, notes: &[String], collector: &mut Collector) -> String {
        let entry = &self.entries[index];
        let place = self.place(entry);
        let words = self.words(entry);
        let title = without_number(&words).to_owned();
        let is_dropped = title.len() > 4 && title.starts_with("~~") && title.ends_with("~~");
        let id = free_id(above, &title, collector);
        let title = if title.is_empty() {
            collector.report(&place, "has no title; its ID is used");
            id.clone()
        } else {
            title
        };
        let notes: Vec<(&str, &str)> = notes.iter().map(|note| ("", note.as_str())).collect();
        let notes = task_of(&notes, &place, collector);
        if !self.is_task(entry) {
            let texts = Texts { title, criteria: notes, results: String::new() };
            let group = if entry.kind == Kind::Heading { Group::Heading } else { Group::List };
            let frame = task_frame(id.clone(), above, FrameStatus::Planned, texts);
            collector.add_made(frame, group, &place);
            return id;
        }
        let fate = self.fate(entry, is_dropped, &place, collector);
        let (status, waits) = match &fate {
            Ok(Finished) => (FrameStatus::Completed, None),
            Ok(Removed) => (FrameStatus::Invalidated, None),
            Ok(Begun) => (FrameStatus::InProgress, None),
            Ok(Waits(reason)) => (FrameStatus::Planned, Some((*reason).to_owned())),
            Ok(_) => (FrameStatus::Planned, None),
            Err(reason) => (FrameStatus::Planned, Some(reason.clone())),
        };
        let texts = Texts { title, criteria: String::new(), results: String::new() };
        let frame = Frame {
            task: notes,
            invalidation_reason: (status == FrameStatus::Invalidated).then(|| "cancelled".to_owned()),
            ..task_frame(id.clone(), above, status, texts)
        };
        let index = collector.add(frame, &place);
        waits.into_iter().for_each(|reason| collector.wait(index, reason));
        id
    }

    /// What the mark of an item says, or, if that is not known, why the item waits.
    fn fate(
        &self,
        entry: &Entry,
        is_dropped: bool,
        place: &str,
        collector: &mut Collector,
    ) -> std::result::Result<Fate, String> {
        // An item without a mark is treated like the heading with a mark around it.
        let around = std::iter::successors(entry.above, |above| self.entries[*above].above);
        let inherited = { around }.find_map(|above| self.entries[above].mark.as_deref());
        let mark = entry.mark.as_deref().or(inherited).unwrap_or(" ");
        let known = MARKS.iter().find(|(known, _)| *known == mark.to_lowercase()).map(|(_, fate)| *fate);
        match known {
            Some(Work) if is_dropped => Ok(Removed),
            Some(fate) => Ok(fate),
            None => {
                collector.report(place, format!("the mark `[{mark}]` is unknown; it waits until a person answers"));
                Err(format!("It is marked with `[{mark}]`."))
            }
        }
    }

    /// The words of an entry on one line, without the mark.
    fn words(&self, entry: &Entry) -> String {
        one_line(split_mark(self.text[entry.words.clone()].trim()).1)
    }

    /// A block as it is in the file, without its indentation.
    fn block(&self, range: &Range<usize>) -> String {
        let start = self.text[..range.start].rfind('\n').map_or(0, |end| end + 1);
        let indentation = self.text[start..range.start].chars().count();
        let lines = self.text[range.clone()].trim_end().lines().enumerate().map(|(index, line)| {
            let blank = line.chars().take_while(|character| character.is_whitespace()).count();
            let cut = if index == 0 { 0 } else { indentation.min(blank) };
            &line[line.char_indices().nth(cut).map_or(line.len(), |(at, _)| at)..]
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// An ID that is made from a title, and that no frame has.
fn free_id(above: Option<&str>, title: &str, collector: &Collector) -> String {
    let words = title.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    let part = words.map(str::to_lowercase).collect::<Vec<_>>().join("-");
    let part = match beginning(&part, LONGEST_PART).trim_end_matches('-') {
        "" => "item",
        part => part,
    };
    let whole = match above.filter(|above| above.len() + part.len() < LONGEST_ID) {
        Some(above) => format!("{above}/{part}"),
        None => part.to_owned(),
    };
    let is_free = |id: &String| !collector.places.contains_key(id);
    crate::text::first_free(
        1..,
        |number| if number == 1 { whole.clone() } else { format!("{whole}-{number}") },
        is_free,
    )
}

//! The screen: its knowledge of the stack, the effect of each key, and when it must be drawn again.

use std::time::Instant;

use callstack_core::text::one_line;
use callstack_core::{Error, Handle, Stack};
use ratatui::crossterm::event::{Event, KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Size};

use super::action::{Action, Shown, Waiting};
use super::at_work::AtWork;
use super::details::{Details, Tab};
use super::filter::Filter;
use super::help;
use super::keys::{Step, Wish};
use super::layout::Layout;
use super::palette::Palette;
use super::prompt::{Act, MARGIN, Outcome, Prompt, Search};
use super::quiet::Quiet;
use super::refusal::Refusal;
use super::sheet::{self, Content, Sheet};
use super::times::Times;
use super::view::{Notice, Pane, View, moved};
use crate::clock::now;
use crate::failure::Failure;
use crate::folder::{DatabaseFile, StackFolder};
use crate::output::Line;

/// Number of lines by which a step of the wheel moves.
const WHEEL: usize = 3;

/// A wish of the person that the program fulfils outside of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Quit,
    Interrupt,
    Suspend,
    Repaint,
}

pub struct Screen<'a> {
    pub stack: &'a Stack,
    folder: &'a StackFolder,
    /// The database that the stack was read from.
    file: DatabaseFile,
    /// The folder of the stack, as people read it.
    pub name: String,
    pub view: View,
    pub times: Times,
    pub details: Details,
    pub at_work: AtWork,
    pub palette: Palette,
    /// The time of the redraw, in milliseconds since the Unix epoch.
    pub now: u64,
    /// Why the stack cannot be read any more.
    pub trouble: Option<Refusal>,
    pub quiet: Quiet,
    /// The revision that the rows show.
    revision: u64,
    drawn: Option<Drawn>,
}

/// The conditions of the last redraw.
#[derive(PartialEq, Eq)]
struct Drawn {
    size: Size,
    second: u64,
}

impl<'a> Screen<'a> {
    /// # Errors
    /// If the folder does not contain the stack any more.
    pub fn new(stack: &'a Stack, folder: &'a StackFolder, palette: Palette) -> Result<Self, Failure> {
        let path = folder.files()?;
        Ok(Self {
            stack,
            folder,
            file: folder.database_file()?,
            name: one_line(&folder.shown()?),
            view: View::new(),
            times: Times::default(),
            details: Details::new(path, folder.same_stack()),
            at_work: AtWork::default(),
            palette,
            now: now(),
            trouble: None,
            quiet: Quiet::default(),
            revision: 0,
            drawn: None,
        })
    }

    /// Takes in the changes of other processes.
    pub fn refresh(&mut self) {
        let refreshed = self.stack.refresh().and_then(|_| self.update());
        let trouble = refreshed.err().map(|error| self.refusal(error.into()));
        if self.trouble != trouble {
            self.trouble = trouble;
            self.drawn = None;
        }
    }

    /// Makes the rows again, if the stack or what the person wants to see has changed.
    ///
    /// # Errors
    /// If a frame cannot be read.
    fn update(&mut self) -> Result<(), Error> {
        let revision = self.stack.read(|tree| tree.revision())?;
        if self.view.is_stale || self.revision != revision {
            self.revision = revision;
            self.drawn = None;
            self.stack.read(|tree| self.view.update(tree))?;
        }
        Ok(())
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Where the parts of the screen are.
    pub fn layout(&self, size: Size) -> Layout {
        let width = usize::from(size.width);
        let lines = match &self.view.prompt {
            Some(prompt) => Some(prompt.height(width)),
            None => Some(self.refusal_lines(width).len()).filter(|lines| *lines > 0).map(|lines| 1 + lines),
        };
        Layout::of(size, self.view.pane, lines.map(|lines| u16::try_from(lines).unwrap_or(u16::MAX)))
    }

    /// The number of lines of the sheet, and the number of lines for which there is room.
    pub fn sheet_extent(&self, layout: &Layout) -> (usize, usize) {
        let area = sheet::area(layout);
        let lines = match self.view.sheet.map(|sheet| sheet.of) {
            Some(Content::Keys) => help::height(area),
            Some(Content::AtWork) => self.at_work.lines().len(),
            None => 0,
        };
        (lines, usize::from(area.height))
    }

    /// The refusal that the person must see, unless it is a part of the prompt.
    pub fn current_refusal(&self) -> Option<&Refusal> {
        match &self.view.notice {
            Some(Notice::Refused(refusal)) => Some(refusal),
            Some(Notice::Said(_)) => None,
            None => self.trouble.as_ref(),
        }
    }

    /// The lines of a refusal that does not fit into the last line of the screen. They are at the place of
    /// the prompt.
    pub fn refusal_lines(&self, width: usize) -> Vec<Line> {
        let inner = width.saturating_sub(2 * MARGIN);
        match self.current_refusal().filter(|refusal| self.view.prompt.is_none() && !refusal.fits(inner)) {
            Some(refusal) => refusal.lines(inner),
            None => Vec::new(),
        }
    }

    fn refusal(&self, failure: Failure) -> Refusal {
        Refusal::of(failure, &self.folder.same_stack())
    }

    /// Prepares a redraw, and returns false if the screen shows everything already.
    pub fn prepare(&mut self, size: Size) -> bool {
        self.now = now();
        if self.quiet.before_redraw(Instant::now()) {
            self.drawn = None;
        }
        let layout = self.layout(size);
        self.view.scroll_to_selected(usize::from(layout.rows().height));
        if let (Some(details), Some(selected)) = (layout.details, self.view.chosen.selected) {
            self.follow_times(&[selected]);
            let width = usize::from(details.width);
            if self.details.update(self.stack, &self.times, selected, self.view.tab, width) {
                self.drawn = None;
            }
            let last = self.details.lines().len().saturating_sub(usize::from(layout.text().height));
            let is_end = self.view.tab.ends_with_newest() && self.view.is_at_end;
            self.view.scroll = if is_end { last } else { self.view.scroll.min(last) };
        }
        self.follow_work(&layout);
        let drawn = Some(Drawn { size, second: self.now / 1_000 });
        if self.drawn == drawn {
            return false;
        }
        self.drawn = drawn;
        let last = (self.view.top + self.view.height).min(self.view.rows.rows.len());
        let rows = self.view.rows.rows.get(self.view.top..last).unwrap_or_default();
        let shown: Vec<Handle> = rows.iter().map(|row| row.handle).collect();
        self.follow_times(&shown);
        true
    }

    /// Brings the sheet that shows who is at work up to date, if it is shown.
    fn follow_work(&mut self, layout: &Layout) {
        let Some(shown) = self.view.sheet.filter(|sheet| sheet.of == Content::AtWork) else { return };
        let width = usize::from(sheet::area(layout).width);
        if let Err(error) = self.at_work.update(self.stack, self.now, width) {
            self.trouble = Some(self.refusal(error.into()));
        }
        let (lines, height) = self.sheet_extent(layout);
        self.view.sheet = Some(Sheet { first: shown.first.min(lines.saturating_sub(height)), ..shown });
    }

    fn follow_times(&mut self, frames: &[Handle]) {
        if let Err(error) = self.times.follow(self.stack, frames) {
            self.trouble = Some(self.refusal(error.into()));
        }
    }

    /// Lets the next redraw draw everything.
    pub fn must_draw(&mut self) {
        self.drawn = None;
    }

    /// Does what the person wants. `size`: the size of the screen.
    pub fn handle(&mut self, event: &Event, size: Size) -> Option<Request> {
        self.drawn = None;
        let request = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => match self.quiet.discards(Instant::now()) {
                true => None,
                false => self.key(*key, size),
            },
            Event::Mouse(mouse) => {
                self.mouse(*mouse, size);
                None
            }
            Event::Paste(text) => {
                self.view.prompt.as_mut().into_iter().for_each(|prompt| prompt.paste(text));
                // If a text contains the mark of its end, the rest of it arrives as keys.
                self.quiet.begin(Instant::now());
                None
            }
            _ => None,
        };
        if let Err(error) = self.update() {
            self.trouble = Some(self.refusal(error.into()));
        }
        request
    }

    fn key(&mut self, key: KeyEvent, size: Size) -> Option<Request> {
        self.view.notice = None;
        if let Some(prompt) = self.view.prompt.take() {
            let was_typing = prompt.input().is_some();
            self.prompted(prompt, key);
            let is_typing = self.view.prompt.as_ref().is_some_and(|prompt| prompt.input().is_some());
            if !is_typing || !was_typing {
                self.quiet.begin(Instant::now());
            }
            // Meanwhile the selection has not followed the active frame.
            self.view.is_stale |= self.view.prompt.is_none();
            return None;
        }
        let wish = Wish::of(key);
        let (lines, height) = self.sheet_extent(&self.layout(size));
        let Some(shown) = self.view.sheet.take() else { return self.fulfil(wish?, size) };
        match wish? {
            Wish::Move(step) if lines > height => {
                self.view.sheet = Some(Sheet { first: moved(shown.first, step, lines - height, height), ..shown });
                None
            }
            wish @ (Wish::Interrupt | Wish::Suspend | Wish::Repaint) => self.fulfil(wish, size),
            // A key that closes a sheet does nothing else.
            _ => None,
        }
    }

    /// Does what a click or the wheel says. Only keys answer a question of the screen.
    fn mouse(&mut self, mouse: MouseEvent, size: Size) {
        let step = match mouse.kind {
            MouseEventKind::ScrollUp => Some(Step::Up),
            MouseEventKind::ScrollDown => Some(Step::Down),
            MouseEventKind::Down(MouseButton::Left) => None,
            _ => return,
        };
        if self.view.prompt.is_some() {
            return;
        }
        self.view.notice = None;
        let layout = self.layout(size);
        let (lines, height) = self.sheet_extent(&layout);
        if let Some(shown) = self.view.sheet.take() {
            let scrolled = |first, step| moved(first, step, lines.saturating_sub(height), height);
            self.view.sheet = step
                .map(|step| Sheet { first: (0..WHEEL).fold(shown.first, |first, _| scrolled(first, step)), ..shown });
            return;
        }
        let at = Position::new(mouse.column, mouse.row);
        let rows = layout.rows();
        let is_in_details = layout.details.is_some_and(|details| details.contains(at));
        match step {
            None if rows.contains(at) => self.view.click(usize::from(at.y - rows.y)),
            None if is_in_details => self.view.pane = Pane::Details,
            None => {}
            Some(step) => {
                let pane = self.view.pane;
                self.view.pane = if is_in_details { Pane::Details } else { Pane::Tree };
                (0..WHEEL).for_each(|_| self.go(step, size));
                self.view.pane = pane;
            }
        }
    }

    fn fulfil(&mut self, wish: Wish, size: Size) -> Option<Request> {
        let view = &mut self.view;
        let is_in_details = view.is_in_details();
        match wish {
            Wish::Quit => return Some(Request::Quit),
            Wish::Interrupt => return Some(Request::Interrupt),
            Wish::Suspend => return Some(Request::Suspend),
            Wish::Repaint => return Some(Request::Repaint),
            Wish::Move(step) => self.go(step, size),
            Wish::Left if is_in_details => view.show(view.tab.further(Tab::ALL.len() - 1)),
            Wish::Right if is_in_details => view.show(view.tab.further(1)),
            Wish::Left => view.go_left(),
            Wish::Right => view.go_right(),
            Wish::Fold => view.toggle_fold(),
            Wish::Open => view.pane = Pane::Details,
            Wish::Back if is_in_details => view.pane = Pane::Tree,
            Wish::Back => {
                view.chosen.search.clear();
                if view.chosen.filter != Filter::Plan {
                    view.set_filter(Filter::Plan);
                }
            }
            Wish::SwitchPane => view.pane = if is_in_details { Pane::Tree } else { Pane::Details },
            Wish::NextView => view.show(view.tab.further(1)),
            Wish::PreviousView => view.show(view.tab.further(Tab::ALL.len() - 1)),
            Wish::Follow => self.toggle_follow(),
            Wish::NextWaiting => {
                if !self.stack.read(|tree| view.go_to_waiting(tree)).unwrap_or_default() {
                    view.say("No frame waits for you.");
                }
            }
            Wish::Search => view.prompt = Some(Prompt::search(view.chosen.clone())),
            Wish::NextMatch => self.go_to_match(false),
            Wish::PreviousMatch => self.go_to_match(true),
            Wish::NextFilter => view.set_filter(view.chosen.filter.next()),
            Wish::Filter(digit) => Filter::of_digit(digit).into_iter().for_each(|filter| view.set_filter(filter)),
            Wish::Answer => {
                let stack = self.stack;
                let waiting = |frame| stack.read(|tree| Waiting::of(tree, frame)).unwrap_or_default();
                self.ask(|frame| Action::Answer(frame, waiting(frame)));
            }
            Wish::Stop => self.ask(Action::Stop),
            Wish::Retry => self.ask(Action::Retry),
            Wish::Invalidate => self.ask(Action::Invalidate),
            Wish::Complete => self.ask(Action::Complete),
            Wish::Begin => self.ask(Action::Begin),
            Wish::Plan => self.ask(Action::Plan),
            Wish::Edit => {
                let stack = self.stack;
                let title = |frame: Handle| stack.read(|tree| tree.node(frame).title().to_owned()).unwrap_or_default();
                self.ask(|frame| Action::Edit(frame, title(frame)));
            }
            Wish::Undo => self.ask(Action::Undo),
            Wish::Help => view.sheet = Some(Sheet::of(Content::Keys)),
            Wish::AtWork => view.sheet = Some(Sheet::of(Content::AtWork)),
        }
        None
    }

    fn go(&mut self, step: Step, size: Size) {
        let layout = self.layout(size);
        let page = usize::from(layout.text().height);
        self.view.go(step, self.details.lines().len(), page);
    }

    fn toggle_follow(&mut self) {
        let view = &mut self.view;
        view.chosen.follows = !view.chosen.follows;
        view.is_stale = true;
        view.say(match view.chosen.follows {
            true => "Follows the active frame.",
            false => "Stays at the selected frame.",
        });
    }

    fn go_to_match(&mut self, is_back: bool) {
        let view = &mut self.view;
        if view.chosen.search.is_empty() {
            view.say("Nothing is searched: / begins a search.");
        } else if !self.stack.read(|tree| view.go_to_match(tree, is_back)).unwrap_or_default() {
            self.refuse_match();
        }
    }

    fn refuse_match(&mut self) {
        let message = format!("No frame matches {}.", one_line(&self.view.chosen.search));
        self.view.refuse(Refusal::new(message));
    }

    /// Asks the person about an action on the selected frame, unless the stack would refuse it.
    fn ask(&mut self, action: impl FnOnce(Handle) -> Action) {
        let Some(selected) = self.view.chosen.selected else { return };
        if let Err(trouble) = self.check_readable() {
            return self.view.refuse(trouble);
        }
        let action = action(selected);
        match action.effects(self.stack, "text") {
            Ok(effects) => {
                self.view.prompt = Some(Prompt::Act(Act::new(action, effects)));
                let is_confirming = self.view.prompt.as_ref().is_some_and(|prompt| prompt.input().is_none());
                if is_confirming {
                    self.quiet.begin(Instant::now());
                }
            }
            Err(failure) => self.view.refuse(self.refusal(failure)),
        }
    }

    fn prompted(&mut self, prompt: Prompt, key: KeyEvent) {
        match prompt.key(key) {
            Outcome::Open(prompt) => self.view.prompt = Some(prompt),
            Outcome::SearchCancelled(before) => self.view.return_to(before),
            Outcome::Cancelled => self.view.say("Nothing was changed."),
            Outcome::Searching { search, is_done } => self.search(search, is_done),
            // A text that the stack refuses is not confirmed first. Neither are effects that the person has
            // not seen.
            Outcome::Entered(act) => match self.check_seen(&act) {
                Err(refusal) => self.ask_again(act, refusal),
                Ok(_) if act.asks_again() => self.view.prompt = Some(Prompt::Act(act.confirming())),
                Ok(_) => self.carry_out(act),
            },
            Outcome::Do(act) => self.carry_out(act),
        }
    }

    /// Goes to the first match from the place where the search began.
    fn search(&mut self, search: Search, is_done: bool) {
        let view = &mut self.view;
        view.return_to(search.before.clone());
        view.chosen.search = search.input.text().to_lowercase();
        if !view.chosen.search.is_empty() && !self.stack.read(|tree| view.go_to_first_match(tree)).unwrap_or_default() {
            self.refuse_match();
        }
        if !is_done {
            self.view.prompt = Some(Prompt::Search(search));
        }
    }

    /// Checks that the screen shows the stack as it is, because nothing may be done to another stack.
    fn check_readable(&mut self) -> Result<(), Refusal> {
        self.refresh();
        self.trouble.clone().map_or(Ok(()), Err)
    }

    /// Checks that the stack takes an action, with the effects that the person has seen.
    fn check_seen(&mut self, act: &Act) -> Result<(), Refusal> {
        self.check_readable()?;
        let current = act.action.effects(self.stack, act.input.text());
        current
            .and_then(|current| act.effects.check(act.action.frame(), current))
            .map_err(|failure| self.refusal(failure))
    }

    fn carry_out(&mut self, act: Act) {
        if let Err(trouble) = self.check_readable() {
            return self.ask_again(act, trouble);
        }
        let shown = Shown { stack: self.stack, folder: self.folder, file: self.file };
        let done = act.action.carry_out(act.input.text(), act.effects, &shown);
        self.refresh();
        match done {
            Ok(said) => self.view.say(said),
            Err(failure) => self.ask_again(act, self.refusal(failure)),
        }
    }

    /// Shows a refusal above the text that was typed.
    fn ask_again(&mut self, act: Act, refusal: Refusal) {
        self.view.prompt = Some(Prompt::Act(act.refused(refusal, self.stack)));
        self.quiet.begin(Instant::now());
    }
}

//! The screen: what it knows of the stack, what each key does, and when it must be drawn again.

use std::path::PathBuf;

use callstack_core::text::one_line;
use callstack_core::{Handle, Stack};
use ratatui::crossterm::event::{Event, KeyEvent, KeyEventKind};
use ratatui::layout::Size;

use super::action::Action;
use super::details::{Details, Tab};
use super::filter::Filter;
use super::input::Input;
use super::keys::{Step, Wish};
use super::layout::Layout;
use super::palette::Palette;
use super::prompt::{Outcome, Prompt};
use super::times::Times;
use super::view::{Pane, View};
use crate::commands::show::now;
use crate::failure::Failure;
use crate::folder::StackFolder;

/// What the program must do for the user, outside of the screen.
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
    /// The folder of the stack, for people.
    pub name: String,
    pub view: View,
    pub times: Times,
    pub details: Details,
    pub palette: Palette,
    /// The time of the redraw, in milliseconds since the Unix epoch.
    pub now: u64,
    /// Why the stack cannot be read any more.
    pub trouble: Option<String>,
    /// The revision that the rows show.
    revision: u64,
    drawn: Option<Drawn>,
}

/// What the last redraw depended on.
#[derive(PartialEq, Eq)]
struct Drawn {
    size: Size,
    second: u64,
}

impl<'a> Screen<'a> {
    pub fn new(stack: &'a Stack, folder: &'a StackFolder, path: PathBuf, palette: Palette) -> Self {
        Self {
            stack,
            folder,
            name: one_line(&path.display().to_string()),
            view: View::new(),
            times: Times::default(),
            details: Details::new(path),
            palette,
            now: now(),
            trouble: None,
            revision: 0,
            drawn: None,
        }
    }

    /// Takes in what others have done.
    pub fn refresh(&mut self) {
        let trouble = self.stack.refresh().err().map(|error| Failure::from(error).message().to_owned());
        if self.trouble != trouble {
            self.trouble = trouble;
            self.drawn = None;
        }
        self.update();
    }

    /// Makes the rows again, if the stack or what the user wants to see has changed.
    fn update(&mut self) {
        let revision = self.stack.read(|tree| tree.revision());
        if self.view.is_stale || self.revision != revision {
            self.revision = revision;
            self.stack.read(|tree| self.view.update(tree));
            self.drawn = None;
        }
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Where the parts of the screen are.
    pub fn layout(&self, size: Size) -> Layout {
        let prompt = self.view.prompt.as_ref();
        let lines = prompt.map(|prompt| self.stack.read(|tree| prompt.height(tree, usize::from(size.width))));
        Layout::of(size, self.view.pane, lines.map(|lines| u16::try_from(lines).unwrap_or(u16::MAX)))
    }

    /// Prepares a redraw, and returns false if the screen shows everything already.
    pub fn prepare(&mut self, size: Size) -> bool {
        self.now = now();
        let layout = self.layout(size);
        self.view.scroll_to_selected(usize::from(layout.rows().height));
        if let (Some(details), Some(selected)) = (layout.details, self.view.selected) {
            self.follow_times(&[selected]);
            let width = usize::from(details.width);
            if self.details.update(self.stack, &self.times, selected, self.view.tab, width) {
                self.drawn = None;
            }
            let last = self.details.lines().len().saturating_sub(usize::from(layout.text().height));
            let is_end = self.view.tab.ends_with_newest() && self.view.is_at_end;
            self.view.scroll = if is_end { last } else { self.view.scroll.min(last) };
        }
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

    fn follow_times(&mut self, frames: &[Handle]) {
        if let Err(error) = self.times.follow(self.stack, frames) {
            self.trouble = Some(Failure::from(error).message().to_owned());
        }
    }

    /// Lets the next redraw draw everything.
    pub fn must_draw(&mut self) {
        self.drawn = None;
    }

    /// Does what the user wants. `size`: that of the screen.
    pub fn handle(&mut self, event: &Event, size: Size) -> Option<Request> {
        self.drawn = None;
        let request = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key, size),
            Event::Paste(text) => {
                self.view.prompt.as_mut().into_iter().for_each(|prompt| prompt.paste(text));
                None
            }
            _ => None,
        };
        self.update();
        request
    }

    fn key(&mut self, key: KeyEvent, size: Size) -> Option<Request> {
        self.view.notice = None;
        if let Some(prompt) = self.view.prompt.take() {
            self.prompted(prompt, key);
            return None;
        }
        let wish = Wish::of(key);
        let is_help = std::mem::take(&mut self.view.is_help);
        // A key that closes the help does nothing else.
        let wish = wish.filter(|wish| !is_help || matches!(wish, Wish::Interrupt | Wish::Suspend | Wish::Repaint))?;
        self.fulfil(wish, size)
    }

    fn fulfil(&mut self, wish: Wish, size: Size) -> Option<Request> {
        let view = &mut self.view;
        let is_in_details = view.pane == Pane::Details;
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
                view.search.clear();
                if view.filter != Filter::All {
                    view.set_filter(Filter::All);
                }
            }
            Wish::SwitchPane => view.pane = if is_in_details { Pane::Tree } else { Pane::Details },
            Wish::NextView => view.show(view.tab.further(1)),
            Wish::PreviousView => view.show(view.tab.further(Tab::ALL.len() - 1)),
            Wish::Follow => self.toggle_follow(),
            Wish::NextWaiting => {
                if !self.stack.read(|tree| view.go_to_waiting(tree)) {
                    view.say("No frame waits for you.");
                }
            }
            Wish::Search => view.prompt = Some(Prompt::Search(Input::line())),
            Wish::NextMatch => self.go_to_match(false),
            Wish::PreviousMatch => self.go_to_match(true),
            Wish::NextFilter => view.set_filter(view.filter.next()),
            Wish::Filter(digit) => Filter::of_digit(digit).into_iter().for_each(|filter| view.set_filter(filter)),
            Wish::Answer => self.ask(|frame| Action::Answer(frame, String::new())),
            Wish::Stop => self.ask(Action::Stop),
            Wish::Retry => self.ask(|frame| Action::Retry(frame, String::new())),
            Wish::Invalidate => self.ask(|frame| Action::Invalidate(frame, String::new())),
            Wish::Help => view.is_help = true,
        }
        None
    }

    fn go(&mut self, step: Step, size: Size) {
        let layout = self.layout(size);
        let page = usize::from(layout.text().height);
        self.view.go(step, self.details.lines().len(), page);
    }

    fn toggle_follow(&mut self) {
        self.view.follows = !self.view.follows;
        self.view.is_stale = true;
        self.view.say(match self.view.follows {
            true => "Follows the active frame.",
            false => "Stays at the selected frame.",
        });
    }

    fn go_to_match(&mut self, is_back: bool) {
        let view = &mut self.view;
        if view.search.is_empty() {
            view.say("Nothing is searched: / begins a search.");
        } else if !self.stack.read(|tree| view.go_to_match(tree, is_back)) {
            view.refuse(format!("No frame matches {}.", one_line(&view.search)));
        }
    }

    /// Asks the user about an action on the selected frame, unless the stack would refuse it.
    fn ask(&mut self, action: impl FnOnce(Handle) -> Action) {
        let Some(selected) = self.view.selected else { return };
        let action = action(selected);
        match action.check(self.stack) {
            Ok(()) => self.view.prompt = Some(Prompt::of(action)),
            Err(failure) => self.view.refuse(one_line(failure.message())),
        }
    }

    fn prompted(&mut self, prompt: Prompt, key: KeyEvent) {
        let view = &mut self.view;
        let is_search = matches!(prompt, Prompt::Search(_));
        match prompt.key(key) {
            Outcome::Open(prompt) => view.prompt = Some(prompt),
            Outcome::Cancelled if is_search => view.search.clear(),
            Outcome::Cancelled => view.say("Nothing was changed."),
            Outcome::Do(action) => self.carry_out(action),
            Outcome::Searching { input, is_done } => {
                view.search = input.text().to_lowercase();
                let is_found = view.search.is_empty() || self.stack.read(|tree| view.go_to_first_match(tree));
                if !is_found {
                    view.refuse(format!("No frame matches {}.", one_line(input.text())));
                }
                if !is_done {
                    view.prompt = Some(Prompt::Search(input));
                }
            }
        }
    }

    fn carry_out(&mut self, action: Action) {
        match action.carry_out(self.folder) {
            Ok(said) => self.view.say(said),
            Err(failure) => self.view.refuse(one_line(failure.message())),
        }
        self.refresh();
    }
}

//! `callstack watch` on the full screen: the tree as it grows, the selected frame beside it, and keys to act.
//!
//! One thread waits for the person, takes in the changes of other processes, and draws if something has
//! changed. The rows of the tree are made when the tree changes; a redraw formats only what is on the screen.

mod action;
mod at_work;
mod canvas;
mod details;
mod draw;
mod filter;
mod help;
mod input;
mod keys;
mod layout;
mod palette;
mod place;
mod prompt;
mod quiet;
mod refusal;
mod rows;
mod screen;
mod sheet;
mod short;
mod signals;
mod terminal;
mod times;
mod view;

use std::io;
use std::time::Duration;

use ratatui::crossterm::style::force_color_output;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::Medium;
use palette::Palette;
use screen::{Request, Screen};
use signals::Signals;
use terminal::{FullScreen, Input};

/// The pause between two looks at the stack.
const PAUSE: Duration = Duration::from_millis(100);

/// Shows the stack until the person quits, a signal ends the program, or the terminal has gone. `has_mouse`:
/// the mouse selects and scrolls.
pub fn run(folder: &StackFolder, has_mouse: bool) -> Result<Exit, Failure> {
    let stack = folder.open_to_read()?;
    let palette = Palette::of(Medium::output());
    // The library of the terminal reads NO_COLOR too, but not --color.
    force_color_output(palette.has_colors());
    let signals = Signals::register()?;
    let mut terminal = FullScreen::enter(has_mouse)?;
    let mut screen = Screen::new(&stack, folder, palette)?;
    loop {
        let asked = signals.asked();
        if let Some(signal) = asked.end {
            drop(terminal);
            return Ok(signals::end_by(signal));
        }
        if asked.suspend {
            suspend(&mut terminal, &signals)?;
            screen.must_draw();
        } else if asked.goes_on {
            terminal.resume()?;
            screen.must_draw();
        }
        screen.refresh();
        if screen.prepare(terminal.size()?) {
            terminal.draw(|frame| draw::draw(&screen, frame))?;
        }
        if terminal.wait(PAUSE) == Input::Gone {
            return Ok(Exit::Done);
        }
        while let Some(event) = terminal.next_event()? {
            match screen.handle(&event, terminal.size()?) {
                None => {}
                Some(Request::Quit) => return Ok(Exit::Done),
                Some(Request::Interrupt) => return Ok(Exit::Interrupted),
                Some(Request::Suspend) => suspend(&mut terminal, &signals)?,
                Some(Request::Repaint) => terminal.repaint()?,
            }
        }
    }
}

fn suspend(terminal: &mut FullScreen, signals: &Signals) -> io::Result<()> {
    terminal.suspend()?;
    // The signal to continue belongs to this stop.
    signals.asked();
    Ok(())
}

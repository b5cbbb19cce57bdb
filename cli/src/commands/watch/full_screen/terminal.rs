//! The terminal while the program has the full screen. No matter how the program ends, the terminal is as
//! before.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::panic;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
};
use ratatui::crossterm::terminal::{
    self, BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::{Position, Rect, Size};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use super::signals;
use crate::exit::Exit;
use crate::failure::Failure;

/// The largest part of a terminal that is drawn: its cells take memory, and a program can state any size.
const LARGEST: Size = Size::new(1_000, 500);

/// The bytes of a redraw. They reach the terminal together, so that no person sees only a part of it.
#[derive(Clone, Default)]
struct Picture(Rc<RefCell<Vec<u8>>>);

impl Picture {
    fn send(&self) -> io::Result<()> {
        let mut bytes = self.0.borrow_mut();
        let mut out = io::stdout().lock();
        out.write_all(&bytes)?;
        bytes.clear();
        out.flush()
    }
}

impl Write for Picture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Does nothing: [`Picture::send`] writes all bytes.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The result of a wait for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Ready,
    Nothing,
    /// The terminal does not exist any more.
    Gone,
}

/// The full screen. The program leaves it when this is dropped.
pub struct FullScreen {
    terminal: Terminal<CrosstermBackend<Picture>>,
    picture: Picture,
    /// True while the terminal is in the modes of the full screen. The hook for panics also leaves these
    /// modes.
    is_entered: Arc<AtomicBool>,
    has_mouse: bool,
}

impl FullScreen {
    /// Enters the full screen. `has_mouse`: the terminal tells what the mouse does, instead of selecting
    /// text.
    ///
    /// # Errors
    /// If the standard input is not a terminal; the errors of the terminal.
    pub fn enter(has_mouse: bool) -> Result<Self, Failure> {
        if !io::stdin().is_terminal() {
            let message = "the full screen needs a terminal as the standard input, for the keys";
            return Err(Failure::new(Exit::Usage, "no_terminal", message)
                .next("`callstack watch --lines` writes each change as a line"));
        }
        let is_entered = Arc::new(AtomicBool::new(false));
        let (of_hook, report) = (is_entered.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |panic| {
            leave(&of_hook);
            report(panic);
        }));
        let picture = Picture::default();
        let viewport = Viewport::Fixed(Rect::from((Position::ORIGIN, drawn_size()?)));
        let backend = CrosstermBackend::new(picture.clone());
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
        let mut screen = Self { terminal, picture, is_entered, has_mouse };
        screen.enter_modes()?;
        Ok(screen)
    }

    fn enter_modes(&mut self) -> io::Result<()> {
        self.is_entered.store(true, Ordering::SeqCst);
        terminal::enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide)?;
        if self.has_mouse {
            execute!(io::stdout(), EnableMouseCapture)?;
        }
        self.repaint()
    }

    /// Forgets what is on the screen, so that the next redraw writes all of it.
    pub fn repaint(&mut self) -> io::Result<()> {
        let area = Rect::from((Position::ORIGIN, drawn_size()?));
        self.terminal.resize(area)?;
        // What is outside of the drawn part of a large terminal, or was left there by a larger terminal.
        self.terminal.backend_mut().clear()
    }

    /// Takes in a new size of the terminal, and returns the size of its drawn part.
    pub fn size(&mut self) -> io::Result<Size> {
        let size = drawn_size()?;
        if self.terminal.get_frame().area().as_size() != size {
            self.repaint()?;
        }
        Ok(size)
    }

    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        queue!(self.picture, BeginSynchronizedUpdate)?;
        self.terminal.draw(draw)?;
        queue!(self.picture, EndSynchronizedUpdate)?;
        self.picture.send()
    }

    /// Leaves the full screen, stops the program, and enters the full screen again when the program
    /// continues.
    pub fn suspend(&mut self) -> io::Result<()> {
        leave(&self.is_entered);
        signals::suspend()?;
        self.enter_modes()
    }

    /// Enters the full screen again after the program was stopped without having left it.
    pub fn resume(&mut self) -> io::Result<()> {
        leave(&self.is_entered);
        self.enter_modes()
    }

    /// The next thing that the person has done, without waiting.
    pub fn next_event(&mut self) -> io::Result<Option<Event>> {
        match event::poll(Duration::ZERO)? {
            true => event::read().map(Some),
            false => Ok(None),
        }
    }

    /// Waits for the person. A signal ends the wait early.
    #[cfg(unix)]
    pub fn wait(&self, pause: Duration) -> Input {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        let stdin = io::stdin();
        let mut input = [PollFd::new(&stdin, PollFlags::IN)];
        let pause = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: pause.subsec_nanos().into() };
        let _ = poll(&mut input, Some(&pause));
        let found = input[0].revents();
        match found {
            _ if found.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) => Input::Gone,
            _ if found.contains(PollFlags::IN) => Input::Ready,
            _ => Input::Nothing,
        }
    }

    /// Waits for the person.
    #[cfg(not(unix))]
    pub fn wait(&self, pause: Duration) -> Input {
        match event::poll(pause) {
            Ok(true) => Input::Ready,
            Ok(false) => Input::Nothing,
            Err(_) => Input::Gone,
        }
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        leave(&self.is_entered);
    }
}

/// The size of the part of the terminal that is drawn.
fn drawn_size() -> io::Result<Size> {
    let (width, height) = terminal::size()?;
    Ok(Size::new(width.min(LARGEST.width), height.min(LARGEST.height)))
}

/// Gives the terminal back, once. Nothing can be done if that fails.
fn leave(is_entered: &AtomicBool) {
    if is_entered.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let _ = execute!(
            out,
            EndSynchronizedUpdate,
            DisableMouseCapture,
            DisableBracketedPaste,
            LeaveAlternateScreen,
            Show
        );
        let _ = terminal::disable_raw_mode();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::env;

    use pseudo_terminal::{Terminal as TestTerminal, text_of};

    use super::*;

    /// Set for the process that panics on the full screen.
    const PANICS: &str = "CALLSTACK_TEST_PANICS";

    /// The program of the test below. In other runs of the tests it does nothing.
    #[test]
    fn a_panic_on_the_full_screen() {
        if env::var_os(PANICS).is_none() {
            return;
        }
        let mut screen = FullScreen::enter(true).unwrap();
        screen.draw(|frame| frame.render_widget("full screen", frame.area())).unwrap();
        // The test has seen the screen when it presses a key.
        while screen.wait(Duration::from_secs(1)) == Input::Nothing {}
        let _ = screen.draw(|frame| {
            frame.render_widget("half a picture", frame.area());
            panic!("the reason of the panic");
        });
    }

    #[test]
    fn a_panic_leaves_the_terminal_as_before_and_its_message_on_the_normal_screen() {
        let program = env::current_exe().unwrap();
        let name = "commands::watch::full_screen::terminal::tests::a_panic_on_the_full_screen";
        let arguments = ["--exact", name, "--nocapture", "--test-threads=1"];
        let environment = [(PANICS, "1"), ("RUST_BACKTRACE", "0")];
        let before = TestTerminal::start("cat".as_ref(), &[], &[], (80, 24)).modes();
        let mut terminal = TestTerminal::start(&program, &arguments, &environment, (80, 24));
        let screen = terminal.wait_for_text("full screen");
        assert!(screen.alternate_screen() && screen.hide_cursor());
        terminal.press("x");
        assert_ne!(terminal.ending().code, 0, "the program fails");
        let screen = terminal.screen();
        let text = text_of(&screen);
        assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste(), "{text}");
        assert_eq!(terminal.modes(), before);
        assert!(text.contains("the reason of the panic") && !text.contains("half a picture"), "{text}");
    }
}

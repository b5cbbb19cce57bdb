//! The pane of the selected frame.

use callstack_core::FrameStatus;
use ratatui::layout::Rect;

use super::super::canvas::Canvas;
use super::super::details::Tab;
use super::super::filter::waits_for_person;
use super::super::palette::ALERT;
use super::super::screen::Screen;
use super::super::short::{self, age};
use crate::output::{EMPHASIS, FAINT, Line, of_status};

pub fn draw(screen: &Screen<'_>, area: Rect, text: Rect, canvas: &mut Canvas<'_>) {
    let head = Rect { height: text.y.saturating_sub(area.y), ..area };
    let lines = [tabs(screen), title(screen), status(screen)];
    for (line, y) in lines.into_iter().zip(head.top()..head.bottom()) {
        canvas.line(Rect { y, height: 1, ..head }, line);
    }
    if screen.view.chosen.selected.is_none() {
        return;
    }
    let lines = screen.details.lines().iter().skip(screen.view.scroll);
    for (line, y) in lines.zip(text.top()..text.bottom()) {
        canvas.line(Rect { y, height: 1, ..text }, line.copied());
    }
}

/// The names of the views. The shown one is marked, even without colours.
fn tabs(screen: &Screen<'_>) -> Line {
    let mut line = Line::new();
    for tab in Tab::ALL {
        let style = match (tab == screen.view.tab, screen.view.is_in_details()) {
            (true, true) => EMPHASIS.invert(),
            (true, false) => EMPHASIS.underline(),
            (false, _) => FAINT,
        };
        line = line.styled(style, format!(" {} ", tab.name())).plain(" ");
    }
    line
}

fn title(screen: &Screen<'_>) -> Line {
    let Some(selected) = screen.view.chosen.selected else { return Line::new() };
    let title = screen.stack.read(|tree| short::title(tree, selected)).unwrap_or_default();
    Line::new().styled(EMPHASIS, format!("{selected} {title}"))
}

/// The status of the selected frame in words, with its age.
fn status(screen: &Screen<'_>) -> Line {
    let Some(selected) = screen.view.chosen.selected else { return Line::new() };
    let read = screen.stack.read(|tree| {
        let record = tree.node(selected).record();
        (record.status, waits_for_person(tree, selected), tree.active() == Some(selected), record.is_interrupted())
    });
    let Ok((status, waits, is_active, is_interrupted)) = read else { return Line::new() };
    let aged = screen.times.age(selected, status, screen.now).map(age);
    let line = Line::new().styled(of_status(status), format!("{} {status}", status.mark()));
    let line = match (aged, status) {
        (Some(aged), FrameStatus::InProgress | FrameStatus::Blocked) => line.plain(format!(" for {aged}")),
        (Some(aged), _) => line.plain(format!(" after {aged} of work")),
        (None, _) => line,
    };
    let line = if is_active { line.styled(EMPHASIS, "  ← active") } else { line };
    let line = if is_interrupted { line.styled(ALERT, "  interrupted") } else { line };
    match waits {
        true => line.styled(ALERT, "  waits for you: ").styled(EMPHASIS, "a").styled(ALERT, " answers"),
        false => line,
    }
}

//! The drawing of the screen: header, tree, details, prompt, sheets and keys.

mod details;
mod frame;
mod sheet;
mod tree;

use ratatui::Frame;

use super::canvas::Canvas;
use super::screen::Screen;

/// Draws the whole screen.
pub fn draw(screen: &Screen<'_>, frame: &mut Frame<'_>) {
    let view = &screen.view;
    let layout = screen.layout(frame.area().as_size());
    let mut canvas = Canvas::new(frame.buffer_mut(), screen.palette);
    frame::header(screen, &layout, &mut canvas);
    if let Some(sheet) = view.sheet {
        sheet::draw(screen, sheet, &layout, &mut canvas);
        frame::footer(screen, &layout, &mut canvas);
        return;
    }
    if let Some(area) = layout.tree {
        tree::draw(screen, area, layout.rows(), &mut canvas);
    }
    if let Some(area) = layout.details {
        details::draw(screen, area, layout.text(), &mut canvas);
    }
    frame::rules(screen, &layout, &mut canvas);
    frame::footer(screen, &layout, &mut canvas);
    let Some(area) = layout.prompt else { return };
    let cursor = match &view.prompt {
        Some(prompt) => screen.stack.read(|tree| frame::prompt(prompt, tree, area, &mut canvas)).unwrap_or_default(),
        None => {
            frame::refusal(screen, area, &mut canvas);
            None
        }
    };
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
}

//! Colours. anstream removes the colours if they cannot be seen.

use anstyle::{AnsiColor, Style};
use callstack_core::FrameStatus;

pub const EMPHASIS: Style = Style::new().bold();
pub const FAINT: Style = Style::new().dimmed();

/// The colour of a status.
pub const fn of_status(status: FrameStatus) -> Style {
    match status {
        FrameStatus::Planned => Style::new(),
        FrameStatus::InProgress => AnsiColor::Cyan.on_default(),
        FrameStatus::Completed => AnsiColor::Green.on_default(),
        FrameStatus::Failed => AnsiColor::Red.on_default(),
        FrameStatus::Blocked => AnsiColor::Yellow.on_default(),
        FrameStatus::Invalidated => FAINT,
    }
}

//! The styles of the program on the full screen.

use anstyle::{AnsiColor, Effects};
use ratatui::style::{Color, Modifier, Style};

use crate::output::Medium;

/// The style of texts that must be seen first.
pub const ALERT: anstyle::Style = AnsiColor::Yellow.on_default().bold();

/// Turns styles into the styles of the screen. Without colours only bold, dimmed and reversed text is left.
#[derive(Debug, Clone, Copy)]
pub struct Palette {
    has_colors: bool,
}

impl Palette {
    pub fn of(medium: Medium) -> Self {
        Self { has_colors: medium.has_colors() }
    }

    pub fn has_colors(self) -> bool {
        self.has_colors
    }

    pub fn style(self, style: anstyle::Style) -> Style {
        let effects = style.get_effects();
        let modifiers = [
            (Effects::BOLD, Modifier::BOLD),
            (Effects::DIMMED, Modifier::DIM),
            (Effects::UNDERLINE, Modifier::UNDERLINED),
            (Effects::INVERT, Modifier::REVERSED),
        ];
        let shown = modifiers.iter().filter(|(effect, _)| effects.contains(*effect));
        let shown = shown.fold(Style::new(), |shown, (_, modifier)| shown.add_modifier(*modifier));
        match style.get_fg_color() {
            Some(anstyle::Color::Ansi(color)) if self.has_colors => shown.fg(named(color)),
            _ => shown,
        }
    }
}

fn named(color: AnsiColor) -> Color {
    match color {
        AnsiColor::Black => Color::Black,
        AnsiColor::Red => Color::Red,
        AnsiColor::Green => Color::Green,
        AnsiColor::Yellow => Color::Yellow,
        AnsiColor::Blue => Color::Blue,
        AnsiColor::Magenta => Color::Magenta,
        AnsiColor::Cyan => Color::Cyan,
        AnsiColor::White => Color::Gray,
        AnsiColor::BrightBlack => Color::DarkGray,
        AnsiColor::BrightRed => Color::LightRed,
        AnsiColor::BrightGreen => Color::LightGreen,
        AnsiColor::BrightYellow => Color::LightYellow,
        AnsiColor::BrightBlue => Color::LightBlue,
        AnsiColor::BrightMagenta => Color::LightMagenta,
        AnsiColor::BrightCyan => Color::LightCyan,
        AnsiColor::BrightWhite => Color::White,
    }
}

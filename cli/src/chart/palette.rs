//! The colours of charts, in light and dark. People with any kind of colour blindness can tell the hues
//! apart, and texts on the bars have a contrast of at least 4.5. Charts also mark each status by a sign, so
//! that no status is known only by its colour.

use callstack_core::FrameStatus;

/// A colour on a light and on a dark background, in the notation of CSS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color {
    pub light: &'static str,
    pub dark: &'static str,
}

/// The background of a chart.
pub const BACKGROUND: Color = color("#ffffff", "#0d1117");
/// Texts on the background and on bars.
pub const TEXT: Color = color("#1b1f24", "#f0f3f6");
/// Texts that matter less, on the background.
pub const FAINT_TEXT: Color = color("#57606a", "#9ea7b3");
/// Lines of the axis.
pub const GRID: Color = color("#d8dee4", "#2a313a");
/// The lines of hatchings, signs and edges on bars.
pub const INK: Color = color("#1b1f24", "#f0f3f6");
/// Tokens of prompts that were read from a cache.
pub const CACHED: Color = color("#7795b5", "#55708f");
/// Tokens of prompts that were not read from a cache.
pub const NOT_CACHED: Color = color("#083f75", "#a5d0ff");

/// The colour of the bars of a status.
pub const fn of_status(status: FrameStatus) -> Color {
    match status {
        FrameStatus::Planned => color("#eceff2", "#262c34"),
        FrameStatus::InProgress => color("#86c5ee", "#1d5f92"),
        FrameStatus::Completed => color("#9fd6c0", "#1e6a54"),
        FrameStatus::Failed => color("#f2956b", "#a33f0c"),
        FrameStatus::Blocked => color("#f4cf65", "#806000"),
        FrameStatus::Invalidated => color("#cfd3d8", "#4b525c"),
    }
}

/// The colours of bars, of what is on them, and of requests as variables of a style sheet, named after the
/// statuses.
pub fn style_sheet() -> String {
    let statuses = FrameStatus::ALL.iter().map(|status| (status.as_str(), of_status(*status)));
    let others = [("ink", INK), ("cached", CACHED), ("uncached", NOT_CACHED)];
    let variable = |(name, Color { light, dark }): (&str, Color)| format!("  --{name}: light-dark({light}, {dark});\n");
    let variables: String = statuses.chain(others).map(variable).collect();
    format!(":root {{\n{variables}}}\n")
}

const fn color(light: &'static str, dark: &'static str) -> Color {
    Color { light, dark }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of a colour, as the accessibility guidelines for the web (WCAG 2) define it.
    fn luminance(color: &str) -> f64 {
        let part = |place: usize| {
            let part = f64::from(u8::from_str_radix(&color[place..place + 2], 16).unwrap()) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// The contrast in light and in dark; the lower one.
    fn lowest(one: Color, other: Color) -> f64 {
        contrast(one.light, other.light).min(contrast(one.dark, other.dark))
    }

    #[test]
    fn texts_can_be_read_on_every_bar_and_on_the_background() {
        for status in FrameStatus::ALL {
            let found = lowest(TEXT, of_status(*status));
            assert!(found >= 4.5, "text on {status:?} has a contrast of {found:.2}");
        }
        for text in [TEXT, FAINT_TEXT] {
            let found = lowest(text, BACKGROUND);
            assert!(found >= 4.5, "{text:?} on the background has a contrast of {found:.2}");
        }
    }

    #[test]
    fn the_cached_share_is_seen_beside_the_rest_and_on_the_background() {
        for (one, other) in [(CACHED, NOT_CACHED), (CACHED, BACKGROUND), (NOT_CACHED, BACKGROUND)] {
            let found = lowest(one, other);
            assert!(found >= 3.0, "{one:?} and {other:?} have a contrast of {found:.2}");
        }
    }
}

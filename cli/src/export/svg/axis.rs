//! The axis of a picture: the time since the beginning of the run.

use callstack_core::tree::format_duration;

use super::{MARGIN, Scale, WIDTH, text, text_width};

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The distances between two marks that are easy to read, in milliseconds.
const STEPS: [u64; 31] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    30 * DAY,
];

/// Maximum number of marks, without the one at 0.
const MOST_MARKS: u64 = 9;

/// The marks with their times, and with lines behind the bars and behind the strip. Each line goes from a top
/// to a bottom.
pub fn draw(scale: &Scale, (top, bottom): (f64, f64), (strip_top, strip_bottom): (f64, f64)) -> String {
    let step = step(scale.length);
    let mut drawn = String::new();
    let has_strip = strip_bottom > strip_top;
    for mark in 0..=scale.length / step {
        let elapsed = mark * step;
        let (x, label) = (scale.x_after(elapsed), words(elapsed));
        let strip = if has_strip { format!("M{x:.1} {strip_top}V{strip_bottom}") } else { String::new() };
        drawn.push_str(&format!("<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}{strip}\"/>"));
        // The label is to the right of its line, as far as there is room.
        if x + text_width(&label, 12.0) < WIDTH - MARGIN {
            drawn.push_str(&text(x + 3.0, top - 3.0, "faint", &label));
        }
    }
    drawn.push('\n');
    drawn
}

fn step(length: u64) -> u64 {
    let fits = |step: &u64| length / step <= MOST_MARKS;
    STEPS.into_iter().find(fits).unwrap_or_else(|| (length / MOST_MARKS).max(1))
}

/// A time without parts that are 0: `5m`, not `5m 0s`.
fn words(elapsed: u64) -> String {
    match elapsed {
        0 => "0".to_owned(),
        DAY.. => format!(
            "{}d{}",
            elapsed / DAY,
            if elapsed.is_multiple_of(DAY) { String::new() } else { format!(" {}h", elapsed % DAY / HOUR) }
        ),
        _ if elapsed.is_multiple_of(HOUR) => format!("{}h", elapsed / HOUR),
        _ if elapsed < HOUR && elapsed.is_multiple_of(MINUTE) => format!("{}m", elapsed / MINUTE),
        _ if elapsed < MINUTE && elapsed.is_multiple_of(SECOND) => format!("{}s", elapsed / SECOND),
        _ => format_duration(elapsed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_few_and_their_times_short() {
        let marks = |length: u64| {
            let step = step(length);
            let marks: Vec<String> = (0..=length / step).map(|mark| words(mark * step)).collect();
            marks.join(" ")
        };
        assert_eq!(marks(1), "0 1ms");
        assert_eq!(marks(8_200), "0 1s 2s 3s 4s 5s 6s 7s 8s");
        assert_eq!(marks(40 * MINUTE), "0 5m 10m 15m 20m 25m 30m 35m 40m");
        assert_eq!(marks(100 * MINUTE), "0 15m 30m 45m 1h 1h 15m 1h 30m");
        assert_eq!(marks(4 * DAY), "0 12h 1d 1d 12h 2d 2d 12h 3d 3d 12h 4d");
        assert!(marks(u64::MAX).split("d").count() <= 11, "any length has few marks");
    }
}

//! Numbers, durations and titles in a few columns.

use callstack_core::text::{floor_char_boundary, one_line};
use callstack_core::{Handle, Tree};

/// Number of bytes of a text that the screen looks at to make a line.
const LOOKED_AT: usize = 4 * 1024;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The beginning of a text, as far as a line of a screen can show it: texts can have megabytes.
pub fn beginning(text: &str) -> &str {
    &text[..floor_char_boundary(text, LOOKED_AT)]
}

/// The title of a frame on one line, or a long beginning of it.
pub fn title(tree: &Tree, frame: Handle) -> String {
    let title = tree.node(frame).title();
    let shown = beginning(title);
    let end = if shown.len() < title.len() { "…" } else { "" };
    one_line(shown) + end
}

/// A duration in milliseconds in at most 5 columns: `48s`, `12m`, `2h05m`, `14h`, `3d`.
pub fn age(milliseconds: u64) -> String {
    match milliseconds {
        0..MINUTE => format!("{}s", milliseconds / SECOND),
        MINUTE..HOUR => format!("{}m", milliseconds / MINUTE),
        // A few hours still differ by their minutes.
        HOUR..36_000_000 => format!("{}h{:02}m", milliseconds / HOUR, milliseconds % HOUR / MINUTE),
        36_000_000..172_800_000 => format!("{}h", milliseconds / HOUR),
        _ => format!("{}d", (milliseconds / DAY).min(9_999)),
    }
}

/// A number in at most 5 columns, rounded: `950`, `9.5k`, `88k`, `1.3M`.
pub fn amount(number: u64) -> String {
    if number < 1_000 {
        return number.to_string();
    }
    let rounded = |unit: u64| number.saturating_add(unit / 2) / unit;
    for (unit, name) in [(1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G"), (1_000_000_000_000, "T")] {
        let tenths = rounded(unit / 10);
        if tenths < 100 {
            return format!("{}.{}{name}", tenths / 10, tenths % 10);
        }
        // The last unit takes all larger numbers.
        if rounded(unit) < 1_000 || name == "T" {
            return format!("{}{name}", rounded(unit).min(9_999));
        }
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_long_title_is_shown_and_searched() {
        use callstack_core::{NewFrame, Stack};

        let stack = Stack::in_memory();
        let end = "日".repeat(LOOKED_AT);
        let long = stack.push(NewFrame::new(format!("Begin\n{end} end"))).unwrap();
        let short = stack.push(NewFrame::new("Short\ttitle")).unwrap();
        stack
            .read(|tree| {
                let shown = title(tree, long);
                assert!(
                    shown.starts_with("Begin 日") && shown.ends_with("日…") && shown.len() < LOOKED_AT + 8,
                    "{shown}"
                );
                assert_eq!(title(tree, short), "Short title");
            })
            .unwrap();
    }

    #[test]
    fn durations_and_numbers_take_five_columns() {
        let ages = [0, 999, 59_999, 60_000, 3_599_999, 7_500_000, 35_999_999, 50_400_000, 259_200_000];
        assert_eq!(ages.map(age), ["0s", "0s", "59s", "1m", "59m", "2h05m", "9h59m", "14h", "3d"]);
        let amounts = [0, 999, 1_000, 9_549, 9_950, 88_120, 201_500, 999_499, 999_500, 1_250_000, 2_000_000_000];
        assert_eq!(
            amounts.map(amount),
            ["0", "999", "1.0k", "9.5k", "10k", "88k", "202k", "999k", "1.0M", "1.3M", "2.0G"]
        );
        assert!(age(u64::MAX).len() <= 5 && amount(u64::MAX).len() <= 5);
    }
}

//! Times in the files of other programs, as milliseconds since the Unix epoch.

use serde_json::Value;

pub(super) use crate::text::milliseconds;

/// The RFC 3339 time of milliseconds since the Unix epoch, in UTC: `2026-01-15T07:26:02.592Z`.
pub(super) fn rfc3339(milliseconds: u64) -> String {
    let (seconds, fraction) = (milliseconds / 1000, milliseconds % 1000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of the year 0: a year ends with its leap day. (Hinnant, "chrono-compatible low-level
    // date algorithms".)
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
}

/// Like [`milliseconds`], but also reads a date alone, which means the beginning of the day in UTC, and a
/// time without an offset, which is in UTC.
pub(super) fn lenient_milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let whole = || milliseconds(&format!("{text}T00:00:00Z")).filter(|_| text.len() == 10);
    let to_minutes = || milliseconds(&format!("{text}:00Z")).filter(|_| text.len() == 16);
    milliseconds(text).or_else(whole).or_else(to_minutes).or_else(|| milliseconds(&format!("{text}Z")))
}

/// The time that a value names: a text, or a number of seconds or milliseconds since the Unix epoch.
pub(super) fn of_value(value: &Value) -> Option<u64> {
    /// The first number that counts as milliseconds: as seconds it is in the year 5138.
    const MILLISECONDS: u64 = 100_000_000_000;
    match value {
        Value::String(text) => lenient_milliseconds(text),
        Value::Number(number) => {
            number.as_u64().map(|number| if number < MILLISECONDS { number * 1000 } else { number })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{lenient_milliseconds, milliseconds, of_value};

    #[test]
    fn what_can_only_be_a_time_is_one() {
        let midnight = milliseconds("2026-01-15T00:00:00Z");
        for text in ["2026-01-15", " 2026-01-15T00:00:00Z ", "2026-01-15T00:00:00", "2026-01-15 00:00"] {
            assert_eq!(lenient_milliseconds(text), midnight, "{text}");
        }
        for number in [1_768_435_200_u64, 1_768_435_200_000] {
            assert_eq!(of_value(&number.into()), midnight);
        }
        assert_eq!(["soon", "2026", "2026-01-15T"].map(lenient_milliseconds), [None; 3]);
        assert_eq!(of_value(&true.into()), None);
    }
}

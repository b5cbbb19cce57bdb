//! Conversion of RFC 3339 times to milliseconds since the Unix epoch.

use serde_json::Value;

/// Converts a time such as `2026-01-15T00:26:02.592917-07:00` to milliseconds since the Unix epoch. Returns
/// `None` for texts in other formats and for times before the epoch.
pub(super) fn milliseconds(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let sign_at = |place: usize, signs: &[u8]| bytes.get(place).is_some_and(|byte| signs.contains(byte));
    let separated =
        sign_at(4, b"-") && sign_at(7, b"-") && sign_at(10, b"Tt ") && sign_at(13, b":") && sign_at(16, b":");
    if !separated {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if !in_range {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut fraction = 0;
    if let Some(digits) = rest.strip_prefix('.') {
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        let thousandths: String = digits[..length].chars().chain("000".chars()).take(3).collect();
        fraction = thousandths.parse().ok().filter(|_| length > 0)?;
        rest = &digits[length..];
    }
    let offset = match rest.as_bytes() {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let at = text.len() - 5;
            let minutes = number(at, at + 2)? * 60 + number(at + 3, at + 5)?;
            if *sign == b'+' { minutes } else { -minutes }
        }
        _ => return None,
    };
    let seconds = (days(year, month, day) * 24 + hour) * 3600 + (minute - offset) * 60 + second;
    u64::try_from(seconds * 1000 + fraction).ok()
}

/// The RFC 3339 time of milliseconds since the Unix epoch, in UTC: `2026-01-15T07:26:02.592Z`.
pub(super) fn rfc3339(milliseconds: u64) -> String {
    let (seconds, fraction) = (milliseconds / 1000, milliseconds % 1000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of the year 0: a year ends with its leap day. (Hinnant, "chrono-compatible low-level date algorithms".)
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

/// As [`milliseconds`], and also a date alone, which is its beginning in UTC, and a time without an offset, which is one of UTC.
pub(super) fn lenient_milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let whole = || milliseconds(&format!("{text}T00:00:00Z")).filter(|_| text.len() == 10);
    let to_minutes = || milliseconds(&format!("{text}:00Z")).filter(|_| text.len() == 16);
    milliseconds(text).or_else(whole).or_else(to_minutes).or_else(|| milliseconds(&format!("{text}Z")))
}

/// The time that a value names: a text, or a number of seconds or milliseconds since the Unix epoch.
pub(super) fn of_value(value: &Value) -> Option<u64> {
    /// The first number that is one of milliseconds: as seconds it is in the year 5138.
    const MILLISECONDS: u64 = 100_000_000_000;
    match value {
        Value::String(text) => lenient_milliseconds(text),
        Value::Number(number) => {
            number.as_u64().map(|number| if number < MILLISECONDS { number * 1000 } else { number })
        }
        _ => None,
    }
}

/// Number of days from the epoch to a date of the Gregorian calendar. The calculation lets years begin in March,
/// so that the leap day is the last day of a year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::{lenient_milliseconds, milliseconds, of_value};

    #[test]
    fn times_are_read_with_fractions_and_offsets() {
        assert_eq!(milliseconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(milliseconds("2000-02-29T12:00:00.5Z"), Some(951_825_600_500));
        assert_eq!(milliseconds("2026-01-15T00:26:02.592917-07:00"), Some(1_768_461_962_592));
        assert_eq!(milliseconds("2026-01-15T07:26:02+00:00"), milliseconds("2026-01-15T00:26:02-07:00"));
    }

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

    #[test]
    fn other_texts_are_no_times() {
        for text in ["", "2026", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "äääääääääää"]
        {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}

//! Conversion of RFC 3339 times to milliseconds since the Unix epoch.

/// Converts a time such as `2026-01-15T00:26:02.592917-07:00` to milliseconds since the Unix epoch. Returns
/// `None` for texts in other formats and for times before the epoch.
pub(crate) fn milliseconds(text: &str) -> Option<u64> {
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

/// Number of days from the epoch to a date of the Gregorian calendar. The calculation lets years begin in
/// March, so that the leap day is the last day of a year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn times_are_read_with_fractions_and_offsets() {
        assert_eq!(milliseconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(milliseconds("2000-02-29T12:00:00.5Z"), Some(951_825_600_500));
        assert_eq!(milliseconds("2026-01-15T00:26:02.592917-07:00"), Some(1_768_461_962_592));
        assert_eq!(milliseconds("2026-01-15T07:26:02+00:00"), milliseconds("2026-01-15T00:26:02-07:00"));
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in ["", "2026", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "äääääääääää"]
        {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}

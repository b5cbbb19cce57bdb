//! Times and durations for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use callstack_core::tree::format_duration as duration;

use crate::clock::now;

/// From this age on, in milliseconds, a time is shown as a date.
const LONG_AGO: u64 = 7 * 24 * 3_600_000;

/// A time in the past, in milliseconds since the Unix epoch, as people say it: `3m 5s ago`. For a time of
/// more than a week ago, or in the future, it is the [`moment`].
pub fn past(milliseconds: u64) -> String {
    match now().checked_sub(milliseconds) {
        Some(age) if age < LONG_AGO => format!("{} ago", duration(age)),
        _ => moment(milliseconds),
    }
}

/// A time in milliseconds since the Unix epoch as a date; `None` for a time beyond the year 9999.
pub fn timestamp(milliseconds: u64) -> Option<Timestamp> {
    i64::try_from(milliseconds).ok().and_then(|time| Timestamp::from_millisecond(time).ok())
}

/// A time in milliseconds since the Unix epoch, in the time zone of the person: `2026-11-23 14:03:07`.
pub fn moment(milliseconds: u64) -> String {
    match timestamp(milliseconds) {
        Some(time) => time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        // Beyond the year 9999: a damaged or invented time.
        None => format!("{milliseconds} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lately_is_told_by_its_age_and_all_else_by_its_date() {
        let now = now();
        for (age, told) in [(0, ""), (3 * 60_000, "3m "), (2 * 3_600_000, "2h ")] {
            let said = past(now - age);
            assert!(said.starts_with(told) && said.ends_with(" ago"), "{said}");
        }
        for other in [now + 60_000, now - LONG_AGO, u64::MAX] {
            assert_eq!(past(other), moment(other), "{other}");
        }
    }
}

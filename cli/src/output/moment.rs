//! Times and durations for people.

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use callstack_core::tree::format_duration as duration;

/// A time in milliseconds since the Unix epoch, in the time zone of the user: `2026-11-23 14:03:07`.
pub fn moment(milliseconds: u64) -> String {
    let time = i64::try_from(milliseconds).ok().and_then(|time| Timestamp::from_millisecond(time).ok());
    match time {
        Some(time) => time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        // Beyond the year 9999: a damaged or invented time.
        None => format!("{milliseconds} ms"),
    }
}

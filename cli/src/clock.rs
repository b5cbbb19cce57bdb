//! The clock of this machine.

/// The time in milliseconds since the Unix epoch.
pub fn now() -> u64 {
    jiff::Timestamp::now().as_millisecond().unsigned_abs()
}

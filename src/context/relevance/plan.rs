//! The order in which finished children were planned.

/// How many places before a frame a child was planned, among the children that count. `own` and `rank` are
/// the numbers of these that were planned before the frame and before the child. 1 is the place just before
/// the frame; negative: the child was planned after the frame.
pub(super) fn distance(own: usize, rank: usize, is_before: bool, counts: bool) -> i64 {
    let distance = own as i64 - rank as i64;
    match is_before {
        true => distance + i64::from(!counts),
        false => distance - 1,
    }
}

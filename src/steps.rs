//! Counts inner steps, so that a test can compare the work at two sizes. Outside of tests a step is nothing.

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts one step of a loop whose length matters.
#[inline(always)]
pub(crate) fn step() {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// Calls `run` and returns its value with the number of steps that it took in this thread.
#[cfg(test)]
pub(crate) fn steps_of<T>(run: impl FnOnce() -> T) -> (T, u64) {
    let before = STEPS.with(std::cell::Cell::get);
    let value = run();
    (value, STEPS.with(std::cell::Cell::get) - before)
}

/// For twice the input, twice the steps; a tenth more for a logarithm.
#[cfg(test)]
pub(crate) const LINEAR: f64 = 2.2;

/// Checks that the work at twice and at four times the size takes at most `most` times the steps of the size
/// before, and that steps are counted at all.
#[cfg(test)]
#[track_caller]
pub(crate) fn assert_grows(most: f64, size: usize, work: impl Fn(usize) -> u64) {
    let steps = [size, 2 * size, 4 * size].map(work);
    assert!(2 * steps[0] >= size as u64, "{} steps for {size} are too few; are they still counted?", steps[0]);
    let is_slow = |pair: &[u64]| pair[1] as f64 <= most * pair[0] as f64;
    assert!(steps.windows(2).all(is_slow), "{steps:?} steps for {size} and two and four times as much");
}

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

/// Checks that the work at twice the size takes at most `most` times the steps, and that steps are counted at
/// all.
#[cfg(test)]
#[track_caller]
pub(crate) fn assert_grows(most: f64, size: usize, work: impl Fn(usize) -> u64) {
    let (small, large) = (work(size), work(2 * size));
    assert!(2 * small >= size as u64, "{small} steps for {size} are too few; are they still counted?");
    assert!(large as f64 <= most * small as f64, "{small} steps for {size}, but {large} for twice as much");
}

//! The settings of contexts that a caller has passed before. A host passes the same text before each request
//! to a model, and reading it takes longer than finding a context in the cache.

use std::sync::Arc;

use parking_lot::Mutex;

use super::error::Failure;
use super::text::CallstackView;
use crate::context::Settings;

/// How many settings are kept: those of a host's agents and of their subagents, and some more.
const CAPACITY: usize = 4;
/// Length in bytes of the longest text that is kept. A longer one is read each time.
const LONGEST: usize = 4096;

#[derive(Default)]
pub(super) struct KnownSettings {
    default: Arc<Settings>,
    /// The newest ones, each with its text.
    newest: Mutex<Vec<(String, Arc<Settings>)>>,
}

impl KnownSettings {
    /// The settings in a text. No text gives the defaults.
    ///
    /// # Safety
    /// As [`CallstackView::optional_text`].
    pub(super) unsafe fn read(&self, view: CallstackView) -> Result<Arc<Settings>, Failure> {
        // SAFETY: the caller's promise.
        let Some(text) = (unsafe { view.optional_text("settings") })? else { return Ok(self.default.clone()) };
        if let Some((_, settings)) = self.newest.lock().iter().find(|(known, _)| known == text) {
            return Ok(settings.clone());
        }
        // SAFETY: the caller's promise.
        let settings: Arc<Settings> = Arc::new(unsafe { view.record("settings") }?);
        if text.len() <= LONGEST {
            let mut newest = self.newest.lock();
            newest.truncate(CAPACITY - 1);
            newest.insert(0, (text.to_owned(), settings.clone()));
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(known: &KnownSettings, text: &str) -> Result<Arc<Settings>, Failure> {
        // SAFETY: the view is of a text.
        unsafe { known.read(CallstackView::of(text)) }
    }

    #[test]
    fn the_same_text_is_read_once_and_the_newest_texts_are_kept() {
        let known = KnownSettings::default();
        let of = |total: usize| format!(r#"{{"budget": {{"total": {total}}}}}"#);
        let first = read(&known, &of(1)).unwrap();
        assert_eq!(first.budget.total, 1);
        assert!(Arc::ptr_eq(&first, &read(&known, &of(1)).unwrap()));
        for total in 2..=CAPACITY + 1 {
            assert_eq!(read(&known, &of(total)).unwrap().budget.total, total);
        }
        assert_eq!(known.newest.lock().len(), CAPACITY);
        assert!(!Arc::ptr_eq(&first, &read(&known, &of(1)).unwrap()), "the oldest one is read again");
    }

    #[test]
    fn wrong_and_long_texts_are_not_kept() {
        let known = KnownSettings::default();
        assert!(read(&known, "{\"budgets\": {}}").is_err());
        assert!(read(&known, "").is_err(), "an empty text is no record");
        let long = format!("{{{}}}", " ".repeat(LONGEST));
        assert_eq!(*read(&known, &long).unwrap(), Settings::default());
        assert!(known.newest.lock().is_empty());
    }
}

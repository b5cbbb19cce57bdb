//! Search over the frames and logs of a stack.

use std::collections::HashSet;

use serde_json::Value;

use super::Stack;
use crate::error::{Error, Result};
use crate::frame::Handle;
use crate::search::{self, Found, FoundFrames, SearchQuery, Words};
use crate::store::LogQuery;

impl Stack {
    /// Finds the frames whose texts have all words of a query: titles, tasks, criteria, results, decisions, artifacts, questions, chunks on
    /// the heap, and with `logs` what was said and done in them. The best come first: those with the words in their titles, then in results
    /// and decisions; of equal ones the newest.
    ///
    /// ```
    /// use callstack_core::search::{SearchField, SearchQuery};
    /// use callstack_core::{NewFrame, PopStatus, Stack};
    ///
    /// let stack = Stack::in_memory();
    /// stack.push(NewFrame::new("Shopping cart").id("cart"))?;
    /// stack.pop("cart", PopStatus::Completed, "Totals are in src/cart.rs")?;
    /// let found = stack.search(&SearchQuery::new("total cart"))?;
    /// assert_eq!((found.frames[0].title.as_str(), found.frames[0].field), ("Shopping cart", SearchField::Title));
    /// # Ok::<(), callstack_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Empty`] if the query has no word; [`Error::UnknownFrame`], [`Error::AmbiguousFrame`]; [`Error::Io`]; as [`Stack::read`].
    pub fn search(&self, query: &SearchQuery) -> Result<FoundFrames> {
        let words = Words::of(&query.words);
        if words.is_empty() {
            return Err(Error::Empty { field: "words" });
        }
        let below = query.below.clone().map(|below| self.resolve(below)).transpose()?;
        let mut found = self.read(|tree| search::frames(tree, &words, below))?;
        if query.logs && self.keeps_logs() {
            let known: HashSet<Handle> = found.iter().map(|found| found.handle).collect();
            let logged = self.read(|tree| {
                let is_below = |handle: Handle| below.is_none_or(|below| tree.is_ancestor(below, handle));
                let are_stored = self.inner.stored_logs.is_some();
                let has_log = |handle: Handle| are_stored || tree.node(handle).record().log_path.is_some();
                let is_left = |handle: &Handle| !known.contains(handle) && is_below(*handle) && has_log(*handle);
                tree.handles().filter(is_left).collect::<Vec<_>>()
            })?;
            for handle in logged {
                found.extend(self.found_in_log(handle, &words)?);
            }
        }
        Ok(search::best(found, query.limit))
    }

    /// The newest entry of a frame's log that has all the words.
    fn found_in_log(&self, handle: Handle, words: &Words) -> Result<Option<Found>> {
        let query = LogQuery { search: words.longest().map(str::to_owned), ..LogQuery::default() };
        let page = self.log(handle).read(&query)?;
        for line in page.lines.iter().rev() {
            let mut texts = Vec::new();
            texts_of(&line.entry, &mut texts);
            let text = texts.join(" ");
            let (all, place) = words.found_in(&text);
            if all.iter().all(|found| *found) {
                let excerpt = search::excerpt(&text, place);
                return self.read(|tree| Some(Found::in_log(tree, handle, line.number, excerpt, words)));
            }
        }
        Ok(None)
    }
}

/// The texts of an entry, without its keys.
fn texts_of<'a>(entry: &'a Value, texts: &mut Vec<&'a str>) {
    match entry {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts_of(value, texts)),
        Value::Object(values) => values.values().for_each(|value| texts_of(value, texts)),
        _ => {}
    }
}

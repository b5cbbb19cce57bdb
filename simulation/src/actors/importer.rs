//! An importer: it brings the frames of a check list up to date whenever the list has changed.

use std::fmt::Write;

use callstack_core::{Error, import};
use support::Random;

use super::{Actor, attempt};
use crate::process::Process;

/// A list that has lost most of its items looks like another one.
const OTHER_LIST: &str = "duplicate_id";
/// The refusals that an import can meet, because others act too.
const REFUSALS: [&str; 2] = ["parent_closed", OTHER_LIST];
/// The most items of a list.
const MOST: usize = 4;

#[derive(Default)]
pub(crate) struct Importer {
    /// For each item of the list: its number, and whether it is ticked.
    items: Vec<(usize, bool)>,
    made: usize,
    /// Number of lists before this one.
    lists: usize,
}

impl Importer {
    fn change(&mut self, random: &mut Random) {
        match random.below(6) {
            0 | 1 if self.items.len() < MOST => {
                self.items.push((self.made, false));
                self.made += 1;
            }
            2 | 3 if !self.items.is_empty() => {
                let place = random.below(self.items.len());
                self.items[place].1 ^= true;
            }
            4 if self.items.len() > 1 => {
                let place = random.below(self.items.len());
                self.items.remove(place);
            }
            5 => {
                let (one, other) = (random.below(self.items.len()), random.below(self.items.len()));
                if one.max(other) < self.items.len() {
                    self.items.swap(one, other);
                }
            }
            _ => {}
        }
    }

    fn bring_up_to_date(&mut self, process: &mut Process) -> Result<(), Error> {
        let mut text = format!("# List {} of {}\n\n", self.lists, process.name());
        for (number, is_ticked) in &self.items {
            // Writing into a text cannot fail.
            let _ = writeln!(text, "- [{}] Item {number}", if *is_ticked { "x" } else { " " });
        }
        if self.items.is_empty() {
            // Nothing says that such a text is a list.
            return Ok(());
        }
        let plan = import::frames(&text).unwrap_or_else(|error| panic!("a check list is a plan: {error}"));
        let plan = plan.with_prefix(&format!("{}-", process.name()));
        let stack = process.stack()?;
        let updated = attempt(process, "bring up to date", &REFUSALS, || stack.bring_up_to_date(&plan, None));
        if updated.as_ref().is_err_and(|error| error.code() == OTHER_LIST) {
            self.lists += 1;
        }
        updated.map(drop)
    }
}

impl Actor for Importer {
    fn act(&mut self, process: &mut Process, random: &mut Random) {
        self.change(random);
        // An import that fails is made again with the next change.
        let _ = self.bring_up_to_date(process);
    }
}

//! The plans with which worlds begin: the shapes of real plans, that is, which frames are below and before which.

use std::fs;
use std::path::{Path, PathBuf};

use callstack_core::{NewFrame, Stack, import};
use support::Random;

/// Larger files are left out, in bytes: their shapes are not different, and each run reads all.
const LARGEST: u64 = 250 << 10;

/// A frame of a shape, by the places of other frames.
#[derive(Debug, Clone, Default)]
struct Place {
    parent: Option<usize>,
    depends_on: Vec<usize>,
}

/// The shapes of real plans.
#[derive(Debug, Clone)]
pub struct Plans(Vec<Vec<Place>>);

impl Plans {
    /// Reads the plans of a folder.
    ///
    /// # Panics
    /// If the folder has no plan that can be read.
    pub fn read(folder: &Path) -> Self {
        let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        let is_plan = |path: &&PathBuf| {
            let is_small = fs::metadata(path).is_ok_and(|file| file.len() <= LARGEST);
            is_small && path.extension().is_some_and(|end| end == "json" || end == "jsonl")
        };
        let shapes: Vec<Vec<Place>> = files.iter().filter(is_plan).filter_map(|path| shape(path)).collect();
        assert!(!shapes.is_empty(), "{} has no plans", folder.display());
        Self(shapes)
    }

    /// Plans the frames of shapes, one beside the other, up to this number of frames.
    pub(crate) fn make(&self, stack: &Stack, random: &mut Random, size: usize) {
        let (mut left, mut plan) = (size, 0);
        while left > 0 {
            let shape = &self.0[random.below(self.0.len())];
            let id = |place: &usize| if plan == 0 { format!("task-{place}") } else { format!("task-{plan}-{place}") };
            for (place, frame) in shape.iter().take(left).enumerate() {
                let mut new = NewFrame::new(format!("Task {place}")).id(id(&place));
                new = match &frame.parent {
                    Some(parent) => new.below(format!("id:{}", id(parent))),
                    None => new.root(),
                };
                for dependency in &frame.depends_on {
                    new = new.depends_on(format!("id:{}", id(dependency)));
                }
                // A plan of a file may depend on what is above; the library refuses that, and so does this plan.
                let _ = stack.plan(new);
            }
            left = left.saturating_sub(shape.len());
            plan += 1;
        }
    }
}

/// The shape of a plan: frames in an order in which each comes after those that it names.
fn shape(path: &Path) -> Option<Vec<Place>> {
    let text = fs::read_to_string(path).ok()?;
    let frames = import::frames(&text).ok()?.frames;
    let mut places: Vec<&str> = Vec::new();
    let mut shape = Vec::new();
    for frame in &frames {
        let of = |id: &String| places.iter().position(|other| other == id);
        let depends_on = frame.depends_on.iter().filter_map(of).collect();
        shape.push(Place { parent: frame.parent_session_id.as_ref().and_then(of), depends_on });
        places.push(&frame.session_id);
    }
    Some(shape)
}

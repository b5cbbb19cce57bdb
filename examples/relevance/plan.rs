//! A plan from a file: its tasks as frames, those of each parent in the order in which they finished.

use std::collections::{HashMap, HashSet};

use callstack_core::Frame;
use callstack_core::import::{self, Format};

pub struct Plan {
    frames: Vec<Frame>,
    /// For each parent (empty for the roots), the places of its children in `frames`, in the order of their
    /// finish.
    groups: Vec<Vec<usize>>,
    /// For each frame, its group and its place there.
    places: HashMap<String, (usize, usize)>,
}

/// A task and its siblings that finished before it.
#[derive(Clone)]
pub struct Task<'a> {
    pub frame: &'a Frame,
    pub earlier: Vec<&'a Frame>,
}

impl Task<'_> {
    /// The dependencies among the siblings that finished before it.
    pub fn dependencies(&self) -> HashSet<&str> {
        let is_earlier = |id: &&str| self.earlier.iter().any(|other| other.session_id == **id);
        self.frame.depends_on.iter().map(String::as_str).filter(is_earlier).collect()
    }
}

impl Plan {
    pub fn read(file: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let format = Format::of(&text).map_err(|error| error.to_string())?;
        if format == Format::State {
            return Err("a state is not a plan; give a Task Master or Beads file".into());
        }
        let frames = import::frames(&text).map_err(|error| error.to_string())?.frames;
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut numbers = HashMap::new();
        for (index, frame) in frames.iter().enumerate() {
            let number = *numbers.entry(frame.parent_session_id.as_deref()).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[number].push(index);
        }
        if format == Format::Beads {
            // Issues that are not closed come last, in the order of the file. Task Master keeps no times.
            let closed_at = |frame: &Frame| frame.extra.contains_key("closed_at").then_some(frame.updated_at);
            let order = |index: &usize| closed_at(&frames[*index]).unwrap_or(u64::MAX);
            groups.iter_mut().for_each(|group| group.sort_by_key(order));
        }
        let places = groups
            .iter()
            .enumerate()
            .flat_map(|(number, group)| group.iter().enumerate().map(move |(place, index)| (*index, (number, place))));
        let places = places.map(|(index, place)| (frames[index].session_id.clone(), place)).collect();
        Ok(Self { frames, groups, places })
    }

    /// The tasks of the plan, without its roots.
    pub fn tasks(&self) -> impl Iterator<Item = Task<'_>> {
        let tasks = self.groups.iter().flatten().map(|index| &self.frames[*index]);
        tasks.filter(|frame| frame.parent_session_id.is_some()).map(|frame| self.task(frame))
    }

    /// The ancestors of a task from the one below the root to its parent.
    pub fn ancestors(&self, task: &Task) -> Vec<Task<'_>> {
        let parent = |frame: &Frame| {
            let (group, place) = *self.places.get(frame.parent_session_id.as_deref()?)?;
            Some(&self.frames[self.groups[group][place]])
        };
        let mut ancestors = Vec::new();
        let mut next = parent(task.frame);
        while let Some(frame) = next.filter(|frame| frame.parent_session_id.is_some()) {
            ancestors.push(self.task(frame));
            next = parent(frame);
        }
        ancestors.reverse();
        ancestors
    }

    fn task<'a>(&'a self, frame: &'a Frame) -> Task<'a> {
        let (group, place) = self.places[&frame.session_id];
        Task { frame, earlier: self.groups[group][..place].iter().map(|index| &self.frames[*index]).collect() }
    }
}

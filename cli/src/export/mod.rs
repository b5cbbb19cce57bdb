//! Runs in the formats of other programs: a picture, profiles, traces and trajectories. Each format has its
//! own file, with the types of the format and a function that makes the document from a [`Run`].

pub mod atif;
pub mod chrome;
pub mod markdown;
pub mod otlp;
pub mod speedscope;
pub mod svg;
pub mod table;
#[cfg(test)]
mod tests;

use callstack_core::frame::{ModelUsage, TimedRequest};
use callstack_core::text::{one_line, visible};
use callstack_core::{Handle, Tree};

use crate::chart::{Chart, ChartFrame};

/// The program that formats name as their author.
const PROGRAM: &str = "callstack";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Maximum length of a name, in characters.
const NAME_LENGTH: usize = 200;
/// Maximum length of a text in traces, in characters.
const TEXT_LENGTH: usize = 16_384;

/// The frames that are exported, as a tree and as a chart.
pub struct Run<'a> {
    pub tree: &'a Tree,
    pub chart: &'a Chart,
}

impl Run<'_> {
    /// The frames at the top.
    fn roots(&self) -> impl Iterator<Item = &ChartFrame> {
        self.chart.frames.iter().filter(|frame| frame.level == 0)
    }

    /// The title of the only tree, or the number of trees.
    fn name(&self) -> String {
        let mut roots = self.roots();
        match (roots.next(), roots.count()) {
            (None, _) => "No frames".to_owned(),
            (Some(root), 0) => short(&one_line(&root.title)),
            (Some(_), more) => format!("{} trees", more + 1),
        }
    }

    /// The sums of all requests.
    fn usage(&self) -> ModelUsage {
        self.roots().flat_map(|root| &root.usage.total).sum()
    }

    /// The requests of each frame with their times, by the index of its handle.
    fn requests_by_frame(&self) -> Vec<Vec<&TimedRequest>> {
        let mut requests: Vec<Vec<&TimedRequest>> = vec![Vec::new(); self.tree.len()];
        for request in &self.chart.requests {
            if let Some(own) = requests.get_mut(request.handle.index()) {
                own.push(request);
            }
        }
        requests
    }
}

/// The name of a frame in profiles and traces: `f3 Pay for the cart`.
fn label(handle: Handle, title: &str) -> String {
    short(&format!("{handle} {}", one_line(title)))
}

/// The beginning of a name that is too long.
fn short(name: &str) -> String {
    cut(name, NAME_LENGTH)
}

/// A text for a trace: hidden characters are made visible, and a text that is too long is cut.
fn readable(text: &str) -> String {
    cut(&visible(text), TEXT_LENGTH)
}

fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        None => text.to_owned(),
        // One character is left for the sign that something is missing.
        Some(_) => text.chars().take(length - 1).chain(['…']).collect(),
    }
}

/// The model of a request, or a word if the model is not known.
fn model_name(model: &str) -> String {
    let name = short(&one_line(model));
    if name.is_empty() { "unknown model".to_owned() } else { name }
}

//! The data that frames of the model keep: chunks, registers, and results of their children.

use super::{Model, Plain};

impl Model {
    /// The frame that owns the chunk with this name that a frame sees. It is the frame itself or the nearest
    /// ancestor.
    pub(super) fn owner(&self, frame: usize, name: &str) -> Option<usize> {
        let mut lineage = vec![frame];
        lineage.extend(self.above(frame));
        lineage.into_iter().find(|owner| self.frames[*owner].chunks.iter().any(|(other, _)| other == name))
    }

    pub(super) fn begin_registers(&mut self, frame: usize) {
        let Some(parent) = self.frames[frame].parent else { return };
        let Some(inherited) = self.frames[parent].registers.clone() else { return };
        let Plain { title, criteria, .. } = self.frames[frame].clone();
        let goal = if criteria.is_empty() { title.clone() } else { criteria };
        let [_, plan, _, _, constraints, assumptions, questions, _] = inherited;
        let status = "Entered sub-frame. Starting.".into();
        let phase = format!("entering: {title}");
        self.frames[frame].registers =
            Some([goal, plan, String::new(), phase, constraints, assumptions, questions, status]);
    }

    pub(super) fn end_registers(&mut self, frame: usize, result: &str) {
        let Plain { parent: Some(parent), registers: Some(child), title, .. } = &self.frames[frame] else { return };
        let (parent, child, title) = (*parent, child.clone(), title.clone());
        if let Some([_, _, next, phase, _, _, questions, status]) = &mut self.frames[parent].registers {
            next.clear();
            *phase = format!("returned from: {title}");
            questions.clone_from(&child[6]);
            *status = result.to_owned();
        }
    }

    /// The conversation of a frame loses the results of the children.
    pub(super) fn forget(&mut self, frame: usize) {
        self.frames.iter_mut().filter(|child| child.parent == Some(frame)).for_each(|child| child.held = false);
    }
}

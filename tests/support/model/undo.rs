//! Commands of a person that are taken back.

use callstack_core::{Actor, Change, Error, Event, FrameStatus, HolderKind};

use super::{Model, Plain};

/// The person whose commands are taken back.
pub(super) fn ann() -> Actor {
    Actor::new(HolderKind::Person, "ann")
}

/// A command that the person ann has given. It has the model before and after the command.
struct Given {
    before: Model,
    after: Model,
    is_reversible: bool,
}

/// The commands of ann that can still be taken back, or are at least remembered.
#[derive(Default)]
pub(super) struct Commands(Vec<Given>);

impl Commands {
    /// Stores a command if its events say that ann has given it.
    pub(super) fn note(&mut self, events: &[Event], before: &Model, after: &Model) {
        let commanded = events.iter().find_map(|event| match &event.change {
            Change::Commanded { before, .. } => Some(before.is_some()),
            _ => None,
        });
        if let Some(is_reversible) = commanded {
            self.0.push(Given { before: before.clone(), after: after.clone(), is_reversible });
            if self.0.len() > 20 {
                self.0.remove(0);
            }
        }
    }

    /// Checks the result of taking back the last command. Either the data that the command had changed is as
    /// before the command, the frames that it had added are invalidated, and everything else is unchanged. Or
    /// taking it back was refused, because something has happened since then, or because commands of this
    /// kind cannot be taken back.
    pub(super) fn check_undone(&mut self, undone: Result<(), Error>, model: &mut Model, view: Model) {
        let message = undone.as_ref().err().map(ToString::to_string).unwrap_or_default();
        match undone.map_err(|error| error.code()) {
            Err("nothing_to_undo") => assert_eq!(self.0.len(), 0, "there is a command to take back"),
            Err("not_undone") => {
                let last = self.0.last().expect("a command that cannot be taken back");
                let has_changed = *model != last.after;
                // A frame that an edit has moved out from below an ended frame does not go back there.
                let is_below_ended = message.contains("cannot go back");
                assert!(
                    !last.is_reversible || has_changed || is_below_ended,
                    "nothing has happened since, but: {message}"
                );
            }
            Err(other) => panic!("undo is refused: {other}"),
            Ok(()) => {
                let Given { before, after, .. } = self.0.pop().expect("a command that was taken back");
                for (at, found) in view.frames.iter().enumerate() {
                    let now = &model.frames[at];
                    match (before.frames.get(at), after.frames.get(at)) {
                        (Some(before), Some(after)) => {
                            let expected = undone_frame(before, after, now);
                            assert_eq!(found.chunks, expected.chunks, "the chunks of f{}", at + 1);
                            let [found, expected] =
                                [found.clone(), expected].map(|frame| Plain { chunks: Vec::new(), ..frame });
                            assert_eq!(found, expected, "f{} after undo", at + 1);
                        }
                        (None, Some(_)) => assert_eq!(found.status, FrameStatus::Invalidated, "f{}", at + 1),
                        _ => assert_eq!(found, now, "f{} was added since", at + 1),
                    }
                }
                let entered = std::mem::take(&mut model.entered);
                *model = Model { entered, ..view };
            }
        }
    }
}

/// The frame after a command was taken back: the parts that the command has changed are as before.
fn undone_frame(before: &Plain, after: &Plain, now: &Plain) -> Plain {
    fn choose<T: PartialEq + Clone>(before: &T, after: &T, now: &T) -> T {
        if before == after { now.clone() } else { before.clone() }
    }
    macro_rules! each {
        ($($field:ident),*) => { Plain { $($field: choose(&before.$field, &after.$field, &now.$field),)* ..now.clone() } };
    }
    each!(
        parent,
        status,
        title,
        results,
        questions,
        artifacts,
        decisions,
        depends_on,
        reason,
        placeholder,
        criteria,
        priority,
        was_planned,
        registers,
        held,
        holder
    )
}

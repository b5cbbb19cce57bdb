//! Where the conversation of a session is: in the session's own frame, or in a frame that the conversation
//! has begun and works on itself.

use std::collections::HashSet;

use super::calls;
use super::sessions::Sessions;
use super::turn::Turn;
use super::way::Way;
use crate::frame::{FrameRef, FrameStatus, Handle};
use crate::tree::{Command, Tree};
use crate::vocabulary::{Place, Told};

/// Why a frame is blocked that its conversation does not know any more.
pub(super) const SET_BACK: &str = "It was interrupted: its conversation does not hold its beginning any more";

impl Sessions {
    /// The last line of an answer to a session where conversations are folded, with a line end before it.
    /// Empty elsewhere.
    pub(crate) fn place_line(&self, session_id: &str, tree: &Tree) -> String {
        if !self.say_places() {
            return String::new();
        }
        let open = self.place(session_id, tree).filter(|place| tree.node(*place).status().is_open());
        let name = open.map(|open| calls::name(tree, open));
        format!("\n{}", name.as_deref().map_or(Place::Nowhere, Place::In))
    }

    /// The frame in which the conversation of a session is. `None` if the session has no frame.
    pub(crate) fn place(&self, session_id: &str, tree: &Tree) -> Option<Handle> {
        self.entered(session_id, tree).next_back().or_else(|| tree.by_id(session_id))
    }

    /// The frames that the conversation of a session is in, in addition to the session's own frame, in the
    /// order in which it entered them.
    fn entered<'a>(&'a self, session_id: &'a str, tree: &'a Tree) -> impl DoubleEndedIterator<Item = Handle> + 'a {
        let entered = self.known.get(session_id).into_iter().flat_map(|session| &session.way.entered).copied();
        entered.filter(move |frame| {
            let record = tree.node(*frame).record();
            // Another actor can have ended the frame or can work on it now.
            record.status == FrameStatus::InProgress && record.conversation() == Some(session_id)
        })
    }

    /// The session's own frame, and those that its conversation has entered.
    pub(crate) fn frames_of(&self, session_id: &str, tree: &Tree) -> Vec<Handle> {
        tree.by_id(session_id).into_iter().chain(self.entered(session_id, tree)).collect()
    }

    /// The frame of the stable part of a conversation's contexts. It stays the same while the conversation
    /// moves on: it is the session's own frame, or the frame in which the conversation was compacted.
    pub(crate) fn base(&self, session_id: &str, tree: &Tree) -> Option<Handle> {
        let own = tree.by_id(session_id);
        let base = self.known.get(session_id).and_then(|session| session.way.base);
        base.filter(|base| self.entered(session_id, tree).any(|entered| entered == *base)).or(own)
    }

    /// The frames of a conversation above the frame in which it is, from the base on, whose criteria the
    /// conversation does not have any more.
    pub(crate) fn untold_above(&self, session_id: &str, tree: &Tree) -> Vec<Handle> {
        let base = self.base(session_id, tree);
        let mut frames = self.frames_of(session_id, tree);
        frames.pop();
        let above = frames.into_iter().skip_while(|frame| Some(*frame) != base);
        above.filter(|frame| !self.has_criteria(session_id, *frame, tree)).collect()
    }

    /// The frame that the words of a session at this time belong to.
    pub(super) fn frame_at(&self, session_id: &str, time: Option<u64>) -> FrameRef {
        let at = self.known.get(session_id).and_then(|session| session.way.at(time)).flatten();
        // By the ID, because commands of this turn can create the frame, or another one for the same session.
        at.map_or_else(|| FrameRef::Id(session_id.to_owned()), FrameRef::Handle)
    }

    /// True if the words at this time were said before a restart, in a frame that is not known any more, and
    /// were logged then.
    pub(super) fn is_from_before(&self, session_id: &str, time: Option<u64>) -> bool {
        let resumed_at = self.known.get(session_id).and_then(|session| session.way.resumed_at);
        resumed_at.zip(time).is_some_and(|(resumed_at, time)| time < resumed_at)
    }

    /// True if the conversation of a session itself says where it is, and what is planned there.
    pub(crate) fn says_place(&self, session_id: &str, frame: Handle, tree: &Tree) -> bool {
        let Some(way) = self.known.get(session_id).map(|session| &session.way) else { return false };
        let is_known = |child: &Handle| {
            let record = tree.node(*child).record();
            match record.status {
                FrameStatus::Planned => way.planned.contains(child),
                // Another actor has resumed a child on which the conversation has worked.
                FrameStatus::InProgress => record.conversation() != Some(session_id) || way.entered.contains(child),
                FrameStatus::Blocked => record.pending_answer().is_none(),
                _ => true,
            }
        };
        // A session that was created for its frame has heard nothing but the task.
        let is_heard = tree.by_id(session_id) != Some(frame) || !self.is_frame_called(session_id);
        let is_lost = self.lost(session_id, tree).is_some();
        self.say_places() && is_heard && !is_lost && !way.is_unplaced && tree.children(frame).iter().all(is_known)
    }

    /// True if the conversation has the criteria of a frame that it has entered word for word.
    pub(super) fn has_told(&self, session_id: &str, frame: Handle) -> bool {
        self.known.get(session_id).is_some_and(|session| session.way.described.contains(&frame))
    }

    /// The frame that the conversation of a session assumes it is in, although it is not there any more.
    fn lost(&self, session_id: &str, tree: &Tree) -> Option<Handle> {
        let last = self.known.get(session_id)?.way.entered.last().copied();
        last.filter(|last| self.entered(session_id, tree).next_back() != Some(*last))
    }

    /// Notes that the model of a session is asked: its next calls are made from the frame where the
    /// conversation is now.
    pub(crate) fn asked_model(&mut self, session_id: &str, tree: &Tree) {
        let is_lost = self.lost(session_id, tree).is_some();
        if let Some(session) = self.known.get_mut(session_id) {
            let way = &mut session.way;
            way.asked_in = None;
            way.told = way.answered.take().or(way.told).filter(|_| is_lost);
        }
    }

    /// Notes a message of the agent. A message from after the last move shows that the model was asked since
    /// then.
    pub(super) fn answered_by_model(&mut self, session_id: &str, time: Option<u64>, tree: &Tree) {
        let way = self.known.get(session_id).map(|session| &session.way);
        let moved = way.and_then(|way| way.moves.back()).map(|(moved, _)| *moved);
        if moved.zip(time).is_none_or(|(moved, time)| time > moved) {
            self.asked_model(session_id, tree);
        }
    }

    /// Finds the frames of a conversation from the time before a restart.
    pub(super) fn resume_way(&mut self, session_id: &str, tree: &Tree, time: u64) {
        // Everything that was said since this process began was said to this process, even if the session is
        // described later.
        let time = self.begun_at.unwrap_or(time);
        let is_known = self.known.get(session_id).is_some_and(|session| session.way.moves.is_empty());
        if !is_known {
            return;
        }
        // A frame below another frame was begun after it.
        let entered = tree.in_conversation(session_id);
        if let (Some(session), Some(last)) = (self.known.get_mut(session_id), entered.last().copied()) {
            // The conversation may have been compacted.
            session.way = Way { entered, base: Some(last), resumed_at: Some(time), ..Way::default() };
            session.way.moved(Some(last), time);
        }
    }

    /// Notes that the conversation of a session is replaced by a summary.
    pub(super) fn way_replaced(&mut self, session_id: &str, tree: &Tree) {
        let place = self.place(session_id, tree);
        if let Some(session) = self.known.get_mut(session_id) {
            session.way.described.clear();
            session.way.base = place;
        }
    }

    /// Notes that a session gets another frame of its own: the words before belong to the previous frame.
    pub(super) fn way_begun_anew(&mut self, session_id: &str, before: Handle, time: u64) {
        let Some(session) = self.known.get_mut(session_id) else { return };
        let way = &mut session.way;
        way.moves.iter_mut().for_each(|(_, frame)| *frame = frame.or(Some(before)));
        if !way.moves.is_empty() {
            way.moved(None, time);
        }
        (way.entered, way.described, way.base) = Default::default();
        way.is_unplaced = true;
    }
}

impl Turn<'_> {
    /// The frame from which the calls of this session's model begin parallel frames. It is the frame in which
    /// the conversation was when the model was asked, if the conversation has entered another frame since.
    /// `None`: the conversation has entered no other frame.
    pub fn beside(&self, session_id: &str) -> Option<Handle> {
        self.sessions.known.get(session_id)?.way.asked_in
    }

    /// True if the conversation of a session holds all that a frame needs: the frame is below a frame that
    /// the conversation is in, and the conversation has heard the results of all finished siblings of the
    /// frame, and of its finished dependencies.
    pub fn knows(&self, session_id: &str, frame: Handle) -> bool {
        let tree = self.tree;
        let mut here = self.sessions.frames_of(session_id, tree);
        // The conversation keeps the results of a finished frame.
        here.retain(|frame| tree.node(*frame).status().is_open());
        let Some(parent) = tree.node(frame).parent().filter(|parent| here.contains(parent)) else { return false };
        let is_heard = |other: Handle| {
            let is_here = tree.node(other).parent().is_some_and(|parent| here.contains(&parent));
            !tree.is_finished_child(other) || is_here && tree.is_held(other)
        };
        tree.children(parent).iter().copied().chain(tree.newest_dependencies(frame)).all(is_heard)
    }

    /// Notes that the conversation of a session is in a frame that it has begun or resumed. Returns the
    /// frames below that frame in which the conversation was. Those frames are interrupted.
    pub fn entered(&mut self, session_id: &str, frame: Handle) -> Vec<Handle> {
        let is_below = |entered: &Handle| self.tree.is_ancestor(frame, *entered);
        let below: Vec<Handle> = self.sessions.entered(session_id, self.tree).filter(is_below).collect();
        self.interrupt(&below, &format!("It was interrupted: its conversation has continued with {frame}"));
        let from = self.sessions.place(session_id, self.tree).filter(|from| *from != frame);
        let is_own = self.tree.by_id(session_id) == Some(frame);
        let way = &mut self.sessions.known.entry(session_id.to_owned()).or_default().way;
        // If the frame has just begun, the place is its parent.
        way.asked_in = way.asked_in.or(from).or(self.tree.node(frame).parent());
        way.entered.retain(|entered| *entered != frame && !below.contains(entered));
        if !is_own {
            way.entered.push(frame);
            way.described.insert(frame);
        }
        way.moved((!is_own).then_some(frame), self.time);
        way.is_unplaced = false;
        self.sessions.moved(session_id);
        below
    }

    /// Notes that the agent of a session has finished, blocked or invalidated frames: the conversation goes
    /// back to the frame it came from.
    pub fn left(&mut self, session_id: &str) {
        let here: Vec<Handle> = self.sessions.entered(session_id, self.tree).collect();
        let Some(session) = self.sessions.known.get_mut(session_id) else { return };
        let way = &mut session.way;
        if here.len() < way.entered.len() {
            way.asked_in = None;
            way.moved(here.last().copied(), self.time);
            way.entered = here;
            self.sessions.moved(session_id);
        }
    }

    /// Blocks the frames that the conversation of a session has entered: no agent works on them any more.
    pub(super) fn interrupt_entered(&mut self, session_id: &str, reason: &str) {
        let entered: Vec<Handle> = self.sessions.entered(session_id, self.tree).collect();
        self.interrupt(&entered, &format!("It was interrupted: {reason}"));
    }

    /// Blocks frames that a conversation has entered one after the other.
    pub(super) fn interrupt(&mut self, entered: &[Handle], question: &str) {
        // Inner frames come first.
        for frame in entered.iter().rev() {
            let (frame, question) = ((*frame).into(), Some(question.to_owned()));
            self.command(Command::Block { frame, question, results: None, interruption: true });
        }
    }

    /// The frame that the conversation of a session assumes it is in, although it is not there any more.
    /// The frame is returned as long as the model calls tools without having been told where the conversation
    /// is. `None`: the calls of the model are meant for the frame where the conversation is.
    pub fn misled(&mut self, session_id: &str) -> Option<Handle> {
        let lost = self.sessions.lost(session_id, self.tree)?;
        let place = self.sessions.entered(session_id, self.tree).next_back();
        let way = &mut self.sessions.known.get_mut(session_id)?.way;
        if way.told == Some(place) {
            return None;
        }
        // The other calls in the same message are meant for that frame as well.
        way.answered = Some(place);
        Some(lost)
    }

    /// Notes that an answer tells the conversation of a session where it is.
    pub fn placed(&mut self, session_id: &str) {
        if self.misled(session_id).is_some() {
            return;
        }
        let here: Vec<Handle> = self.sessions.entered(session_id, self.tree).collect();
        let Some(session) = self.sessions.known.get_mut(session_id) else { return };
        let way = &mut session.way;
        if here.last() != way.entered.last() {
            way.moved(here.last().copied(), self.time);
        }
        way.entered = here;
        way.is_unplaced = false;
    }

    /// Notes that the conversation of a session has planned frames itself.
    pub fn planned(&mut self, session_id: &str, frames: impl IntoIterator<Item = Handle>) {
        self.sessions.known.entry(session_id.to_owned()).or_default().way.planned.extend(frames);
    }

    /// Handles that a conversation may have been set back to the point that the answers of its tools show:
    /// see [`SessionSetBack`](super::HostEvent::SessionSetBack).
    pub(super) fn set_back(&mut self, session_id: &str, answers: &[String]) {
        let tree = self.tree;
        let path = path(answers, tree);
        let place = path.last().copied();
        let own = tree.by_id(session_id);
        let entered: Vec<Handle> = self.sessions.entered(session_id, tree).collect();
        let is_around = |frame: &Handle| place.is_some_and(|place| tree.is_ancestor(*frame, place));
        let (mut kept, others): (Vec<Handle>, Vec<Handle>) =
            entered.iter().partition(|frame| is_around(frame) && !path.contains(frame));
        kept.extend(path.iter().filter(|frame| others.contains(frame)));
        let lost: Vec<Handle> = others.into_iter().filter(|frame| !path.contains(frame)).collect();
        self.interrupt(&lost, SET_BACK);
        // The frame that the conversation assumes it is in, although it is not: the frame has ended since, or
        // another conversation works on it.
        let believed = place.filter(|place| Some(*place) != kept.last().copied().or(own));
        if let Some(session) = self.sessions.known.get_mut(session_id) {
            let way = &mut session.way;
            if kept.last() != entered.last() {
                way.moved(kept.last().copied(), self.time);
                way.asked_in = None;
                self.sessions.moved(session_id);
            }
        }
        if let Some(session) = self.sessions.known.get_mut(session_id) {
            let way = &mut session.way;
            way.described.retain(|frame| kept.contains(frame));
            // It is not known whether the conversation still holds its plans.
            way.planned.clear();
            (way.answered, way.told) = (None, None);
            way.is_unplaced = place.is_none() && answers.iter().any(|answer| Told::read(answer).is_some());
            way.entered = kept.into_iter().chain(believed).collect();
        }
        let heard: HashSet<Handle> = answers
            .iter()
            .filter_map(|answer| Told::read(answer).or_else(|| Told::without_place(answer)))
            .filter(|told| {
                let name = tree.resolve(&told.subject.into()).ok().map(|frame| calls::name(tree, frame));
                told.end(name.as_deref()).is_some()
            })
            .map(|told| told.subject)
            .collect();
        let is_lost = |child: &Handle| tree.is_held(*child) && !heard.contains(child);
        let mut here = self.sessions.frames_of(session_id, tree);
        here.retain(|frame| tree.children(*frame).iter().any(is_lost));
        if let Some(session) = self.sessions.known.get_mut(session_id).filter(|_| !here.is_empty()) {
            // The stable part of its contexts shows what it has lost in the frame where it is.
            session.way.base = session.way.entered.last().copied();
        }
        for frame in here {
            self.command(Command::Forget { frame: frame.into() });
        }
    }
}

/// The frames that a conversation assumes it is in, according to the answers of its tools, in the order in
/// which it entered them.
fn path(answers: &[String], tree: &Tree) -> Vec<Handle> {
    let mut path: Vec<Handle> = Vec::new();
    for told in answers.iter().filter_map(|answer| Told::read(answer)) {
        match told.place.and_then(|place| tree.resolve(&place.into()).ok()) {
            None => path.clear(),
            Some(place) => {
                // The conversation has left the frames below.
                path.retain(|frame| !tree.is_ancestor(place, *frame));
                let known = path.iter().position(|frame| *frame == place);
                path.truncate(known.unwrap_or(path.len()));
                path.push(place);
            }
        }
    }
    path
}

//! Who holds each frame, and where conversations are.

use serde::{Deserialize, Serialize};

use super::{Tree, set};
use crate::error::{Error, Result};
use crate::frame::{Actor, Handle, Hold, Holder, HolderKind, Release};

/// The number of conversations whose last place is remembered.
const MOST_PLACES: usize = 1_000;

impl Tree {
    /// The frames that have a holder, in creation order. They include frames whose lease has ended if this
    /// was not noticed yet.
    pub fn held(&self) -> impl Iterator<Item = Handle> + '_ {
        self.held.iter().copied()
    }

    /// The frames that hosts run by calls, in creation order.
    pub fn called(&self) -> impl Iterator<Item = Handle> + '_ {
        self.held().filter(|handle| self.node(*handle).record().host().is_some())
    }

    /// The open frames of workers, in creation order. They include frames that no worker holds now.
    pub fn with_workers(&self) -> impl Iterator<Item = Handle> + '_ {
        self.with_workers.iter().copied()
    }

    /// Who holds a frame at this time.
    pub fn holder(&self, handle: Handle, now: u64) -> Option<&Holder> {
        self.node(handle).record().held_by().filter(|holder| holder.holds(now))
    }

    /// The frames that a conversation or a person holds, in creation order. They include frames whose holder
    /// was silent for too long.
    pub(super) fn on_the_way(&self, kind: HolderKind, name: &str) -> impl Iterator<Item = (Handle, &Holder)> {
        let frames = self.ways.get(&(kind, name.to_owned())).into_iter().flatten();
        frames.filter_map(|handle| Some((*handle, self.node(*handle).record().holder.as_deref()?)))
    }

    /// The time at which a conversation entered a frame last.
    pub(crate) fn last_entry(&self, conversation: &str) -> Option<u64> {
        self.places.get(conversation).map(|place| place.since)
    }

    /// The frame in which a conversation works: the frame that it entered last and still has. Or the frame in
    /// which it was when it lost that frame, see [`Tree::lost_place`], until it enters another frame.
    pub fn place_of(&self, conversation: &str) -> Option<Handle> {
        let place = self.places.get(conversation)?;
        if self.is_task_over(conversation, place.frame) {
            return Some(place.frame);
        }
        let way = self.on_the_way(HolderKind::Conversation, conversation);
        way.map(|(handle, holder)| (holder.since, handle)).chain(place.lost).max().map(|(_, handle)| handle)
    }

    /// The frame in which a conversation was, if it must learn that it cannot work there any more: another
    /// actor has ended, blocked or taken over the frame; or the frame was the whole task of the conversation,
    /// given to it by another conversation, and has ended.
    pub fn lost_place(&self, conversation: &str) -> Option<Handle> {
        let place = self.place_of(conversation)?;
        let mut way = self.on_the_way(HolderKind::Conversation, conversation);
        way.all(|(handle, _)| handle != place).then_some(place)
    }

    /// True if a frame was the whole task of a conversation, and the conversation has ended it.
    fn is_task_over(&self, conversation: &str, handle: Handle) -> bool {
        let holder = self.node(handle).record().holder.as_deref();
        let is_ended = |holder: &Holder| holder.released.as_ref().is_some_and(|it| it.how == Release::Ended {});
        holder.is_some_and(|holder| is_of(holder, conversation) && is_ended(holder) && !holder.caller.is_empty())
    }

    /// The frames whose leases a conversation or a person should renew: half of the lease is over, or the
    /// lease has ended already and no other actor has resumed the frame.
    pub fn due_renewals(&self, actor: &Actor, now: u64) -> Vec<Handle> {
        let longest = Holder::LONGEST_LEASE;
        let is_due = |holder: &Holder| {
            let left = holder.until.map_or(longest, |until| until.saturating_sub(now));
            left < longest / 2 || left > longest
        };
        let own = self.on_the_way(actor.kind, &actor.name);
        own.filter(|(_, holder)| is_due(holder)).map(|(handle, _)| handle).collect()
    }

    /// The frames that a conversation holds, the one that it entered last first. It is in the first frame,
    /// and returns from there to the others.
    pub fn way_back(&self, conversation: &str) -> Vec<Handle> {
        let way = self.on_the_way(HolderKind::Conversation, conversation);
        let held = way.filter(|(_, holder)| holder.released.is_none());
        let mut held: Vec<(u64, Handle)> = held.map(|(handle, holder)| (holder.since, handle)).collect();
        held.sort_unstable_by(|one, other| other.cmp(one));
        held.into_iter().map(|(_, handle)| handle).collect()
    }

    /// Checks that no other holder has had a frame since an actor had it: the actor's lease may have ended.
    /// An actor without a hold has nothing to lose.
    ///
    /// # Errors
    /// [`Error::HoldLost`]; [`Error::UnknownFrame`].
    pub fn check_hold(&self, actor: &Actor) -> Result<()> {
        actor.hold.as_ref().map_or(Ok(()), |hold| self.check_holds(hold))
    }

    /// Checks that no other holder has had a frame since the holder that this hold proves.
    ///
    /// # Errors
    /// As [`Tree::check_hold`].
    pub fn check_holds(&self, hold: &Hold) -> Result<()> {
        let handle = self.resolve(&hold.handle.into())?;
        let newest = self.node(handle).record().holder.as_deref();
        if newest.is_some_and(|newest| hold.is(newest)) {
            return Ok(());
        }
        let by = newest.map(Holder::described).unwrap_or_default();
        let newest = newest.map_or(0, |newest| newest.generation);
        Err(Error::HoldLost { handle, by, generation: newest, refused: hold.generation })
    }

    /// Checks that an actor may begin, end or take a frame. No other actor may hold the frame, or the actor
    /// must take it over. An actor cannot take a frame over from a holder that has something running. A
    /// holder without a name does not prevent anything: it is a person who works by hand, or the subagent
    /// that is expected.
    ///
    /// # Errors
    /// [`Error::Held`].
    pub fn check_free(&self, handle: Handle, actor: Option<&Actor>, now: u64) -> Result<()> {
        let Some(holder) = self.holder(handle, now) else { return Ok(()) };
        let is_free = match actor {
            Some(actor) => actor.is(handle, holder) || (actor.takes_over && !holder.kind.is_running()),
            // A caller that uses the stack directly decides for persons and conversations.
            None => !holder.kind.is_running(),
        };
        if is_free || holder.name.is_empty() {
            return Ok(());
        }
        Err(Error::Held { handle, by: holder.described(), until: holder.until })
    }

    /// Notes in the indexes who holds a frame.
    pub(super) fn note_holder(&mut self, handle: Handle) {
        let frame = self.node(handle).record();
        let (is_held, is_of_worker) = (frame.held_by().is_some(), frame.status.is_open() && frame.worker().is_some());
        let on_it = frame.holder.as_deref().filter(|holder| holder.is_on_it()).and_then(way_of);
        self.leave_way(handle);
        set(&mut self.held, handle, is_held);
        set(&mut self.with_workers, handle, is_of_worker);
        if let Some(way) = on_it {
            self.ways.entry(way).or_default().insert(handle);
        }
        self.note_worker_time(handle);
    }

    /// Takes a frame off the way of its holder, because it is let go, gets another holder, or leaves the
    /// memory.
    pub(super) fn leave_way(&mut self, handle: Handle) {
        let Some(way) = self.node(handle).record().holder.as_deref().and_then(way_of) else { return };
        if let Some(frames) = self.ways.get_mut(&way) {
            frames.remove(&handle);
            if frames.is_empty() {
                self.ways.remove(&way);
            }
        }
    }

    /// Notes that a conversation has entered a frame, if the holder of the frame is a conversation. Notes too
    /// that the holder before it has lost the frame. The conversations that entered frames last are
    /// remembered.
    pub(super) fn note_place(&mut self, handle: Handle, before: Option<&Holder>) {
        let Some(holder) = self.node(handle).record().holder.as_deref() else { return };
        let is_conversation = holder.kind == HolderKind::Conversation && !holder.name.is_empty();
        // A conversation has not lost a frame that it has handed over.
        let is_other = |before: &&Holder| {
            before.is_on_it() && before.name != holder.caller && !(is_conversation && before.name == holder.name)
        };
        let loser = before.filter(is_other);
        let entered = is_conversation.then(|| (holder.name.clone(), holder.since));
        if let Some(loser) = loser {
            self.note_loss(handle, loser);
        }
        let Some((name, since)) = entered else { return };
        let lost = self.places.get(&name).and_then(|place| place.lost);
        // A conversation knows of its loss once it works elsewhere. It does not know of it yet when it begins
        // something below the lost frame.
        let is_heard =
            |(when, lost): &(u64, Handle)| since > *when && (handle == *lost || !self.is_ancestor(*lost, handle));
        let lost = lost.filter(|lost| !is_heard(lost));
        let place = self.places.entry(name).or_insert(Place { since, frame: handle, lost: None });
        (place.since, place.frame) = (place.since, place.frame).max((since, handle));
        place.lost = lost;
        if self.places.len() > MOST_PLACES
            && let Some(oldest) = self.places.iter().min_by_key(|(name, place)| (place.since, place.frame, *name))
        {
            let oldest = oldest.0.clone();
            self.places.remove(&oldest);
        }
    }

    /// Notes that a conversation has lost a frame to another actor. The conversation must learn of the loss,
    /// instead of working in the frame above. It learns only of the last loss.
    pub(super) fn note_loss(&mut self, handle: Handle, holder: &Holder) {
        if holder.kind == HolderKind::Conversation
            && let Some(place) = self.places.get_mut(&holder.name)
        {
            place.lost = place.lost.max(Some((holder.since, handle)));
        }
    }
}

/// Where a conversation is, in addition to the frames that it holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Place {
    /// The time at which it entered a frame last.
    since: u64,
    /// The frame that it entered at that time.
    pub(super) frame: Handle,
    /// The frame that it has lost to another actor without knowing it yet, and the time since which it was in
    /// that frame.
    pub(super) lost: Option<(u64, Handle)>,
}

fn is_of(holder: &Holder, conversation: &str) -> bool {
    holder.kind == HolderKind::Conversation && holder.name == conversation
}

/// The way of a holder with a name: the frames that it holds, and to which it returns. Frames that a worker
/// or a host runs are not part of a way.
fn way_of(holder: &Holder) -> Option<(HolderKind, String)> {
    let has_way = !holder.kind.is_running() && !holder.name.is_empty();
    has_way.then(|| (holder.kind, holder.name.clone()))
}

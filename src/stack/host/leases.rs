//! The holds of a host and its conversations: they are renewed while the host lives, and released when it
//! ends.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::HostState;
use crate::frame::{Actor, FrameLimits, FrameRef, Handle, Hold, Holder, HolderKind, Release};
use crate::stack::deadline::Deadline;
use crate::stack::{Inner, Stack};
use crate::tree::{Command, decide};

/// How long the end of a stack waits for the record that its calls were interrupted.
const LAST_PATIENCE: Duration = Duration::from_millis(300);

impl HostState {
    /// The ID under which this process runs calls.
    pub(in crate::stack) fn id(&self) -> Option<String> {
        let identity = self.identity.lock();
        identity.as_ref().filter(|(_, process)| *process == std::process::id()).map(|(id, _)| id.clone())
    }
}

impl Stack {
    /// The ID of this stack as a host that runs calls.
    pub(super) fn host_id(&self) -> String {
        if let Some(id) = self.inner.host.id() {
            return id;
        }
        let id = self.fresh_id("host-");
        *self.inner.host.identity.lock() = Some((id.clone(), std::process::id()));
        self.inner.host.state.lock().sessions.host.clone_from(&id);
        id
    }

    /// How long the calls of this host belong to it without a sign of life, in milliseconds.
    pub(super) fn call_lease(&self) -> u64 {
        self.inner.host.state.lock().sessions.calls.settings.lease.clamp(1, Holder::LONGEST_LEASE)
    }

    /// The limits of roots without limits of their own.
    pub(in crate::stack) fn root_limits(&self) -> FrameLimits {
        self.inner.host.state.lock().sessions.calls.settings.limits.clone()
    }

    /// Renews the holds of this host's calls, and of what its conversations hold, when half of the lease is
    /// over. A frame that another process took for interrupted meanwhile belongs to the host again, unless
    /// another actor has resumed it. A renewal that is refused is tried again by the next turn.
    pub(super) fn renew_calls(&self) {
        let Some(host) = self.inner.host.id() else { return };
        let (now, lease) = ((self.inner.clock)(), self.call_lease());
        let calls: HashSet<Handle> = self.inner.host.state.lock().sessions.calls.begun().collect();
        let due: Vec<Hold> = self.look(|tree| {
            let own =
                |handle: &Handle| tree.node(*handle).record().holder.as_deref().filter(|holder| holder.name == host);
            let is_due = |holder: &&Holder| {
                let left = holder.until.unwrap_or_default().saturating_sub(now);
                left <= lease / 2 || left > lease
            };
            let is_own = |handle: &Handle| match own(handle) {
                Some(Holder { released: Some(released), .. }) => {
                    calls.contains(handle) && released.how == Release::Interrupted {}
                }
                Some(_) => true,
                None => false,
            };
            let frames = tree.called().chain(calls.iter().copied()).collect::<BTreeSet<Handle>>();
            let frames = frames.into_iter().filter(is_own);
            frames.filter_map(|handle| Some(Hold::of(handle, own(&handle).filter(is_due)?))).collect()
        });
        for hold in due {
            let _ = self.execute(Command::Renew { hold, lease });
        }
    }

    /// Renews what the conversations of this host hold, when half of the lease is over.
    pub(super) fn renew_conversations(&self) {
        let now = (self.inner.clock)();
        let due: HashSet<String> = self.inner.tree.lend(|tree| {
            let state = self.inner.host.state.lock();
            let of_host =
                |handle: Handle| tree.node(handle).record().conversation().filter(|id| state.sessions.is_known(id));
            let own = tree.held().filter_map(of_host);
            let is_due = |id: &&str| !tree.due_renewals(&Actor::new(HolderKind::Conversation, *id), now).is_empty();
            own.filter(is_due).map(str::to_owned).collect()
        });
        for name in due {
            let _ = self.as_actor(Actor::new(HolderKind::Conversation, name)).execute(Command::RenewAll);
        }
    }
}

/// Records that the calls of a host that ends were interrupted, so that other actors can resume their frames
/// at once. If that cannot be recorded, their leases end automatically.
pub(in crate::stack) fn end_calls(inner: &mut Inner) {
    let Some(host) = inner.host.id().filter(|_| !inner.is_broken.load(Ordering::Acquire)) else { return };
    let called: Vec<Handle> = {
        let tree = inner.tree.read();
        let is_own = |handle: &Handle| tree.node(*handle).record().host().is_some_and(|holder| holder.name == host);
        tree.called().filter(is_own).collect()
    };
    let deadline = Deadline::begin(inner.busy_timeout.min(LAST_PATIENCE)).started();
    let journal = inner.journal.get_mut().get_mut();
    for frame in called.into_iter().map(FrameRef::from) {
        let (command, now) = (Command::EndCall { frame, host: host.clone(), interrupted: true }, (inner.clock)());
        let _ = journal.commit(&inner.tree, &deadline, |tree| decide(tree, command, now));
    }
}

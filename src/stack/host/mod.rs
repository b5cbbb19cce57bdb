//! The interface of a stack for hosts with sessions, and what the stack remembers of its host.

mod contexts;
mod events;
mod leases;
mod log_lines;
mod messages;
mod settings;
mod turns;

use std::cell::RefCell;
use std::collections::VecDeque;

use parking_lot::{Mutex, ReentrantMutex};

pub use self::contexts::SessionContext;
pub(super) use self::leases::end_calls;
pub use self::settings::HostSettings;
use self::turns::Postponed;
#[cfg(feature = "tools")]
pub(crate) use self::turns::Turns;
use super::Stack;
use crate::context::Settings;
use crate::session::{Effect, Sessions};
use crate::vocabulary::{ToolNames, ToolSet};

/// The methods of a stack for a host with sessions. Returned by [`Stack::host`].
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Host<'a> {
    stack: &'a Stack,
}

impl Stack {
    /// Returns the methods for a host with sessions: it reports events, performs effects, and asks for the
    /// context of a session.
    pub fn host(&self) -> Host<'_> {
        Host { stack: self }
    }
}

/// The data of a stack about its host.
#[derive(Default)]
pub(super) struct HostState {
    /// Held while an event or a tool call is handled and its actions are executed, so that they are handled
    /// one after the other. Locked before all other locks. An event inside of an event, in code of the host,
    /// finds it borrowed.
    order: ReentrantMutex<RefCell<()>>,
    /// Held only for short times, because contexts wait for it too. No code of the host runs meanwhile.
    state: Mutex<State>,
    /// The ID under which this stack runs calls, from the first call on, and the number of the process: a
    /// forked process has other calls.
    identity: Mutex<Option<(String, u32)>>,
}

struct State {
    sessions: Sessions,
    /// The settings that the host has set last.
    configured: HostSettings,
    /// The settings of contexts. Their tools are the offered ones only.
    context: Settings,
    /// The tools that the host offers.
    tools: ToolSet,
    /// The host's names of the tools, as it has set them.
    names: ToolNames,
    /// True if the host has configured the stack or reported an event. Only then are log lines collected for
    /// it.
    is_attached: bool,
    /// True if the host has configured the stack or polled. It is then expected to poll.
    is_polling: bool,
    waiting: VecDeque<Effect>,
    /// Commands of turns that the journal has not allowed.
    postponed: Vec<Postponed>,
}

impl Default for State {
    fn default() -> Self {
        let mut state = Self {
            sessions: Sessions::default(),
            configured: HostSettings::default(),
            context: Settings::default(),
            tools: ToolSet::default(),
            names: ToolNames::default(),
            is_attached: false,
            is_polling: false,
            waiting: VecDeque::new(),
            postponed: Vec::new(),
        };
        state.offer(ToolSet::default(), Settings::default());
        state
    }
}

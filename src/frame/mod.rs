//! The data types of a frame: handle, status and table of transitions, record, heap chunks, registers,
//! messages, and events.
//!
//! This layer does not use any other module of the crate; all other modules build on it.

mod before;
mod chunk;
mod edit;
mod event;
mod file_name;
mod handle;
mod holder;
mod limits;
pub(crate) mod marks;
mod message;
mod origin;
mod prices;
mod priority;
mod question;
mod record;
mod registers;
mod run;
mod shown;
mod spans;
mod state;
mod status;
mod summary_request;
mod timeline;
mod transcript_position;
mod usage;

pub use before::{FrameBefore, TreeBefore};
pub(crate) use before::{changed_keys, status_in};
pub use chunk::{Chunk, NewChunk};
pub use edit::FrameEdit;
pub use event::{Change, Event};
pub use file_name::{file_name, own_log_path};
pub use handle::{FrameRef, Handle, ParseHandleError};
pub(crate) use handle::{Target, has_handle_form, reference_to_id};
pub use holder::{Actor, Finish, Finished, Hold, Holder, HolderKind, NewHold, Release, Released, Told, WorkLeft};
pub use limits::{ConversationCost, FrameLimits};
pub(crate) use limits::{common_tools, covers, exact_dollars, tools_of_all};
pub use message::{Message, ToolCall};
pub(crate) use origin::checksum;
pub use origin::{Checksums, Origin};
pub use prices::{Price, Prices, TotalCost};
pub use priority::Priority;
pub use question::Question;
pub use record::{Frame, Identity, NewFrame, Parent, Results, SALVAGED};
pub(crate) use record::{FrameFile, PLANNED_PREFIX, first_filled, is_too_deep, leave_out_too_deep};
pub use registers::{Register, RegisterValues, Registers};
pub use run::{MemoryModel, RunSettings};
pub(crate) use shown::{shown, shown_message};
pub use spans::{FrameSpans, Span};
pub use state::FinishedTrees;
pub use state::{Repair, STATE_VERSION, StackState, StateError};
pub(crate) use state::{StateDocument, frame_from_json};
pub use status::{FrameStatus, ParseStatusError, PopStatus};
pub use summary_request::{CompactionType, SummaryRequest};
pub use timeline::{TimedRequest, Timeline};
pub use transcript_position::TranscriptPosition;
pub(crate) use usage::add_usage;
pub use usage::{FrameUsage, ModelRequest, ModelUsage};

//! The call that runs a frame, as the record of the frame keeps it.

use serde::{Deserialize, Serialize};

/// The call of a frame that has begun and not ended: a host runs the frame in its session.
///
/// In JSON: `{"host": "host-…", "caller": "ses_1", "begunAt": 1795293106903}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct RunningCall {
    /// The host that runs the frame: an ID that each open stack has for itself.
    pub host: String,
    /// ID of the calling session.
    pub caller: String,
    /// Time of the beginning, in milliseconds since the Unix epoch.
    pub begun_at: u64,
}

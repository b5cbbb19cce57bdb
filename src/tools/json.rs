//! JSON in the answers of tools: indented, and with frames named so that the agent can use the names as
//! arguments.

use serde::Serialize;
use serde_json::Value;

use crate::frame::reference_to_id;
use crate::text::escape_hidden;

/// The keys whose texts are IDs of frames.
const ID_KEYS: [&str; 5] = ["sessionID", "parentSessionID", "dependsOn", "plannedChildren", "retryOf"];

/// Returns a value as indented JSON.
pub(super) fn pretty(value: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(value).expect("records have only string keys and finite numbers");
    escape_hidden(&json).into_owned()
}

/// Returns a record as JSON in which IDs that have the form of a handle are written as references: `id:f3`.
/// An agent would use `f3` as a handle.
pub(super) fn with_references(record: &impl Serialize) -> Value {
    let mut record = serde_json::to_value(record).expect("records have only string keys and finite numbers");
    for key in ID_KEYS {
        match record.get_mut(key) {
            Some(Value::String(id)) => *id = reference_to_id(id).into_owned(),
            Some(Value::Array(ids)) => {
                for id in ids {
                    if let Value::String(id) = id {
                        *id = reference_to_id(id).into_owned();
                    }
                }
            }
            _ => {}
        }
    }
    record
}

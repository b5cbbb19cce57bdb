//! The complete state in the JSON of the specification (`StackState`). The reader is lenient: it keeps all
//! readable data and lists the repairs that it made.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Frame, FrameStatus, PLANNED_PREFIX, shown, shown_message};
use crate::error_source::ErrorSource;
use crate::text::{from_json, readable_json};

/// The version of the JSON layout that this library writes. It is also the newest version that it reads.
pub const STATE_VERSION: u64 = 1;

/// The complete tree in the layout of the specification's `state.json`:
///
/// ```json
/// {"version": 1, "revision": 9, "frames": {"ses_1": {"sessionID": "ses_1", "status": "in_progress", …}},
///  "activeFrameID": "ses_1", "rootFrameIDs": ["ses_1"], "updatedAt": 1795293106903}
/// ```
///
/// ```
/// use callstack_core::{Stack, StackOptions, StackState};
///
/// let text = r#"{"version": 1, "frames": {"ses_1": {"sessionID": "ses_1", "status": "in_progress", "title": "Build",
///     "successCriteria": "", "createdAt": 1}}, "activeFrameID": "ses_9", "rootFrameIDs": ["ses_1"], "updatedAt": 1}"#;
/// let (state, unreadable) = StackState::from_json(text)?;
/// let (stack, inconsistent) = Stack::from_state(state, StackOptions::default());
/// assert!(unreadable.is_empty());
/// assert_eq!(
///     inconsistent[0].to_string(),
///     "activeFrameID is `ses_9`, but there is no such frame; no frame is active"
/// );
/// assert_eq!(stack.frame("ses_1")?.title, "Build");
/// # Ok::<(), callstack_core::Error>(())
/// ```
///
/// The specification does not have the key `revision`; it is omitted when 0. If it is present, the frames
/// are in the order of their handles; without it, handles are assigned by `createdAt`.
#[derive(Debug, Clone, PartialEq)]
pub struct StackState {
    /// Version of the layout. Default [`STATE_VERSION`].
    pub version: u64,
    /// Number of events in the tree's history.
    pub revision: u64,
    /// All frames. In JSON an object that maps each ID to its frame.
    pub frames: Vec<Frame>,
    /// ID of the active frame, if there is one.
    pub active_frame_id: Option<String>,
    /// IDs of the root frames.
    pub root_frame_ids: Vec<String>,
    /// Time of the last change, in milliseconds since the Unix epoch.
    pub updated_at: u64,
    /// The finished trees that are not in `frames`: in a large stack, they are only in the files of the
    /// folder `frames`. `None`: all trees are in `frames`.
    pub finished_trees: Option<FinishedTrees>,
    /// Top-level keys of the file that this version does not know. They are written back.
    pub extra: Map<String, Value>,
}

impl Default for StackState {
    fn default() -> Self {
        Self {
            version: STATE_VERSION,
            revision: 0,
            frames: Vec::new(),
            active_frame_id: None,
            root_frame_ids: Vec::new(),
            updated_at: 0,
            finished_trees: None,
            extra: Map::new(),
        }
    }
}

/// How many finished trees a `state.json` leaves out. Their frames are in the folder `frames`, a file each.
/// In JSON `{"roots": 30000, "frames": 930000}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FinishedTrees {
    /// Number of the trees.
    pub roots: usize,
    /// Number of their frames.
    pub frames: usize,
}

/// A defect in a state, and its repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Repair {
    /// ID of the affected frame; `None` if the defect concerns the state as a whole.
    pub frame: Option<String>,
    /// The defect and its repair, in one sentence.
    pub message: String,
}

impl Repair {
    pub(crate) fn of_frame(frame: &str, message: impl Into<String>) -> Self {
        Self { frame: Some(frame.to_owned()), message: shown_message(&message.into()).into_owned() }
    }

    pub(crate) fn of_state(message: impl Into<String>) -> Self {
        Self { frame: None, message: shown_message(&message.into()).into_owned() }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.frame {
            Some(frame) => write!(formatter, "frame {}: {}", shown(frame), self.message),
            None => formatter.write_str(&self.message),
        }
    }
}

/// The error of a text that contains no readable state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The text is not JSON, or not an object with a key `frames` that holds an object.
    #[error("the state cannot be read: {}", shown_message(.message))]
    #[non_exhaustive]
    Json {
        /// The parser's message with line and column.
        message: String,
        /// The parser's error, if the parser refused the text.
        source: Option<ErrorSource>,
    },
    /// A newer version of the library wrote the state.
    #[error("the state has version {found}, this library reads up to {supported}; update the library")]
    Version {
        /// The version in the text.
        found: u64,
        /// The newest version that can be read.
        supported: u64,
    },
}

impl StackState {
    /// The highest revision that a state can have: the largest whole number that every JSON reader keeps
    /// exact. A state with a higher revision is not the state of a real history.
    pub const LAST_REVISION: u64 = (1 << 53) - 1;

    /// Reads a state. Frames with missing or mistyped fields keep all readable fields; the returned list
    /// describes the defects. The links between frames are checked later, when a [`Tree`](crate::Tree) is
    /// created from the state.
    ///
    /// # Errors
    /// [`StateError::Json`] if the text is not JSON or has no `frames`; [`StateError::Version`] if a newer
    /// version of the library wrote it. Both convert into [`Error`](crate::Error).
    pub fn from_json(text: &str) -> Result<(Self, Vec<Repair>), StateError> {
        let mut file = StateFile::default();
        file.read(text).map_err(json_error)?;
        let mut repairs = Vec::new();
        Ok((file.into_state(&mut repairs)?, repairs))
    }

    /// Reads a state that may be damaged. All frames before the damage are kept; the returned list contains
    /// the position of the damage. Undamaged states give the same result as [`StackState::from_json`].
    ///
    /// # Errors
    /// [`StateError::Json`] if the text is damaged before the end of the first frame, or has no `frames`;
    /// [`StateError::Version`] if a newer version of the library wrote it.
    pub fn salvage(bytes: &[u8]) -> Result<(Self, Vec<Repair>), StateError> {
        let text = String::from_utf8_lossy(bytes);
        let mut file = StateFile::default();
        let end = file.read(&text);
        let mut repairs = Vec::new();
        if let Err(error) = end {
            let kept = file.frames.as_ref().map_or(0, Vec::len);
            if kept == 0 {
                return Err(json_error(error));
            }
            let message = format!("the state is damaged ({error}); the {kept} frames before the damage are kept");
            repairs.push(Repair::of_state(message));
        }
        if matches!(text, std::borrow::Cow::Owned(_)) {
            repairs.push(Repair::of_state("the state contains bytes that are not UTF-8; they are replaced by U+FFFD"));
        }
        Ok((file.into_state(&mut repairs)?, repairs))
    }

    /// Returns the state as JSON on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a state has only string keys and finite numbers")
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for StackState {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StackState".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let frame = generator.subschema_for::<Frame>();
        let finished = generator.subschema_for::<FinishedTrees>();
        schemars::json_schema!({
            "description": "All trees in the form of `state.json`. A state of an imported file can have more keys.",
            "type": "object",
            "required": ["version", "frames", "rootFrameIDs", "updatedAt"],
            "properties": {
                "version": { "type": "integer", "description": "The version of the form." },
                "revision": { "type": "integer", "description": "Number of events in the history. Default 0." },
                "frames": {
                    "type": "object",
                    "additionalProperties": frame,
                    "description": "All frames, by their IDs."
                },
                "activeFrameID": { "type": "string", "description": "The ID of the active frame; absent if there is none." },
                "rootFrameIDs": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The IDs of the roots."
                },
                "updatedAt": {
                    "type": "integer",
                    "description": "The time of the last change, in milliseconds since the Unix epoch."
                },
                "finishedTrees": finished,
            },
        })
    }
}

impl Serialize for StackState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let roots = || self.root_frame_ids.clone();
        StateDocument::new(self, self.frames.iter(), &roots).serialize(serializer)
    }
}

/// A state to write, once. Its frames come from the iterator, not from `head`, so that a large tree can
/// create them one by one and is never copied as a whole. The IDs of the roots are requested after the
/// frames.
pub(crate) struct StateDocument<'a, Frames> {
    head: &'a StackState,
    frames: RefCell<Frames>,
    root_frame_ids: &'a dyn Fn() -> Vec<String>,
}

impl<'a, Frames> StateDocument<'a, Frames> {
    pub(crate) fn new(head: &'a StackState, frames: Frames, root_frame_ids: &'a dyn Fn() -> Vec<String>) -> Self {
        Self { head, frames: RefCell::new(frames), root_frame_ids }
    }
}

impl<Frames: Iterator<Item: Borrow<Frame>>> Serialize for StateDocument<'_, Frames> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", &self.head.version)?;
        // Before the frames, so that the first bytes of the file contain the revision.
        if self.head.revision != 0 {
            map.serialize_entry("revision", &self.head.revision)?;
        }
        map.serialize_entry("frames", &FramesById(&self.frames))?;
        if let Some(id) = &self.head.active_frame_id {
            map.serialize_entry("activeFrameID", id)?;
        }
        map.serialize_entry("rootFrameIDs", &(self.root_frame_ids)())?;
        map.serialize_entry("updatedAt", &self.head.updated_at)?;
        if let Some(finished) = &self.head.finished_trees {
            map.serialize_entry("finishedTrees", finished)?;
        }
        for (key, value) in &self.head.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

struct FramesById<'a, Frames>(&'a RefCell<Frames>);

impl<Frames: Iterator<Item: Borrow<Frame>>> Serialize for FramesById<'_, Frames> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for frame in &mut *self.0.borrow_mut() {
            let frame = frame.borrow();
            map.serialize_entry(&frame.session_id, frame)?;
        }
        map.end()
    }
}

fn json_error(error: serde_json::Error) -> StateError {
    StateError::Json { message: error.to_string(), source: Some(ErrorSource::new(error)) }
}

/// Reads the file of one frame. If it has no `sessionID`, the frame's ID is `name`.
///
/// # Errors
/// The text is not a JSON object.
pub(crate) fn frame_from_json(text: &str, name: &str, repairs: &mut Vec<Repair>) -> serde_json::Result<Frame> {
    let object: Map<String, Value> = from_json(text)?;
    let id = object.get("sessionID").and_then(Value::as_str).unwrap_or(name).to_owned();
    Ok(read_frame(id, Value::Object(object), repairs).expect("an object is always kept"))
}

fn read_frame(key: String, value: Value, repairs: &mut Vec<Repair>) -> Option<Frame> {
    let Value::Object(mut object) = value else {
        repairs.push(Repair::of_frame(&key, "the entry is not an object; left out"));
        return None;
    };
    let mut fields = Fields { fields: &mut object, frame: Some(&key), repairs };
    let session_id = match fields.text("sessionID") {
        Some(id) if id == key => id,
        Some(other) => {
            fields.report(format!("its sessionID is `{other}`, which differs from its key; the key is used"));
            key.clone()
        }
        None => {
            fields.report("it has no sessionID; its key is used");
            key.clone()
        }
    };
    let created_at = fields.required("createdAt", Fields::number).unwrap_or_default();
    let results = fields.text("results");
    let status = match fields.text("status") {
        Some(text) => text.parse().unwrap_or_else(|_| {
            let status = likely_status(&key, results.is_some());
            fields.report(format!("its status `{text}` is unknown; read as {status}"));
            status
        }),
        None => {
            let status = likely_status(&key, results.is_some());
            fields.report(format!("it has no status; read as {status}"));
            status
        }
    };
    let title = fields.required("title", Fields::text).unwrap_or_default();
    let success_criteria = fields.required("successCriteria", Fields::text).unwrap_or_default();
    let mut frame = Frame {
        parent_session_id: fields.text("parentSessionID"),
        status,
        placeholder: fields
            .flag("placeholder")
            .unwrap_or_else(|| is_auto_created(&session_id, &title, &success_criteria)),
        title,
        success_criteria,
        success_criteria_compacted: fields.text("successCriteriaCompacted").unwrap_or_default(),
        task: fields.text("task").unwrap_or_default(),
        priority: fields.read("priority", "a number from 0 to 4"),
        labels: fields.texts("labels").unwrap_or_default(),
        assignee: fields.text("assignee"),
        corrected_at: fields.number("correctedAt"),
        results,
        results_compacted: fields.text("resultsCompacted"),
        created_at,
        begun_at: fields.number("begunAt"),
        updated_at: fields.number("updatedAt").unwrap_or(created_at),
        artifacts: fields.texts("artifacts").unwrap_or_default(),
        decisions: fields.texts("decisions").unwrap_or_default(),
        depends_on: fields.texts("dependsOn").unwrap_or_default(),
        log_path: fields.text("logPath"),
        invalidation_reason: fields.text("invalidationReason"),
        invalidated_at: fields.number("invalidatedAt"),
        planned_children: fields.texts("plannedChildren"),
        child_order: fields.texts("childOrder").unwrap_or_default(),
        delivered_at: fields.number("deliveredAt"),
        forgotten_at: fields.number("forgottenAt"),
        questions: fields.read("questions", "a list of questions").unwrap_or_default(),
        holder: fields.read("holder", "a holder"),
        summary_request: fields.read("summaryRequest", "a request for a summary"),
        usage: fields.read("usage", "a list of sums of model requests").unwrap_or_default(),
        limits: fields.read("limits", "an object of limits"),
        costs: fields.read("costs", "a list of costs").unwrap_or_default(),
        heap: fields.read("heap", "a list of chunks").unwrap_or_default(),
        registers: fields.read("registers", "an object of registers"),
        retry_of: fields.text("retryOf"),
        no_work: fields.text("noWork"),
        origin: fields.read("origin", "what a file said"),
        session_id,
        extra: Map::new(),
    };
    frame.extra = object;
    Some(frame)
}

/// The likely status of a frame whose status is unknown. The choice never hides results or work.
fn likely_status(id: &str, has_results: bool) -> FrameStatus {
    match (has_results, id.starts_with(PLANNED_PREFIX)) {
        (true, _) => FrameStatus::Completed,
        (false, true) => FrameStatus::Planned,
        (false, false) => FrameStatus::Blocked,
    }
}

/// True if the original plugin created the frame for a session. It gives such a frame the title
/// `Session <first 8 characters of the ID>` and criteria that begin with `(Auto-created`.
fn is_auto_created(id: &str, title: &str, criteria: &str) -> bool {
    criteria.starts_with("(Auto-created")
        && title.strip_prefix("Session ").is_some_and(|rest| !rest.is_empty() && id.starts_with(rest))
}

/// Takes typed fields out of a JSON object. A field of another type is reported and remains in the object.
struct Fields<'a> {
    fields: &'a mut Map<String, Value>,
    frame: Option<&'a str>,
    repairs: &'a mut Vec<Repair>,
}

impl Fields<'_> {
    fn report(&mut self, message: impl Into<String>) {
        self.repairs.push(match self.frame {
            Some(frame) => Repair::of_frame(frame, message),
            None => Repair::of_state(message),
        });
    }

    fn take<T>(&mut self, key: &str, expected: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let value = self.fields.remove(key)?;
        if value.is_null() {
            return None;
        }
        let found = read(&value);
        if found.is_none() {
            self.report(format!("its `{key}` is not {expected}; ignored, kept as `{key} (unreadable)`"));
            self.fields.insert(format!("{key} (unreadable)"), value);
        }
        found
    }

    fn required<T>(&mut self, key: &str, take: impl Fn(&mut Self, &str) -> Option<T>) -> Option<T> {
        if !self.fields.contains_key(key) {
            self.report(format!("it has no `{key}`"));
        }
        take(self, key)
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.take(key, "a text", |value| value.as_str().map(str::to_owned))
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        self.take(key, "true or false", Value::as_bool)
    }

    /// Reads a number. A fraction, which files may have in times, is cut off.
    fn number(&mut self, key: &str) -> Option<u64> {
        self.take(key, "a number of at least 0", |value| {
            value.as_u64().or_else(|| value.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
        })
    }

    fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        self.read(key, "a list of texts")
    }

    fn read<T: DeserializeOwned>(&mut self, key: &str, expected: &str) -> Option<T> {
        self.take(key, expected, |value| T::deserialize(value).ok())
    }
}

/// The part of the file that was read. Frames are kept in file order, which a plain JSON map would lose.
#[derive(Default)]
struct StateFile {
    frames: Option<Vec<(String, Value)>>,
    rest: Map<String, Value>,
}

impl StateFile {
    /// Reads up to the end, or up to the first error. Everything before the error is kept.
    fn read(&mut self, text: &str) -> serde_json::Result<()> {
        let text = readable_json(text);
        let mut deserializer = serde_json::Deserializer::from_str(&text);
        FileSeed(self).deserialize(&mut deserializer)?;
        deserializer.end()
    }

    fn into_state(mut self, repairs: &mut Vec<Repair>) -> Result<StackState, StateError> {
        let Some(entries) = self.frames else {
            return Err(StateError::Json { message: "it has no `frames`".into(), source: None });
        };
        let mut fields = Fields { fields: &mut self.rest, frame: None, repairs };
        let version = fields.number("version").unwrap_or(STATE_VERSION);
        if version > STATE_VERSION {
            return Err(StateError::Version { found: version, supported: STATE_VERSION });
        }
        let active_frame_id = fields.text("activeFrameID");
        let root_frame_ids = fields.texts("rootFrameIDs").unwrap_or_default();
        let updated_at = fields.number("updatedAt").unwrap_or_default();
        let revision = fields.number("revision").unwrap_or_default();
        let finished_trees = fields.read("finishedTrees", "an object with `roots` and `frames`");
        let frames = entries.into_iter().filter_map(|(id, value)| read_frame(id, value, repairs)).collect();
        let extra = self.rest;
        Ok(StackState { version, revision, frames, active_frame_id, root_frame_ids, updated_at, finished_trees, extra })
    }
}

struct FileSeed<'a>(&'a mut StateFile);

impl<'de> DeserializeSeed<'de> for FileSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FileSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with `frames`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "frames" {
                map.next_value_seed(FramesSeed(self.0.frames.get_or_insert_default()))?;
            } else {
                self.0.rest.insert(key, map.next_value()?);
            }
        }
        Ok(())
    }
}

struct FramesSeed<'a>(&'a mut Vec<(String, Value)>);

impl<'de> DeserializeSeed<'de> for FramesSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FramesSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of frames by ID")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(entry) = map.next_entry()? {
            self.0.push(entry);
        }
        Ok(())
    }
}

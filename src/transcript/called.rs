//! What the calls of well-known tools tell about the work: to-do lists, files that are written, and
//! subagents.

use serde_json::Value as Json;

use super::line::{list, text};
use crate::frame::FrameStatus;
use crate::text::one_line;

/// The name of a tool without the characters in which hosts differ: `todowrite` for `TodoWrite` and
/// `todo_write`.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|character| character.to_ascii_lowercase()).collect()
}

/// The text at the first key that has one.
fn first<'a>(value: &'a Json, keys: &[&str]) -> &'a str {
    keys.iter().map(|key| text(value, key)).find(|found| !found.trim().is_empty()).unwrap_or_default()
}

/// What a call does to the to-do list of an agent.
#[derive(Debug, PartialEq)]
pub(super) enum ListChange {
    /// The whole list: titles and statuses.
    Whole(Vec<(String, FrameStatus)>),
    /// A new entry. Its ID is in the outcome.
    Entry(String),
    /// Another status of the entry with this ID.
    Status(String, FrameStatus),
}

/// The to-do list in a call.
pub(super) fn list_change(name: &str, arguments: &Json) -> Option<ListChange> {
    match &*plain(name) {
        "todowrite" | "writetodos" | "updateplan" | "updatetodo" | "managetodolist" => {
            let key = ["todos", "plan", "todoList", "items"].into_iter().find(|key| arguments.get(key).is_some())?;
            match &arguments[key] {
                Json::String(list) => Some(ListChange::Whole(list.lines().filter_map(checked).collect())),
                _ => Some(ListChange::Whole(list(arguments, key).filter_map(entry).collect())),
            }
        }
        "taskcreate" | "trackercreatetask" => {
            let title = one_line(first(arguments, &["subject", "title", "description"]));
            (!title.is_empty()).then_some(ListChange::Entry(title))
        }
        "taskupdate" | "trackerupdatetask" => {
            let id = ["taskId", "task_id", "id"].into_iter().find_map(|key| arguments.get(key))?;
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            Some(ListChange::Status(id, status(text(arguments, "status"))?))
        }
        _ => None,
    }
}

fn entry(entry: &Json) -> Option<(String, FrameStatus)> {
    let title = one_line(first(entry, &["content", "step", "title", "subject", "description", "task"]));
    (!title.is_empty()).then(|| (title, status(text(entry, "status")).unwrap_or(FrameStatus::Planned)))
}

/// A line of a check list.
fn checked(line: &str) -> Option<(String, FrameStatus)> {
    let entry = line.trim_start().trim_start_matches(['-', '*', ' ']).strip_prefix('[')?;
    let (mark, title) = entry.split_once(']')?;
    let status = match mark.trim() {
        "x" | "X" => FrameStatus::Completed,
        "-" | "~" => FrameStatus::InProgress,
        _ => FrameStatus::Planned,
    };
    let title = one_line(title);
    (!title.is_empty()).then_some((title, status))
}

fn status(word: &str) -> Option<FrameStatus> {
    Some(match &*plain(word) {
        "pending" | "notstarted" | "open" | "todo" => FrameStatus::Planned,
        "inprogress" | "active" | "doing" => FrameStatus::InProgress,
        "completed" | "done" | "closed" | "complete" => FrameStatus::Completed,
        "cancelled" | "canceled" | "deleted" | "skipped" => FrameStatus::Invalidated,
        "blocked" => FrameStatus::Blocked,
        "failed" => FrameStatus::Failed,
        _ => return None,
    })
}

/// The ID of a new entry of a list, in the outcome of the call: `Task #3 created`, `{"id": "a1"}`.
pub(super) fn entry_id(outcome: &str) -> Option<String> {
    let name = |text: &str| text.chars().take_while(char::is_ascii_alphanumeric).collect::<String>();
    let number = outcome.split_once('#').map(|(_, rest)| name(rest)).filter(|number| !number.is_empty());
    let in_json = || {
        let (_, rest) = outcome.split_once("\"id\"")?;
        Some(rest.trim_start_matches([':', ' ', '"']).chars().take_while(char::is_ascii_alphanumeric).collect())
    };
    number.or_else(in_json).filter(|id: &String| !id.is_empty())
}

/// The files that a call writes, as the agent names them.
pub(super) fn written(name: &str, arguments: &Json) -> Vec<String> {
    let keys = ["file_path", "filePath", "notebook_path", "path", "absolute_path", "fileName"];
    match &*plain(name) {
        "write" | "edit" | "multiedit" | "notebookedit" | "writefile" | "editfile" | "replace" | "create"
        | "createfile" | "strreplace" | "insert" => {
            Some(one_line(first(arguments, &keys))).filter(|path| !path.is_empty()).into_iter().collect()
        }
        "applypatch" | "patch" => {
            let patch =
                arguments.as_str().unwrap_or_else(|| first(arguments, &["input", "patch", "patchText", "diff"]));
            let named = |line: &str| {
                let marks = ["*** Add File: ", "*** Update File: ", "*** Move to: "];
                marks.iter().find_map(|mark| line.trim_end().strip_prefix(mark)).map(str::to_owned)
            };
            patch.lines().filter_map(named).collect()
        }
        _ => Vec::new(),
    }
}

/// A subagent that a call starts.
pub(super) struct Started {
    /// What the subagent is to do, in a few words, as the call says it; otherwise the beginning of the task.
    pub title: String,
    pub task: String,
}

/// The subagent that a call starts.
pub(super) fn started(name: &str, arguments: &Json) -> Option<Started> {
    if !matches!(
        &*plain(name),
        "agent" | "task" | "spawnagent" | "invokeagent" | "subagent" | "runsubagent" | "delegatetask"
    ) {
        return None;
    }
    let task = first(arguments, &["prompt", "message", "task", "instructions", "objective", "request"]).to_owned();
    let title =
        first(arguments, &["description", "title", "task_name", "name", "agent_name", "subagent_type", "agent_type"]);
    let title = one_line(title);
    (!task.is_empty() || !title.is_empty()).then_some(Started { title, task })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_read_whoever_writes_them() {
        let whole = Some(ListChange::Whole(vec![
            ("Read".to_owned(), FrameStatus::Completed),
            ("Write".to_owned(), FrameStatus::InProgress),
        ]));
        for (name, arguments) in [
            (
                "TodoWrite",
                json!({"todos": [{"content": "Read", "status": "completed"}, {"content": "Write", "status": "in_progress"}]}),
            ),
            (
                "todowrite",
                json!({"todos": [{"content": "Read", "status": "done"}, {"content": "Write", "status": "in_progress"}]}),
            ),
            (
                "todo_write",
                json!({"todos": [{"id": "1", "content": "Read", "status": "completed"}, {"content": "Write", "status": "in_progress"}]}),
            ),
            (
                "write_todos",
                json!({"todos": [{"description": "Read", "status": "completed"}, {"description": "Write", "status": "in_progress"}]}),
            ),
            (
                "update_plan",
                json!({"plan": [{"step": "Read", "status": "completed"}, {"step": "Write", "status": "in_progress"}]}),
            ),
            ("update_todo", json!({"todos": "- [x] Read\n- [~] Write\nprose"})),
        ] {
            assert_eq!(list_change(name, &arguments), whole, "{name}");
        }
        let entry = list_change("TaskCreate", &json!({"subject": "Read", "description": "The file"}));
        assert_eq!(entry, Some(ListChange::Entry("Read".into())));
        assert_eq!(entry_id("Task #3 created successfully: Read"), Some("3".into()));
        assert_eq!(entry_id(r#"{"id": "a1b2", "title": "Read"}"#), Some("a1b2".into()));
        assert_eq!(entry_id("done"), None);
        let status = list_change("TaskUpdate", &json!({"taskId": 3, "status": "deleted"}));
        assert_eq!(status, Some(ListChange::Status("3".into(), FrameStatus::Invalidated)));
        assert_eq!(list_change("TaskOutput", &json!({"task_id": "b1"})), None);
    }

    #[test]
    fn files_are_those_that_a_call_writes() {
        assert_eq!(written("Write", &json!({"file_path": "/a/b.rs", "content": "x"})), ["/a/b.rs"]);
        assert_eq!(written("Read", &json!({"file_path": "/a/b.rs"})), [""; 0]);
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: b.txt\n*** End Patch";
        assert_eq!(written("apply_patch", &json!({ "input": patch })), ["a.txt", "b.txt"]);
        assert_eq!(written("apply_patch", &json!(patch)), ["a.txt", "b.txt"]);
    }
}

//! File names for frames: unique per frame and valid on every file system, for any ID.

use super::Handle;

/// Maximum length of the part of an ID that a file name contains, in bytes.
const LONGEST: usize = 100;

/// Names that Windows reserves for devices, with any extension and in upper or lower case.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2",
    "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Returns the name of a frame's files, without extension. An ID of 1 to 100 ASCII letters, digits,
/// `-` and `_` is used unchanged, unless Windows reserves it. In every other ID, other characters become
/// `_` (specification, "File Storage Functions"), only the first 100 characters are used, and the handle
/// is appended, so that no two frames share a name.
///
/// ```
/// use callstack_core::{Handle, frame::file_name};
/// let handle: Handle = "f12".parse().unwrap();
/// assert_eq!(file_name("ses_69a1bfe5d", handle), "ses_69a1bfe5d");
/// assert_eq!(file_name("../../x", handle), "______x~f12");
/// assert_eq!(file_name("CON", handle), "CON~f12");
/// ```
pub fn file_name(session_id: &str, handle: Handle) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '-' || character == '_';
    let name: String =
        session_id.chars().map(|character| if is_plain(character) { character } else { '_' }).take(LONGEST).collect();
    let is_reserved = RESERVED.contains(&name.to_ascii_lowercase().as_str());
    if name == session_id && !name.is_empty() && !is_reserved { name } else { format!("{name}~{handle}") }
}

/// Returns the `logPath` of the log that this library keeps for a frame, relative to the stack's
/// folder: `logs/ses_1.jsonl`.
pub fn own_log_path(session_id: &str, handle: Handle) -> String {
    format!("logs/{}.jsonl", file_name(session_id, handle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_short_and_never_shared() {
        let ids = ["a/b", "a:b", "a_b", "a_b~f1", "a_b~f2", "", ".", "..", "Con", "con", "x", "X", "é", "日本", "a b"];
        let long = ["y".repeat(100), "y".repeat(101), "y".repeat(300)];
        let all = ids.into_iter().chain(long.iter().map(String::as_str)).enumerate();
        let names: Vec<String> = all.map(|(index, id)| file_name(id, Handle::from_index(index).unwrap())).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name} is there twice");
            assert!(name.len() <= LONGEST + "~f4294967295".len(), "{name} is too long");
            assert!(!RESERVED.contains(&name.to_lowercase().as_str()), "{name} is a device");
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte)), "{name}");
        }
        assert_eq!(names[2], "a_b", "the ID of an ordinary host stays as it is");
    }
}

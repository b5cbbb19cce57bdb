//! Reads the transcript that the host names to a hook into the logs and the usage of frames. The reading
//! begins where it has stopped before.

use std::collections::BTreeSet;
use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::fold::FoldSettings;
use callstack_core::text::from_json;
use callstack_core::tools::conversation::Conversation;
use callstack_core::transcript::LONGEST_TRANSCRIPT_LINE;
use callstack_core::{FrameStatus, Settings, Stack};
use serde_json::Value;

use super::{Event, HookEvent, HookHost};
use crate::caller::{self, Caller};
use crate::host_files::HostFiles;

/// The variable that `callstack run` sets for an agent whose requests it watches: what these requests say is
/// recorded already.
pub const WATCHED: &str = "CALLSTACK_WATCHED";
/// The length of a part that is read at once, in bytes. It grows if a step of the conversation is longer.
const PART: usize = 8 << 20;
/// The number of other conversations whose transcripts are read further, and of files among which one is
/// looked for. Shorter IDs are in names by chance.
const MOST_OTHERS: usize = 8;
const MOST_FILES: usize = 20_000;
const SHORTEST_ID: usize = 8;
/// If the next step takes longer than this, the step before is taken for the last one.
const LONGEST_STEP: Duration = Duration::from_secs(600);
/// How long a hook reads further. The next hook continues there.
const LONGEST_READ: Duration = Duration::from_secs(5);
/// How long a hook waits for a transcript, how often it looks, and how much of its end it reads, in bytes.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);
const LONGEST_END: u64 = 64 << 10;

/// Reads the new part of the transcript.
pub fn read(host: HookHost, kind: HookEvent, event: &Event, conversation: &Conversation<'_>) -> Result<(), String> {
    let Some(path) = path_of(host, event).filter(|_| env::var_os(WATCHED).is_none()) else { return Ok(()) };
    let is_end = matches!(kind, HookEvent::Stop | HookEvent::SubagentStop | HookEvent::SessionEnd);
    if let (HookHost::Copilot, Some(hook)) = (host, name_in_copilot(kind)) {
        wait_for_hook(&path, hook);
    }
    read_file(host, &path, is_end, conversation)
}

/// When a conversation begins, reads the new parts of the transcripts of the other conversations that work in
/// frames: sessions that were killed have said nothing about their end.
pub fn read_others(host: HookHost, event: &Event, stack: &Stack) -> Result<(), String> {
    let Some(own) = path_of(host, event).filter(|_| env::var_os(WATCHED).is_none()) else { return Ok(()) };
    let kind = host.transcript().as_str();
    let others: Result<BTreeSet<String>, _> = stack.read(|tree| {
        let open = tree.with_status(FrameStatus::InProgress);
        let names = open.filter_map(|frame| Some(tree.node(frame).record().holder.as_deref()?.name.clone()));
        let id = |name: String| name.strip_prefix(kind)?.strip_prefix('/').map(str::to_owned);
        names.filter_map(id).filter(|id| *id != event.session_id && is_file_name(id)).take(MOST_OTHERS).collect()
    });
    let others = others.map_err(|error| error.to_string())?;
    for id in others {
        let Some(caller) = Caller::of(kind, &id) else { continue };
        let path = if host == HookHost::Copilot { of_copilot(&id) } else { beside(host, &own, &id) };
        let stack = caller::as_conversation(stack, Some(&caller));
        let settings = Settings::default();
        let conversation = Conversation::new(&stack, &settings);
        path.map_or(Ok(()), |path| read_file(host, &path, is_left(&path), &conversation))?;
    }
    Ok(())
}

/// The transcript of another session of the host. The name of the transcript has the ID of the session.
fn beside(host: HookHost, own: &Path, id: &str) -> Option<PathBuf> {
    // Codex has a folder for each day, in one for each month and year.
    let levels = if host == HookHost::Codex { 4 } else { 1 };
    let mut folders = vec![(own.ancestors().nth(levels)?.to_owned(), levels - 1)];
    let mut looked_at = 0;
    while let Some((folder, levels)) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            looked_at += 1;
            if looked_at > MOST_FILES {
                return None;
            }
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && levels > 0 => folders.push((path, levels - 1)),
                Ok(kind) if kind.is_file() && entry.file_name().to_string_lossy().contains(id) => return Some(path),
                _ => {}
            }
        }
    }
    None
}

/// True if no process has written a file for so long that the last step in it is complete.
fn is_left(path: &Path) -> bool {
    let changed = path.metadata().and_then(|found| found.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|elapsed| elapsed > LONGEST_STEP))
}

/// The ID comes from outside, and must not lead to another folder.
fn is_file_name(id: &str) -> bool {
    id.len() >= SHORTEST_ID && Path::new(id).components().count() == 1 && !id.starts_with('.')
}

fn read_file(host: HookHost, path: &Path, is_end: bool, conversation: &Conversation<'_>) -> Result<(), String> {
    let shown = path.display().to_string();
    let failed = |error: io::Error| format!("the transcript {shown} cannot be read: {error}");
    // Reading a pipe would wait. A file that does not exist yet comes with the next event. The transcripts of
    // all hosts have this ending, and other files have nothing for a log.
    if !path.is_file() || path.extension().is_none_or(|extension| extension != "jsonl") {
        return Ok(());
    }
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let known = conversation.transcript_offset();
    let mut offset = if known <= length { known } else { 0 };
    let (mut unknown, mut size, begun) = (0, PART, Instant::now());
    while begun.elapsed() < LONGEST_READ {
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        (&file).take(size as u64).read_to_end(&mut text).map_err(failed)?;
        let is_whole = text.len() < size;
        // A step that is longer than everything that is read at once is cut.
        let is_over = if is_whole { is_end } else { size >= LONGEST_TRANSCRIPT_LINE };
        let part = conversation
            .read_transcript(host.transcript(), offset, &text, is_over, &FoldSettings::default())
            .map_err(|error| error.to_string())?;
        unknown += part.unknown;
        match part.offset == offset {
            true if is_whole => break,
            true if size >= LONGEST_TRANSCRIPT_LINE => break,
            true => size = LONGEST_TRANSCRIPT_LINE.min(size * 2),
            false => (offset, size) = (part.offset, PART),
        }
    }
    match unknown {
        0 => Ok(()),
        unknown => Err(format!("lines of the transcript {shown} that were not understood: {unknown}")),
    }
}

/// The transcript of the conversation or the subagent in which an event happens.
fn path_of(host: HookHost, event: &Event) -> Option<PathBuf> {
    let named = |path: &str| (!path.is_empty()).then(|| PathBuf::from(path));
    if host == HookHost::Copilot {
        return named(&event.transcript_path).or_else(|| of_copilot(&event.session_id));
    }
    if event.agent_id.is_empty() {
        return named(&event.transcript_path);
    }
    named(&event.agent_transcript_path).or_else(|| {
        let of_session = Path::new(&event.transcript_path).with_extension("");
        let name = format!("agent-{}.jsonl", event.agent_id);
        named(&event.transcript_path).map(|_| of_session.join("subagents").join(name))
    })
}

/// Copilot CLI names its transcript only when a turn ends.
fn of_copilot(session: &str) -> Option<PathBuf> {
    let home = HostFiles::Copilot.folder()?;
    is_file_name(session).then(|| home.join("session-state").join(session).join("events.jsonl"))
}

/// How the transcript of Copilot CLI names the hooks at the end of a turn and of a session.
fn name_in_copilot(kind: HookEvent) -> Option<&'static str> {
    match kind {
        HookEvent::Stop => Some("agentStop"),
        HookEvent::SessionEnd => Some("sessionEnd"),
        _ => None,
    }
}

/// Copilot CLI writes its transcript a little later: the transcript is complete when the beginning of this
/// hook is at its end.
fn wait_for_hook(path: &Path, hook: &str) {
    let until = Instant::now() + LONGEST_WAIT;
    while Instant::now() < until && !ends_with_hook(path, hook).unwrap_or(false) {
        thread::sleep(LOOK);
    }
}

fn ends_with_hook(path: &Path, hook: &str) -> io::Result<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_END)))?;
    let mut end = Vec::new();
    file.take(LONGEST_END).read_to_end(&mut end)?;
    let end = String::from_utf8_lossy(&end);
    let last = end.trim_end().lines().next_back().and_then(|line| from_json::<Value>(line).ok());
    Ok(last.is_some_and(|last| last["type"] == "hook.start" && last["data"]["hookType"] == hook))
}

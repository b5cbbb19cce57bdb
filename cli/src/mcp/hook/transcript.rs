//! Reads the transcript that a hook is told of, from where the reading has stopped, into the logs and the usage of frames.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use callstack_core::fold::{FoldSettings, LONGEST_TRANSCRIPT_LINE};
use callstack_core::text::from_json;
use callstack_core::tools::conversation::Conversation;
use serde_json::Value;

use super::{Event, HookEvent, HookHost};
use crate::host_files::HostFiles;

/// The variable that `callstack run` sets for an agent whose requests it watches: what they say is recorded already.
pub const WATCHED: &str = "CALLSTACK_WATCHED";
/// The length of a part that is read at once, in bytes. It grows as long as a step of the conversation is longer.
const PART: usize = 8 << 20;
/// How long a hook reads on. The next one goes on there.
const LONGEST_READ: Duration = Duration::from_secs(5);
/// How long a hook waits for a transcript, how often it looks, and how much of its end it reads, in bytes.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(20);
const LONGEST_END: u64 = 64 << 10;

/// Reads on.
pub fn read(host: HookHost, kind: HookEvent, event: &Event, conversation: &Conversation<'_>) -> Result<(), String> {
    let Some(path) = path_of(host, event).filter(|_| env::var_os(WATCHED).is_none()) else { return Ok(()) };
    let shown = path.display().to_string();
    let failed = |error: io::Error| format!("the transcript {shown} cannot be read: {error}");
    let is_end = matches!(kind, HookEvent::Stop | HookEvent::SubagentStop | HookEvent::SessionEnd);
    if let (HookHost::Copilot, Some(hook)) = (host, name_in_copilot(kind)) {
        wait_for_hook(&path, hook);
    }
    // A pipe would be waited for. A file that is not there yet comes with the next event. All hosts name their transcripts so, and other files
    // have nothing for a log.
    if !path.is_file() || path.extension().is_none_or(|extension| extension != "jsonl") {
        return Ok(());
    }
    let mut file = File::open(&path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let known = conversation.transcript_offset();
    let mut offset = if known <= length { known } else { 0 };
    let (mut unknown, mut size, begun) = (0, PART, Instant::now());
    while begun.elapsed() < LONGEST_READ {
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        (&file).take(size as u64).read_to_end(&mut text).map_err(failed)?;
        let is_whole = text.len() < size;
        // A step that is longer than all that is read at once is cut.
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
    // It comes from outside, and must not lead elsewhere.
    let is_name = Path::new(session).components().count() == 1 && !session.starts_with('.');
    is_name.then(|| home.join("session-state").join(session).join("events.jsonl"))
}

/// How the transcript of Copilot CLI names the hooks at the end of a turn and of a session.
fn name_in_copilot(kind: HookEvent) -> Option<&'static str> {
    match kind {
        HookEvent::Stop => Some("agentStop"),
        HookEvent::SessionEnd => Some("sessionEnd"),
        _ => None,
    }
}

/// Copilot CLI writes its transcript a little later: it is whole when the beginning of this hook stands at its end.
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

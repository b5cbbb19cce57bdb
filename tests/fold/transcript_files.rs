//! Transcripts that hosts keep: the logs and the usage of frames get each of their entries exactly once, no
//! matter where the transcripts are cut.

use std::fs;
use std::path::Path;

use callstack_core::fold::FoldSettings;
use callstack_core::frame::TranscriptPosition;
use callstack_core::tools::conversation::{Conversation, ReadPart};
use callstack_core::transcript::{LONGEST_TRANSCRIPT_LINE, TranscriptForm, TranscriptStep, read_transcript};
use callstack_core::{Actor, HolderKind, LogQuery, NewFrame, PopStatus, Settings, Stack, StackOptions};
use serde_json::{Value, json};
use support::Random;

const NAME: &str = "host/session";

fn recorded(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/transcripts").join(format!("{name}.jsonl"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(form: TranscriptForm, text: &[u8], from: &TranscriptPosition, is_over: bool) -> (Vec<TranscriptStep>, usize) {
    let part = read_transcript(form, text, from, is_over, &FoldSettings::default(), NAME);
    (part.steps, part.unknown)
}

/// Reads a transcript in the way hooks do that run when it has grown to these lengths: a part that was
/// incomplete is read again.
fn read_in_parts(form: TranscriptForm, text: &[u8], lengths: &[usize]) -> Vec<TranscriptStep> {
    let mut steps: Vec<TranscriptStep> = Vec::new();
    for (number, length) in lengths.iter().chain([&text.len()]).enumerate() {
        let from = steps.last().map_or_else(TranscriptPosition::default, |step| step.end.clone());
        let part = &text[from.offset as usize..(*length).max(from.offset as usize)];
        steps.extend(read(form, part, &from, number == lengths.len()).0);
    }
    steps
}

/// A stack with the frame of the job, and a conversation that is in no frame.
fn with_stack<T>(act: impl FnOnce(&Stack, &Conversation<'_>) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    let frame = stack.push(NewFrame::new("Read")).unwrap();
    stack.pop(frame, PopStatus::Completed, "done").unwrap();
    let actor = stack.as_actor(Actor::new(HolderKind::Conversation, NAME));
    let settings = Settings::default();
    act(&stack, &Conversation::new(&actor, &settings))
}

fn hook(conversation: &Conversation<'_>, form: TranscriptForm, text: &[u8], is_over: bool) -> ReadPart {
    let offset = conversation.transcript_offset();
    let part = &text[(offset as usize).min(text.len())..];
    conversation.read_transcript(form, offset, part, is_over, &FoldSettings::default()).unwrap()
}

fn log(stack: &Stack) -> Vec<Value> {
    stack.log("f1").read(&LogQuery::default()).unwrap().lines.into_iter().map(|line| line.entry).collect()
}

/// The kind of an entry, in a short form.
fn short(entry: &Value) -> String {
    let role = entry["role"].as_str().unwrap();
    let call = entry["calls"][0]["name"].as_str().or(entry["name"].as_str()).unwrap_or_default();
    let thought = entry["parts"][0]["text"].as_str().map_or(String::new(), |thought| format!("({thought})"));
    let text = entry["text"].as_str().unwrap().lines().last().unwrap_or_default();
    let text: String = text.chars().take(20).collect();
    format!("{role} {call}{thought}{text}").trim().to_owned()
}

/// The job in the form in which the scripted model has played it. This form does not depend on any reader.
fn expected(form: TranscriptForm) -> Vec<&'static str> {
    match form {
        TranscriptForm::Claude => vec![
            "user Do the job.",
            "assistant mcp__callstack__push",
            "tool mcp__callstack__pushYou are in f1 (Read)",
            "assistant (hmm)",
            "assistant I read it.",
            "assistant Bash",
            "assistant Bash",
            "assistant Agent",
            "assistant mcp__callstack__pop",
            "assistant All is done.",
        ],
        TranscriptForm::Codex => vec!["user Do the job.", "assistant push", "assistant I read it.", "assistant pop"],
        TranscriptForm::Gemini => vec!["user Do the job.", "assistant mcp_callstack_push", "assistant I read it."],
        TranscriptForm::Qwen => vec!["user Do the job.", "assistant mcp__callstack__push", "assistant I read it."],
        _ => vec!["user Do the job.", "assistant callstack-push", "assistant I read it.", "assistant callstack-pop"],
    }
}

#[test]
fn each_item_is_logged_once_and_each_request_counted() {
    for form in TranscriptForm::OF_HOOKS.iter().copied() {
        with_stack(|stack, conversation| {
            let text = recorded(form.as_str());
            assert_eq!(hook(conversation, form, &text, true).unknown, 0, "{form}: lines that were not understood");
            assert_eq!(hook(conversation, form, &text, true).unknown, 0, "{form}: nothing is new");
            let entries = log(stack);
            let said: Vec<String> = entries.iter().map(short).collect();
            for expected in expected(form) {
                let times = said.iter().filter(|said| *said == expected).count();
                let wanted = if expected == "assistant Bash" { 2 } else { 1 };
                assert_eq!(times, wanted, "{form}: {expected} in {said:#?}");
            }
            let calls = entries.iter().filter(|entry| entry.get("calls").is_some()).count();
            let outcomes = entries.iter().filter(|entry| entry["role"] == "tool").count();
            assert_eq!(calls, outcomes, "{form}: each call has its outcome");
            assert_eq!(
                said.last().map(String::as_str),
                Some("assistant All is done."),
                "{form}: also what is said behind the last frame"
            );
            assert!(entries.iter().all(|entry| entry["time"].as_u64() > Some(1_795_000_000_000)), "{form}: times");
            let (requests, tokens) = numbers(form, &text);
            let used = &stack.usage("f1").unwrap().own[0];
            assert_eq!((used.requests, used.failed), (requests, 0), "{form}: {used:?}");
            assert_eq!([used.uncached_input, used.cache_read, used.cache_write, used.output], tokens, "{form}: tokens");
        });
    }
}

/// The number of answers of a transcript, and their usage: uncached, read, written, and answered tokens. They
/// are counted by the keys that each host writes.
fn numbers(form: TranscriptForm, text: &[u8]) -> (u64, [u64; 4]) {
    let (place, id, keys, is_apart) = match form {
        TranscriptForm::Claude => (
            "/message/usage",
            "/message/id",
            ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"],
            true,
        ),
        TranscriptForm::Codex => (
            "/payload/usage",
            "/payload/response_id",
            ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"],
            false,
        ),
        TranscriptForm::Gemini => ("/tokens", "/id", ["input", "cached", "-", "output"], false),
        TranscriptForm::Qwen => (
            "/usageMetadata",
            "/uuid",
            ["promptTokenCount", "cachedContentTokenCount", "-", "candidatesTokenCount"],
            false,
        ),
        _ => (
            "/data/usage",
            "/data/usage/apiCallId",
            ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"],
            false,
        ),
    };
    let mut by_answer = std::collections::BTreeMap::new();
    for line in std::str::from_utf8(text).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(usage) = line.pointer(place) {
            let numbers = keys.map(|key| usage[key].as_u64().unwrap_or_default());
            by_answer.insert(line.pointer(id).unwrap().as_str().unwrap().to_owned(), numbers);
        }
    }
    let mut sum = [0; 4];
    by_answer.values().for_each(|numbers| (0..4).for_each(|place| sum[place] += numbers[place]));
    if !is_apart {
        sum[0] -= sum[1] + sum[2];
    }
    (by_answer.len() as u64, sum)
}

/// The steps are the same, no matter at which lengths the hooks saw the file: at each end of a line, and at
/// any byte.
#[test]
fn cuts_change_nothing() {
    for form in TranscriptForm::OF_HOOKS.iter().copied() {
        let text = recorded(form.as_str());
        let whole = read_in_parts(form, &text, &[]);
        let near_ends =
            (0..text.len()).filter(|cut| text[cut.saturating_sub(1)..text.len().min(cut + 2)].contains(&b'\n'));
        let mut random = Random::new(45);
        let others: Vec<usize> = (0..200).map(|_| random.below(text.len())).collect();
        for cut in near_ends.chain(others) {
            assert_eq!(read_in_parts(form, &text, &[cut]), whole, "{form}: cut at {cut}");
        }
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let mut cuts: Vec<usize> = (0..1 + random.below(12)).map(|_| random.below(text.len())).collect();
            cuts.sort_unstable();
            assert_eq!(read_in_parts(form, &text, &cuts), whole, "{form}: cut at {cuts:?}");
        }
    }
}

/// The same is true for records: the log and the usage after any number of hooks equal those after one hook.
#[test]
fn hooks_at_any_time_record_the_same() {
    for form in TranscriptForm::OF_HOOKS.iter().copied() {
        let text = recorded(form.as_str());
        let (whole, used) = with_stack(|stack, conversation| {
            hook(conversation, form, &text, true);
            (log(stack), stack.usage("f1").unwrap().own)
        });
        for seed in 0..6 {
            let mut random = Random::new(seed);
            let mut cuts: Vec<usize> = (0..1 + random.below(8)).map(|_| random.below(text.len())).collect();
            cuts.sort_unstable();
            with_stack(|stack, conversation| {
                for cut in &cuts {
                    hook(conversation, form, &text[..*cut], false);
                }
                hook(conversation, form, &text, true);
                assert_eq!(log(stack), whole, "{form}: cut at {cuts:?}");
                assert_eq!(stack.usage("f1").unwrap().own, used, "{form}: cut at {cuts:?}");
            });
        }
    }
}

/// A hook that runs later does not record again what a program before the model has recorded, even if the
/// stack was opened again in between.
#[test]
fn what_is_logged_is_not_logged_again() {
    let form = TranscriptForm::Claude;
    let text = recorded("claude");
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::default();
    let open = || Stack::open(folder.path(), StackOptions::default()).unwrap();
    let actor = || Actor::new(HolderKind::Conversation, NAME);
    let stack = open();
    stack.push(NewFrame::new("Read")).unwrap();
    hook(&Conversation::new(&stack.as_actor(actor()), &settings), form, &text, true);
    let (entries, used) = (log(&stack), stack.usage("f1").unwrap().own);
    drop(stack);
    let stack = open();
    let conversation = stack.as_actor(actor());
    let conversation = Conversation::new(&conversation, &settings);
    assert_eq!(conversation.transcript_offset(), text.len() as u64, "the stack remembers how far it was read");
    // A file that was rewritten is read from its beginning.
    conversation.read_transcript(form, 0, &text, true, &FoldSettings::default()).unwrap();
    assert_eq!((log(&stack), stack.usage("f1").unwrap().own), (entries, used));
}

/// A fork of a session is a file with everything that was said before, under another name.
#[test]
fn what_a_fork_repeats_is_not_recorded_again() {
    for form in TranscriptForm::OF_HOOKS.iter().copied() {
        with_stack(|stack, conversation| {
            let text = recorded(form.as_str());
            hook(conversation, form, &text, true);
            let (entries, used) = (log(stack), stack.usage("f1").unwrap().own);
            let actor = stack.as_actor(Actor::new(HolderKind::Conversation, "host/fork"));
            let settings = Settings::default();
            let fork = Conversation::new(&actor, &settings);
            // Long transcripts are read in several parts.
            hook(&fork, form, &text[..text.len() / 2], false);
            hook(&fork, form, &text, true);
            assert_eq!(
                log(stack).iter().map(short).collect::<Vec<_>>(),
                entries.iter().map(short).collect::<Vec<_>>(),
                "{form}"
            );
            assert_eq!(stack.usage("f1").unwrap().own, used, "{form}");
        });
    }
}

/// Hooks of tools that run at the same time read the same part. This part is recorded once.
#[test]
fn a_part_that_two_hooks_read_at_once_is_recorded_once() {
    for form in TranscriptForm::OF_HOOKS.iter().copied() {
        let text = recorded(form.as_str());
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::default();
        let open = || Stack::open(folder.path(), StackOptions::default()).unwrap();
        let actor = |stack: &Stack| stack.as_actor(Actor::new(HolderKind::Conversation, NAME));
        let (one, other) = (open(), open());
        one.push(NewFrame::new("Read")).unwrap();
        other.refresh().unwrap();
        let [first, second] = [actor(&one), actor(&other)];
        let end = hook(&Conversation::new(&first, &settings), form, &text, true).offset;
        let (entries, used) = (log(&one), one.usage("f1").unwrap().own);
        let read =
            Conversation::new(&second, &settings).read_transcript(form, 0, &text, true, &FoldSettings::default());
        assert_eq!(read.unwrap().offset, end, "{form}: the second one goes on where the first one has stopped");
        assert_eq!((log(&other), other.usage("f1").unwrap().own), (entries, used), "{form}");
    }
}

/// What a conversation says in no frame is not read again by each hook.
#[test]
fn what_is_said_in_no_frame_is_left_behind() {
    with_stack(|stack, conversation| {
        let words = "word ".repeat(2_000);
        let line = json!({"type": "user", "message": {"role": "user", "content": words}}).to_string() + "\n";
        let text = line.repeat(600).into_bytes();
        hook(conversation, TranscriptForm::Claude, &text, false);
        let left = text.len() as u64 - conversation.transcript_offset();
        assert!((1..3 << 20).contains(&left), "{left} bytes of {} are read again", text.len());
        assert_eq!(log(stack).len(), 0);
    });
}

/// A line that is too long is left out, and the lines after it are read.
#[test]
fn a_line_that_is_too_long_stops_nothing() {
    with_stack(|stack, conversation| {
        let job = recorded("claude");
        let mut text = vec![b'x'; LONGEST_TRANSCRIPT_LINE];
        let part = hook(conversation, TranscriptForm::Claude, &text, false);
        assert_eq!((part.unknown, part.offset), (1, text.len() as u64));
        text.extend(b"the rest of it\n");
        text.extend(&job);
        hook(conversation, TranscriptForm::Claude, &text, true);
        let entries = log(stack);
        assert_eq!(conversation.transcript_offset(), text.len() as u64);
        let alone = with_stack(|stack, conversation| {
            hook(conversation, TranscriptForm::Claude, &job, true);
            log(stack)
        });
        assert_eq!(entries, alone);
    });
}

/// The words and the usage of a subagent are in the frame in which the stack knows the subagent to be.
#[test]
fn a_subagent_that_calls_nothing_is_in_its_frame() {
    let folder = tempfile::tempdir().unwrap();
    let stack = Stack::open(folder.path(), StackOptions::default()).unwrap();
    stack.as_actor(Actor::new(HolderKind::Conversation, "claude/s")).push(NewFrame::new("Shop")).unwrap();
    let agent = stack.as_actor(Actor::new(HolderKind::Conversation, "claude/s/a").caller("claude/s"));
    let settings = Settings::default();
    let conversation = Conversation::new(&agent, &settings);
    conversation.agent_begun("Look").unwrap();
    conversation.agent_ended("", "Looked.").unwrap();
    let text = recorded("claude-agent");
    hook(&conversation, TranscriptForm::Claude, &text, true);
    let entries = stack.log("f2").read(&LogQuery::default()).unwrap().lines;
    let said: Vec<String> = entries.iter().map(|line| short(&line.entry)).collect();
    assert_eq!(said, ["user Look at it", "assistant Looked."]);
    assert_eq!((stack.usage("f2").unwrap().own[0].requests, stack.usage("f1").unwrap().own.len()), (1, 0));
}

/// Lines that cannot be read, halves of surrogate pairs and other forms remove nothing from the rest.
#[test]
fn lines_that_are_not_understood_are_counted_and_left_out() {
    let line = |value: Value| format!("{value}\n");
    let user = |text: &str| line(json!({"type": "user", "message": {"role": "user", "content": text}}));
    let lone = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"half \\ud83d of it\"}}\n";
    let text = [
        user("one").into_bytes(),
        b"{\"type\": \"user\", \"mess\n".to_vec(),
        b"\xff\xfe\x00\n".to_vec(),
        b"[1, 2]\n\n".to_vec(),
        line(json!({"type": "something new", "message": 5})).into_bytes(),
        lone.as_bytes().to_vec(),
        user("two").into_bytes(),
        b"{\"type\": \"user\", \"message\": {\"role\": \"user\", \"content\": \"half a line".to_vec(),
    ]
    .concat();
    let (steps, unknown) = read(TranscriptForm::Claude, &text, &TranscriptPosition::default(), true);
    let said: Vec<&str> =
        steps.iter().flat_map(|step| &step.items).filter_map(|(_, entry)| entry["text"].as_str()).collect();
    assert_eq!((said, unknown), (vec!["one", "half \u{fffd} of it", "two"], 3));
    let end = steps.last().unwrap().end.offset as usize;
    assert!(text[end..].starts_with(b"{\"type\": \"user\", \"message\""), "the half line is read next time");
    for form in TranscriptForm::OF_HOOKS.iter().copied() {
        for other in ["claude", "codex", "gemini", "qwen", "copilot"] {
            // The call must not fail, no matter how it reads the text.
            read(form, &recorded(other), &TranscriptPosition::default(), true);
        }
    }
}

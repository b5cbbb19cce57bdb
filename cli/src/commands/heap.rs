//! `callstack heap`: the chunks that a frame sees.

use std::io;
use std::path::PathBuf;

use callstack_core::frame::{Chunk, NewChunk};
use callstack_core::{FrameRef, Handle, Settings, Stack};
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use super::changed::{frame_or_active, next, quoted};
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::input;
use crate::output::{EMPHASIS, Line, Output, Page, Report, count};
use crate::same_stack::SameStack;

#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: HeapCommand,
}

#[derive(Subcommand)]
enum HeapCommand {
    /// Lists the chunks that a frame sees.
    List {
        #[command(flatten)]
        seen: Seen,
    },
    /// Allocates a chunk: a text that the contexts of a frame and of all frames below it show word for word.
    /// They show it as long as there is room, until the chunk is freed.
    #[command(
        override_usage = "callstack heap alloc [OPTIONS] NAME CONTENT\n       callstack heap alloc [OPTIONS] NAME --file FILE"
    )]
    Alloc {
        /// The name, on one line. Words joined by hyphens, such as `api-contract`, need no quotes.
        name: String,
        #[command(flatten)]
        content: Content,
        /// A few words for the index of the heap.
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, allow_hyphen_values = true)]
        description: String,
        /// The frame that owns the chunk. Default: the root above the active frame, so that all frames of its
        /// tree see it.
        #[arg(long, value_name = "FRAME")]
        frame: Option<FrameRef>,
    },
    /// Replaces the content of a chunk.
    #[command(
        override_usage = "callstack heap write [OPTIONS] NAME CONTENT\n       callstack heap write [OPTIONS] NAME --file FILE"
    )]
    Write {
        /// The name of the chunk.
        name: String,
        #[command(flatten)]
        content: Content,
        #[command(flatten)]
        seen: Seen,
    },
    /// Shows a chunk.
    Read {
        /// The name of the chunk.
        name: String,
        /// Write the content as it is, for a file or another program, without a line for the name.
        #[arg(long)]
        raw: bool,
        #[command(flatten)]
        seen: Seen,
    },
    /// Frees a chunk: removes it from the heap.
    Free {
        /// The name of the chunk.
        name: String,
        #[command(flatten)]
        seen: Seen,
    },
}

/// The frame whose heap is meant.
#[derive(Args)]
struct Seen {
    /// A frame that sees the chunk. Default: the active frame.
    #[arg(long, value_name = "FRAME")]
    frame: Option<FrameRef>,
}

/// The content of a chunk.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Content {
    /// The text. `-` reads the standard input.
    content: Option<String>,
    /// Read the text from a file.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// The chunks that a frame sees, those of the root first.
#[derive(Serialize, JsonSchema)]
pub struct Heap {
    frame: Handle,
    /// Size of all contents, in characters.
    characters: usize,
    chunks: Vec<ListedChunk>,
    #[serde(skip)]
    same_stack: SameStack,
}

#[derive(Serialize, JsonSchema)]
struct ListedChunk {
    name: String,
    /// The frame that the chunk belongs to.
    owner: Handle,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    /// Size of the content, in characters.
    characters: usize,
}

/// A chunk with its content.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShownChunk {
    #[serde(flatten)]
    chunk: ListedChunk,
    content: String,
    /// Time of the allocation, in milliseconds since the Unix epoch.
    allocated_at: u64,
    /// Time of the last write, in milliseconds since the Unix epoch.
    written_at: u64,
    #[serde(skip)]
    is_raw: bool,
}

/// A chunk that was allocated, written or freed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedChunk {
    done: Done,
    #[serde(flatten)]
    chunk: ListedChunk,
    /// The chunks that contexts of the frame do not show as a whole, because there is not enough room.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_whole: Vec<String>,
    #[serde(skip)]
    same_stack: SameStack,
}

#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Done {
    Allocated,
    Written,
    Freed,
}

impl Report for Heap {
    const KIND: &'static str = "heap";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.chunks.is_empty() {
            page.text(0, &format!("{} sees no chunks.", self.frame))?;
            return next(page, &self.same_stack, "callstack heap alloc NAME CONTENT");
        }
        for chunk in &self.chunks {
            let line = Line::new().styled(EMPHASIS, &chunk.name);
            let line = line.plain(format!(" of {}, {}", chunk.owner, count(chunk.characters, "character")));
            let line = if chunk.description.is_empty() { line } else { line.plain(": ").said(&chunk.description) };
            page.line(line)?;
        }
        page.gap()?;
        let size = count(self.characters, "character");
        page.text(0, &format!("{} with {size}", count(self.chunks.len(), "chunk")))
    }
}

impl Report for ShownChunk {
    const KIND: &'static str = "chunk";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        if self.is_raw {
            return page.raw(&self.content);
        }
        let name = Line::new().styled(EMPHASIS, &self.chunk.name).plain(format!(" of {}", self.chunk.owner));
        page.line(name)?;
        page.text(0, self.content.strip_suffix('\n').unwrap_or(&self.content))
    }
}

impl Report for ChangedChunk {
    const KIND: &'static str = "chunkChanged";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let ListedChunk { name, owner, characters, .. } = &self.chunk;
        let (done, size) = match self.done {
            Done::Allocated => ("allocated", count(*characters, "character")),
            Done::Written => ("wrote", count(*characters, "character")),
            Done::Freed => ("freed", count(*characters, "character")),
        };
        page.line(Line::new().plain(format!("{done} ")).styled(EMPHASIS, name).plain(format!(" in {owner}: {size}")))?;
        if !self.not_whole.is_empty() {
            let names = self.not_whole.join(", ");
            page.text(0, &format!("not whole in contexts, for lack of room: {names}"))?;
        }
        match self.done {
            Done::Freed => next(page, &self.same_stack, format_args!("callstack heap list --frame {owner}")),
            _ => next(page, &self.same_stack, format_args!("callstack heap read {} --frame {owner}", quoted(name))),
        }
    }
}

/// Runs the command and writes its report.
pub fn run(arguments: Arguments, folder: &StackFolder, output: Output) -> Result<(), Failure> {
    match arguments.command {
        HeapCommand::List { seen } => output.report(&listed(&*folder.open_to_read()?, seen, folder)?),
        HeapCommand::Read { name, raw, seen } => output.report(&read(&*folder.open_to_read()?, &name, raw, seen)?),
        HeapCommand::Alloc { name, content, description, frame } => {
            let content = content.read()?;
            let stack = folder.open_to_write()?;
            let owner = owner(&stack, frame)?;
            stack.heap(owner).allocate(NewChunk::new(&*name).content(content).description(description))?;
            output.report_change(&changed(&stack, Done::Allocated, owner, &name, folder.same_stack())?)
        }
        HeapCommand::Write { name, content, seen } => {
            let content = content.read()?;
            let stack = folder.open_to_write()?;
            let frame = frame_or_active(&stack, seen.frame)?;
            stack.heap(frame).write(&*name, content)?;
            output.report_change(&changed(&stack, Done::Written, frame, &name, folder.same_stack())?)
        }
        HeapCommand::Free { name, seen } => {
            let stack = folder.open_to_write()?;
            let frame = frame_or_active(&stack, seen.frame)?;
            let freed = changed(&stack, Done::Freed, frame, &name, folder.same_stack())?;
            stack.heap(frame).free(name)?;
            output.report_change(&freed)
        }
    }
}

fn listed(stack: &Stack, seen: Seen, folder: &StackFolder) -> Result<Heap, Failure> {
    let frame = frame_or_active(stack, seen.frame)?;
    let chunks: Vec<ListedChunk> =
        stack.heap(frame).chunks()?.into_iter().map(|(owner, chunk)| ListedChunk::of(owner, &chunk)).collect();
    let characters = chunks.iter().map(|chunk| chunk.characters).sum();
    Ok(Heap { frame, characters, chunks, same_stack: folder.same_stack() })
}

fn read(stack: &Stack, name: &str, is_raw: bool, seen: Seen) -> Result<ShownChunk, Failure> {
    let frame = frame_or_active(stack, seen.frame)?;
    let (owner, chunk) = stack.heap(frame).chunk(name)?;
    let Chunk { allocated_at, written_at, .. } = chunk;
    Ok(ShownChunk { chunk: ListedChunk::of(owner, &chunk), content: chunk.content, allocated_at, written_at, is_raw })
}

fn changed(
    stack: &Stack,
    done: Done,
    frame: Handle,
    name: &str,
    same_stack: SameStack,
) -> Result<ChangedChunk, Failure> {
    let heap = stack.heap(frame);
    let (owner, chunk) = heap.chunk(name)?;
    let is_shown = done != Done::Freed;
    // The chunk is kept, even if a context has no room for anything.
    let not_whole = if is_shown { heap.not_whole(&Settings::default()).unwrap_or_default() } else { Vec::new() };
    Ok(ChangedChunk { done, chunk: ListedChunk::of(owner, &chunk), not_whole, same_stack })
}

/// The frame that gets a new chunk: the named one, or the root above the active frame.
fn owner(stack: &Stack, named: Option<FrameRef>) -> Result<Handle, Failure> {
    let is_named = named.is_some();
    let frame = frame_or_active(stack, named)?;
    Ok(if is_named { frame } else { stack.read(|tree| tree.root(frame))? })
}

impl ListedChunk {
    fn of(owner: Handle, chunk: &Chunk) -> Self {
        let Chunk { name, description, content, .. } = chunk;
        Self { name: name.clone(), owner, description: description.clone(), characters: content.chars().count() }
    }
}

impl Content {
    /// The text as it is, even if it comes from the standard input.
    fn read(self) -> Result<String, Failure> {
        match (self.content, self.file) {
            (Some(text), _) if text != "-" => Ok(text),
            (_, Some(file)) => input::content(&file),
            _ => input::content("-".as_ref()),
        }
    }
}

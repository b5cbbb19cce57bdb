//! `callstack view`: a flame chart of the stack, as a file or served.

use std::env;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use callstack_core::frame::Timeline;
use callstack_core::{Error, Stack};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::programs::command_line;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folder::StackFolder;
use crate::output::{Line, Output, Page, Report, count, note, number, refuse_own_file, write_file};
use crate::prices::PricesFile;
use crate::sessions;
use crate::view::{self, Server, Snapshot};

/// The file in the folder of the stack, if none is named.
const OWN_FILE: &str = "view.html";
/// The file in the working folder, for a session or a stack on a server.
const USUAL_FILE: &str = "callstack-view.html";
/// The pause between two looks at the stack.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Args)]
pub struct Arguments {
    /// The file to write. Default: view.html in the folder of the stack; for a session or a server
    /// callstack-view.html. An earlier page is overwritten. Or a session of an agent to show, by its file or
    /// its ID: see `callstack sessions`.
    #[arg(value_name = "FILE or SESSION")]
    named: Option<PathBuf>,
    /// The file to write, in addition to a session.
    #[arg(long, short, value_name = "FILE", conflicts_with = "serve")]
    output: Option<PathBuf>,
    /// Overwrite an existing file that is not such a page.
    #[arg(long, conflicts_with = "serve")]
    force: bool,
    /// Serve the page at 127.0.0.1, and keep it up to date, until Ctrl-C. Default port: a free one.
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    serve: Option<u16>,
    /// Open the page in the browser: that of $BROWSER, else that of the desktop.
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    prices: PricesFile,
}

/// A page that was written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WrittenView {
    path: String,
    bytes: u64,
    /// Number of frames in the page.
    frames: usize,
    /// The revision of the stack.
    revision: u64,
}

/// A page that is served.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServedView {
    /// The address for a browser. A person who knows it can read the page.
    url: String,
}

pub fn run(arguments: &Arguments, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    match arguments.serve {
        Some(port) => {
            if let Some(file) = arguments.named.as_deref() {
                let message = format!("with --serve the page is not written: `{}` is not a session", file.display());
                return Err(Failure::new(Exit::Usage, "arguments", message).next("leave the file out, or --serve"));
            }
            serve(port, arguments, folder, output)
        }
        None => {
            let written = write(arguments, folder)?;
            output.report(&written)?;
            if arguments.open {
                open(&written.path);
            }
            Ok(Exit::Done)
        }
    }
}

fn write(arguments: &Arguments, folder: &StackFolder) -> Result<WrittenView, Failure> {
    let prices = arguments.prices.read()?;
    let own = folder.files()?;
    let stack = folder.open_to_read()?;
    let file = match (arguments.file(), &own) {
        (Some(file), _) => {
            refuse_own_file(own.as_deref(), file)?;
            file.to_owned()
        }
        (None, Some(own)) => own.join(OWN_FILE),
        (None, None) => PathBuf::from(USUAL_FILE),
    };
    let file = &*file;
    let (page, snapshot) = view::page(&stack, prices.as_ref(), folder.has_conversations())?;
    let written = write_file(file, arguments.force || is_page(file), |writer| {
        writer.write_all(page.as_bytes()).map_err(|error| Failure::of_file("write", file.display(), &error))
    })?;
    Ok(WrittenView { path: written.path, bytes: written.bytes, frames: snapshot.frames(), revision: snapshot.revision })
}

/// Opens a page or an address in a browser, without waiting for it.
fn open(target: &str) {
    let usual = match env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let chosen = env::var("BROWSER").ok().filter(|browser| !browser.trim().is_empty());
    // A list of browsers has colons between them; the first one is taken.
    let chosen = chosen.as_deref().and_then(|browsers| browsers.split(':').find(|browser| !browser.trim().is_empty()));
    let mut command = command_line(chosen.unwrap_or(usual), target);
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match started {
        // A shell that finds no browser says so at once; a browser may run for a long time.
        Ok(mut child) => drop(thread::spawn(move || child.wait())),
        Err(error) => note(&format!("no browser was opened: {error}; open the page yourself")),
    }
}

/// True if a file is an earlier page.
fn is_page(file: &Path) -> bool {
    let mut beginning = Vec::new();
    let mut read = || File::open(file)?.take(view::MARK_BYTES).read_to_end(&mut beginning);
    // Opening a pipe would wait for its other end.
    file.is_file() && read().is_ok() && view::is_page(&beginning)
}

/// Serves the page until a person interrupts the program, or a signal ends it.
fn serve(port: u16, arguments: &Arguments, folder: &StackFolder, output: Output) -> Result<Exit, Failure> {
    let (interrupted, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    signal_hook::flag::register(SIGINT, interrupted.clone())?;
    signal_hook::flag::register(SIGTERM, ended.clone())?;
    let prices = arguments.prices.read()?;
    let stack = folder.open_to_read()?;
    let mut timeline = Timeline::default();
    stack.history().update_timeline(&mut timeline)?;
    let (server, address) = Server::start(port, Snapshot::of(&stack, &timeline, prices.as_ref())?)?;
    output.stream(&ServedView { url: address.url() })?;
    if arguments.open {
        open(&address.url());
    }
    let mut is_outdated = false;
    while !interrupted.load(Ordering::Relaxed) && !ended.load(Ordering::Relaxed) {
        thread::sleep(PAUSE);
        match look(&stack, &mut timeline) {
            Ok(true) => {
                is_outdated = true;
                server.outdate();
            }
            // Other processes use the stack for long; the next look may succeed.
            Ok(false) | Err(Error::Busy { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        // Without readers no snapshot is needed.
        if is_outdated && server.has_readers() {
            server.change(Snapshot::of(&stack, &timeline, prices.as_ref())?);
            is_outdated = false;
        }
    }
    Ok(if interrupted.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Done })
}

/// Looks for changes of other processes. Returns true if there are any.
fn look(stack: &Stack, timeline: &mut Timeline) -> callstack_core::Result<bool> {
    stack.refresh()?;
    stack.history().update_timeline(timeline)
}

impl Arguments {
    /// The session that is named in place of a file. It is taken out of the arguments.
    pub fn take_session(&mut self) -> Option<String> {
        let is_page = |named: &str| Path::new(named).extension().is_some_and(|extension| extension == "html");
        let named = self.named.as_deref().and_then(Path::to_str)?;
        let is_session = sessions::is_session(named) || !is_page(named) && !Path::new(named).exists();
        let session = is_session.then(|| named.to_owned());
        self.named = self.named.take().filter(|_| session.is_none());
        session
    }

    /// The file to write, if it is named.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().or(self.named.as_deref())
    }
}

impl Report for WrittenView {
    const KIND: &'static str = "view";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        let size = format!(", {}, {} bytes", count(self.frames, "frame"), number(self.bytes));
        page.line(Line::new().plain("wrote ").said(&self.path).plain(size))
    }
}

impl Report for ServedView {
    const KIND: &'static str = "servedView";

    fn write(&self, page: &mut Page<'_>) -> io::Result<()> {
        // The line is written as a whole, no matter how narrow the terminal is.
        page.raw(&format!("serving {}\n", self.url))?;
        page.line(Line::new().plain("Ctrl-C ends it"))
    }
}

//! What servers log for people: on the standard error, which hosts show or keep, and with `--log` all calls
//! in a file. The log says which tools were called, for which frames, which requests passed, and which kind
//! of error refused a request. It has no texts of the work. Therefore it has nothing of what libraries log,
//! because that has whole errors and messages.

use std::fs::{self, File, OpenOptions};
use std::io::{self, stderr};
use std::path::Path;
use std::sync::Mutex;

use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, registry};

use crate::exit::Exit;
use crate::failure::Failure;

/// The modules of this program.
const OURS: &str = "callstack";
/// If a file has at least this size at the start of a server, it is put aside. In bytes.
const LONGEST: u64 = 4 << 20;

/// The messages that are written to the standard error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// Warnings and errors.
    Warnings,
    /// Everything that happens.
    #[cfg(feature = "proxy")]
    All,
    /// Nothing: another program uses the terminal.
    #[cfg(feature = "proxy")]
    Nothing,
}

impl Errors {
    fn level(self) -> LevelFilter {
        match self {
            Self::Warnings => LevelFilter::WARN,
            #[cfg(feature = "proxy")]
            Self::All => LevelFilter::INFO,
            #[cfg(feature = "proxy")]
            Self::Nothing => LevelFilter::OFF,
        }
    }
}

/// Begins to write. Lines of several servers in one file are not mixed.
///
/// # Errors
/// If the file cannot be written.
pub fn start(errors: Errors, file: Option<&Path>) -> Result<(), Failure> {
    let to_file = file.map(|path| open(path).map_err(|error| unwritable(path, &error))).transpose()?.map(|file| {
        let all = Targets::new()
            .with_default(Level::WARN)
            .with_target(OURS, Level::INFO)
            .with_target("rmcp", LevelFilter::OFF);
        layer().with_ansi(false).with_writer(Mutex::new(file)).with_filter(all)
    });
    let level = errors.level();
    let ours = Targets::new()
        .with_default(level.min(LevelFilter::ERROR))
        .with_target(OURS, level)
        .with_target("rmcp", LevelFilter::OFF);
    let to_error = layer().with_ansi(false).without_time().with_writer(stderr).with_filter(ours);
    registry().with(to_error).with(to_file).init();
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > LONGEST) {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".1");
        fs::rename(path, aside)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, "io", format!("cannot write the log {}: {error}", path.display()))
}

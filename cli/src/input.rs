//! Texts that a command gets: from an argument, from the standard input, or from a file.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use callstack_core::text::decoded;
use callstack_core::{FrameRef, Handle};

use crate::exit::Exit;
use crate::failure::Failure;

/// The argument that stands for the standard input.
const STANDARD_INPUT: &str = "-";

/// The texts of these arguments. One of them can be `-`: the standard input, without its last line end.
///
/// # Errors
/// If several are `-`; if the standard input cannot be read, or is not UTF-8.
pub fn texts<const N: usize>(arguments: [Option<String>; N]) -> Result<[Option<String>; N], Failure> {
    let is_input = |argument: &&mut Option<String>| argument.as_deref() == Some(STANDARD_INPUT);
    let mut arguments = arguments;
    let mut from_input = arguments.iter_mut().filter(is_input);
    let first = from_input.next();
    if from_input.next().is_some() {
        return Err(misused("only one text can be read from the standard input, but several are `-`"));
    }
    if let Some(argument) = first {
        let mut text = content(STANDARD_INPUT.as_ref())?;
        text.truncate(text.trim_end_matches(['\n', '\r']).len());
        *argument = Some(text);
    }
    Ok(arguments)
}

/// As [`texts`], for one argument.
///
/// # Errors
/// As [`texts`].
pub fn text(argument: String) -> Result<String, Failure> {
    texts([Some(argument)]).map(|[text]| text.unwrap_or_default())
}

/// The content of a file without a byte order mark, in UTF-8 or UTF-16; `-` is the standard input.
///
/// # Errors
/// If it cannot be read, or is not a text.
pub fn content(file: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = match file == Path::new(STANDARD_INPUT) {
        true => io::stdin().lock().read_to_end(&mut bytes).map(drop),
        false => fs::read(file).map(|read| bytes = read),
    };
    let failed = |error: &io::Error| Failure::of_file("read", name(file), error);
    read.map_err(|error| failed(&error))?;
    decoded(bytes).map_err(|error| failed(&io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// The content of a file, to be read from its beginning piece by piece. The standard input is not allowed.
///
/// # Errors
/// If the file cannot be opened.
pub fn reader(file: &Path) -> Result<impl BufRead + use<>, Failure> {
    File::open(file).map(BufReader::new).map_err(|error| Failure::of_file("read", file.display(), &error))
}

/// The beginning of a file up to the end of its first line, but at most `limit` bytes. `None` if the file can
/// be read only once, such as the standard input or a pipe, and if the beginning is not UTF-8.
///
/// # Errors
/// If the file cannot be read.
pub fn first_line(file: &Path, limit: u64) -> Result<Option<String>, Failure> {
    if file == Path::new(STANDARD_INPUT) || !fs::metadata(file).is_ok_and(|data| data.is_file()) {
        return Ok(None);
    }
    let mut line = Vec::new();
    let read = reader(file)?.take(limit).read_until(b'\n', &mut line);
    read.map_err(|error| Failure::of_file("read", file.display(), &error))?;
    Ok(String::from_utf8(line).ok())
}

/// How messages name a file that [`content`] reads.
pub fn name(file: &Path) -> Cow<'_, str> {
    match file == Path::new(STANDARD_INPUT) {
        true => "the standard input".into(),
        false => file.to_string_lossy(),
    }
}

/// The frame, if it is named, and the text, from the arguments of a command whose frame can be left out.
///
/// # Errors
/// As [`check_not_forgotten`].
pub fn frame_and_text(
    first: String,
    second: Option<String>,
    what: &str,
) -> Result<(Option<FrameRef>, String), Failure> {
    let (frame, text) = match second {
        Some(text) => (Some(FrameRef::from(first)), text),
        None => (None, first),
    };
    check_not_forgotten(frame.as_ref(), &text, what)?;
    Ok((frame, text))
}

/// Checks the last argument of a command whose first one, the frame, can be left out: if it is alone and has
/// the form of a handle, the text was forgotten.
///
/// # Errors
/// If the text was forgotten. `what`: what is missing, such as `the answer`.
pub fn check_not_forgotten(frame: Option<&FrameRef>, text: &str, what: &str) -> Result<(), Failure> {
    match text.parse::<Handle>() {
        Ok(handle) if frame.is_none() => Err(misused(&format!("{handle} names the frame only; give {what} after it"))),
        _ => Ok(()),
    }
}

/// The failure of a command line whose arguments do not fit together.
pub fn misused(message: &str) -> Failure {
    Failure::new(Exit::Usage, "arguments", message)
}

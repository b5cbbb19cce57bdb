//! The file of a session: read as it is, or decompressed, and its first line, which tells to which session it
//! belongs.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use callstack_core::text::from_json;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use serde_json::Value;

/// How much of a file is read for its first line, in bytes.
pub(super) const HEAD: u64 = 4 << 20;

/// The end of the name of a compressed file: Codex compresses threads that have not continued for long.
const COMPRESSED: &str = ".zst";

/// The name of a file as it is without compression.
pub(super) fn plain_name(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.strip_suffix(COMPRESSED).unwrap_or(name)
}

/// True if a file is compressed, by its name.
pub(super) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// Leaves out compressed files that also exist without compression: while a file is compressed, both exist.
pub(super) fn leave_out_copies(paths: &mut Vec<PathBuf>) {
    let plain: HashSet<PathBuf> = paths.iter().filter(|path| !is_compressed(path)).cloned().collect();
    paths.retain(|path| !is_compressed(path) || !plain.contains(&path.with_file_name(plain_name(path))));
}

/// The content of a file from this place on, decompressed.
///
/// # Errors
/// The errors of reading.
pub fn open(path: &Path, offset: u64) -> io::Result<Box<dyn Read>> {
    let mut file = File::open(path)?;
    if !is_compressed(path) {
        file.seek(SeekFrom::Start(offset))?;
        return Ok(Box::new(file));
    }
    let mut reader = Frames { decoder: Some(StreamingDecoder::new(BufReader::new(file)).map_err(io::Error::other)?) };
    io::copy(&mut (&mut reader).take(offset), &mut io::sink())?;
    Ok(Box::new(reader))
}

/// The frames of a compressed file, one after the other. A frame that is cut is an error, because the missing
/// part would be missing in all sums.
struct Frames {
    decoder: Option<StreamingDecoder<BufReader<File>, FrameDecoder>>,
}

impl Read for Frames {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let read = decoder.read(part)?;
            if read > 0 || part.is_empty() {
                return Ok(read);
            }
            let mut rest = self.decoder.take().map(StreamingDecoder::into_inner).ok_or(io::ErrorKind::UnexpectedEof)?;
            if !rest.fill_buf()?.is_empty() {
                self.decoder = Some(StreamingDecoder::new(rest).map_err(io::Error::other)?);
            }
        }
    }
}

/// True if another thread or the program itself has started the thread in a file of Codex.
pub(super) fn is_of_program(path: &Path) -> bool {
    let read = || {
        let head = first_line(path)?;
        let payload = head.get("payload")?;
        Some(
            payload.pointer("/source/subagent").is_some()
                || payload.get("parent_thread_id").is_some_and(Value::is_string),
        )
    };
    read().unwrap_or(false)
}

/// The first line of a file. `None`: it is not JSON, or it is too long.
pub(super) fn first_line(path: &Path) -> Option<Value> {
    let mut line = Vec::new();
    BufReader::new(open(path, 0).ok()?.take(HEAD)).read_until(b'\n', &mut line).ok()?;
    from_json(&String::from_utf8_lossy(&line)).ok()
}

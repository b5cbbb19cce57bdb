//! Files that commands write for the person, outside of the stack.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use tempfile::Builder;

use crate::exit::Exit;
use crate::failure::Failure;

/// The beginning of the name of a file that is not finished. It is left only if the program is killed.
const UNFINISHED: &str = ".callstack-unfinished-";

/// A file that was written, and its size.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WrittenFile {
    pub path: String,
    pub bytes: u64,
}

/// Refuses a file in the stack's own folder, where it could take the place of the database.
pub fn refuse_own_file(stack: Option<&Path>, file: &Path) -> Result<(), Failure> {
    let Some(stack) = stack else { return Ok(()) };
    // A folder that cannot be found is reported when the file is written.
    let is_within = stack
        .canonicalize()
        .is_ok_and(|stack| folder_of(&target(file)).canonicalize().is_ok_and(|parent| parent.starts_with(stack)));
    match is_within {
        true => {
            Err(Failure::new(Exit::Refused, "own_file", format!("{} is in the folder of the stack", file.display()))
                .next("name a file outside of it"))
        }
        false => Ok(()),
    }
}

/// Writes a file as a whole or not at all. An existing file is only replaced if `is_forced`, and only if it
/// is a regular file that may be written.
/// If the file is a link, the file that the link leads to is replaced, and the link stays. The new file has
/// the permissions of the old one.
pub fn write_file(
    path: &Path,
    is_forced: bool,
    content: impl FnOnce(&mut BufWriter<&File>) -> Result<(), Failure>,
) -> Result<WrittenFile, Failure> {
    let name = path.display().to_string();
    let target = target(path);
    let existing = fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
        return Err(Failure::new(Exit::Refused, "no_regular_file", format!("{name} is not a regular file"))
            .next("name another file"));
    }
    if !is_forced && existing.is_some() {
        return Err(exists(&name));
    }
    // A new file under the old name would not ask for the permission to write.
    if existing.as_ref().is_some_and(|existing| existing.permissions().readonly()) {
        return Err(Failure::new(Exit::Refused, "read_only", format!("{name} is read-only"))
            .next("make it writable, or name another file"));
    }
    let failed = |error: io::Error| Failure::of_file("write", &name, &error);
    // The errors of the file name nothing but the reason: `failed` names the file that the person wants.
    let file =
        Builder::new().prefix(UNFINISHED).make_in(folder_of(&target), |path| File::create_new(path)).map_err(failed)?;
    let mut writer = BufWriter::new(file.as_file());
    content(&mut writer)?;
    writer.flush().map_err(failed)?;
    drop(writer);
    if let Some(existing) = existing {
        // A user who could not read the old file cannot read the new one.
        file.as_file().set_permissions(existing.permissions()).map_err(failed)?;
    }
    let persisted = if is_forced { file.persist(&target) } else { file.persist_noclobber(&target) };
    if let Err(error) = persisted {
        let is_taken = error.error.kind() == io::ErrorKind::AlreadyExists;
        return Err(if is_taken { exists(&name) } else { failed(error.error) });
    }
    let bytes = fs::metadata(&target).map_err(failed)?.len();
    Ok(WrittenFile { path: name, bytes })
}

/// The file that a path leads to, through links. A link that leads nowhere stands for itself.
fn target(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn exists(name: &str) -> Failure {
    Failure::new(Exit::Refused, "exists", format!("{name} exists"))
        .next("overwrite it with --force, or name another file")
}

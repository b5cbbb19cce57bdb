//! Which checkout of a git repository a folder belongs to. The files of git are read as
//! gitrepository-layout(5) describes them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The folder of the main checkout that is the same as a folder of one of its worktrees: `shop/src` for
/// `shop-fix/src`. A submodule of a worktree belongs to the worktree. `None`: the folder is not in a
/// worktree, or its repository has no main checkout.
pub fn in_main_checkout(folder: &Path) -> Option<Twin> {
    let (root, main) = folder.ancestors().find_map(|above| Some((above, main_checkout(above)?)))?;
    let within = folder.strip_prefix(root).ok()?;
    Some(Twin { worktree: root.to_owned(), folder: main.join(within), main })
}

/// The main checkout beside a worktree.
pub struct Twin {
    /// The top folder of the worktree.
    pub worktree: PathBuf,
    /// The top folder of the main checkout.
    pub main: PathBuf,
    /// The folder in it that is the same as the one in the worktree. It may not exist.
    pub folder: PathBuf,
}

/// The main checkout of the repository of a worktree, whose `.git` is a file that names its part of the
/// repository. A submodule has such a file too, but no `commondir`.
fn main_checkout(worktree: &Path) -> Option<PathBuf> {
    let link = worktree.join(".git");
    let named = fs::read_to_string(&link).ok()?;
    let own = fs::canonicalize(worktree.join(named.strip_prefix("gitdir:")?.trim())).ok()?;
    let common = fs::read_to_string(own.join("commondir")).ok()?;
    let common = fs::canonicalize(own.join(common.trim())).ok()?;
    if !knows(&common, &own, &link) {
        return None;
    }
    // A bare repository has no checkout around it.
    let main = common.parent().filter(|_| common.ends_with(".git"))?;
    let is_other = fs::canonicalize(worktree).ok().as_deref() != Some(main);
    (is_other && has_files_of(main, &common)).then(|| main.to_owned())
}

/// True if a repository names the worktree, as the worktree names the repository. A `.git` that came with the
/// files of a stranger may name any repository of the person, but that repository does not name it.
fn knows(common: &Path, own: &Path, link: &Path) -> bool {
    let back = fs::read_to_string(own.join("gitdir")).ok();
    let back = back.and_then(|back| fs::canonicalize(own.join(back.trim())).ok());
    own.parent() == Some(&common.join("worktrees")) && back.is_some() && back == fs::canonicalize(link).ok()
}

/// True if a folder has one of the files that the repository in it has checked out. With `--separate-git-dir`
/// the checkout is in another folder that the repository does not know. If a repository has checked out
/// nothing, the folder is taken for its checkout.
fn has_files_of(main: &Path, common: &Path) -> bool {
    let Ok(index) = File::open(common.join("index")) else { return true };
    let mut index = BufReader::new(index);
    let mut head = [0; 12];
    // The last four bytes are the number of files.
    if index.read_exact(&mut head).is_err() || head.ends_with(&[0; 4]) {
        return true;
    }
    let names = fs::read_dir(main).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let names: Vec<OsString> = names.filter(|name| name != ".git").collect();
    // Each path ends with a zero. What is before the path does not matter, and neither does which part of the
    // path a name is.
    let has_name = |path: &[u8]| {
        let mut parts = path.split(|byte| *byte == b'/');
        parts.any(|part| names.iter().any(|name| part.ends_with(name.as_encoded_bytes())))
    };
    index.split(0).map_while(Result::ok).any(|path| has_name(&path))
}

//! Which checkout of a git repository a folder belongs to. The files of git are read as gitrepository-layout(5) describes them.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the main checkout that is the same as a folder of one of its worktrees: `shop/src` for `shop-fix/src`. `None`: the folder
/// is in no worktree, or its repository has no main checkout.
pub fn in_main_checkout(folder: &Path) -> Option<Twin> {
    let root = folder.ancestors().find(|above| above.join(".git").exists())?;
    let main = main_checkout(root)?;
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

/// The main checkout of the repository of a worktree, whose `.git` is a file that names its part of the repository. A submodule has such a
/// file too, but no `commondir`.
fn main_checkout(worktree: &Path) -> Option<PathBuf> {
    let named = fs::read_to_string(worktree.join(".git")).ok()?;
    let own = worktree.join(named.strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(own.join("commondir")).ok()?;
    let common = fs::canonicalize(own.join(common.trim())).ok()?;
    // A bare repository has no checkout around it.
    let main = common.parent().filter(|_| common.ends_with(".git"))?;
    (main.is_dir() && fs::canonicalize(worktree).ok().as_deref() != Some(main)).then(|| main.to_owned())
}

//! The committed files are those that are generated from the committed `api.json`.

use std::path::{Path, PathBuf};

use callstack_generator::{api::Api, files};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_committed_files_are_the_generated_ones() {
    let api = std::fs::read_to_string(root().join("api.json")).expect("api.json is committed");
    let api: Api = serde_json::from_str(&api).expect("api.json has the documented form");
    let mut stale = Vec::new();
    for (path, generated) in files(&api) {
        let place = root().join(path);
        if std::env::var_os("UPDATE_API").is_some() {
            std::fs::create_dir_all(place.parent().expect("a file has a folder")).unwrap();
            std::fs::write(&place, &generated).unwrap();
        }
        if std::fs::read_to_string(&place).unwrap_or_default() != generated {
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "run `make api`: {} do not follow from api.json", stale.join(", "));
}

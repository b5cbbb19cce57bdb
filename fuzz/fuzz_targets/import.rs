//! Fuzzes the import of plans of other tools, valid and broken: every frame that is read must fit into a
//! tree.

#![no_main]

use callstack_core::{Stack, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let task_master = import::task_master(&text).map(|imported| imported.frames);
    let list = import::checklist(&text).map(|imported| imported.frames);
    let any = import::frames(&text).map(|imported| imported.frames);
    for frames in [Ok(import::beads(&text).frames), task_master, list, any] {
        let Ok(frames) = frames else { continue };
        let stack = Stack::in_memory();
        let handles = stack.import(frames.clone()).unwrap_or_else(|error| panic!("{frames:?}: {error}"));
        assert_eq!(handles.len(), frames.len(), "every frame is imported");
    }
    if let Ok((tree, _)) = import::read(&text) {
        assert_eq!(tree.state().frames.len(), tree.len());
    }
});

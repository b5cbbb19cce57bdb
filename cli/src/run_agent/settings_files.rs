//! Settings of agents that this program reads, and never writes. A file that does not exist, or that cannot
//! be read, is ignored: the agent itself will say what is wrong with it.

use std::fs;
use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::CstRootNode;
use serde_json::Value;

/// Settings in JSON, with comments.
pub fn json(path: &Path) -> Option<Value> {
    CstRootNode::parse(&fs::read_to_string(path).ok()?, &ParseOptions::default()).ok()?.value()?.to_serde_value()
}

/// Settings in TOML.
pub fn toml(path: &Path) -> Option<toml::Table> {
    toml::from_str(&fs::read_to_string(path).ok()?).ok()
}

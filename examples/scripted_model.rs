//! A model server that answers from a script, to try `callstack agent` without a real model. See the README.
//!
//! `cargo run --features agent --example scripted_model -- SCRIPT PORT`

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/common/scripted.rs"]
mod scripted;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [script, port] = &arguments[..] else {
        eprintln!("usage: scripted_model SCRIPT PORT");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(script).unwrap_or_else(|error| panic!("{script}: {error}"));
    let script = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{script}: {error}"));
    let model = scripted::ScriptedModel::serve(&script, port.parse().expect("the port is a number"));
    println!("the model {} with the key {} is at {}", scripted::MODEL, scripted::KEY, model.base_url);
    loop {
        std::thread::park();
    }
}

//! A model server that answers from a script, to try `callstack agent` without a real model. See the README.
//!
//! `cargo run -p scripted-model -- SCRIPT PORT`

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [script, port] = &arguments[..] else {
        eprintln!("usage: scripted-model SCRIPT PORT");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(script).unwrap_or_else(|error| panic!("{script}: {error}"));
    let script = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{script}: {error}"));
    let model = scripted_model::ScriptedModel::serve(&script, port.parse().expect("the port is a number"));
    println!("the model {} with the key {} is at {}", scripted_model::MODEL, scripted_model::KEY, model.base_url);
    loop {
        std::thread::park();
    }
}

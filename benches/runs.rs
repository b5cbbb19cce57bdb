//! The cost of a run in tokens, with and without shared results. Run it with `make bench-runs`.
//!
//! A scripted model builds a program of modules, one frame for each module. A module uses the two modules
//! before it, so its frame needs their functions. The frame looks for them in its prompt, and reads the files
//! of the modules that it does not find in its prompt. The frame that pushes can also write the functions
//! into each briefing.

use callstack_core::context::{Approx, TokenCounter};
use callstack_core::frame::{RunSettings, ToolCall};
use callstack_core::memory::{NewRun, Next, Prompt, Reply};
use callstack_core::{Handle, Stack, tools};
use serde_json::{Value, json};

/// Numbers of modules.
const SIZES: [usize; 3] = [4, 8, 16];
/// Size of the file of a module.
const FILE_BYTES: usize = 6_000;
/// Prices of tokens that are read from the cache and of tokens that the model writes, as parts of the price
/// of a token that is not in the cache.
const PRICES: (f64, f64) = (0.1, 5.0);

/// How a frame gets to know the modules before it.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    ReadsFiles,
    IsBriefed,
    SeesResults,
}

fn main() {
    println!("| modules | a frame | requests | tokens in | of them not cached | tokens out | cost |");
    println!("|---:|---|---:|---:|---:|---:|---:|");
    for modules in SIZES {
        let base = Job::new(modules, Way::ReadsFiles).done();
        for (name, way) in [
            ("reads the files it needs", Way::ReadsFiles),
            ("is briefed with results", Way::IsBriefed),
            ("sees results (the default)", Way::SeesResults),
        ] {
            let spent = Job::new(modules, way).done();
            let Spent { requests, input, uncached, output } = spent;
            let share = 100.0 * spent.cost() / base.cost();
            let [input, uncached, output] = [input, uncached, output].map(grouped);
            println!("| {modules} | {name} | {requests} | {input} | {uncached} | {output} | {share:.0} % |");
        }
    }
}

/// A number of at most six digits, with a comma before the last three.
fn grouped(number: usize) -> String {
    if number < 1_000 { number.to_string() } else { format!("{},{:03}", number / 1_000, number % 1_000) }
}

/// The sums of a job.
#[derive(Clone, Copy, Default)]
struct Spent {
    requests: usize,
    input: usize,
    uncached: usize,
    output: usize,
}

impl Spent {
    /// The cost, in the price of a token that is not in the cache.
    fn cost(&self) -> f64 {
        let (cached, written) = PRICES;
        self.uncached as f64 + cached * (self.input - self.uncached) as f64 + written * self.output as f64
    }
}

struct Job {
    stack: Stack,
    run: Handle,
    settings: RunSettings,
    modules: usize,
    way: Way,
    /// The requests that were made until now.
    requests: Vec<String>,
    spent: Spent,
}

impl Job {
    fn new(modules: usize, way: Way) -> Self {
        let stack = Stack::in_memory();
        let settings = RunSettings::default().shared_results(way == Way::SeesResults);
        let task = "Build the modules of the shop, each with tests, in the order of the list in modules.txt";
        let run = stack.start_run(NewRun::new(task).settings(settings)).unwrap();
        Self { stack, run, settings, modules, way, requests: Vec::new(), spent: Spent::default() }
    }

    fn done(mut self) -> Spent {
        for module in 0..self.modules {
            self.build(module);
        }
        self.step(&[("pop_frame", json!({"result": "All modules are there, and their tests pass."}))]);
        assert!(matches!(self.stack.run(self.run).next().unwrap(), Next::Over { .. }));
        self.spent
    }

    /// A frame that writes a module, and the step that pushes it.
    fn build(&mut self, module: usize) {
        let used = || module.saturating_sub(2)..module;
        let briefing = match self.way {
            Way::IsBriefed => used().map(results).collect::<Vec<_>>().join("\n"),
            _ => String::new(),
        };
        let names: Vec<String> = used().map(name).collect();
        let uses = if names.is_empty() { String::new() } else { format!(" It uses {}.", names.join(" and ")) };
        let objective = format!(
            "Write {0}.py and test_{0}.py.{uses} Run python -m pytest test_{0}.py -q until all tests pass.",
            name(module)
        );
        let spec = "functions with their arguments, tests passed and failed, problems met";
        let push = json!({"name": name(module), "objective": objective, "context": briefing, "return_spec": spec});
        self.step(&[("push_frame", push)]);
        let prompt = self.prompt();
        let is_known = |used: &usize| text(&prompt).contains(&functions(*used)[0]);
        for unknown in used().filter(|used| !is_known(used)).collect::<Vec<_>>() {
            self.step(&[("read_file", json!({"path": format!("{}.py", name(unknown))}))]);
        }
        for file in [format!("{}.py", name(module)), format!("test_{}.py", name(module))] {
            self.step(&[("write_file", json!({"path": file, "content": code(module)}))]);
            if self.settings.shared_results {
                let frame = self.stack.run(self.run).status().unwrap().frame;
                self.stack.add_artifact(frame, file).unwrap();
            }
        }
        let command = format!("python -m pytest test_{}.py -q", name(module));
        self.step(&[("run_command", json!({ "command": command }))]);
        self.step(&[("pop_frame", json!({"result": results(module)}))]);
    }

    fn prompt(&self) -> Prompt {
        match self.stack.run(self.run).next().unwrap() {
            Next::Ask(prompt) => prompt,
            other => panic!("the model is next, and not {other:?}"),
        }
    }

    /// A request, the reply to it, and its tool calls.
    fn step(&mut self, calls: &[(&str, Value)]) {
        let request = self.request();
        let shared = self.requests.iter().map(|earlier| common(earlier, &request)).max().unwrap_or(0);
        let (whole, cached) = (Approx.count(&request), Approx.count(&request[..shared]));
        self.requests.push(request);
        let call = |(place, (name, arguments)): (usize, &(&str, Value))| ToolCall {
            id: format!("call_{place}"),
            name: (*name).to_owned(),
            arguments: arguments.to_string(),
        };
        let calls: Vec<ToolCall> = calls.iter().enumerate().map(call).collect();
        let Spent { requests, input, uncached, output } = &mut self.spent;
        *requests += 1;
        *input += whole;
        *uncached += whole.saturating_sub(cached);
        *output += calls.iter().map(|call| Approx.count(&call.name) + Approx.count(&call.arguments)).sum::<usize>();
        self.stack.run(self.run).reply(Reply::new("", calls)).unwrap();
        while let Next::Call(call) = tools::advance_run(&self.stack, self.run).unwrap() {
            self.stack.run(self.run).answer(&call.id, answer(&call), false).unwrap();
        }
    }

    /// The text that a provider gets, in the order in which the provider caches it.
    fn request(&self) -> String {
        let prompt = self.prompt();
        let messages: Vec<String> = prompt.messages.iter().map(|message| json!(message).to_string()).collect();
        format!("{}\n{}\n{}", json!(tools::memory_tools(&self.settings)), prompt.system, messages.join("\n"))
    }
}

/// The answer of a tool of the host.
fn answer(call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    match &*call.name {
        "read_file" => {
            let path = arguments["path"].as_str().unwrap();
            let module = (0..).find(|module| path == format!("{}.py", name(*module))).unwrap();
            code(module)
        }
        "write_file" => format!("Wrote {}.", arguments["path"].as_str().unwrap()),
        "run_command" => "........ [100%]\n8 passed in 0.21s\n[exit status 0]".to_owned(),
        other => panic!("{other} is no tool"),
    }
}

/// The text of all messages.
fn text(prompt: &Prompt) -> String {
    prompt.messages.iter().map(|message| message.text()).collect::<Vec<_>>().join("\n")
}

/// The length of the common beginning of two texts, in bytes.
fn common(one: &str, other: &str) -> usize {
    let length = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    (0..=length).rev().find(|place| other.is_char_boundary(*place)).unwrap_or(0)
}

fn name(module: usize) -> String {
    let names = ["cart", "search", "invoice", "stock", "parcel", "account", "ticket", "tariff"];
    let number = module / names.len();
    let name = names[module % names.len()];
    if number == 0 { name.to_owned() } else { format!("{name}{}", number + 1) }
}

fn functions(module: usize) -> Vec<String> {
    let name = name(module);
    let function = |verb| format!("{verb}_{name}(entries, limit=100, owner=None)");
    ["load", "merge", "check", "total"].map(function).to_vec()
}

/// The result of a frame.
fn results(module: usize) -> String {
    format!(
        "{0}.py has {1}. Entries are dictionaries with id, owner, amount in cents and created; a missing key raises KeyError. \
         test_{0}.py has 8 tests, all pass. No problems met.",
        name(module),
        functions(module).join(", ")
    )
}

/// The file of a module.
fn code(module: usize) -> String {
    let mut text = String::new();
    for number in 0.. {
        for function in functions(module) {
            let body = "    found = [entry for entry in entries if owner in (None, entry['owner'])]\n    \
                        found.sort(key=lambda entry: (entry['created'], entry['amount']))\n    return found[:limit]\n";
            text.push_str(&format!("def {function}:\n    \"\"\"Part {number}.\"\"\"\n{body}\n\n"));
            if text.len() >= FILE_BYTES {
                return text;
            }
        }
    }
    text
}

//! Tests of the token estimate against o200k: it is within the documented bounds for every kind of text. Prints a
//! table.

use callstack_core::context::{Approx, Chars4, O200k, TokenCounter};
use callstack_core::{Settings, Stack, StackOptions, import};

/// Length of a sample, in bytes.
const SAMPLE: usize = 4096;

/// A kind of text, its samples, and the maximum factor by which the estimate may exceed the exact count.
struct Kind {
    name: &'static str,
    samples: Vec<String>,
    most: f64,
}

fn samples(text: &str) -> Vec<String> {
    let mut samples = Vec::new();
    let mut rest = text;
    while rest.len() >= SAMPLE {
        let (sample, more) = rest.split_at(rest.floor_char_boundary(SAMPLE));
        samples.push(sample.to_owned());
        rest = more;
    }
    assert!(!samples.is_empty(), "a text is shorter than a sample");
    samples
}

fn repository(path: &str) -> String {
    std::fs::read_to_string(support::root().join(path)).unwrap()
}

/// The text of all files with this extension below a folder of the repository.
fn all_of(folder: &str, extension: &str, text: &mut String) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            all_of(path.to_str().unwrap(), extension, text);
        } else if path.extension().is_some_and(|found| found == extension) {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The prose of a plan, task by task.
fn plan(name: &str) -> String {
    let (tree, _) = import::read(&support::read_data(name)).unwrap();
    let texts = tree.handles().map(|handle| {
        let frame = tree.frame(handle);
        format!("{}. {} {}", frame.title, frame.success_criteria, frame.results.unwrap_or_default())
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The contexts of every tenth frame of a plan, with default settings.
fn contexts(name: &str) -> String {
    let (tree, _) = import::read(&support::read_data(name)).unwrap();
    let (stack, _) = Stack::from_state(tree.state(), StackOptions::default());
    let every_tenth = tree.handles().step_by(10);
    every_tenth.map(|handle| stack.context(handle, &Settings::default()).unwrap().xml.clone()).collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sextets = bytes.chunks(3).flat_map(|chunk| {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        (0..4).rev().map(move |place| DIGITS[(bits >> (place * 6) & 63) as usize] as char)
    });
    sextets.collect()
}

/// Paths made of typical words.
fn paths() -> String {
    const PARTS: &[&str] = &[
        "usr",
        "lib",
        "python3.11",
        "site-packages",
        "src",
        "components",
        "node_modules",
        "@types",
        "home",
        "projects",
        "target",
        "debug",
        "build",
        "include",
        "linux",
        "x86_64-linux-gnu",
        "share",
        "doc",
        "config",
        "test_utils",
    ];
    const FILES: &[&str] = &[
        "main.rs",
        "index.js",
        "__init__.py",
        "README.md",
        "package.json",
        "libssl.so.3",
        "UserProfile.tsx",
        "test_parser.py",
        "auth_middleware.go",
        "tokenizer.cpp",
        "docker-compose.yml",
        "data_2024-01-15.csv",
    ];
    let mut random = support::Random::new(3);
    (0..600)
        .map(|_| {
            let folders: Vec<&str> = (0..2 + random.below(4)).map(|_| random.pick(PARTS)).collect();
            format!("/{}/{}\n", folders.join("/"), random.pick(FILES))
        })
        .collect()
}

fn kinds() -> Vec<Kind> {
    let root = support::root().display().to_string();
    let mut code = String::new();
    all_of(&format!("{root}/src"), "rs", &mut code);
    let mut random = support::Random::new(9);
    let bytes: Vec<u8> = (0..24_000).map(|_| random.next() as u8).collect();
    let no_limit = f64::INFINITY;
    vec![
        Kind { name: "English: plan of testcraft", samples: samples(&plan("plans/testcraft.tasks.json")), most: 1.2 },
        Kind { name: "English: plan of ast-mcp", samples: samples(&plan("plans/ast-mcp.tasks.json")), most: 1.2 },
        Kind {
            name: "English: plan of prophy",
            samples: samples(&plan("plans/prophy-api-client.tasks.json")),
            most: 1.2,
        },
        Kind { name: "English: plan of rivet", samples: samples(&plan("plans/rivet.issues.jsonl")), most: 1.2 },
        Kind {
            name: "English: our documents",
            samples: samples(&(repository("README.md") + &repository("ARCHITECTURE.md"))),
            most: 1.2,
        },
        Kind { name: "frame XML: testcraft", samples: samples(&contexts("plans/testcraft.tasks.json")), most: 1.2 },
        Kind { name: "frame XML: beads_rust", samples: samples(&contexts("plans/beads_rust.issues.jsonl")), most: 1.2 },
        Kind {
            name: "mixed: plan of beads_rust",
            samples: samples(&plan("plans/beads_rust.issues.jsonl")),
            most: no_limit,
        },
        Kind { name: "code: Rust of this crate", samples: samples(&code), most: no_limit },
        Kind {
            name: "JSON: plan of ast-mcp",
            samples: samples(&support::read_data("plans/ast-mcp.tasks.json")),
            most: no_limit,
        },
        Kind { name: "paths", samples: samples(&paths()), most: no_limit },
        Kind { name: "Chinese", samples: samples(&support::read_data("texts/chinese.txt").repeat(4)), most: no_limit },
        Kind {
            name: "Japanese",
            samples: samples(&support::read_data("texts/japanese.txt").repeat(4)),
            most: no_limit,
        },
        Kind { name: "base64 of noise", samples: samples(&base64(&bytes)), most: no_limit },
        Kind {
            name: "base64 of text",
            samples: samples(&base64(plan("plans/ast-mcp.tasks.json").as_bytes())),
            most: no_limit,
        },
    ]
}

#[test]
fn the_estimate_is_near_the_truth_and_seldom_below() {
    let mut failures = Vec::new();
    println!("{:<30} {:>7} {:>7} {:>7} {:>7} {:>8}", "estimate / o200k", "samples", "least", "mean", "most", "chars/4");
    for Kind { name, samples, most } in kinds() {
        let ratios: Vec<f64> =
            samples.iter().map(|text| Approx.count(text) as f64 / O200k.count(text) as f64).collect();
        let chars4: f64 = samples.iter().map(|text| Chars4.count(text) as f64 / O200k.count(text) as f64).sum();
        let count = ratios.len() as f64;
        let (least, greatest) =
            ratios.iter().fold((f64::MAX, 0.0f64), |(low, high), ratio| (low.min(*ratio), high.max(*ratio)));
        let mean = ratios.iter().sum::<f64>() / count;
        println!("{name:<30} {:>7} {least:>7.3} {mean:>7.3} {greatest:>7.3} {:>8.3}", ratios.len(), chars4 / count);
        if least < 0.95 || greatest > most {
            failures.push(format!("{name}: from {least:.3} to {greatest:.3} of the truth"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

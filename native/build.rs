//! Sets the name by which programs load the shared library on Linux and macOS: the one that the record of the C interface has.

use std::env;
use std::fs;
use std::path::Path;

fn main() {
    let record = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../include/callstack.abi");
    println!("cargo::rerun-if-changed={}", record.display());
    println!("cargo::rerun-if-changed=build.rs");
    let text = fs::read_to_string(&record).unwrap_or_else(|error| panic!("{}: {error}", record.display()));
    let name =
        text.lines().find_map(|line| line.strip_prefix("soname: ")).expect("the record has a line `soname: NAME`");
    match env::var("CARGO_CFG_TARGET_OS").expect("cargo sets it").as_str() {
        "linux" => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}"),
        // The record has the name for Linux; libcallstack.so.0.1 is libcallstack.0.1.dylib on macOS.
        "macos" => {
            let version = name.strip_prefix("libcallstack.so.").expect("the name is libcallstack.so.VERSION");
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libcallstack.{version}.dylib");
        }
        // Windows has the name in the import library.
        _ => {}
    }
}

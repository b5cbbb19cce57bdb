//! With the feature `capi`, writes the C header to the build's own folder. A test compares it with
//! `include/callstack.h`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "capi")]
    header::write();
}

#[cfg(feature = "capi")]
mod header {
    use std::env;
    use std::path::Path;

    /// In the order in which the header shows them.
    const SOURCES: [&str; 15] = [
        "version", "code", "text", "error", "stack", "command", "holding", "limits", "query", "context", "fold",
        "memory", "host", "logs", "history",
    ];

    pub fn write() {
        let root = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
        let out = env::var("OUT_DIR").expect("cargo sets it");
        let root = Path::new(&root);
        let settings = root.join("cbindgen.toml");
        println!("cargo::rerun-if-changed={}", settings.display());
        let config = cbindgen::Config::from_file(&settings).unwrap_or_else(|error| panic!("cbindgen.toml: {error}"));
        let mut builder = cbindgen::Builder::new().with_config(config);
        for name in SOURCES {
            let source = root.join(format!("src/capi/{name}.rs"));
            println!("cargo::rerun-if-changed={}", source.display());
            builder = builder.with_src(source);
        }
        let bindings = builder.generate().unwrap_or_else(|error| panic!("src/capi: {error}"));
        bindings.write_to_file(Path::new(&out).join("callstack.h"));
    }
}

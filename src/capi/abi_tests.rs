//! The recorded C interface: `include/callstack.abi` has a line for each function, type, struct, field and
//! constant of the header, with the layout of structs on 64-bit systems. Programs that were built with an
//! earlier library of the same soname rely on every line, so none may be changed or removed.
//!
//! `UPDATE_ABI=1 cargo test --features capi --lib abi` records what was added. After a new soname it rewrites
//! all lines.

use std::collections::BTreeMap;
use std::mem::{align_of, offset_of, size_of};
use std::path::Path;

use super::context::CallstackContext;
use super::text::{CallstackText, CallstackView};
use super::version::CALLSTACK_ABI;

const GENERATED: &str = include_str!(concat!(env!("OUT_DIR"), "/callstack.h"));

const UPDATE: &str = "UPDATE_ABI=1 cargo test --features capi --lib abi";

const HEADING: &str = "\
# The C interface of the shared library as programs rely on it: a line for each function, type, struct, field and constant.
# A test compares it with the sources and with the exported symbols. Lines are only added; see src/capi/abi_tests.rs.
";

/// What a line describes, such as `function callstack_open`, and how it looks.
type Interface = BTreeMap<String, String>;

/// A struct of the header as the compiler lays it out.
struct Layout {
    name: &'static str,
    size: usize,
    align: usize,
    /// The fields with their offsets.
    fields: Vec<(&'static str, usize)>,
}

/// All structs of the header.
fn layouts() -> Vec<Layout> {
    macro_rules! layout {
        ($name:ident { $($field:ident),* }) => {
            Layout {
                name: stringify!($name),
                size: size_of::<$name>(),
                align: align_of::<$name>(),
                fields: vec![$((stringify!($field), offset_of!($name, $field))),*],
            }
        };
    }
    vec![
        layout!(CallstackText { data, len }),
        layout!(CallstackView { data, len }),
        layout!(CallstackContext { xml, stable, changing, tokens, owner }),
    ]
}

/// The name by which programs load the library of this version. The builds take it from the record.
fn soname() -> String {
    soname_of(env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"))
}

/// Before 1.0 a new minor version has a new name, from then on a new major version.
fn soname_of(major: &str, minor: &str) -> String {
    if major == "0" { format!("libcallstack.so.0.{minor}") } else { format!("libcallstack.so.{major}") }
}

/// A header without comments.
fn uncommented(header: &str) -> String {
    let mut code = String::new();
    for (place, part) in header.split("/*").enumerate() {
        code.push_str(if place == 0 { part } else { part.split_once("*/").expect("a comment ends").1 });
    }
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// A declaration such as `const char *name` as its type and its name, both on one line.
fn type_and_name(declaration: &str) -> (String, String) {
    let words = declaration.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = words.trim_end_matches(|character: char| character.is_ascii_alphanumeric() || character == '_').len();
    let (kind, name) = words.split_at(end);
    (kind.trim_end().to_owned(), name.to_owned())
}

/// The type of a parameter. Its name is not a part of the interface.
fn parameter(declaration: &str) -> String {
    let (kind, name) = type_and_name(declaration);
    if kind.is_empty() { name } else { kind }
}

/// Everything that a header declares.
fn interface(header: &str) -> Interface {
    // The inline helpers at the end are compiled into programs.
    let code = uncommented(header.split("#ifndef CALLSTACK_NONE").next().unwrap_or_default());
    let mut found = Interface::from([("soname".to_owned(), soname())]);
    let mut add = |key: String, value: String| assert!(found.insert(key.clone(), value).is_none(), "{key} is twice");
    for line in code.lines() {
        if let Some((name, value)) = line.strip_prefix("#define ").and_then(|rest| rest.split_once(' ')) {
            add(format!("constant {name}"), value.trim().to_owned());
        }
    }
    let statements = code.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let statements = statements.replace("extern \"C\" {", "");
    let mut rest = statements.as_str();
    while let Some(end) = rest.find(['{', ';']) {
        let start = rest[..end].trim().trim_start_matches('}').trim();
        if rest[end..].starts_with('{') {
            let close = end + rest[end..].find('}').expect("a struct ends");
            let after = close + rest[close..].find(';').expect("a struct has a name");
            let name = rest[close + 1..after].trim();
            assert_eq!(start, "typedef struct", "{name}: only structs are known here");
            let layouts = layouts();
            let layout = layouts.iter().find(|layout| layout.name == name);
            let layout = layout.unwrap_or_else(|| panic!("add the struct {name} to `layouts`"));
            add(format!("struct {name}"), format!("size {}, align {}", layout.size, layout.align));
            let fields = rest[end + 1..close].split(';').filter(|field| !field.trim().is_empty()).map(type_and_name);
            let fields: Vec<(String, String)> = fields.collect();
            assert_eq!(fields.len(), layout.fields.len(), "`layouts` and the header differ in the fields of {name}");
            for ((kind, field), (known, offset)) in fields.iter().zip(&layout.fields) {
                assert_eq!(field, known, "`layouts` and the header differ in the fields of {name}");
                add(format!("field {name}.{field}"), format!("{kind}, offset {offset}"));
            }
            rest = &rest[after + 1..];
            continue;
        }
        if let Some(alias) = start.strip_prefix("typedef ") {
            let (kind, name) = type_and_name(alias);
            add(format!("type {name}"), if kind.starts_with("struct ") { "opaque".to_owned() } else { kind });
        } else {
            let (before, parameters) = start.split_once('(').unwrap_or_else(|| panic!("no function: {start}"));
            let (returned, name) = type_and_name(before);
            let parameters: Vec<String> = parameters.trim_end_matches(')').split(',').map(parameter).collect();
            add(format!("function {name}"), format!("{returned} ({})", parameters.join(", ")));
        }
        rest = &rest[end + 1..];
    }
    found
}

fn written(interface: &Interface) -> String {
    let lines = interface.iter().map(|(key, value)| format!("{key}: {value}\n"));
    HEADING.to_owned() + &lines.collect::<String>()
}

fn read(recorded: &str) -> Interface {
    let lines = recorded.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// What programs that were built with the recorded interface would miss: a line for each, empty if they still
/// work.
fn broken(recorded: &Interface, current: &Interface) -> String {
    let describe = |(key, before): (&String, &String)| match current.get(key) {
        Some(now) if now == before => None,
        Some(now) => Some(format!("  {key} was changed from `{before}` to `{now}`\n")),
        None => Some(format!("  {key} was removed\n")),
    };
    recorded.iter().filter(|(key, _)| *key != "soname").filter_map(describe).collect()
}

/// Why an interface may not follow the recorded one.
fn refusal(recorded: &Interface, current: &Interface) -> Option<String> {
    let broken = broken(recorded, current);
    if broken.is_empty() {
        return None;
    }
    let (constant, soname) = ("constant CALLSTACK_ABI", "soname");
    if recorded.get(soname) != current.get(soname) && recorded.get(constant) != current.get(constant) {
        return None;
    }
    Some(format!(
        "programs that were built with {} would fail with this library:\n{broken}Put it back. If that cannot be, the \
         library needs a new soname: raise CALLSTACK_ABI in src/capi/version.rs and the minor version (from 1.0 on: \
         the major one) with scripts/set-version, then rewrite the record: {UPDATE}",
        recorded.get(soname).map_or("the last release", String::as_str)
    ))
}

#[test]
#[cfg(target_pointer_width = "64")]
fn the_interface_only_grows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/callstack.abi");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let (recorded, current) = (read(&committed), interface(GENERATED));
    assert_eq!(current["constant CALLSTACK_ABI"], CALLSTACK_ABI.to_string());
    if let Some(refusal) = refusal(&recorded, &current) {
        panic!("{refusal}");
    }
    let current = written(&current);
    if std::env::var_os("UPDATE_ABI").is_some() {
        std::fs::write(&path, &current).unwrap();
    } else {
        assert!(committed == current, "include/callstack.abi does not have everything that was added; {UPDATE}");
    }
}

#[test]
fn compatible_versions_share_a_name() {
    assert_eq!([soname_of("0", "1"), soname_of("0", "2")], ["libcallstack.so.0.1", "libcallstack.so.0.2"]);
    assert_eq!([soname_of("1", "0"), soname_of("1", "7")], ["libcallstack.so.1", "libcallstack.so.1"]);
}

#[test]
fn every_kind_of_change_is_seen() {
    let before = interface(GENERATED);
    assert!(before.keys().filter(|key| key.starts_with("function ")).count() > 40, "{before:?}");
    assert!(before.keys().filter(|key| key.starts_with("constant CALLSTACK_ERROR_")).count() > 25, "{before:?}");
    assert_eq!(before["type Callstack"], "opaque");
    assert_eq!(before["type CallstackCode"], "int32_t");
    assert_eq!(before["function callstack_abi"], "uint32_t (void)");
    assert_eq!(before["function callstack_error_free"], "void (CallstackError **)");
    assert_eq!(before["field CallstackText.data"], "char *, offset 0");

    let after = |from: &str, to: &str| {
        assert!(GENERATED.contains(from), "{from}");
        interface(&GENERATED.replace(from, to))
    };
    let message = |from: &str, to: &str| refusal(&before, &after(from, to)).unwrap_or_default();
    let removed = message("uint32_t callstack_abi(void);", "");
    assert!(removed.contains("function callstack_abi was removed") && removed.contains(&soname()), "{removed}");
    let changed = message("callstack_text_free(CallstackText *text)", "callstack_text_free(CallstackText **text)");
    assert!(changed.contains("from `void (CallstackText *)` to `void (CallstackText **)`"), "{changed}");
    assert!(message("CALLSTACK_ERROR_NULL 1", "CALLSTACK_ERROR_NULL 9").contains("constant CALLSTACK_ERROR_NULL"));
    assert!(
        message("size_t len;\n} CallstackText", "uint32_t len;\n} CallstackText")
            .contains("field CallstackText.len was changed")
    );
    assert!(message("typedef int32_t CallstackCode", "typedef int64_t CallstackCode").contains("type CallstackCode"));

    assert_eq!(
        message("uint32_t callstack_abi(void);", "uint32_t callstack_abi(void); void callstack_more(void);"),
        ""
    );
    assert_eq!(message("callstack_text_free(CallstackText *text)", "callstack_text_free(CallstackText *it)"), "");
}

#[test]
fn a_new_soname_and_a_new_number_allow_every_change() {
    let before = interface(GENERATED);
    let mut after = interface(&GENERATED.replace("uint32_t callstack_abi(void);", ""));
    after.insert("constant CALLSTACK_ABI".to_owned(), (CALLSTACK_ABI + 1).to_string());
    assert!(refusal(&before, &after).unwrap().contains("constant CALLSTACK_ABI was changed"), "the soname is the same");
    after.insert("soname".to_owned(), "libcallstack.so.0.2".to_owned());
    assert_eq!(refusal(&before, &after), None);
    after.insert("constant CALLSTACK_ABI".to_owned(), CALLSTACK_ABI.to_string());
    assert!(refusal(&before, &after).is_some(), "bindings compare the number");
}

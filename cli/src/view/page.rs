//! The page: one HTML file with its style, its script and its data.

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use super::snapshot::Snapshot;
use crate::chart::palette;

/// The first bytes of every page. A file is recognized as a page by these bytes.
const MARK: &str = "<!doctype html>\n<!-- A page of callstack view. -->\n";
const BODY: &str = include_str!("page/page.html");

/// The modules of the script, each before those that import it.
const MODULES: [&str; 13] = [
    include_str!("page/words.js"),
    include_str!("page/model.js"),
    include_str!("page/layout.js"),
    include_str!("page/theme.js"),
    include_str!("page/axis.js"),
    include_str!("page/strip.js"),
    include_str!("page/chart.js"),
    include_str!("page/tree.js"),
    include_str!("page/details.js"),
    include_str!("page/costliest.js"),
    include_str!("page/search.js"),
    include_str!("page/live.js"),
    include_str!("page/main.js"),
];

/// The style, with the colours of charts.
static STYLE: LazyLock<String> =
    LazyLock::new(|| format!("{}{}", palette::style_sheet(), include_str!("page/page.css")));

/// The modules as one text: without the lines that import and export names. The names are the same in all
/// modules.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let mut script = String::new();
    let mut is_import = false;
    for line in MODULES.iter().flat_map(|module| module.lines()) {
        is_import |= line.starts_with("import ");
        if !is_import {
            script.push_str(line.strip_prefix("export ").unwrap_or(line));
            script.push('\n');
        }
        // An import can have several lines; the name of the module is on the last.
        is_import &= !line.ends_with('"');
    }
    script
});

/// Where a page gets changes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Nowhere: it is a file.
    File,
    /// From the server that serves it.
    Server,
}

/// The page as a file that asks for nothing.
pub fn file(snapshot: &Snapshot) -> String {
    page(snapshot, Source::File)
}

/// The page of a server. The server tells the page what changes.
pub fn served(snapshot: &Snapshot) -> String {
    page(snapshot, Source::Server)
}

/// True if a file begins like a page.
pub fn is_page(beginning: &[u8]) -> bool {
    beginning.starts_with(MARK.as_bytes())
}

/// The number of bytes that [`is_page`] needs.
pub const MARK_BYTES: u64 = MARK.len() as u64;

fn page(snapshot: &Snapshot, source: Source) -> String {
    let policy = policy(source);
    let live = if source == Source::Server { " data-live" } else { "" };
    let data = snapshot.whole();
    let (style, script) = (STYLE.as_str(), SCRIPT.as_str());
    format!(
        "{MARK}<html lang=\"en\"{live}>\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>callstack</title>\n<style>{style}</style>\n</head>\n\
         {BODY}\n<script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script type=\"module\">{script}</script>\n</html>\n"
    )
}

/// The policy of the served page: it allows only the page's own style and script, and what the page asks of
/// its server.
pub fn served_policy() -> String {
    format!("{}; frame-ancestors 'none'", policy(Source::Server))
}

fn policy(source: Source) -> String {
    let connect = if source == Source::Server { "'self'" } else { "'none'" };
    format!(
        "default-src 'none'; script-src {}; style-src {}; connect-src {connect}; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(&SCRIPT),
        hash(&STYLE)
    )
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use callstack_core::frame::Timeline;
    use callstack_core::{MemoryStore, NewFrame, Stack, StackOptions};

    use super::*;

    fn snapshot() -> Snapshot {
        let stack = Stack::with_store(MemoryStore::new(), StackOptions::default()).unwrap();
        stack.push(NewFrame::new("<!-- </script><script>alert(1)</script>").root()).unwrap();
        let mut timeline = Timeline::default();
        stack.history().update_timeline(&mut timeline).unwrap();
        Snapshot::of(&stack, &timeline, None).unwrap()
    }

    /// The contents of the elements that begin with a tag.
    fn contents<'a>(page: &'a str, tag: &str, end: &str) -> Vec<&'a str> {
        page.split(tag).skip(1).filter_map(|rest| rest.split(end).next()).collect()
    }

    #[test]
    fn the_policy_allows_the_page_s_own_style_and_script_and_no_other() {
        let page = file(&snapshot());
        let scripts = contents(&page, "<script type=\"module\">", "</script>");
        let styles = contents(&page, "<style>", "</style>");
        assert_eq!((scripts.len(), styles.len(), page.matches("<script").count()), (1, 1, 2));
        assert!(page.contains(&format!("script-src {};", hash(scripts[0]))), "the hash is not that of the script");
        assert!(page.contains(&format!("style-src {};", hash(styles[0]))), "the hash is not that of the style");
        for part in ["default-src 'none'", "connect-src 'none'", "base-uri 'none'", "form-action 'none'"] {
            assert!(page.contains(part), "the policy lacks {part}");
        }
        assert!(
            served(&snapshot()).contains("connect-src 'self'") && served_policy().contains("frame-ancestors 'none'")
        );
        assert!(is_page(page.as_bytes()) && !is_page(b"<!doctype html>"));
    }

    #[test]
    fn the_script_has_no_import_and_nothing_that_makes_html_of_texts() {
        for forbidden in
            ["import ", "export ", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
        {
            let line = SCRIPT
                .lines()
                .find(|line| line.trim_start().starts_with(forbidden) || line.contains(&format!(".{forbidden}")));
            assert_eq!(line, None, "{forbidden}");
        }
        assert!(!SCRIPT.contains("</script") && !STYLE.contains("</style"));
    }
}

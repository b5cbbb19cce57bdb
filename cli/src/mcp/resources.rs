//! The resources: the tree, frames, and the logs of frames, for hosts that show them to people. Tools return
//! the same.

use callstack_core::context::Guidance;
use callstack_core::tools::conversation::{Conversation, newest_open};
use callstack_core::tree::outline;
use callstack_core::{Error, Handle, LogQuery, OutlineOptions, Stack};
use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

const TREE: &str = "stack://tree";
const FRAME: &str = "stack://frame/";
const LOG: &str = "/log";
const TEXT: &str = "text/plain";
/// The type of contexts.
const XML: &str = "application/xml";
/// The type of logs: a JSON object in each line.
const LINES: &str = "application/jsonl";
/// The number of open frames that are listed.
const LISTED: usize = 50;
/// The number of lines of a log that are shown, the last ones.
const LINES_SHOWN: usize = 200;

/// The tree, and the newest open frames.
///
/// # Errors
/// If a frame cannot be read.
pub fn list(stack: &Stack) -> Result<Vec<Resource>, Error> {
    let tree = Resource::new(TREE, "tree").with_title("All frames").with_mime_type(TEXT);
    let open: Vec<(Handle, String)> = stack.read(|tree| {
        newest_open(tree).into_iter().take(LISTED).map(|frame| (frame, tree.node(frame).title().to_owned())).collect()
    })?;
    let frame = |(frame, title): (Handle, String)| {
        Resource::new(format!("{FRAME}{frame}"), frame.to_string()).with_title(title).with_mime_type(XML)
    };
    Ok(std::iter::once(tree).chain(open.into_iter().map(frame)).collect())
}

pub fn templates() -> Vec<ResourceTemplate> {
    [
        (format!("{FRAME}{{handle}}"), "frame", "What an agent in this frame sees", XML),
        (format!("{FRAME}{{handle}}{LOG}"), "log", "What was said in the session of this frame", LINES),
    ]
    .map(|(uri, name, title, kind)| ResourceTemplate::new(uri, name).with_title(title).with_mime_type(kind))
    .into()
}

pub fn read(stack: &Stack, caller: &Conversation<'_>, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let missing = |why: String| ErrorData::resource_not_found(why, None);
    if uri == TREE {
        let text = stack.read(|tree| outline(tree, &OutlineOptions::default())).flatten();
        let text = text.map_err(|error| missing(error.to_string()))?;
        return Ok(contents(text, uri, TEXT));
    }
    let Some(name) = uri.strip_prefix(FRAME) else {
        return Err(missing(format!("there is no resource {uri}; there are {TREE}, {FRAME}f1 and {FRAME}f1{LOG}")));
    };
    let (name, is_log) = name.strip_suffix(LOG).map_or((name, false), |name| (name, true));
    // Titles are for agents; a resource has one name.
    let handle: Handle = name.parse().map_err(|_| missing(format!("{name} is not a handle, such as f1")))?;
    let frame = caller.resolve(&handle.to_string()).map_err(|refusal| missing(refusal.to_string()))?;
    if !is_log {
        let xml = caller.context(frame, Guidance::Brief).map_err(|refusal| missing(refusal.to_string()))?;
        return Ok(contents(xml, uri, XML));
    }
    let page =
        stack.log(frame).read(&LogQuery::default().tail(LINES_SHOWN)).map_err(|error| missing(error.to_string()))?;
    let lines: String = page.lines.iter().map(|line| format!("{}\n", line.entry)).collect();
    Ok(contents(lines, uri, LINES))
}

fn contents(text: String, uri: &str, kind: &str) -> ReadResourceResult {
    ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(kind)])
}

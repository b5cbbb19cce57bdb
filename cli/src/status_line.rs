//! A frame, how far its task is, and what it has cost, in one line: for the status line of an agent, and for
//! the title of a terminal.

use callstack_core::text::one_line;
use callstack_core::{Handle, Tree};

use crate::output::us_dollars;

/// The maximum number of characters of a title in the line.
const TITLE: usize = 40;

/// The line for a frame; without a frame the line for the active frame. Empty if nothing is open or planned.
pub fn of(tree: &Tree, frame: Option<Handle>) -> String {
    let frame = frame.or_else(|| tree.active());
    let overview = tree.overview(frame.map(|frame| tree.root(frame)));
    let mut parts = Vec::new();
    if let Some(frame) = frame {
        let title: String = one_line(tree.node(frame).title()).chars().take(TITLE).collect();
        parts.push(format!("{frame} {title}"));
    }
    if overview.frames > 1 {
        parts.push(format!("{} of {} done", overview.completed, overview.frames));
    }
    let cost = frame.map_or(0, |frame| tree.usage(frame).total_cost_micro_usd);
    parts.extend((cost > 0).then(|| us_dollars(cost)));
    let number = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    parts.extend(number(overview.asking.len(), "asks", "ask"));
    if frame.is_none() {
        parts.extend(number(overview.ready.len(), "can begin", "can begin"));
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use callstack_core::frame::ModelRequest;
    use callstack_core::{NewFrame, Stack};

    use super::*;

    #[test]
    fn the_line_names_the_frame_its_progress_its_cost_and_what_asks() {
        let stack = Stack::in_memory();
        let line = |frame: Option<Handle>| stack.read(|tree| of(tree, frame)).unwrap();
        assert_eq!(line(None), "");
        let shop = stack.push(NewFrame::new("Shop\u{1b}[2J").id("shop")).unwrap();
        assert_eq!(line(None), "f1 Shop [2J");
        let cart = stack.push(NewFrame::new("Cart").id("cart").below(shop)).unwrap();
        let mut request = ModelRequest::new("small");
        request.cost_micro_usd = 420_000;
        stack.record_usage(cart, request).unwrap();
        let taxes = stack.push(NewFrame::new("Taxes").id("taxes").below(shop)).unwrap();
        stack.block(taxes, "Which rate?", None).unwrap();
        assert_eq!(line(Some(cart)), "f2 Cart · 0 of 3 done · 0.4200 US dollars · 1 asks");
    }
}

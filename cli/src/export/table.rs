//! The frames as a table, a row for each, in CSV (RFC 4180).

use callstack_core::frame::ModelUsage;
use callstack_core::{Handle, Tree};

use crate::output::timestamp;

/// The columns of the table.
const COLUMNS: [&str; 18] = [
    "handle",
    "parent",
    "level",
    "status",
    "title",
    "criteria",
    "results",
    "artifacts",
    "decisions",
    "depends_on",
    "labels",
    "assignee",
    "created",
    "updated",
    "requests",
    "tokens_in",
    "tokens_out",
    "cost_usd",
];

/// The table of a frame and the frames below it, or of all frames. Requests, tokens and costs are those of
/// the frame itself.
pub fn table(tree: &Tree, frame: Option<Handle>) -> Result<String, csv::Error> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    let tops = frame.map_or_else(|| tree.roots().to_vec(), |frame| vec![frame]);
    let usages = tree.usage_by_frame();
    for handle in tops.iter().flat_map(|top| tree.subtree(*top)) {
        let node = tree.node(handle);
        let record = node.record();
        let usage: ModelUsage = record.usage.iter().sum();
        let cost = usages.get(handle.index()).map_or(0, |usage| usage.own_cost_micro_usd);
        let depends_on: Vec<String> = node.dependencies().iter().map(Handle::to_string).collect();
        let row: [String; COLUMNS.len()] = [
            handle.to_string(),
            node.parent().map(|parent| parent.to_string()).unwrap_or_default(),
            node.depth().to_string(),
            record.status.to_string(),
            record.title.clone(),
            record.success_criteria.clone(),
            record.results.clone().unwrap_or_default(),
            record.artifacts.join("\n"),
            record.decisions.join("\n"),
            depends_on.join(" "),
            record.labels.join("\n"),
            record.assignee.clone().unwrap_or_default(),
            time(record.created_at),
            time(record.updated_at),
            usage.requests.to_string(),
            usage.input().to_string(),
            usage.answer().to_string(),
            if cost == 0 { String::new() } else { format!("{:.6}", cost as f64 / 1e6) },
        ];
        writer.write_record(row.map(harmless))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A cell that no spreadsheet program takes for a formula.
fn harmless(cell: String) -> String {
    let is_formula = cell.starts_with(['\t', '\r', '\n']) || cell.trim_start().starts_with(['=', '+', '-', '@']);
    if is_formula { format!("'{cell}") } else { cell }
}

fn time(milliseconds: u64) -> String {
    timestamp(milliseconds).map(|time| time.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use callstack_core::{NewFrame, PopStatus, Stack};

    use super::*;

    #[test]
    fn cells_are_quoted_and_no_formulas() {
        let stack = Stack::in_memory();
        stack.push(NewFrame::new("=SUM(A1)").id("root").criteria("one, \"two\"\nthree")).unwrap();
        stack.plan(NewFrame::new("Later").id("later").below("root")).unwrap();
        stack.pop("root", PopStatus::Completed, "done").unwrap();
        let text = stack.read(|tree| table(tree, None)).unwrap().unwrap();
        let mut lines = text.split("\r\n");
        assert_eq!(lines.next().unwrap().split(',').count(), COLUMNS.len());
        let root = lines.next().unwrap();
        assert!(root.starts_with("f1,,0,completed,'=SUM(A1),\"one, \"\"two\"\"\nthree\",done,,,,"), "{root}");
        assert!(lines.next().unwrap().starts_with("f2,f1,1,planned,Later,,,,,,"), "{text}");
    }
}

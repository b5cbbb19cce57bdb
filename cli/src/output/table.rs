//! Tables of numbers. If a table is too wide, each of its rows becomes a list.

use std::io;

use unicode_width::UnicodeWidthStr;

use super::page::{Line, Page};
use super::style::{EMPHASIS, FAINT};

/// Space between columns.
const GAP: usize = 2;

/// A row: its label, and a cell for each column.
pub struct Row {
    pub label: String,
    pub cells: Vec<String>,
}

/// Writes rows below the names of their columns. Labels are to the left, cells to the right.
pub fn write(page: &mut Page<'_>, columns: &[&str], rows: &[Row]) -> io::Result<()> {
    let label = rows.iter().map(|row| row.label.width()).max().unwrap_or(0);
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, name)| rows.iter().map(|row| row.cells[index].width()).max().unwrap_or(0).max(name.width()))
        .collect();
    if label + widths.iter().map(|width| width + GAP).sum::<usize>() > page.width() {
        return lists(page, columns, rows);
    }
    let header =
        columns.iter().zip(&widths).map(|(name, width)| format!("{:GAP$}{name:>width$}", "")).collect::<String>();
    page.line(Line::new().styled(FAINT, format!("{:label$}{header}", "")))?;
    for row in rows {
        let cells = row.cells.iter().zip(&widths);
        let cells = cells.map(|(cell, width)| format!("{:GAP$}{cell:>width$}", "")).collect::<String>();
        let gap = label - row.label.width();
        page.line(Line::new().plain(format!("{}{:gap$}{cells}", row.label, "")))?;
    }
    Ok(())
}

fn lists(page: &mut Page<'_>, columns: &[&str], rows: &[Row]) -> io::Result<()> {
    let width = columns.iter().map(|name| name.width()).max().unwrap_or(0);
    for row in rows {
        page.line(Line::new().styled(EMPHASIS, row.label.as_str()))?;
        for (name, cell) in columns.iter().zip(&row.cells).filter(|(_, cell)| !cell.is_empty()) {
            page.line(Line::new().styled(FAINT, format!("  {name:width$}  ")).plain(cell.as_str()))?;
        }
    }
    Ok(())
}

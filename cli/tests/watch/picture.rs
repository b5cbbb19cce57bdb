//! The pictures of the documents: the full screen of a stack on which agents work, as an SVG and as text.
//! UPDATE_GOLDEN=1 rewrites them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use callstack_core::frame::ModelRequest;
use callstack_core::{Handle, NewFrame, PopStatus, Results, Stack, StackOptions};
use pseudo_terminal::{Cell, Color, Screen, text_of};

use crate::scene::Scene;

const MINUTE: u64 = 60_000;
/// The size of a cell, in pixels, and the room around the screen.
const CELL: (f64, f64) = (8.4, 19.0);
const MARGIN: f64 = 14.0;
const BACKGROUND: &str = "#16181d";
const FOREGROUND: &str = "#d7dae0";
/// The largest size of the picture, in bytes.
const MOST_BYTES: usize = 60 * 1024;

/// Makes a stack whose past is given minute by minute.
struct Story {
    stack: Stack,
    now: Arc<AtomicU64>,
}

impl Story {
    fn begin(folder: &Path) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        // The half minute keeps the ages from changing while the test runs.
        let begin = u64::try_from(now.as_millis()).unwrap() - 48 * MINUTE - MINUTE / 2;
        let now = Arc::new(AtomicU64::new(begin));
        let clock = now.clone();
        let clock: Arc<dyn Fn() -> u64 + Send + Sync> = Arc::new(move || clock.load(Ordering::Relaxed));
        let options = StackOptions::default().mirror(false).clock(clock);
        Self { stack: Stack::open(folder, options).unwrap(), now }
    }

    fn wait(&self, minutes: u64) {
        self.now.fetch_add(minutes * MINUTE, Ordering::Relaxed);
    }

    fn push(&self, below: Handle, title: &str, criteria: &str) -> Handle {
        let session = format!("ses_{}", title.to_lowercase().replace(' ', "_"));
        self.stack.push(NewFrame::new(title).criteria(criteria).below(below).id(session)).unwrap()
    }

    fn uses(&self, frame: Handle, input: u64, output: u64) {
        let request = ModelRequest { uncached_input: input, output, ..ModelRequest::new("large") };
        self.stack.record_usage(frame, request).unwrap();
    }

    fn done(&self, frame: Handle, results: &str) {
        self.stack.pop(frame, PopStatus::Completed, Results::new(results)).unwrap();
    }
}

/// A shop: some parts are done, several agents work, one frame waits for an answer, and the rest is planned.
fn tell(folder: &Path) {
    let story = Story::begin(folder);
    let stack = &story.stack;
    let shop =
        stack.push(NewFrame::new("Open the web shop").criteria("Customers can order and pay").id("ses_shop")).unwrap();
    story.uses(shop, 18_400, 2_100);
    story.wait(2);
    let cart = story.push(shop, "Shopping cart", "Totals are right for all rates");
    for (title, results, tokens) in
        [("Store the cart", "src/cart.rs", 9_300), ("Sum the totals", "src/totals.rs", 14_800)]
    {
        let task = story.push(cart, title, "");
        story.uses(task, tokens, tokens / 10);
        story.wait(4);
        story.done(task, results);
    }
    story.done(cart, "Cart with totals in src/cart.rs, 9 tests");
    let search = story.push(shop, "Search", "Results in 50 ms");
    story.uses(search, 31_000, 4_000);
    story.wait(6);
    stack.pop(search, PopStatus::Failed, "The index does not fit into memory").unwrap();
    let again = stack.retry(search, Some("Keep the index on disk".to_owned())).unwrap().handle;
    stack.activate(again).unwrap();
    story.uses(again, 22_700, 3_900);
    story.wait(3);
    let tax = story.push(shop, "Taxes", "Every order has the right VAT, in all countries that we ship to");
    stack.add_decision(tax, "Rates come from a table, not from code").unwrap();
    stack.add_decision(tax, "Prices are integers in cents").unwrap();
    stack.add_artifact(tax, "src/tax/rates.csv").unwrap();
    story.uses(tax, 12_500, 1_300);
    story.wait(7);
    let pay = story.push(shop, "Payments", "Cards and vouchers work");
    let cards = story.push(pay, "Pay by card", "");
    story.uses(cards, 8_900, 1_000);
    story.wait(5);
    let vouchers = story.push(pay, "Redeem vouchers", "");
    story.uses(vouchers, 4_100, 600);
    let refunds = stack.plan(NewFrame::new("Refund an order").below(pay).depends_on(cards)).unwrap();
    let question = "Which VAT rate applies to gift cards: that of the goods, or none until they are redeemed?";
    stack.block(tax, question, Some(Results::new("All rates but those of gift cards work"))).unwrap();
    let invoice = NewFrame::new("Send the invoice").below(shop).depends_on(tax).depends_on(pay);
    stack.plan(invoice).unwrap();
    stack.plan(NewFrame::new("Measure the load").below(shop).depends_on(refunds)).unwrap();
    let wishes = stack.plan(NewFrame::new("Wish lists").below(shop)).unwrap();
    stack.invalidate(wishes, "Nobody wants them").unwrap();
    let blog = stack.push(NewFrame::new("Move the blog").root().id("ses_blog")).unwrap();
    story.uses(blog, 5_200, 700);
    stack.set_active(cards).unwrap();
    story.wait(17);
    stack.clone().close().unwrap();
}

#[test]
fn the_picture_of_the_readme_is_the_screen() {
    let scene = Scene { folder: tempfile::tempdir().unwrap() };
    tell(scene.folder.path());
    let mut terminal = scene.watch((120, 30));
    terminal.wait_for_text("Open the web shop");
    terminal.press("w");
    let screen = terminal.wait_for_text("waits for you: a answers");
    let picture = svg(&screen, scene.folder.path().to_str().unwrap(), ".callstack");
    assert!(picture.len() <= MOST_BYTES, "{} bytes", picture.len());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/watch.svg");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, picture).unwrap();
        return;
    }
    let golden = fs::read_to_string(&file).unwrap_or_default();
    let screen = text_of(&screen);
    assert!(picture == golden, "the screen differs from {}; UPDATE_GOLDEN=1 rewrites it:\n{screen}", file.display());
}

#[test]
fn the_screen_in_the_documentation_is_the_screen() {
    let scene = Scene { folder: tempfile::tempdir().unwrap() };
    tell(scene.folder.path());
    let terminal = scene.watch((80, 19));
    let screen = terminal.wait_for_text("Open the web shop");
    let name = scene.folder.path().to_str().unwrap();
    let shown = text_of(&screen).replace(name, &format!("{:<width$}", ".callstack", width = name.len()));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    let document = fs::read_to_string(&file).unwrap();
    let heading = "### The full screen of `watch`\n\n```text\n";
    let (before, rest) = document.split_once(heading).unwrap();
    let (block, after) = rest.split_once("\n```\n").unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, format!("{before}{heading}{shown}\n```\n{after}")).unwrap();
        return;
    }
    assert_eq!(block, shown, "the screen differs from {}; UPDATE_GOLDEN=1 rewrites it", file.display());
}

/// The look of a run of cells.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    color: &'static str,
    is_bold: bool,
    is_dim: bool,
    is_underlined: bool,
    background: Option<&'static str>,
}

impl Look {
    fn of(cell: &Cell) -> Self {
        let color = named(cell.fgcolor());
        let (color, background) = if cell.inverse() { (BACKGROUND, Some(color)) } else { (color, None) };
        let is_dim = cell.dim();
        Self { color, is_bold: cell.bold(), is_dim, is_underlined: cell.underline(), background }
    }
}

fn named(color: Color) -> &'static str {
    match color {
        Color::Idx(1) => "#ff7b72",
        Color::Idx(2) => "#7ee787",
        Color::Idx(3) => "#f2cc60",
        Color::Idx(6) => "#56d4dd",
        _ => FOREGROUND,
    }
}

/// A screen as an SVG. `folder` is shown as `name`.
fn svg(screen: &Screen, folder: &str, name: &str) -> String {
    let (rows, columns) = screen.size();
    let (width, height) =
        (f64::from(columns.get()) * CELL.0 + 2.0 * MARGIN, f64::from(rows.get()) * CELL.1 + 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" \
         font-size=\"14\">\n<title>callstack watch</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    // The lines between the parts are one path, so that they have no gaps.
    let mut lines = String::new();
    for row in 0..rows.get() {
        draw_backgrounds(screen, row, &mut svg);
        let mut runs: BTreeMap<u16, (Look, String)> = BTreeMap::new();
        let mut open: Option<u16> = None;
        for column in 0..columns.get() {
            let cell = screen.cell(row, column).unwrap();
            if draw_line(cell.contents(), column, row, &mut lines) {
                open = None;
                continue;
            }
            let look = Look::of(cell);
            let text = if cell.has_contents() { cell.contents() } else { " " };
            let run = open.and_then(|start| runs.get_mut(&start)).filter(|(known, _)| *known == look);
            match run {
                Some((_, known)) => known.push_str(text),
                None => {
                    runs.insert(column, (look, text.to_owned()));
                    open = Some(column);
                }
            }
        }
        for (column, (look, text)) in runs {
            let text = if row == 0 { text.replace(folder, name) } else { text };
            draw_run(&look, &text, column, row, &mut svg);
        }
    }
    writeln!(svg, "<path d=\"{lines}\" stroke=\"{FOREGROUND}\" stroke-opacity=\".35\" fill=\"none\"/>\n</svg>")
        .unwrap();
    svg
}

/// Draws the background of the reversed cells of a row.
fn draw_backgrounds(screen: &Screen, row: u16, svg: &mut String) {
    let (_, columns) = screen.size();
    let background = |column: u16| screen.cell(row, column).and_then(|cell| Look::of(cell).background);
    let mut start = 0;
    for column in 1..=columns.get() {
        if background(column) == background(start) {
            continue;
        }
        if let Some(color) = background(start) {
            let (x, y) = (f64::from(start) * CELL.0 + MARGIN, f64::from(row) * CELL.1 + MARGIN);
            let width = f64::from(column - start) * CELL.0;
            let height = CELL.1;
            writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{color}\"/>"
            )
            .unwrap();
        }
        start = column;
    }
}

/// Draws a run of cells: each piece between wide gaps is drawn separately, at its column.
fn draw_run(look: &Look, text: &str, column: u16, row: u16, svg: &mut String) {
    let (x, y) = (f64::from(column) * CELL.0 + MARGIN, f64::from(row) * CELL.1 + MARGIN);
    let mut place = 0;
    for piece in text.split("  ") {
        let leading = piece.chars().take_while(|character| *character == ' ').count();
        let shown = piece.trim();
        if !shown.is_empty() {
            let x = x + (place + leading) as f64 * CELL.0;
            let length = shown.chars().count() as f64 * CELL.0;
            let bold = if look.is_bold { " font-weight=\"bold\"" } else { "" };
            let dim = if look.is_dim { " fill-opacity=\".6\"" } else { "" };
            let line = if look.is_underlined { " text-decoration=\"underline\"" } else { "" };
            let shown = shown.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{length:.1}\" fill=\"{}\"{bold}{dim}{line}>{shown}</text>",
                y + 14.0,
                look.color
            )
            .unwrap();
        }
        place += piece.chars().count() + 2;
    }
}

/// Draws a character that is a line. Returns false for other characters.
fn draw_line(character: &str, column: u16, row: u16, path: &mut String) -> bool {
    let (left, top) = (f64::from(column) * CELL.0 + MARGIN, f64::from(row) * CELL.1 + MARGIN);
    let (right, bottom, middle, center) = (left + CELL.0, top + CELL.1, left + CELL.0 / 2.0, top + CELL.1 / 2.0);
    let across = |from: f64, to: f64| format!("M{from:.1} {center:.1}H{to:.1}");
    let down = |from: f64, to: f64| format!("M{middle:.1} {from:.1}V{to:.1}");
    path.push_str(&match character {
        "─" => across(left, right),
        "│" => down(top, bottom),
        "├" => down(top, bottom) + &across(middle, right),
        "└" => down(top, center) + &across(middle, right),
        "┬" => across(left, right) + &down(center, bottom),
        "┴" => across(left, right) + &down(top, center),
        _ => return false,
    });
    true
}

//! A refusal on the screen: the reason, and the next step that helps.

use anstyle::{AnsiColor, Style};

use crate::failure::Failure;
use crate::output::{FAINT, Line, Lines, Page};
use crate::same_stack::SameStack;

pub const TROUBLE: Style = AnsiColor::Red.on_default().bold();
/// The mark before the reason, and its width.
const MARK: &str = "! ";
/// A refusal never has more lines.
const MOST_LINES: usize = 12;

/// The reason why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    message: String,
    next_step: Option<String>,
}

impl Refusal {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), next_step: None }
    }

    /// A failed change. The commands of its next step name the stack.
    pub fn of(failure: Failure, same_stack: &SameStack) -> Self {
        let failure = failure.of_stack(same_stack);
        Self { message: failure.message().to_owned(), next_step: failure.next_step().map(str::to_owned) }
    }

    /// The refusal on one line, without its next step.
    pub fn line(&self) -> Line {
        Line::new().styled(TROUBLE, MARK).said(&self.message)
    }

    /// True if a line of this width shows the whole refusal.
    pub fn fits(&self, width: usize) -> bool {
        self.next_step.is_none() && self.line().width() <= width
    }

    /// The refusal in lines of this width.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines = Lines::at_most(MOST_LINES);
        let mut page = Page::collecting(&mut lines, width.saturating_sub(MARK.len()));
        let next_step = self.next_step.as_ref().map(|step| format!("next: {step}"));
        let texts = [Some(&self.message), next_step.as_ref()];
        // A longer text is cut.
        let _ = texts.into_iter().flatten().try_for_each(|text| page.text(0, text));
        let marks = std::iter::once(Line::new().styled(TROUBLE, MARK))
            .chain(std::iter::repeat_with(|| Line::new().styled(FAINT, " ".repeat(MARK.len()))));
        marks.zip(lines.lines).map(|(mark, line)| mark.followed_by(line)).collect()
    }
}

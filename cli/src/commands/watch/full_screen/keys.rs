//! The keys: what the person wants with each key, and the table of the help.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The wish of the person when a key is pressed, while nothing is being typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Move(Step),
    Left,
    Right,
    Fold,
    Open,
    Back,
    SwitchPane,
    NextView,
    PreviousView,
    Follow,
    NextWaiting,
    Search,
    NextMatch,
    PreviousMatch,
    NextFilter,
    Filter(char),
    Answer,
    Stop,
    Retry,
    Invalidate,
    Complete,
    Begin,
    Plan,
    Edit,
    Undo,
    AtWork,
    Help,
    Repaint,
    Suspend,
    Interrupt,
    Quit,
}

/// A movement of the selection, or of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// The keys as the help lists them, by their purpose.
pub const HELP: [(&str, &[(&str, &str)]); 4] = [
    (
        "Look",
        &[
            ("↑ ↓ k j", "frame before, next frame"),
            ("PgUp PgDn", "page up, page down"),
            ("Home End gG", "first, last"),
            ("← → h l", "fold, unfold; go up, down"),
            ("Space", "fold, unfold"),
            ("f", "follow the active frame"),
            ("w", "next one waiting for you"),
            ("c", "who is at work; the last hour"),
        ],
    ),
    (
        "Find",
        &[
            ("/", "search title, handle, ID"),
            ("n N", "next match, match before"),
            ("s", "next filter"),
            ("0 9", "the plan, all frames"),
            ("1 2", "waits for you, unfinished"),
            ("3 4", "in_progress, blocked"),
            ("5 6", "planned, completed"),
            ("7 8", "failed, invalidated"),
        ],
    ),
    (
        "Details",
        &[
            ("Enter Tab", "go to the details"),
            ("Esc Tab", "go back to the tree"),
            ("v V", "next view, view before"),
            ("↑ ↓ ← →", "scroll, change the view"),
        ],
    ),
    (
        "Act",
        &[
            ("a", "answer what waits for you"),
            ("x", "stop it and what is below"),
            ("r", "plan another attempt"),
            ("i", "invalidate, with a reason"),
            ("b d", "begin it; complete it"),
            ("p e", "plan below it; its title"),
            ("u", "undo your last command"),
            ("? Ctrl-L", "this help; draw again"),
            ("q Ctrl-Z", "quit; suspend"),
        ],
    ),
];

impl Wish {
    pub fn of(key: KeyEvent) -> Option<Self> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Some(Self::Interrupt),
                KeyCode::Char('z') => Some(Self::Suspend),
                KeyCode::Char('l') => Some(Self::Repaint),
                _ => None,
            };
        }
        if key.modifiers.contains(KeyModifiers::ALT) {
            return None;
        }
        Some(match key.code {
            KeyCode::Up | KeyCode::Char('k') => Self::Move(Step::Up),
            KeyCode::Down | KeyCode::Char('j') => Self::Move(Step::Down),
            KeyCode::PageUp => Self::Move(Step::PageUp),
            KeyCode::PageDown => Self::Move(Step::PageDown),
            KeyCode::Home | KeyCode::Char('g') => Self::Move(Step::First),
            KeyCode::End | KeyCode::Char('G') => Self::Move(Step::Last),
            KeyCode::Left | KeyCode::Char('h') => Self::Left,
            KeyCode::Right | KeyCode::Char('l') => Self::Right,
            KeyCode::Char(' ') => Self::Fold,
            KeyCode::Enter => Self::Open,
            KeyCode::Esc => Self::Back,
            KeyCode::Tab | KeyCode::BackTab => Self::SwitchPane,
            KeyCode::Char('v') => Self::NextView,
            KeyCode::Char('V') => Self::PreviousView,
            KeyCode::Char('f') => Self::Follow,
            KeyCode::Char('w') => Self::NextWaiting,
            KeyCode::Char('/') => Self::Search,
            KeyCode::Char('n') => Self::NextMatch,
            KeyCode::Char('N') => Self::PreviousMatch,
            KeyCode::Char('s') => Self::NextFilter,
            KeyCode::Char(digit @ '0'..='9') => Self::Filter(digit),
            KeyCode::Char('a') => Self::Answer,
            KeyCode::Char('x') => Self::Stop,
            KeyCode::Char('r') => Self::Retry,
            KeyCode::Char('i') => Self::Invalidate,
            KeyCode::Char('d') => Self::Complete,
            KeyCode::Char('b') => Self::Begin,
            KeyCode::Char('p') => Self::Plan,
            KeyCode::Char('e') => Self::Edit,
            KeyCode::Char('u') => Self::Undo,
            KeyCode::Char('c') => Self::AtWork,
            KeyCode::Char('?') => Self::Help,
            KeyCode::Char('q') => Self::Quit,
            _ => return None,
        })
    }
}

//! What has happened in a world, in words: for a person who looks for the fault.

use std::fmt::Write;

/// The most lines that are kept.
const KEPT: usize = 4_000;

/// The lines of a story. Without [`Story::telling`] nothing is kept, because a world makes millions of steps.
#[derive(Debug, Default)]
pub struct Story {
    is_told: bool,
    lines: Vec<String>,
    /// A hash of everything that has happened, by which two runs are compared.
    hash: u64,
}

impl Story {
    /// A story that is kept.
    pub fn telling() -> Self {
        Self { is_told: true, ..Self::default() }
    }

    /// Adds a line: when, who, and what.
    pub fn tell(&mut self, passed: u64, depth: usize, who: &str, what: &dyn Fn() -> String) {
        if !self.is_told || self.lines.len() >= KEPT {
            return;
        }
        let mut line = format!("{:>10.3} s  {}{who}: ", passed as f64 / 1e3, "    ".repeat(depth));
        // Writing into a text cannot fail.
        let _ = write!(line, "{}", what());
        self.lines.push(line);
    }

    /// Mixes a number into the hash.
    fn mix(&mut self, number: u64) {
        self.hash = (self.hash.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Mixes bytes into the hash.
    pub fn mix_all(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut number = [0; 8];
            number[..part.len()].copy_from_slice(part);
            self.mix(u64::from_le_bytes(number));
        }
    }

    /// The hash of everything that has happened.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The lines.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }
}

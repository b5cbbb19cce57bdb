//! What has happened in a world, in words: for a person who looks for the fault.

use serde::Serialize;

/// The most lines that are kept.
const KEPT: usize = 4_000;

/// The lines of a story, and a hash of it. By default nothing is kept, because worlds make millions of steps.
#[derive(Debug, Default)]
pub struct Story {
    is_told: bool,
    is_hashed: bool,
    lines: Vec<String>,
    /// A hash of everything that has happened, by which two runs are compared.
    hash: u64,
}

impl Story {
    /// A story that keeps only its hash.
    pub fn hashing() -> Self {
        Self { is_hashed: true, ..Self::default() }
    }

    /// A story that is kept.
    pub fn telling() -> Self {
        Self { is_told: true, ..Self::hashing() }
    }

    /// Adds a line: when, who, and what.
    pub fn tell(&mut self, passed: u64, depth: usize, who: &str, what: &dyn Fn() -> String) {
        if !self.is_told || self.lines.len() >= KEPT {
            return;
        }
        let mut line = format!("{:>10.3} s  {}{who}: ", passed as f64 / 1e3, "    ".repeat(depth));
        line.push_str(&what());
        self.lines.push(line);
    }

    /// Mixes what has happened into the hash.
    pub fn mix<T: Serialize>(&mut self, happened: &T) {
        if !self.is_hashed {
            return;
        }
        let text = serde_json::to_string(happened).unwrap_or_default();
        for part in text.as_bytes().chunks(8) {
            let mut number = [0; 8];
            number[..part.len()].copy_from_slice(part);
            let mixed = self.hash.rotate_left(5) ^ u64::from_le_bytes(number);
            self.hash = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    /// The hash of everything that has happened; 0 if it is not kept.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The lines.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }
}

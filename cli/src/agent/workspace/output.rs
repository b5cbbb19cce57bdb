//! The output of a command: keeps the beginning and the end, in bounded process memory.

use std::collections::VecDeque;

use super::LIMIT;

/// Number of characters that are shown of the beginning of a long output. The rest of the limit is for the
/// end, which usually has the errors.
const BEGINNING: usize = LIMIT / 4;
/// Number of bytes that are kept of the beginning, and of the end: the maximum size of the shown characters.
const KEPT: usize = LIMIT * 4;

/// Collects any number of bytes, but keeps only the first and the last ones.
#[derive(Default)]
pub struct Output {
    beginning: Vec<u8>,
    end: VecDeque<u8>,
    total: usize,
}

impl Output {
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT - self.beginning.len()));
        self.beginning.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(KEPT)..];
        let superfluous = (self.end.len() + rest.len()).saturating_sub(KEPT);
        self.end.drain(..superfluous);
        self.end.extend(rest);
    }

    /// The text, with a note in place of an omitted part.
    pub fn text(&self) -> String {
        let end: Vec<u8> = self.end.iter().copied().collect();
        let is_whole = self.total == self.beginning.len() + end.len();
        if is_whole {
            let text = lossy(&[&self.beginning[..], &end].concat());
            let total = text.chars().count();
            if total <= LIMIT {
                return text;
            }
            return cut(&text, &text, &format!("{} characters", total - LIMIT));
        }
        cut(&lossy(&self.beginning), &lossy(&end), &format!("about {} bytes", self.total - LIMIT))
    }

    /// The newest characters, with a note if there are older ones.
    pub fn newest(&self, characters: usize) -> String {
        let characters = characters.min(LIMIT);
        let end: Vec<u8> = self.end.iter().copied().collect();
        let text = lossy(&if end.len() < KEPT { [&self.beginning[..], &end].concat() } else { end });
        let skipped = text.chars().count().saturating_sub(characters);
        if skipped == 0 && self.total <= KEPT {
            return text;
        }
        let newest: String = text.chars().skip(skipped).collect();
        format!("[… older output is left out …]\n{newest}")
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn cut(beginning: &str, end: &str, missing: &str) -> String {
    let first: String = beginning.chars().take(BEGINNING).collect();
    let skipped = end.chars().count().saturating_sub(LIMIT - BEGINNING);
    let last: String = end.chars().skip(skipped).collect();
    format!("{first}\n[… {missing} are left out …]\n{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_whole() {
        let mut output = Output::default();
        output.push("grüße\n".as_bytes());
        output.push(b"bye");
        assert_eq!(output.text(), "grüße\nbye");
    }

    #[test]
    fn the_newest_output_is_its_end() {
        let mut output = Output::default();
        assert_eq!(output.newest(10), "");
        output.push("grüße\n".as_bytes());
        assert_eq!(output.newest(10), "grüße\n");
        assert_eq!(output.newest(3), "[… older output is left out …]\nße\n");
        // Around the sizes at which parts are dropped.
        for filling in [KEPT - 10, KEPT, 2 * KEPT, 3 * KEPT] {
            output.push(&vec![b'x'; filling]);
            output.push(b"the end");
            assert_eq!(output.newest(8), "[… older output is left out …]\nxthe end");
        }
    }

    #[test]
    fn of_long_output_beginning_and_end_are_kept() {
        for total in [10_001, 79_999, 80_001, 1_000_000] {
            let mut output = Output::default();
            let bytes: Vec<u8> = (0..total).map(|place| b'a' + (place % 26) as u8).collect();
            bytes.chunks(777).for_each(|chunk| output.push(chunk));
            assert!(output.end.len() <= KEPT && output.beginning.len() <= KEPT);
            let text = output.text();
            let (first, last) = text.split_once("\n[… ").unwrap();
            let (note, last) = last.split_once(" …]\n").unwrap();
            assert_eq!(first.as_bytes(), &bytes[..BEGINNING]);
            assert_eq!(last.as_bytes(), &bytes[total - (LIMIT - BEGINNING)..]);
            assert!(note.contains(&(total - LIMIT).to_string()), "{note}");
        }
    }
}

//! The data of server-sent events, line by line.

/// The length up to which a line is kept, in bytes. The last event of Responses holds the whole answer.
const LONGEST: usize = 64 << 20;
/// The beginning of a line with data.
const DATA: &[u8] = b"data:";

/// Events. Their last line can be unfinished.
#[derive(Default)]
pub struct Events {
    line: Vec<u8>,
    /// The line is longer than the part that is kept.
    is_cut: bool,
}

impl Events {
    /// Passes on the data of each line that this piece ends.
    pub fn read(&mut self, mut piece: &[u8], mut next: impl FnMut(&[u8])) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = (&piece[..end], &piece[end + 1..]);
            match self.line.is_empty() {
                true => hand_on(line, &mut next),
                false => {
                    self.keep(line);
                    if !self.is_cut {
                        hand_on(&self.line, &mut next);
                    }
                }
            }
            self.line.clear();
            self.is_cut = false;
            piece = rest;
        }
        self.keep(piece);
    }

    fn keep(&mut self, part: &[u8]) {
        self.is_cut |= self.line.len() + part.len() > LONGEST;
        if !self.is_cut {
            self.line.extend_from_slice(part);
        }
    }
}

fn hand_on(line: &[u8], next: &mut impl FnMut(&[u8])) {
    if let Some(data) = line.strip_prefix(DATA) {
        next(data.trim_ascii());
    }
}

//! How far the transcripts of conversations were read.

use serde::{Deserialize, Serialize};

use super::Tree;
use crate::frame::{Handle, TranscriptPosition};

/// The number of conversations for which this is remembered.
const MOST_TRANSCRIPTS: usize = 1_000;

/// How far a transcript was read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Transcript {
    /// The revision of the last part.
    revision: u64,
    /// The frame in whose log the last part is.
    pub(super) frame: Handle,
    position: TranscriptPosition,
}

impl Tree {
    /// How far the transcript of a conversation was read. Also the frame in whose log the last part is, if it
    /// is in a log ([`TranscriptPosition::is_outside`]). `None`: the transcript was not read, or it is
    /// forgotten because many other transcripts were read since then.
    pub fn transcript(&self, conversation: &str) -> Option<(Handle, &TranscriptPosition)> {
        self.transcripts.get(conversation).map(|transcript| (transcript.frame, &transcript.position))
    }

    pub(super) fn note_transcript(&mut self, frame: Handle, conversation: &str, position: &TranscriptPosition) {
        let transcript = Transcript { revision: self.revision, frame, position: position.clone() };
        self.transcripts.insert(conversation.to_owned(), transcript);
        if self.transcripts.len() > MOST_TRANSCRIPTS
            && let Some(oldest) = self.transcripts.iter().min_by_key(|(_, transcript)| transcript.revision)
        {
            let oldest = oldest.0.clone();
            self.transcripts.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transcripts_that_were_read_last_are_remembered() {
        let mut tree = Tree::new();
        for number in 0..=MOST_TRANSCRIPTS {
            tree.revision = number as u64;
            let position = TranscriptPosition { offset: 7, ..TranscriptPosition::default() };
            let conversation = format!("claude/{}", MOST_TRANSCRIPTS - number);
            tree.note_transcript(Handle::from_index(0).unwrap(), &conversation, &position);
        }
        assert_eq!(tree.transcripts.len(), MOST_TRANSCRIPTS);
        assert!(tree.transcript(&format!("claude/{MOST_TRANSCRIPTS}")).is_none(), "the oldest one is forgotten");
        assert_eq!(tree.transcript("claude/0").map(|(_, position)| position.offset), Some(7));
    }
}

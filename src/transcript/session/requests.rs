//! What answers have used: each answer once, with its last numbers.

use super::{Request, Session};
use crate::text::fnv_of;
use crate::tree::Command;

impl Session {
    /// Notes what an answer has used; lines that repeat an answer replace it.
    pub(super) fn note_request(&mut self, file: usize, mut request: Request) {
        let place = self.place(file);
        let stream = &mut self.streams[file];
        request.time = stream.time;
        if request.used.model.is_empty() {
            request.used.model.clone_from(&stream.model);
        }
        if request.used.duration == 0 && stream.asked > 0 {
            request.used.duration = stream.time.saturating_sub(stream.asked);
        }
        if let Some((known, _)) =
            stream.request.as_mut().filter(|(known, _)| known.id == request.id && !known.id.is_empty())
        {
            // Early lines have what was known when the answer began.
            if request.used.output >= known.used.output {
                *known = request;
            }
            return;
        }
        self.count_request(file);
        self.streams[file].request = Some((request, place));
    }

    pub(super) fn count_request(&mut self, file: usize) {
        let Some((request, frame)) = self.streams[file].request.take() else { return };
        let number = fnv_of(&request.id);
        if request.id.is_empty() || self.counted.insert(number) {
            let now = std::mem::replace(&mut self.now, request.time);
            self.command(Command::RecordUsage { frame: frame.into(), request: Box::new(request.used) });
            self.now = now;
        }
    }
}

//! The frames of snapshots and the logs of a medium, as the library asks for them.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use callstack_core::archive::{Archive, ArchiveQuery, ArchivedFrame, ArchivedPlace};
use callstack_core::store::StoredLog;
use callstack_core::{Handle, LogReader, Result};

use super::contents::{Contents, Frames, Kept};
use super::{Call, Fate, Medium, Session, strikes};

/// Maximum number of frames that are read at a time.
const PAGE: usize = 64;

/// The frames of the newest snapshot, or of a base.
pub(super) enum MediumArchive {
    Newest { medium: Arc<Medium>, session: Arc<Session>, fate: Arc<dyn Fate> },
    Base(Arc<Kept>),
}

impl MediumArchive {
    pub(super) fn newest(medium: &Arc<Medium>, session: &Arc<Session>, fate: &Arc<dyn Fate>) -> Self {
        Self::Newest { medium: medium.clone(), session: session.clone(), fate: fate.clone() }
    }

    /// The contents as the process sees them: those of its transaction, if it is in one.
    fn contents(&self) -> Option<Contents> {
        let Self::Newest { medium, session, .. } = self else { return None };
        Some(session.0.lock().clone().unwrap_or_else(|| medium.shared.lock().contents.clone()))
    }

    fn with<T: Default>(&self, run: impl FnOnce(&Kept) -> T) -> Result<T> {
        Ok(match self {
            Self::Base(kept) => run(kept),
            Self::Newest { fate, .. } => {
                strikes(fate, Call::Fetch)?;
                self.contents().and_then(|contents| contents.newest).map(|kept| run(&kept)).unwrap_or_default()
            }
        })
    }

    fn with_frames<T: Default>(&self, run: impl FnOnce(&Frames) -> T) -> Result<T> {
        self.with(|kept| run(&kept.frames))
    }
}

impl fmt::Debug for MediumArchive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MediumArchive")
    }
}

impl Archive for MediumArchive {
    fn frames(&self, handle: Handle) -> Result<Vec<ArchivedFrame>> {
        self.with_frames(|frames| {
            let Some(root) = frames.get(&handle).map(|frame| frame.root) else { return Vec::new() };
            frames.values().filter(|frame| frame.root == root).map(|frame| (**frame).clone()).collect()
        })
    }

    fn page(&self, after: Option<Handle>) -> Result<Vec<ArchivedFrame>> {
        self.with_frames(|frames| {
            let is_later = |frame: &&Arc<ArchivedFrame>| after.is_none_or(|after| frame.handle > after);
            frames.values().filter(is_later).take(PAGE).map(|frame| (**frame).clone()).collect()
        })
    }

    fn find(&self, query: ArchiveQuery<'_>, since: u64) -> Result<Vec<ArchivedPlace>> {
        self.with(|kept| {
            let frames = &kept.frames;
            // In the order of their handles, each once.
            let mut found: BTreeSet<Handle> = kept.changed_since(since).collect();
            let of = |fits: &dyn Fn(&ArchivedFrame) -> bool| -> Vec<Handle> {
                frames.values().filter(|frame| fits(frame)).map(|frame| frame.handle).collect()
            };
            found.extend(match query {
                ArchiveQuery::Nothing => Vec::new(),
                ArchiveQuery::Id(id) => kept.by_id(id).into_iter().collect(),
                ArchiveQuery::Beginning(text, most) => kept.beginning(text, most),
                ArchiveQuery::Title(title) => of(&|frame| frame.title == title),
                ArchiveQuery::Status(status) => of(&|frame| frame.status == status),
                ArchiveQuery::Runs => of(&|frame| frame.is_run),
                ArchiveQuery::Roots => of(&|frame| frame.place.is_some()),
            });
            let place = |handle| {
                let frame = &frames[&handle];
                ArchivedPlace { handle, changed: frame.changed, place: frame.place }
            };
            found.into_iter().map(place).collect()
        })
    }

    fn base(&self) -> Result<Option<(String, Arc<dyn Archive>)>> {
        let base = self.contents().and_then(|contents| contents.base);
        Ok(base.map(|kept| (kept.snapshot.head.clone(), Arc::new(Self::Base(kept)) as Arc<dyn Archive>)))
    }
}

/// The logs that a medium keeps.
pub(super) struct Logs {
    medium: Arc<Medium>,
    fate: Arc<dyn Fate>,
}

impl Logs {
    pub(super) fn of(medium: &Arc<Medium>, fate: &Arc<dyn Fate>) -> Self {
        Self { medium: medium.clone(), fate: fate.clone() }
    }

    fn contents(&self) -> Result<Contents> {
        strikes(&self.fate, Call::Log)?;
        Ok(self.medium.shared.lock().contents.clone())
    }
}

impl LogReader for Logs {
    fn count(&self, frame: Handle, _: Duration) -> Result<usize> {
        Ok(self.contents()?.logs.get(&frame).map_or(0, |log| log.0.len()))
    }

    fn read(
        &self,
        frame: Handle,
        numbers: RangeInclusive<usize>,
        _: Duration,
        each: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let contents = self.contents()?;
        let Some(log) = contents.logs.get(&frame) else { return Ok(()) };
        let skipped = numbers.start().saturating_sub(1);
        let count = numbers.end().saturating_sub(skipped);
        log.0.iter().skip(skipped).take(count).try_for_each(|line| each(line))
    }

    fn list(&self, _: Duration) -> Result<Vec<StoredLog>> {
        Ok(self.contents()?.list_logs())
    }
}

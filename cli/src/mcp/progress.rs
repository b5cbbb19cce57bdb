//! Tells the host that a call still runs, so that it does not give up.

use std::time::{Duration, Instant};

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The pause between two notices.
const PAUSE: Duration = Duration::from_secs(5);

/// Sends notices, with the number of seconds that have passed, until it is dropped.
pub struct Progress(JoinHandle<()>);

impl Progress {
    /// `None` if the host has not asked for notices.
    pub fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        let token = context.meta.get_progress_token()?;
        let (peer, start) = (context.peer.clone(), Instant::now());
        Some(Self(tokio::spawn(async move {
            loop {
                sleep(PAUSE).await;
                let notice = ProgressNotificationParam::new(token.clone(), start.elapsed().as_secs_f64().round());
                if peer.notify_progress(notice.with_message("waiting")).await.is_err() {
                    return;
                }
            }
        })))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.abort();
    }
}

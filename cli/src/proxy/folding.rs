//! The body of a request with its conversation folded.

use std::borrow::Cow;
use std::str;

use bytes::Bytes;
use callstack_core::fold::{FoldReport, FoldSettings, Wire, fold};
use serde::de::IgnoredAny;
use tokio::task::spawn_blocking;

use super::encoding::Encoding;

/// The length up to which bodies are read whole, in bytes; also the length that a compressed one may have
/// when it is decoded.
pub const LONGEST: usize = 256 << 20;
/// Bytes of text that a token has on average, for the texts that stand for what is folded.
const BYTES_OF_TOKEN: usize = 4;

/// A folded body, without an encoding.
pub struct FoldedBody {
    pub bytes: Bytes,
    pub removed: Removed,
}

/// What a request no longer has.
#[derive(Debug, Clone, Copy, Default)]
pub struct Removed {
    /// Number of stretches of frames and of turns.
    pub folds: usize,
    /// Their tokens, as estimated by the engine, without the tokens of the texts that stand for them.
    pub tokens: u64,
}

impl From<&FoldReport> for Removed {
    fn from(report: &FoldReport) -> Self {
        let stretches = &report.stretches;
        let gone = stretches.iter().map(|stretch| stretch.tokens).chain(report.turns.iter().map(|turns| turns.tokens));
        let returned: usize = stretches.iter().map(|stretch| stretch.returned).sum();
        let tokens = gone.sum::<usize>().saturating_sub(returned / BYTES_OF_TOKEN) as u64;
        Self { folds: stretches.len() + report.turns.len(), tokens }
    }
}

/// Folds a body, on another thread. `None`: it is to be sent as it came. If it cannot be understood, or the
/// engine fails, there is a line in the log.
pub async fn folded(wire: Wire, encoding: Encoding, body: Bytes, settings: FoldSettings) -> Option<FoldedBody> {
    match spawn_blocking(move || fold_body(wire, encoding, &body, &settings)).await {
        Ok(Ok(folded)) => folded,
        Ok(Err(why)) => {
            tracing::warn!("a request of the wire {wire} is sent as it came: {why}");
            None
        }
        // The message of a panic can contain texts of the conversation.
        Err(_) => {
            tracing::error!(
                "a request of the wire {wire} is sent as it came: folding it has failed; please report this"
            );
            None
        }
    }
}

fn fold_body(
    wire: Wire,
    encoding: Encoding,
    body: &[u8],
    settings: &FoldSettings,
) -> Result<Option<FoldedBody>, String> {
    let bytes = encoding
        .decoded(body, LONGEST as u64)
        .map_err(|error| format!("its encoding {encoding:?} cannot be decoded: {error}"))?;
    let text = str::from_utf8(&bytes).map_err(|_| "it is not text in UTF-8")?;
    let folded = fold(wire, text, settings);
    let removed = Removed::from(&folded.report);
    match folded.text {
        Cow::Owned(text) => Ok(Some(FoldedBody { bytes: text.into(), removed })),
        // The engine does not distinguish a request without finished frames from a text that is not a
        // request.
        Cow::Borrowed(_) => match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Ok(None),
            Err(_) => Err("it is not JSON".to_owned()),
        },
    }
}

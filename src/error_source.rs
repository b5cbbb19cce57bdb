//! The underlying error of an error, such as that of the operating system.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The underlying error of an [`Error`](crate::Error): of the operating system, of SQLite, or of the JSON
/// parser. Read it with [`std::error::Error::source`], and downcast it to its type.
///
/// Two sources are always equal: errors are compared by their other fields.
#[derive(Clone)]
pub struct ErrorSource(Arc<dyn StdError + Send + Sync>);

impl ErrorSource {
    pub(crate) fn new(source: impl StdError + Send + Sync + 'static) -> Self {
        Self(Arc::new(source))
    }
}

impl std::ops::Deref for ErrorSource {
    type Target = dyn StdError + 'static;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for ErrorSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl PartialEq for ErrorSource {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ErrorSource {}

//! What can go wrong between this process and the server, and the [`Error`] that the caller gets.

use std::time::Duration;

use callstack_core::Error;
use tokio_postgres::error::SqlState;

/// The failure of a request.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The connection is lost, or could not be made. What the server has done with the request is not known.
    Lost(Error),
    /// The server has refused the request, so nothing of it is kept; or the failure has nothing to do with
    /// the connection.
    Refused(Error),
}

impl Failure {
    /// The failure of a request to the server at `place`.
    pub(crate) fn of(place: &str, error: tokio_postgres::Error) -> Self {
        let Some(database_error) = error.as_db_error() else {
            let message = with_causes(&error);
            // Errors that another try does not change.
            if message.contains("invalid configuration") || message.contains("does not support TLS") {
                let advice =
                    if message.contains("password missing") { "; give it in PGPASSWORD or in the URL" } else { "" };
                return Self::Refused(Error::io("connect to", place, format!("{message}{advice}")).with_source(error));
            }
            return match is_of_value(&error) {
                true => Self::Refused(Error::damaged(place, message, ADVICE).with_source(error)),
                false => Self::Lost(Error::disconnected(place, message, false).with_source(error)),
            };
        };
        let code = database_error.code();
        let message = match database_error.hint() {
            Some(hint) => format!("{} ({hint})", database_error.message()),
            None => database_error.message().to_owned(),
        };
        if is_of_connection(code) {
            return Self::Lost(Error::disconnected(place, message, false).with_source(error));
        }
        let refusal = match code {
            &SqlState::LOCK_NOT_AVAILABLE
            | &SqlState::QUERY_CANCELED
            | &SqlState::T_R_DEADLOCK_DETECTED
            | &SqlState::T_R_SERIALIZATION_FAILURE => Error::Busy { path: place.to_owned(), waited: 0 },
            &SqlState::DISK_FULL => Error::disk_full(place),
            &SqlState::READ_ONLY_SQL_TRANSACTION => Error::read_only(place),
            &SqlState::INSUFFICIENT_PRIVILEGE if message.contains("for schema") => {
                Error::io("open", place, format!("{message}; an owner of the database runs `callstack postgres grant`"))
            }
            &SqlState::INSUFFICIENT_PRIVILEGE => Error::read_only(place),
            &SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME => Error::io("open", place, NO_SCHEMA),
            _ => Error::io("use", place, message),
        };
        Self::Refused(refusal.with_source(error))
    }

    /// No answer came in time.
    pub(crate) fn timeout(place: &str, limit: Duration) -> Self {
        Self::Lost(Error::disconnected(place, format!("no answer within {} ms", limit.as_millis()), false))
    }

    /// The error for a caller whose call changed nothing.
    pub(crate) fn without_change(self) -> Error {
        match self {
            Self::Lost(error) | Self::Refused(error) => error,
        }
    }

    /// The error for the caller of a commit if it is not known whether the commit was kept.
    pub(crate) fn with_unknown_outcome(self, place: &str) -> Error {
        match self.without_change() {
            Error::Disconnected { path, message, .. } => Error::disconnected(path, message, true),
            other => {
                Error::disconnected(place, format!("the connection was lost during the commit, and {other}"), true)
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// The message of an error that is found where the schema should be.
pub(crate) const NO_SCHEMA: &str =
    "the database has no schema of callstack; an owner of the database runs `callstack postgres migrate URL`";

/// The advice in the error for a row that this library did not write.
pub(crate) const ADVICE: &str = "restore the rows of this stack from a backup of the server";

/// True for errors after which another connection may work.
fn is_of_connection(code: &SqlState) -> bool {
    // Class 08: the connection; the others: the server shuts down or starts, has no room, or has ended an
    // idle transaction.
    code.code().starts_with("08")
        || [
            &SqlState::ADMIN_SHUTDOWN,
            &SqlState::CRASH_SHUTDOWN,
            &SqlState::CANNOT_CONNECT_NOW,
            &SqlState::TOO_MANY_CONNECTIONS,
            &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ]
        .contains(&code)
}

/// True for a value that has another type than its column should have.
fn is_of_value(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(|cause| {
        cause.is::<tokio_postgres::types::WrongType>() || cause.is::<tokio_postgres::types::WasNull>()
    })
}

/// The message of an error together with the messages of its causes. The message of a lost connection alone
/// says little.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = inner.source();
    }
    message
}

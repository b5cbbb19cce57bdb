//! The failures of the agent.

use crate::exit::Exit;
use crate::failure::Failure;

/// A failure of the model, or of something that is needed to ask it.
pub fn failed(problem: impl ToString) -> Failure {
    Failure::new(Exit::Failed, "model", problem.to_string())
}

pub fn wrong(problem: impl ToString) -> Failure {
    Failure::new(Exit::Usage, "arguments", problem.to_string())
}

pub fn refused(code: &str, problem: impl ToString) -> Failure {
    Failure::new(Exit::Refused, code, problem.to_string())
}

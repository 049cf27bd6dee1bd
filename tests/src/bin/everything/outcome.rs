//! How a tool or a prompt comes out.

use mcp_http_tokio::{ErrorObject, RequestError, SendError};
use serde_json::Value;

use crate::client::Capability;
use crate::given::Misfit;

/// The contents of the answer.
pub(crate) type Outcome = Result<Vec<Value>, Failure>;

/// Why there are none.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It went wrong; the model reads why and may do better.
    Told(String),
    /// The client would have to be able to do this, and is not.
    Lacks(Capability),
    /// There is no result at all.
    Refused(ErrorObject),
}

impl Failure {
    /// Nobody waits for the answer any more, so it does not matter what it is.
    pub(crate) fn unheard() -> Failure {
        Failure::Refused(ErrorObject::internal("nobody waits for this answer"))
    }
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Failure {
        Failure::Told(misfit.0)
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Failure {
        match error {
            SendError::Gone(_) => Failure::unheard(),
            other => Failure::Refused(ErrorObject::internal(other.to_string())),
        }
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Failure {
        match error {
            RequestError::Refused(why) => {
                let why = String::from_utf8_lossy(why.as_bytes()).into_owned();
                Failure::Told(format!("the client replied with an error: {why}"))
            }
            other => Failure::Told(format!("the client could not be asked: {other}")),
        }
    }
}

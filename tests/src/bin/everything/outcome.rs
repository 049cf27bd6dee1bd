//! How a tool or a prompt comes out.

use mcp_http_tokio::{ErrorObject, RequestError, SendError, code};
use serde_json::{Value, json};

use crate::client::Capability;
use crate::content::text;
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
    /// As the error of a request, in the stateless era or before it.
    pub(crate) fn into_error(self, stateless: bool) -> ErrorObject {
        match self {
            Failure::Told(why) => ErrorObject::invalid_params(why),
            Failure::Lacks(capability) => {
                let why = format!("the client must declare the capability `{}`", capability.name());
                if !stateless {
                    return ErrorObject::new(code::INVALID_REQUEST, why);
                }
                ErrorObject::new(code::MISSING_CAPABILITY, why)
                    .with_data(json!({ "requiredCapabilities": capability.declared() }))
            }
            Failure::Refused(error) => error,
        }
    }

    /// Nobody waits for the answer any more, so it does not matter what it is.
    pub(crate) fn unheard() -> Failure {
        Failure::broken("nobody waits for this answer")
    }

    /// The server fails.
    pub(crate) fn broken(why: &'static str) -> Failure {
        Failure::Refused(ErrorObject::internal(why))
    }
}

/// The result of a tool, for a client that asked in the stateless era or before it.
pub(crate) fn tool_result(outcome: Outcome, stateless: bool) -> Result<Value, ErrorObject> {
    let told = |why: &str| Ok(json!({ "content": [text(why)], "isError": true }));
    match outcome {
        Ok(content) => Ok(json!({ "content": content })),
        Err(Failure::Told(why)) => told(&why),
        Err(lacks @ Failure::Lacks(_)) if !stateless => told(&lacks.into_error(stateless).message),
        Err(failure) => Err(failure.into_error(stateless)),
    }
}

impl From<Misfit> for Failure {
    fn from(misfit: Misfit) -> Failure {
        Failure::Told(misfit.0)
    }
}

impl From<ErrorObject> for Failure {
    fn from(error: ErrorObject) -> Failure {
        Failure::Refused(error)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Capability, Failure, tool_result};

    #[test]
    fn what_the_client_lacks_is_named() {
        let error = Failure::Lacks(Capability::Sampling).into_error(true);
        assert_eq!(error.code, -32021);
        assert_eq!(error.data, Some(json!({ "requiredCapabilities": { "sampling": {} } }).into()));
        let before = Failure::Lacks(Capability::Sampling).into_error(false);
        assert_eq!((before.code, before.data), (-32600, None));
        assert!(before.message.contains("`sampling`"));
    }

    #[test]
    fn what_a_tool_lacks_is_told_where_there_is_no_error_for_it() {
        let lacks = || Err(Failure::Lacks(Capability::Elicitation));
        assert_eq!(tool_result(lacks(), true).unwrap_err().code, -32021);
        let told = tool_result(lacks(), false).unwrap();
        assert_eq!(told["isError"], true);
        assert!(told["content"][0]["text"].as_str().is_some_and(|text| text.contains("`elicitation`")));
    }
}

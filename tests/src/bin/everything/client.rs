//! What a client says it can do.

use serde_json::{Value, json};

use crate::given::Given;
use crate::outcome::Failure;

/// Something that this server may want of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    /// Have its user fill in a form.
    Elicitation,
    /// Have its model write a message.
    Sampling,
    /// Say where its user works.
    Roots,
    /// Come back for what a task has come to.
    Tasks,
}

/// The extension by which a request may be answered with a task.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// What one client can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Client(Vec<Capability>);

impl Client {
    /// What the object `capabilities` of a request declares. What is not as the specification says does not count.
    pub(crate) fn of_request(capabilities: &Given) -> Client {
        let mut client = Client::of_session(capabilities);
        let extensions = capabilities.optional_object("extensions").ok().flatten().unwrap_or_default();
        let tasks = extensions.optional_object(TASKS).ok().flatten();
        client.0.extend(tasks.map(|_| Capability::Tasks));
        client
    }

    /// The same for the handshake era, which has no tasks of this kind.
    pub(crate) fn of_session(capabilities: &Given) -> Client {
        let object = |name| capabilities.optional_object(name).ok().flatten();
        // Until there was more than one mode, an empty object said: forms.
        let forms = object("elicitation").is_some_and(|modes| modes.has("form") || !modes.has("url"));
        let declared = [
            forms.then_some(Capability::Elicitation),
            object("sampling").map(|_| Capability::Sampling),
            object("roots").map(|_| Capability::Roots),
        ];
        Client(declared.into_iter().flatten().collect())
    }

    /// One that can do everything.
    #[cfg(test)]
    pub(crate) fn able() -> Client {
        Client(Capability::ALL.to_vec())
    }

    pub(crate) fn can(&self, capability: Capability) -> bool {
        self.0.contains(&capability)
    }

    pub(crate) fn must(&self, capability: Capability) -> Result<(), Failure> {
        if self.can(capability) { Ok(()) } else { Err(Failure::Lacks(capability)) }
    }
}

impl Capability {
    #[cfg(test)]
    const ALL: [Capability; 4] =
        [Capability::Elicitation, Capability::Sampling, Capability::Roots, Capability::Tasks];

    /// Its name in the protocol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Capability::Elicitation => "elicitation",
            Capability::Sampling => "sampling",
            Capability::Roots => "roots",
            Capability::Tasks => TASKS,
        }
    }

    /// Itself, as a client declares it.
    pub(crate) fn declared(self) -> Value {
        match self {
            Capability::Elicitation | Capability::Sampling | Capability::Roots => json!({ self.name(): {} }),
            Capability::Tasks => json!({ "extensions": { TASKS: {} } }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Capability::{Elicitation, Roots, Sampling, Tasks};
    use super::{Capability, Client};

    #[test]
    fn a_client_can_do_what_it_declares() {
        for (declared, can) in [
            (json!({}), vec![]),
            (json!({ "sampling": {}, "elicitation": {}, "roots": {} }), vec![Elicitation, Sampling, Roots]),
            (json!({ "elicitation": { "form": {}, "url": {} } }), vec![Elicitation]),
            (json!({ "elicitation": { "url": {} } }), vec![]),
            (json!({ "sampling": { "tools": {} } }), vec![Sampling]),
            (json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }), vec![Tasks]),
            (json!({ "extensions": { "io.modelcontextprotocol/tasks": null }, "tasks": {} }), vec![]),
            (json!({ "sampling": null, "elicitation": true }), vec![]),
            (json!(null), vec![]),
        ] {
            assert_eq!(Client::of_request(&declared.clone().into()), Client(can), "{declared}");
        }
    }

    #[test]
    fn each_is_declared_as_it_is_read() {
        for capability in Capability::ALL {
            assert_eq!(Client::of_request(&capability.declared().into()), Client(vec![capability]));
        }
    }

    #[test]
    fn the_handshake_era_has_no_tasks() {
        let capabilities = json!({ "roots": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
        assert_eq!(Client::of_session(&capabilities.into()), Client(vec![Roots]));
    }
}

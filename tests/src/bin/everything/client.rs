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
}

/// What one client can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Client(Vec<Capability>);

impl Client {
    /// What the object `capabilities` declares. What is not as the specification says does not count.
    pub(crate) fn declaring(capabilities: &Given) -> Client {
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
    const ALL: [Capability; 3] = [Capability::Elicitation, Capability::Sampling, Capability::Roots];

    /// Its name in the protocol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Capability::Elicitation => "elicitation",
            Capability::Sampling => "sampling",
            Capability::Roots => "roots",
        }
    }

    /// Itself, as a client declares it.
    pub(crate) fn declared(self) -> Value {
        json!({ self.name(): {} })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Capability::{Elicitation, Roots, Sampling};
    use super::{Capability, Client};

    #[test]
    fn a_client_can_do_what_it_declares() {
        for (declared, can) in [
            (json!({}), vec![]),
            (json!({ "sampling": {}, "elicitation": {}, "roots": {} }), vec![Elicitation, Sampling, Roots]),
            (json!({ "elicitation": { "form": {}, "url": {} } }), vec![Elicitation]),
            (json!({ "elicitation": { "url": {} } }), vec![]),
            (json!({ "sampling": { "tools": {} } }), vec![Sampling]),
            (json!({ "sampling": null, "elicitation": true }), vec![]),
            (json!(null), vec![]),
        ] {
            assert_eq!(Client::declaring(&declared.clone().into()), Client(can), "{declared}");
        }
    }

    #[test]
    fn each_is_declared_as_it_is_read() {
        for capability in Capability::ALL {
            assert_eq!(Client::declaring(&capability.declared().into()), Client(vec![capability]));
        }
    }
}

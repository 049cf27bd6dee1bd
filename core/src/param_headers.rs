//! Which arguments of which tools a client has to mirror into `Mcp-Param-*` fields, as plain data that is
//! derived from the tools' input schemas once. Whether a request does so is judged in `intake`; nothing here
//! validates arguments against a schema.

use std::collections::BTreeMap;

use http::HeaderName;
use serde_json::{Map, Value};
use thiserror::Error;

const ANNOTATION: &str = "x-mcp-header";
/// As `HeaderName` has it.
pub(crate) const FIELD_PREFIX: &str = "mcp-param-";

/// Keywords whose value maps names of the author's choice to schemas (or to lists of names). `properties`, the
/// only one that an argument can be reached through, is not among them.
const NAMING: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentRequired", "dependentSchemas", "patternProperties"];

/// Keywords whose value is no schema but data, which may look like one.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// The mirrored arguments of all tools of a server. A tool that is not in here mirrors nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamHeaders {
    tools: BTreeMap<Box<str>, Box<[ParamHeader]>>,
}

/// One mirrored argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    pub(crate) field: HeaderName,
    pub(crate) path: Box<[Box<str>]>,
    pub(crate) kind: ParamType,
}

/// The types that an argument must have to be mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// Compared as a text.
    String,
    /// Compared as a number: `42.0` is `42`.
    Integer,
    /// `true` or `false`.
    Boolean,
}

/// Why an input schema cannot be registered: clients would not show such a tool to anyone. `at` is where, as a
/// JSON pointer into the schema, behind `#`.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParamHeaderError {
    /// The annotation cannot be part of a field name.
    #[error("`x-mcp-header` at {at} is {value}; it must be a string that is a token, as field names are")]
    BadName {
        /// Where.
        at: String,
        /// The annotation.
        value: Value,
    },
    /// Field names have no case, so two of them would be one.
    #[error("`x-mcp-header` at {at} is {name:?} as at {first}; names must differ in more than case")]
    SameName {
        /// Where.
        at: String,
        /// The annotation.
        name: String,
        /// Where it was first.
        first: String,
    },
    /// A value of this type has no text that all clients agree on.
    #[error(
        "`x-mcp-header` at {at} needs `type` to be \"string\", \"integer\" or \"boolean\", and nothing else"
    )]
    BadType {
        /// Where.
        at: String,
    },
    /// Which argument is meant would depend on the others.
    #[error(
        "`x-mcp-header` at {at} belongs to no argument; it must be in a property that is reached from the \
         schema's root through `properties` alone, not through `items`, `oneOf`, `if`, `$ref` or the like"
    )]
    Unreachable {
        /// Where.
        at: String,
    },
}

impl ParamHeaders {
    /// No tool mirrors anything.
    #[must_use]
    pub fn new() -> Self {
        ParamHeaders::default()
    }

    /// The same with the tool called `name`, whose `inputSchema` is `schema`. A tool of this name that was
    /// there is replaced.
    ///
    /// # Errors
    /// The first `x-mcp-header` in the schema that breaks a rule, and which.
    pub fn with_tool(mut self, name: &str, schema: &Value) -> Result<Self, ParamHeaderError> {
        self.set_tool(name, schema)?;
        Ok(self)
    }

    /// As [`ParamHeaders::with_tool`]. A tool that is refused leaves everything as it was, so that a server
    /// can go on without it.
    ///
    /// # Errors
    /// The first `x-mcp-header` in the schema that breaks a rule, and which.
    pub fn set_tool(&mut self, name: &str, schema: &Value) -> Result<(), ParamHeaderError> {
        let mut search = Search::default();
        search.schema(schema, Place::Root)?;
        if search.found.is_empty() {
            self.tools.remove(name);
        } else {
            self.tools.insert(name.into(), search.found.into());
        }
        Ok(())
    }

    /// The mirrored arguments of the tool called `name`; none if it is not known.
    #[must_use]
    pub fn tool(&self, name: &str) -> &[ParamHeader] {
        self.tools.get(name).map_or(&[], |headers| headers)
    }

    /// Whether no tool mirrors anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl ParamHeader {
    /// The field, `mcp-param-` and the annotation, in lower case.
    #[must_use]
    pub fn field(&self) -> &HeaderName {
        &self.field
    }

    /// The names of the properties that lead to the argument, the first one in `arguments` itself.
    #[must_use]
    pub fn path(&self) -> &[Box<str>] {
        &self.path
    }

    /// The type that the schema declares.
    #[must_use]
    pub fn kind(&self) -> ParamType {
        self.kind
    }
}

/// How a schema is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Root,
    /// Through `properties` alone.
    Argument,
    Elsewhere,
}

/// The way through a schema, and what was found on it.
#[derive(Default)]
struct Search {
    /// Where we are, from the root.
    steps: Vec<Box<str>>,
    /// The names of the properties that lead there; means nothing in places that are `Elsewhere`.
    path: Vec<Box<str>>,
    found: Vec<ParamHeader>,
    /// Where each field was found.
    first: BTreeMap<Box<str>, String>,
}

impl Search {
    /// Looks through everything that may be a schema; what keyword we do not know may hold some.
    fn schema(&mut self, schema: &Value, place: Place) -> Result<(), ParamHeaderError> {
        let members = match schema {
            Value::Object(members) => members,
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    self.step(&index.to_string(), element, Place::Elsewhere)?;
                }
                return Ok(());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Ok(()),
        };
        if let Some(annotation) = members.get(ANNOTATION) {
            self.annotation(annotation, members, place)?;
        }
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                (ANNOTATION, _) => {}
                (data, _) if DATA.contains(&data) => {}
                ("properties", Value::Object(properties)) => self.properties(properties, place)?,
                (naming, Value::Object(named)) if NAMING.contains(&naming) => self.named(naming, named)?,
                (keyword, value) => self.step(keyword, value, Place::Elsewhere)?,
            }
        }
        Ok(())
    }

    fn properties(&mut self, properties: &Map<String, Value>, place: Place) -> Result<(), ParamHeaderError> {
        let place = match place {
            Place::Root | Place::Argument => Place::Argument,
            Place::Elsewhere => Place::Elsewhere,
        };
        self.steps.push("properties".into());
        for (name, schema) in properties {
            self.path.push(name.as_str().into());
            self.step(name, schema, place)?;
            self.path.pop();
        }
        self.steps.pop();
        Ok(())
    }

    fn named(&mut self, keyword: &str, named: &Map<String, Value>) -> Result<(), ParamHeaderError> {
        self.steps.push(keyword.into());
        for (name, schema) in named {
            self.step(name, schema, Place::Elsewhere)?;
        }
        self.steps.pop();
        Ok(())
    }

    fn step(&mut self, step: &str, schema: &Value, place: Place) -> Result<(), ParamHeaderError> {
        self.steps.push(step.into());
        self.schema(schema, place)?;
        self.steps.pop();
        Ok(())
    }

    fn annotation(
        &mut self,
        annotation: &Value,
        members: &Map<String, Value>,
        place: Place,
    ) -> Result<(), ParamHeaderError> {
        let at = self.at();
        if place != Place::Argument {
            return Err(ParamHeaderError::Unreachable { at });
        }
        let name = annotation.as_str().unwrap_or_default();
        let field = HeaderName::try_from(format!("{FIELD_PREFIX}{name}"));
        let (Ok(field), false) = (field, name.is_empty()) else {
            return Err(ParamHeaderError::BadName { at, value: annotation.clone() });
        };
        let kind = match members.get("type").and_then(Value::as_str) {
            Some("string") => ParamType::String,
            Some("integer") => ParamType::Integer,
            Some("boolean") => ParamType::Boolean,
            Some(_) | None => return Err(ParamHeaderError::BadType { at }),
        };
        if let Some(first) = self.first.get(field.as_str()) {
            return Err(ParamHeaderError::SameName { at, name: name.into(), first: first.clone() });
        }
        self.first.insert(field.as_str().into(), at);
        self.found.push(ParamHeader { field, path: self.path.as_slice().into(), kind });
        Ok(())
    }

    /// The JSON pointer to here (RFC 6901).
    fn at(&self) -> String {
        let escaped = self.steps.iter().map(|step| step.replace('~', "~0").replace('/', "~1"));
        escaped.fold(String::from("#"), |at, step| at + "/" + &step)
    }
}

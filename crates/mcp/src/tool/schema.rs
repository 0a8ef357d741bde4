//! JSON schemas of the arguments of tools, from the wire types.
//!
//! Invariant: a schema has no references, because many clients do not follow them.

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use utoipa::PartialSchema;

/// Does a tool take the task it is about?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// The task, which the agent of a run may leave out.
    Task,
    /// No task.
    Board,
}

/// The schema of a wire type, and of the task it is about.
pub(crate) fn schema<T: PartialSchema>(about: About) -> JsonObject {
    let mut schema = serde_json::to_value(T::schema()).unwrap_or_default();
    if about == About::Task {
        schema["properties"]["task"] = json!({
            "type": "string",
            "description": "The ID of the task, such as tsk_01k7c3h2f4x8w6t5r3q1n0m9bz. Leave it out inside a run that works on \
                            a task: then it is that task.",
        });
    }
    // A type without fields has no list of them, and clients want one.
    if schema.get("properties").is_none() {
        schema["properties"] = json!({});
    }
    schema["type"] = json!("object");
    match schema {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::new()
        }
    }
}

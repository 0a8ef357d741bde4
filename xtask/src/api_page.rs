//! Renders the description of the API as a page for people.
//!
//! Invariant: everything on the page comes from the document that the server serves; nothing is told twice. Not here:
//! writing and checking, which `generate` does.

use std::fmt::Write;

use serde_json::Value;

/// The parts of the page, in the order of a reader's questions: the tag and its heading.
const PARTS: [(&str, &str); 9] = [
    ("overview", "What needs you, and how it goes"),
    ("entities", "Entities"),
    ("commands", "Commands"),
    ("tasks", "The task board"),
    ("questions", "Questions"),
    ("output", "Output and artifacts"),
    ("feed", "The feed"),
    ("reference", "Words and tables"),
    ("admin", "Administration"),
];

const OPENING: &str = "# The HTTP API

Everything is below the address of `callboard serve`; [how to get in and what holds for all of it](../serve.md#for-programs).
[openapi.json](../openapi.json) says the same for programs. Any answer may be a problem document (RFC 9457) instead.
A scope includes the ones below it: operator, viewer.
";

struct Operation<'a> {
    method: String,
    path: &'a str,
    told: &'a Value,
}

/// The page.
pub(crate) fn render(document: &Value) -> String {
    let mut page = OPENING.to_owned();
    let operations = operations(document);
    for (tag, heading) in PARTS {
        write!(page, "\n## {heading}\n").unwrap_or_default();
        for operation in operations.iter().filter(|operation| operation.told["tags"][0] == tag) {
            page.push_str(&operation.render(document));
        }
    }
    page.push_str("\n## Shapes\n");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        page.push_str(&shape(name, schema));
    }
    page
}

fn operations(document: &Value) -> Vec<Operation<'_>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let all = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, told)| Operation { method: method.to_uppercase(), path, told })
    });
    all.collect()
}

impl Operation<'_> {
    fn render(&self, document: &Value) -> String {
        let text = |name: &str| self.told[name].as_str().unwrap_or_default();
        let mut page = format!("\n### {} {}\n\n{}", self.method, self.path, text("summary"));
        if !text("description").is_empty() {
            write!(page, "\n\n{}", text("description")).unwrap_or_default();
        }
        write!(page, "\n\nFor: {}.", text("x-scope")).unwrap_or_default();
        if let Some(answer) = self.answer() {
            write!(page, " Answers: {answer}.").unwrap_or_default();
        }
        page.push('\n');
        let rows: Vec<String> = self.parameters().chain(self.fields(document)).collect();
        if !rows.is_empty() {
            let head = "| name | where | meaning |\n| --- | --- | --- |";
            write!(page, "\n{head}\n{}\n", rows.join("\n")).unwrap_or_default();
        }
        page
    }

    /// The shape of what comes back when it goes well.
    fn answer(&self) -> Option<String> {
        let responses = self.told["responses"].as_object()?;
        let (code, response) = responses.iter().find(|(code, _)| code.starts_with('2'))?;
        let (media, content) = response["content"].as_object()?.iter().next()?;
        let shape = content["schema"]["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        let shape = shape.map(|shape| format!(" `{shape}`")).unwrap_or_default();
        Some(format!("{code}{shape} as `{media}`"))
    }

    fn parameters(&self) -> impl Iterator<Item = String> {
        let parameters = self.told["parameters"].as_array().into_iter().flatten();
        parameters
            .filter(|parameter| parameter["in"] != "path")
            .map(|parameter| row(&parameter["name"], &parameter["in"], parameter, false))
    }

    fn fields<'a>(&self, document: &'a Value) -> impl Iterator<Item = String> + 'a {
        let schema = &self.told["requestBody"]["content"]["application/json"]["schema"]["$ref"];
        let name = schema.as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let schema = &document["components"]["schemas"][name];
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let fields = schema["properties"].as_object().into_iter().flatten();
        fields.map(move |(name, field)| {
            let name = Value::from(name.as_str());
            let is_required = required.contains(&name);
            row(&name, &Value::from("body"), field, is_required)
        })
    }
}

/// One shape of a body or an answer.
fn shape(name: &str, schema: &Value) -> String {
    let told = schema["description"].as_str().unwrap_or("Any JSON.").replace('\n', " ");
    let mut page = format!("\n### {name}\n\n{told}\n");
    let fields = schema["properties"].as_object().into_iter().flatten();
    let rows: Vec<String> = fields
        .map(|(name, field)| {
            let told = field["description"].as_str().map(|told| format!(": {}", told.replace('\n', " ")));
            format!("- `{name}`, {}{}", kind_of(field), told.unwrap_or_default())
        })
        .collect();
    if !rows.is_empty() {
        write!(page, "\n{}\n", rows.join("\n")).unwrap_or_default();
    }
    page
}

/// What a field holds, in a word or two.
fn kind_of(field: &Value) -> String {
    let one = |value: &Value| value.as_str().unwrap_or_default().replace("null", "unknown");
    if let Some(shape) = field["$ref"].as_str() {
        return format!("`{}`", shape.rsplit('/').next().unwrap_or_default());
    }
    if let Some(choices) = field["oneOf"].as_array().or(field["anyOf"].as_array()) {
        return choices.iter().map(kind_of).collect::<Vec<_>>().join(" or ");
    }
    let kind = match field["type"].as_array() {
        Some(kinds) => kinds.iter().map(one).collect::<Vec<_>>().join(" or "),
        None => one(&field["type"]),
    };
    match kind.as_str() {
        "" => "any".to_owned(),
        "array" => format!("list of {}", kind_of(&field["items"])),
        _ => kind,
    }
}

fn row(name: &Value, place: &Value, told: &Value, is_required: bool) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().replace('\n', " ");
    let needed = if is_required { ", needed" } else { "" };
    format!("| `{}` | {}{needed} | {} |", text(name), text(place), text(&told["description"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operation_is_left_out() {
        let document = callboard_server::document();
        let page = render(document);
        let operations = operations(document);
        assert!(operations.len() > 30, "{}", operations.len());
        for operation in operations {
            let heading = format!("\n### {} {}\n", operation.method, operation.path);
            assert_eq!(page.matches(&heading).count(), 1, "{heading}");
        }
    }
}

//! A JSON schema: the keywords of draft 2020-12 that describe the shape of a document.
//!
//! Invariant: a schema with a keyword that is not checked here is refused before the run is started, so a promise is
//! never kept by being ignored. Deliberately absent: references to other documents, which nobody fetches; `pattern`;
//! and `format`, which the standard makes a note to the reader.

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::{Map, Value};

/// How deep a schema and a document may refer and nest.
const DEPTH_MAX: usize = 128;
/// How many schemas may be held against one document: so many for each of its values, and some for a small one. Branches
/// that refer to each other multiply, and would keep a small document busy for ever.
const STEPS_LEAST: u64 = 100_000;
const STEPS_EACH: u64 = 100;
const STEPS_MAX: u64 = 10_000_000;
/// Problems that are told; the first ones are the ones to read.
const TOLD_MAX: usize = 5;

/// Says something to the reader, and nothing about a document.
const NOTES: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
];
const TYPES: &[&str] = &["null", "boolean", "object", "array", "number", "integer", "string"];
const SCHEMAS: &[&str] =
    &["additionalProperties", "items", "not", "propertyNames", "contains", "if", "then", "else"];
const LISTS_OF_SCHEMAS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
const MAPS_OF_SCHEMAS: &[&str] = &["properties", "$defs", "definitions"];
const COUNTS: &[&str] = &["minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength"];
const NUMBERS: &[&str] = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const OTHERS: &[&str] = &["type", "enum", "const", "required", "uniqueItems", "$ref"];

/// What makes the schema unusable, and where.
pub(super) fn flaw(schema: &Value) -> Option<String> {
    Lint { root: schema }.schema(schema, "#", 0).err()
}

/// What is wrong with a document, or none. The schema must have no flaw.
pub(super) fn mismatch(schema: &Value, document: &Value) -> Option<String> {
    let steps = values(document).saturating_mul(STEPS_EACH).saturating_add(STEPS_LEAST);
    mismatch_within(schema, document, steps.min(STEPS_MAX))
}

/// How many values a document has.
fn values(document: &Value) -> u64 {
    match document {
        Value::Array(list) => 1 + list.iter().map(values).sum::<u64>(),
        Value::Object(map) => 1 + map.values().map(values).sum::<u64>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

fn mismatch_within(schema: &Value, document: &Value, steps_max: u64) -> Option<String> {
    let bounds = Bounds { steps: Cell::new(steps_max), passed: Cell::new(None) };
    let mut look = Look { root: schema, bounds: &bounds, told: Vec::new() };
    look.check(schema, document, "$", 0);
    // Inside of `not` what was not checked would count for the document.
    if let Some(problem) = bounds.passed.take() {
        look.told.insert(0, problem);
    }
    let more = if look.told.len() > TOLD_MAX { "; and more" } else { "" };
    look.told.truncate(TOLD_MAX);
    (!look.told.is_empty()).then(|| look.told.join("; ") + more)
}

/// Follows `#/$defs/name` in the schema itself.
fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

struct Lint<'a> {
    root: &'a Value,
}

impl Lint<'_> {
    fn schema(&self, schema: &Value, at: &str, depth: usize) -> Result<(), String> {
        let map = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(map) => map,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(format!("{at} is neither an object nor true or false"));
            }
        };
        if depth > DEPTH_MAX {
            return Err(format!("{at} is nested deeper than {DEPTH_MAX}"));
        }
        map.iter().try_for_each(|(key, value)| self.keyword(key, value, &format!("{at}/{key}"), depth + 1))
    }

    fn keyword(&self, key: &str, value: &Value, at: &str, depth: usize) -> Result<(), String> {
        if NOTES.contains(&key) {
            Ok(())
        } else if SCHEMAS.contains(&key) {
            self.schema(value, at, depth)
        } else if LISTS_OF_SCHEMAS.contains(&key) {
            let list = value.as_array().ok_or_else(|| format!("{at} is no list of schemas"))?;
            list.iter().enumerate().try_for_each(|(i, one)| self.schema(one, &format!("{at}/{i}"), depth))
        } else if MAPS_OF_SCHEMAS.contains(&key) {
            let map = value.as_object().ok_or_else(|| format!("{at} is no object of schemas"))?;
            map.iter().try_for_each(|(name, one)| self.schema(one, &format!("{at}/{name}"), depth))
        } else if COUNTS.contains(&key) {
            value.as_u64().map(drop).ok_or_else(|| format!("{at} is no count"))
        } else if NUMBERS.contains(&key) {
            let positive = key != "multipleOf" || value.as_f64().is_some_and(|number| number > 0.0);
            (value.is_number() && positive)
                .then_some(())
                .ok_or_else(|| format!("{at} is no number that fits"))
        } else {
            self.other(key, value, at)
        }
    }

    fn other(&self, key: &str, value: &Value, at: &str) -> Result<(), String> {
        let holds = match key {
            "type" => match value {
                Value::Array(types) => types.iter().all(is_type),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                    is_type(value)
                }
            },
            "enum" => value.is_array(),
            "const" => true,
            "required" => value.as_array().is_some_and(|names| names.iter().all(Value::is_string)),
            "uniqueItems" => value.is_boolean(),
            "$ref" => value.as_str().and_then(|reference| target(self.root, reference)).is_some(),
            _ => {
                let known = [SCHEMAS, LISTS_OF_SCHEMAS, MAPS_OF_SCHEMAS, COUNTS, NUMBERS, OTHERS].concat();
                return Err(format!("{at} is a keyword that is not checked; known are {}", known.join(", ")));
            }
        };
        holds.then_some(()).ok_or_else(|| match key {
            "$ref" => format!("{at} does not refer to a part of the same schema, such as #/$defs/name"),
            _ => format!("{at} has a value that means nothing"),
        })
    }
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}

/// What keeps a check from going on for ever.
struct Bounds {
    /// How many schemas may still be held against the document.
    steps: Cell<u64>,
    /// The bound that was reached.
    passed: Cell<Option<String>>,
}

struct Look<'a> {
    root: &'a Value,
    bounds: &'a Bounds,
    told: Vec<String>,
}

impl Look<'_> {
    fn tell(&mut self, at: &str, problem: impl std::fmt::Display) {
        if self.told.len() <= TOLD_MAX {
            self.told.push(format!("{at} {problem}"));
        }
    }

    fn fits(&self, schema: &Value, document: &Value, depth: usize) -> bool {
        let mut look = Look { root: self.root, bounds: self.bounds, told: Vec::new() };
        look.check(schema, document, "", depth);
        look.told.is_empty()
    }

    fn check(&mut self, schema: &Value, document: &Value, at: &str, depth: usize) {
        let left = self.bounds.steps.get();
        self.bounds.steps.set(left.saturating_sub(1));
        if depth > DEPTH_MAX {
            let problem = format!("the schema goes deeper than {DEPTH_MAX}, and was not checked further");
            return self.bounds.passed.set(Some(problem));
        }
        if left == 0 {
            let problem = "the references of the schema multiply, and were not checked to their end";
            return self.bounds.passed.set(Some(problem.to_owned()));
        }
        let Value::Object(keywords) = schema else {
            if schema == &Value::Bool(false) {
                self.tell(at, "is not allowed");
            }
            return;
        };
        if let Some(part) = keywords.get("$ref").and_then(Value::as_str).and_then(|to| target(self.root, to))
        {
            self.check(part, document, at, depth + 1);
        }
        self.check_itself(keywords, document, at);
        self.check_combined(keywords, document, at, depth);
        match document {
            Value::Object(map) => self.check_object(keywords, map, at, depth),
            Value::Array(list) => self.check_array(keywords, list, at, depth),
            Value::String(text) => {
                let length = || text.chars().count();
                self.check_count(keywords, ("minLength", "maxLength"), length, at, "characters");
            }
            Value::Number(_) => self.check_number(keywords, document, at),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn check_itself(&mut self, keywords: &Map<String, Value>, document: &Value, at: &str) {
        if let Some(wanted) = keywords.get("type") {
            let one_of = wanted.as_array().map_or(std::slice::from_ref(wanted), Vec::as_slice);
            if !one_of.iter().any(|name| has_type(document, name.as_str().unwrap_or(""))) {
                let names: Vec<&str> = one_of.iter().filter_map(Value::as_str).collect();
                self.tell(at, format_args!("is {}, not {}", kind(document), names.join(" or ")));
            }
        }
        if let Some(allowed) = keywords.get("enum").and_then(Value::as_array)
            && !allowed.iter().any(|one| same(one, document))
        {
            self.tell(at, "is none of the allowed values");
        }
        if keywords.get("const").is_some_and(|wanted| !same(wanted, document)) {
            self.tell(at, "is not the one allowed value");
        }
    }

    fn check_combined(&mut self, keywords: &Map<String, Value>, document: &Value, at: &str, depth: usize) {
        let list = |key: &str| keywords.get(key).and_then(Value::as_array);
        for part in list("allOf").into_iter().flatten() {
            self.check(part, document, at, depth + 1);
        }
        if let Some(parts) = list("anyOf")
            && !parts.iter().any(|part| self.fits(part, document, depth + 1))
        {
            self.tell(at, "fits none of the schemas of anyOf");
        }
        if let Some(parts) = list("oneOf") {
            let fitting = parts.iter().filter(|part| self.fits(part, document, depth + 1)).count();
            if fitting != 1 {
                self.tell(at, format_args!("fits {fitting} of the schemas of oneOf, not one"));
            }
        }
        if keywords.get("not").is_some_and(|not| self.fits(not, document, depth + 1)) {
            self.tell(at, "fits the schema of not");
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if self.fits(condition, document, depth + 1) { "then" } else { "else" };
            if let Some(part) = keywords.get(branch) {
                self.check(part, document, at, depth + 1);
            }
        }
    }

    fn check_object(
        &mut self,
        keywords: &Map<String, Value>,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) {
        for name in keywords.get("required").and_then(Value::as_array).into_iter().flatten() {
            let name = name.as_str().unwrap_or("");
            if !map.contains_key(name) {
                self.tell(at, format_args!("has no {name:?}"));
            }
        }
        let properties = keywords.get("properties").and_then(Value::as_object);
        for (name, value) in map {
            let at = format!("{at}.{name}");
            if let Some(part) = keywords.get("propertyNames") {
                self.check(part, &Value::String(name.clone()), &at, depth + 1);
            }
            let own = properties.and_then(|properties| properties.get(name));
            if let Some(part) = own.or_else(|| keywords.get("additionalProperties")) {
                self.check(part, value, &at, depth + 1);
            }
        }
        self.check_count(keywords, ("minProperties", "maxProperties"), || map.len(), at, "properties");
    }

    fn check_array(&mut self, keywords: &Map<String, Value>, list: &[Value], at: &str, depth: usize) {
        let first = keywords.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (i, value) in list.iter().enumerate() {
            if let Some(part) = first.get(i).or_else(|| keywords.get("items")) {
                self.check(part, value, &format!("{at}[{i}]"), depth + 1);
            }
        }
        if keywords
            .get("contains")
            .is_some_and(|part| !list.iter().any(|one| self.fits(part, one, depth + 1)))
        {
            self.tell(at, "has no item that fits contains");
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = HashSet::new();
            if !list.iter().all(|item| seen.insert(canonical(item))) {
                self.tell(at, "has the same item twice");
            }
        }
        self.check_count(keywords, ("minItems", "maxItems"), || list.len(), at, "items");
    }

    fn check_count(
        &mut self,
        keywords: &Map<String, Value>,
        (least, most): (&str, &str),
        count: impl Fn() -> usize,
        at: &str,
        of: &str,
    ) {
        let bound = |key: &str| keywords.get(key).and_then(Value::as_u64);
        if let Some(least) = bound(least).filter(|least| (count() as u64) < *least) {
            self.tell(at, format_args!("has {} {of}, fewer than {least}", count()));
        }
        if let Some(most) = bound(most).filter(|most| (count() as u64) > *most) {
            self.tell(at, format_args!("has {} {of}, more than {most}", count()));
        }
    }

    fn check_number(&mut self, keywords: &Map<String, Value>, document: &Value, at: &str) {
        let Some(number) = document.as_f64() else { return };
        let bound = |key: &str| keywords.get(key).and_then(Value::as_f64);
        let broken = [
            ("minimum", bound("minimum").is_some_and(|least| number < least)),
            ("maximum", bound("maximum").is_some_and(|most| number > most)),
            ("exclusiveMinimum", bound("exclusiveMinimum").is_some_and(|least| number <= least)),
            ("exclusiveMaximum", bound("exclusiveMaximum").is_some_and(|most| number >= most)),
            ("multipleOf", bound("multipleOf").is_some_and(|step| !is_multiple(number, step))),
        ];
        for (key, _) in broken.iter().filter(|(_, is_broken)| *is_broken) {
            self.tell(at, format_args!("is {document}, against {key} {}", keywords[*key]));
        }
    }
}

/// 0.3 is a multiple of 0.1, though their quotient in binary is not whole.
fn is_multiple(number: f64, step: f64) -> bool {
    let quotient = number / step;
    (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0)
}

fn kind(document: &Value) -> &'static str {
    match document {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn has_type(document: &Value, name: &str) -> bool {
    match name {
        "integer" => document.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => kind(document) == name,
    }
}

fn same(one: &Value, other: &Value) -> bool {
    canonical(one) == canonical(other)
}

/// One text for each value as JSON sees it: 1 and 1.0 are the same number, and the order of names does not count.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                format!("{}", float as i64)
            }
            Some(_) | None => number.to_string(),
        },
        Value::Array(list) => format!("[{}]", list.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(map) => {
            let mut parts: Vec<String> = map
                .iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value)))
                .collect();
            parts.sort();
            format!("{{{}}}", parts.join(","))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_keyword_takes_what_fits_and_tells_what_does_not() {
        for (schema, fits, does_not, told) in [
            (json!({"type": "object"}), json!({}), json!([]), "$ is array, not object"),
            (json!({"type": ["null", "string"]}), json!(null), json!(1), "not null or string"),
            (json!({"type": "integer"}), json!(2.0), json!(2.5), "not integer"),
            (json!({"enum": [1, "a"]}), json!(1.0), json!("b"), "none of the allowed"),
            (json!({"const": {"a": 1}}), json!({"a": 1}), json!({"a": 2}), "not the one allowed"),
            (json!({"required": ["a"]}), json!({"a": 1}), json!({}), "$ has no \"a\""),
            (
                json!({"properties": {"a": {"type": "string"}}}),
                json!({"b": 1}),
                json!({"a": 1}),
                "$.a is number",
            ),
            (
                json!({"properties": {"a": true}, "additionalProperties": false}),
                json!({"a": 1}),
                json!({"b": 1}),
                "$.b is not allowed",
            ),
            (json!({"propertyNames": {"maxLength": 1}}), json!({"a": 1}), json!({"ab": 1}), "more than 1"),
            (json!({"items": {"type": "number"}}), json!([1]), json!([1, "a"]), "$[1] is string"),
            (json!({"prefixItems": [true, false]}), json!([1]), json!([1, 2]), "$[1] is not allowed"),
            (json!({"contains": {"const": 1}}), json!([0, 1]), json!([0]), "no item that fits"),
            (json!({"minItems": 1}), json!([1]), json!([]), "0 items, fewer than 1"),
            (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1.0]), "same item twice"),
            (json!({"minProperties": 1}), json!({"a": 1}), json!({}), "fewer than 1"),
            (json!({"maxLength": 2}), json!("ab"), json!("abc"), "3 characters, more than 2"),
            (json!({"minimum": 1}), json!(1), json!(0), "is 0, against minimum 1"),
            (json!({"exclusiveMaximum": 1}), json!(0.9), json!(1), "exclusiveMaximum"),
            (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35), "multipleOf"),
            (json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), json!(1), json!(3), "maximum"),
            (json!({"anyOf": [{"const": 1}, {"const": 2}]}), json!(2), json!(3), "none of the schemas"),
            (json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}), json!(1), json!(3), "fits 2 of"),
            (json!({"not": {"type": "null"}}), json!(1), json!(null), "fits the schema of not"),
            (
                json!({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}}),
                json!("a"),
                json!(0),
                "minimum",
            ),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}),
                json!(null),
                json!(1),
                "not null",
            ),
            (json!(true), json!(1), json!(null), ""),
        ] {
            assert_eq!(flaw(&schema), None, "{schema}");
            assert_eq!(mismatch(&schema, &fits), None, "{schema} and {fits}");
            match mismatch(&schema, &does_not) {
                Some(problem) => assert!(problem.contains(told) && !told.is_empty(), "{schema}: {problem}"),
                None => assert!(told.is_empty(), "{schema} took {does_not}"),
            }
        }
    }

    #[test]
    fn what_would_not_be_checked_is_refused() {
        for (schema, because) in [
            (json!({"pattern": "^a"}), "#/pattern is a keyword that is not checked"),
            (json!({"properties": {"a": {"typ": "string"}}}), "#/properties/a/typ is a keyword"),
            (json!({"$ref": "https://example.org/schema"}), "does not refer to a part of the same schema"),
            (json!({"$ref": "#/$defs/b"}), "does not refer"),
            (json!({"type": "text"}), "#/type has a value"),
            (json!({"items": [true]}), "#/items is neither"),
            (json!({"exclusiveMinimum": true}), "is no number"),
            (json!({"multipleOf": 0}), "is no number"),
            (json!({"minLength": -1}), "is no count"),
            (json!([]), "# is neither an object"),
        ] {
            let problem = flaw(&schema).unwrap_or_default();
            assert!(problem.contains(because), "{schema}: {problem}");
        }
    }

    #[test]
    fn references_that_double_are_cut_off_after_so_many_steps_as_the_document_is_worth() {
        let mut defs = serde_json::Map::new();
        for level in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            defs.insert(format!("d{level}"), json!({"allOf": [next, next]}));
        }
        defs.insert("d60".to_owned(), json!({"type": "integer"}));
        let schema = json!({"$ref": "#/$defs/d0", "$defs": defs});
        assert_eq!(flaw(&schema), None);
        let problem = mismatch(&schema, &json!(1)).unwrap_or_default();
        assert!(problem.contains("the references of the schema multiply"), "{problem}");
        let (one, many) = (json!(1), json!({"a": [1, 2], "b": {"c": null}}));
        assert_eq!((values(&one), values(&many)), (1, 6));
        let each = json!({"items": {"anyOf": vec![json!({"const": 0}); 90]}});
        let list = json!(vec![0; 2_000]);
        assert_eq!(mismatch(&each, &list), None, "a real schema has room");
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({"$ref": "#"});
        assert_eq!(flaw(&schema), None);
        assert!(mismatch(&schema, &json!(1)).is_some_and(|problem| problem.contains("goes deeper")));
        let wide = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
        assert!(mismatch_within(&wide, &json!(1), 10_000).is_some());
        assert!(mismatch_within(&json!({"not": wide}), &json!(1), 10_000).is_some());
        assert_eq!(mismatch(&json!({"const": 9007199254740993_u64}), &json!(9007199254740993_u64)), None);
        assert!(mismatch(&json!({"const": 9007199254740993_u64}), &json!(9007199254740992_u64)).is_some());
        let tree = json!({"properties": {"next": {"$ref": "#"}}, "required": ["v"]});
        assert_eq!(mismatch(&tree, &json!({"v": 1, "next": {"v": 2}})), None);
        assert!(mismatch(&tree, &json!({"v": 1, "next": {}})).is_some());
    }
}

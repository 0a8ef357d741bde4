//! All paths put together, with the gate in front, and the document that describes them.
//!
//! Invariant: every request passes the gate, those that lead nowhere too. The document lists exactly the paths of the
//! API, and every operation of it may answer with a problem.

use std::sync::OnceLock;

use axum::Router;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::response::Html;
use axum::routing::get;
use serde_json::{Value, json};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::access::{Needs, gate, login, needs};
use crate::app::{Answer, Shared};
use crate::assets;
use crate::problem::Problem;
use crate::routes::{api, docs_page, livez, mcp, metrics, readyz};

const BASE: &str = "/api/v1";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Callboard",
        description = "What every agent is doing, why, and what needs you.",
        license(name = "Apache-2.0")
    ),
    components(schemas(callboard_wire::ProblemShape))
)]
struct Description;

/// The whole server as one service.
pub(crate) fn router(app: Shared) -> Router {
    let (routes, _) = described();
    routes
        .route(&format!("{BASE}/openapi.json"), get(async || Answer::json(document())))
        .route("/docs", get(async || Html(docs_page(document()))))
        .route("/login", get(login))
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/mcp", mcp(&app))
        .route("/", get(assets::serve))
        .route("/{*path}", get(assets::serve))
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        .layer(from_fn_with_state(app.clone(), gate))
        .with_state(app)
}

fn described() -> (Router<Shared>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Description::openapi()).nest(BASE, api()).split_for_parts()
}

/// The OpenAPI document of the API.
pub fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| finish(serde_json::to_value(described().1).unwrap_or_default()))
}

/// Adds what holds for every operation, and writes paths as the standard wants them.
fn finish(mut document: Value) -> Value {
    document["components"]["securitySchemes"] = json!({
        "token": { "type": "http", "scheme": "bearer" },
        "cookie": { "type": "apiKey", "in": "cookie", "name": "callboard_PORT" },
    });
    document["security"] = json!([{ "token": [] }, { "cookie": [] }]);
    let problem = json!({
        "description": "Why the request was not answered as it wished.",
        "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
    });
    let Some(paths) = document["paths"].as_object_mut() else { return document };
    let all: Vec<(String, Value)> = std::mem::take(paths).into_iter().collect();
    for (path, mut methods) in all {
        for (method, operation) in methods.as_object_mut().into_iter().flatten() {
            operation["responses"]["default"] = problem.clone();
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).ok();
            let scope = method.and_then(|method| needs(&method, &path)).map(Needs::scope);
            operation["x-scope"] = json!(scope);
        }
        paths.insert(path.replace("{*", "{"), methods);
    }
    document
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::access::rows;

    #[test]
    fn every_path_of_the_router_has_a_row_in_the_table_of_access_and_no_row_is_left_over() {
        let description = serde_json::to_value(described().1).unwrap();
        let mut declared = BTreeSet::new();
        for (path, methods) in description["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                let method = method.to_uppercase();
                let known: Method = method.parse().unwrap();
                assert!(needs(&known, path).is_some(), "{method} {path} has no row");
                declared.insert((method, path.clone()));
            }
        }
        let beside = [
            "/livez",
            "/readyz",
            "/login",
            "/docs",
            "/",
            "/{*path}",
            "/metrics",
            "/mcp",
            "/api/v1/openapi.json",
        ];
        for (method, path) in rows() {
            let is_declared = declared.contains(&(method.to_owned(), path.to_owned()));
            assert!(is_declared || beside.contains(&path), "{method} {path} leads nowhere");
        }
    }

    #[test]
    fn every_operation_may_answer_with_a_problem_and_says_whom_it_is_open_to() {
        for (path, methods) in document()["paths"].as_object().unwrap() {
            assert!(!path.contains('*'), "{path}");
            for operation in methods.as_object().unwrap().values() {
                assert!(operation["responses"]["default"].is_object(), "{path}");
                assert!(operation["x-scope"].is_string(), "{path}");
            }
        }
    }
}

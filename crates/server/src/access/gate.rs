//! The gate every request passes: whose host, which site, who asks, how often, and whether they may.
//!
//! Invariant: nothing is handed to a handler before all five are answered, in this order, and every answer leaves with
//! the headers that keep a browser from making something else of it. Deliberately absent: logging what was
//! asked; of what is turned away only why and where is told.

use std::time::Instant;

use axum::body::HttpBody;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use callboard_engine::mutant;
use callboard_kernel::{EntityId, Moment, fact};
use callboard_lifecycle::Kind;

use super::keyring::{Principal, Scope};
use super::refusals::Refused;
use super::seal::COOKIE_LIFE_S;
use super::shares::{Held, Turn};
use super::table::{Needs, needs};
use crate::app::{App, Shared, ask};
use crate::connection::drained_body::DrainedBody;
use crate::problem::Problem;
use crate::query::Query;
use crate::routes::{BODY_TIME, SAID_MAX, whole};
use crate::traces::of_request;

/// Whoever fails to say who they are shares one bucket.
const STRANGER: [u8; 32] = [0; 32];

const POLICY: &str = "default-src 'self'; img-src 'self' data:; \
                      object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// A request that is turned away: why, if it matters to whoever guards the server, and what is answered.
type Turned = (Option<Refused>, Problem);

/// Lets a request through, or says why not.
pub(crate) async fn gate(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let mut request = request.map(DrainedBody::of);
    let traced = app.traces.clone().map(|traces| (traces, Traced::of(&request, app.now())));
    let path = request.uri().path().to_owned();
    let asked = recognise(&app, &request);
    let admitted = admit(&app, asked, &path, &mut request).await;
    if let Err((why, _)) = &admitted {
        let pattern = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
        why.iter().for_each(|why| app.refusals.note(*why, request.method().as_str(), pattern));
    }
    let answer = match admitted {
        Ok(None) => next.run(request).await,
        Ok(Some(Admitted { principal, held, turn })) => {
            request.extensions_mut().insert(principal);
            // A question to the store goes on when nobody waits for the answer any more, so it counts as long.
            let answering = tokio::spawn(async move {
                let answer = next.run(request).await;
                drop(turn);
                answer.map(|body| held.until_taken(body))
            });
            answering.await.unwrap_or_else(|_| Problem::internal("an answer broke off").into_response())
        }
        Err((_, problem)) => problem.into_response(),
    };
    if let Some((traces, Traced { method, pattern, headers, from })) = traced {
        let status = answer.status().as_u16();
        traces.take(of_request(method.as_str(), &pattern, status, &headers, (from, app.now())));
    }
    with_headers(answer)
}

/// What a span tells of a request.
struct Traced {
    method: Method,
    pattern: String,
    headers: HeaderMap,
    from: Moment,
}

impl Traced {
    fn of(request: &Request, from: Moment) -> Self {
        let pattern = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str).to_owned();
        let parent = request.headers().get("traceparent").cloned();
        let headers =
            parent.map(|value| (HeaderName::from_static("traceparent"), value)).into_iter().collect();
        Self { method: request.method().clone(), pattern, headers, from }
    }
}

/// Who was let in, with what counts until they are answered.
struct Admitted {
    principal: Principal,
    held: Held,
    /// The turn of an agent, until its answer is made.
    turn: Option<Turn>,
}

/// Who asks and may, if the path needs to know.
async fn admit(
    app: &Shared,
    asked: Result<Option<(Principal, Needs)>, Turned>,
    path: &str,
    request: &mut Request,
) -> Result<Option<Admitted>, Turned> {
    let Some((principal, needed)) = asked? else { return Ok(None) };
    let rated = |problem| (Some(Refused::Rate), problem);
    let held = app.shares.request(&principal, Instant::now()).map_err(rated)?;
    if matches!(principal.scope, Scope::Agent(_)) && !request.body().is_end_stream() {
        // Whoever sends slowly does not have the turn of somebody else meanwhile.
        let body = std::mem::take(request.body_mut());
        *request.body_mut() =
            whole(body, SAID_MAX, BODY_TIME).await.map_err(|problem| (None, problem))?.into();
    }
    let turn = app.shares.turn(&principal).await;
    let mut own = None;
    if let Scope::Agent(run) = principal.scope {
        lives(app, run).await.map_err(|problem| (Some(Refused::Token), problem))?;
        own = match needed {
            Needs::LookTask | Needs::SpeakTask => {
                worked_on(app, run, path).await.map_err(|problem| (None, problem))?
            }
            Needs::Nobody
            | Needs::Look
            | Needs::LookOwn
            | Needs::SpeakOwn
            | Needs::Tools
            | Needs::Ask
            | Needs::Act => named_run(path),
        };
    }
    permit(&principal, needed, own).map_err(|problem| (Some(Refused::Scope), problem))?;
    Ok(Some(Admitted { principal, held, turn }))
}

/// Who asks for what, if the path needs to know.
fn recognise(app: &Shared, request: &Request) -> Result<Option<(Principal, Needs)>, Turned> {
    let over_socket = request.extensions().get();
    app.doorman.check(request.method(), request.headers(), over_socket).map_err(|problem| {
        let is_host = problem.status() == StatusCode::MISDIRECTED_REQUEST;
        (Some(if is_host { Refused::Host } else { Refused::Origin }), problem)
    })?;
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    // A path that leads nowhere is answered by the router, which knows nothing but that.
    let Some(path) = path else { return Ok(None) };
    let Some(needed) = needs(request.method(), path) else {
        return Err((None, Problem::method_not_allowed()));
    };
    if needed == Needs::Nobody {
        return Ok(None);
    }
    let Some(principal) = who(app, request) else {
        app.doorman.rate.take(STRANGER, Instant::now()).map_err(wait)?;
        let had_one = request.headers().contains_key(header::AUTHORIZATION);
        let told = match had_one {
            true => "this token opens nothing here",
            false => "there is no token and no cookie",
        };
        return Err((Some(Refused::Token), Problem::unauthorized(told)));
    };
    app.doorman.rate.take(principal.mark, Instant::now()).map_err(wait)?;
    Ok(Some((principal, needed)))
}

fn wait(span: std::time::Duration) -> Turned {
    (Some(Refused::Rate), Problem::too_many("this token asked too often", span.as_secs().max(1)))
}

/// The token in the header wins; a cookie counts only without one. A token in the address is never looked at.
fn who(app: &App, request: &Request) -> Option<Principal> {
    let headers = request.headers();
    if let Some(given) = headers.get(header::AUTHORIZATION) {
        let (scheme, token) = given.to_str().ok()?.split_once(' ')?;
        return app.keys.whose(token.trim(), app.now()).filter(|_| scheme.eq_ignore_ascii_case("bearer"));
    }
    let cookie = app.doorman.cookie(headers)?;
    app.keys.seal().takes_cookie(cookie, app.now()).then(|| app.keys.person())
}

/// `own` is the run that the path leads to, or whose task it leads to.
fn permit(who: &Principal, needed: Needs, own: Option<EntityId>) -> Result<(), Problem> {
    match (who.scope, needed) {
        (Scope::Operator, _)
        | (_, Needs::Tools)
        | (Scope::Agent(_), Needs::Ask)
        | (Scope::Viewer, Needs::Look | Needs::LookOwn | Needs::LookTask | Needs::Nobody) => Ok(()),
        (Scope::Viewer, _) if mutant::removed("viewers_only_look") => Ok(()),
        (Scope::Agent(run), Needs::LookOwn | Needs::SpeakOwn | Needs::LookTask | Needs::SpeakTask)
            if own == Some(run) || mutant::removed("agents_own_run") =>
        {
            Ok(())
        }
        (Scope::Agent(_), Needs::LookOwn | Needs::SpeakOwn) => {
            Err(Problem::forbidden("this token belongs to another run", "use the token of this run"))
        }
        (Scope::Agent(_), Needs::LookTask | Needs::SpeakTask) => {
            let help = "work on the task of its own run";
            Err(Problem::forbidden("the run of this token does not work on this task", help))
        }
        (Scope::Viewer, Needs::SpeakOwn | Needs::SpeakTask | Needs::Ask | Needs::Act) => {
            Err(Problem::forbidden("a viewer's token only looks", "use an operator's token"))
        }
        (Scope::Agent(_), Needs::Nobody | Needs::Look | Needs::Act) => {
            let help = "ask about the run it was made for";
            Err(Problem::forbidden("an agent's token opens only its own run", help))
        }
    }
}

/// A token of a run ends with the run.
async fn lives(app: &Shared, run: EntityId) -> Result<(), Problem> {
    ask(app, move |app| {
        let alive = app.ledger.entity(run)?.is_some_and(|stored| stored.entity.ended_at.is_none());
        if alive || mutant::removed("token_ends_with_run") {
            Ok(())
        } else {
            Err(Problem::unauthorized("the run of this token has ended"))
        }
    })
    .await
}

/// The run, if it works on the task that a path names.
async fn worked_on(app: &Shared, run: EntityId, path: &str) -> Result<Option<EntityId>, Problem> {
    let id = path.strip_prefix("/api/v1/tasks/").and_then(|rest| rest.split('/').next());
    let Some(task) = id.and_then(|id| id.parse::<EntityId>().ok()) else { return Ok(None) };
    ask(app, move |app| {
        let stored = app.ledger.entity(task)?.filter(|_| task.kind() == Kind::Task);
        let is_own = |stored: &callboard_ledger::Stored| {
            stored.entity.facts.read(fact::RUN) == Some(run.to_string().as_str())
        };
        Ok(stored.filter(is_own).map(|_| run))
    })
    .await
}

/// The run that a path names, spelled out whole.
fn named_run(path: &str) -> Option<EntityId> {
    let id = path.strip_prefix("/api/v1/entities/")?.split('/').next()?;
    id.parse().ok().filter(|id: &EntityId| id.kind() == Kind::Session)
}

fn with_headers(mut response: Response) -> Response {
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// `GET /login?once=CODE`: changes a one-time code into a cookie.
pub(crate) async fn login(State(app): State<Shared>, method: Method, query: Query) -> Response {
    let now = app.now();
    let code = query.one("once").unwrap_or_default();
    // Looking at the head of a link must not use it up.
    if method == Method::GET && app.doorman.take_code(app.keys.seal(), code, now) {
        let cookie = app.doorman.set_cookie(&app.keys.seal().cookie(now), COOKIE_LIFE_S);
        return (StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie.as_str()), (header::LOCATION, "/")])
            .into_response();
    }
    let page = "<!doctype html><meta charset=utf-8><title>Callboard</title>\
                <p>This link was used already, or is older than a minute.\
                <p>A fresh one: <code>callboard token link</code>";
    (StatusCode::UNAUTHORIZED, Html(page)).into_response()
}

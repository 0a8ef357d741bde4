//! OpenTelemetry traces: a span for every request and for every run that ended, sent to a collector as OTLP over HTTP.
//!
//! Invariant: off unless the standard variables name a collector, and then nothing is spent on it. What is sent is no
//! content: no output, no message, no command line, no token. A collector that is slow or away loses spans of requests, gets those of
//! runs later, and holds up nobody. Deliberately absent: metrics, which `/metrics` has, and logs.

mod export;
mod service;
mod settings;
mod span;

pub(crate) use export::Traces;
pub(crate) use service::TraceService;
pub use settings::{TraceSettings, Untraceable};
pub(crate) use span::of_request;

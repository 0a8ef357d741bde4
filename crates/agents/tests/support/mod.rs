//! What a test of a real agent program needs: a model on loopback and a home of its own for the program.

pub(crate) mod codex;
pub(crate) mod model_server;

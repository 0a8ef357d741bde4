//! One store with its server and a listener of its feed, shared by several situations.
//!
//! Invariant: what is done in one situation concerns its own runs alone, so several may share a place; one that breaks the
//! store or the server has a place of its own. Whoever is left in the end is ended. Deliberately absent: what is true.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::harness::driver::Plan;
use crate::harness::http;
use crate::harness::program::{Board, holders};
use crate::harness::scene::Scene;
use crate::harness::service::Service;
use crate::runs::truth::play::{patience, until};

/// A store, its server, and what the feed has said.
pub(crate) struct Place {
    scene: Mutex<Scene>,
    path: PathBuf,
    pub(crate) board: Board,
    service: Mutex<Option<Service>>,
    address: std::net::SocketAddr,
    token: String,
    records: Records,
    is_over: Arc<AtomicBool>,
    /// What the tokens of its runs begin with.
    pub(crate) prefix: String,
}

type Records = Arc<Mutex<Vec<Value>>>;

static PLACES: AtomicU64 = AtomicU64::new(0);

impl Place {
    pub(crate) fn new(plan: &Plan) -> Result<Self> {
        let scene = Scene::new()?;
        let board = Board::new(&scene.store(), plan)?;
        let path = scene.path().to_owned();
        let service = Service::start(&board, &path, &["--rate", "0"])?;
        let (address, token) = (service.address, service.token.clone());
        let (records, is_over) = (Records::default(), Arc::new(AtomicBool::new(false)));
        listen(address, token.clone(), Arc::clone(&records), Arc::clone(&is_over));
        let number = PLACES.fetch_add(1, Ordering::SeqCst);
        let prefix = format!("truth-{}-{number}-", std::process::id());
        let service = Mutex::new(Some(service));
        Ok(Self { scene: Mutex::new(scene), path, board, service, address, token, records, is_over, prefix })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn get(&self, path: &str) -> Result<http::Reply> {
        http::ask(self.address, "GET", path, &http::bearer(&self.token), "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Result<http::Reply> {
        let headers = format!("{}Content-Type: application/json\r\n", http::bearer(&self.token));
        http::ask(self.address, "POST", path, &headers, body)
    }

    pub(crate) fn server_pid(&self) -> Result<u32> {
        held(&self.service).as_ref().map(Service::pid).context("the server is gone")
    }

    /// The run that was recorded under this title, as far as the feed has told.
    pub(crate) fn id_of(&self, title: &str) -> Option<String> {
        let records = held(&self.records);
        let created = records.iter().find(|record| record["data"]["title"] == title)?;
        Some(created["entity"]["id"].as_str()?.to_owned())
    }

    /// The looks at a run that the feed has told behind the first `known` of its messages, and how many messages there are.
    pub(crate) fn looks_at(&self, id: &str, known: usize) -> (Vec<Value>, usize) {
        let records = held(&self.records);
        let looks = records[known.min(records.len())..].iter().filter(|look| look["id"] == id);
        (looks.cloned().collect(), records.len())
    }

    /// The end of a run, as the feed has told it.
    pub(crate) fn end_of(&self, id: &str) -> Option<Value> {
        const ENDS: [&str; 5] = ["completed", "failed", "timed_out", "aborted", "cancelled"];
        let is_end = |record: &&Value| {
            record["entity"]["id"] == id
                && record["from"] != record["to"]
                && ENDS.iter().any(|state| record["to"] == *state)
        };
        held(&self.records).iter().find(is_end).cloned()
    }

    /// What must hold when everything has been played here: the surfaces agree on all that ended, the log is whole, and
    /// nobody is left.
    pub(crate) fn close(&self) -> Result<()> {
        let listed = self.board.json(&["ps", "session", "--all", "--limit", "0", "--json"])?;
        let served = self.get("/api/v1/entities?kind=session&ended=true&limit=500")?.ok()?;
        let (listed, served) = (by_id(&listed["items"]), by_id(&served["items"]));
        ensure!(
            !listed.is_empty() || served.is_empty(),
            "ps lists nothing, the server {} runs",
            served.len()
        );
        for (id, view) in &listed {
            let other = served.get(id).with_context(|| format!("{id} is listed by ps alone"))?;
            ensure!(view == other, "ps says {view} of {id}, the server {other}");
        }
        ensure!(listed.len() == served.len(), "the server lists {} runs, ps {}", served.len(), listed.len());
        let told = |document: &Value| -> Vec<String> {
            let items = document["items"].as_array().into_iter().flatten();
            let mut told: Vec<String> = items.map(|item| item["fingerprint"].to_string()).collect();
            told.sort();
            told
        };
        let here = told(&self.board.json(&["attention", "--json", "--limit", "0"])?);
        let there = told(&self.get("/api/v1/attention?limit=500")?.ok()?);
        ensure!(here == there, "attention is {here:?} by the command line and {there:?} by the server");
        // A supervisor in the background records the end of its run and then goes.
        let left = || holders(&self.prefix);
        let gone = until(patience(), || left().is_empty().then_some(()))?;
        ensure!(gone.is_some(), "somebody outlived everything: {:?}", left());
        self.board.ask(&["verify"])?;
        Ok(())
    }

    /// Ends the server and whoever is left.
    pub(crate) fn leave(&self) -> Result<()> {
        self.is_over.store(true, Ordering::SeqCst);
        drop(held(&self.service).take());
        self.board.sweep(&self.prefix)
    }

    /// Keeps the directory, and says where it is.
    pub(crate) fn keep(&self, plan: &Plan) -> String {
        held(&self.scene).keep(plan)
    }
}

/// State, health, phase, reasons and chain of each, without the moment at which it was judged.
fn by_id(items: &Value) -> BTreeMap<String, Value> {
    let words = |view: &Value| {
        let mut state = view["state"].clone();
        state["evaluated_at"] = Value::Null;
        serde_json::json!([state, view["chain"], view["exit"]])
    };
    let items = items.as_array().into_iter().flatten();
    items.map(|view| (view["id"].as_str().unwrap_or_default().to_owned(), words(view))).collect()
}

/// Takes a lock that nobody can poison for others.
pub(crate) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens to the feed from its first record on, until the place is left.
fn listen(address: std::net::SocketAddr, token: String, records: Records, is_over: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut last = 0;
        while !is_over.load(Ordering::SeqCst) {
            // A connection that breaks is opened again behind the last record; only a server that is gone ends this.
            let Ok(mut feed) = http::open(address, "/api/v1/events?since=0", &token, Some(last)) else {
                std::thread::sleep(std::time::Duration::from_millis(50));
                continue;
            };
            let mut line = String::new();
            while feed.read_line(&mut line).is_ok_and(|read| read > 0) {
                if let Some(seq) = line.strip_prefix("id: ").and_then(|seq| seq.trim().parse().ok()) {
                    last = seq;
                }
                if let Some(record) =
                    line.strip_prefix("data: ").and_then(|data| serde_json::from_str(data).ok())
                {
                    held(&records).push(record);
                }
                line.clear();
            }
        }
    });
}

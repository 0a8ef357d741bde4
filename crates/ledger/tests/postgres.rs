//! What only the PostgreSQL engine does: what its database refuses by itself, and how it wakes and is called.
//!
//! One cluster serves many checks, each in a database of its own, because starting one costs more than a check.

#![cfg(test)]

#[path = "common/cluster.rs"]
mod cluster;
#[path = "common/requests.rs"]
mod requests;

use std::time::Duration;

use callboard_kernel::{Actor, Create, EntityId, Facts, Order};
use callboard_ledger::{
    AppendError, Fault, Ledger, Listing, OpenError, Options, Page, ReadError, Record, RecordScope, Request,
    Stored,
};
use callboard_lifecycle::session::SessionState;
use callboard_lifecycle::task::TaskState;
use callboard_lifecycle::{ActorClass, Kind};
use cluster::Cluster;
use requests::{create, go, observe, request, session, whole_run};

fn open(url: &str) -> Ledger {
    match Ledger::connect(url, Options::default()) {
        Ok(ledger) => ledger,
        Err(error) => panic!("{url}: {error:?}"),
    }
}

fn after(after: u64) -> Page {
    Page { after, limit: usize::MAX, scope: RecordScope::All }
}

#[test]
fn a_server_defends_itself_and_wakes_who_listens() {
    let cluster = Cluster::start();
    the_database_refuses(&cluster);
    a_wake_up_is_sent(&cluster);
    an_older_store_gets_the_edges_it_lacks(&cluster);
    a_guard_that_is_switched_off_is_found(&cluster);
    a_newer_store_is_refused(&cluster);
    a_store_of_a_format_before_is_brought_up_to_date_with_its_records(&cluster);
    what_it_says_of_itself(&cluster);
    it_may_be_called_on_a_thread_of_another_runtime(&cluster);
    a_role_that_may_only_select_reads_everything(&cluster);
}

fn a_role_that_may_only_select_reads_everything(cluster: &Cluster) {
    let url = cluster.database("looked_at");
    let ledger = open(&url);
    for order in whole_run() {
        ledger.append(request(session(1), 0, order)).unwrap();
    }
    cluster.sql(
        "looked_at",
        "CREATE ROLE onlooker LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO onlooker",
    );
    let url = url.replace("user=postgres", "user=onlooker");
    assert!(open(&url).append(request(session(2), 0, create("b"))).is_err(), "it may not write");
    let reader = Ledger::open_reader(&url, &Options::default()).unwrap();
    assert_eq!(reader.records(after(0)).unwrap(), ledger.records(after(0)).unwrap());
    assert!(reader.verify().unwrap().ok && reader.info().unwrap().records == 3);
    ledger.append(request(session(1), 0, observe("beats", 1))).unwrap();
    assert_eq!(reader.wait_beyond(3, Duration::from_secs(20)).unwrap(), 4);
}

#[test]
fn work_grows_with_what_is_asked_for_and_not_with_what_there_is() {
    let cluster = Cluster::start();
    an_import_looks_up_each_record_once(&cluster);
    a_short_list_reads_no_more_than_it_shows(&cluster);
    a_board_reads_no_more_of_what_has_ended_than_it_shows(&cluster);
}

/// How many rows of the log or of the views were read, through indexes and without them. What a session counted is told
/// when it ends, so nobody may have the store open; `until` says that all of it is there.
fn rows_read(cluster: &Cluster, database: &str, table: &str, until: &str) -> u64 {
    let count = format!(
        "SELECT s.seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = '{table}') \
         FROM pg_stat_user_tables s WHERE s.relname = '{table}' AND {until}"
    );
    let begun = std::time::Instant::now();
    loop {
        let told = cluster.sql(database, &count);
        if let Ok(count) = told.parse() {
            return count;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{table} of {database}: the server does not tell");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn fill(ledger: &Ledger, runs: u128) {
    let tickets: Vec<_> = (0..runs)
        .flat_map(|run| whole_run().map(|order| (run, order)))
        .map(|(run, order)| ledger.submit(request(session(run), 0, order)))
        .collect();
    assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
}

fn an_import_looks_up_each_record_once(cluster: &Cluster) {
    let place = tempfile::tempdir().unwrap();
    let from = Ledger::open(&place.path().join("board.db"), Options::default()).unwrap();
    // Many parts of an import, so that reading the log so far for each of them would show.
    let records = 12_000;
    fill(&from, records / 3);
    let mut lines = String::new();
    let exported = from.export(callboard_ledger::Range::ALL, &mut |line| {
        lines.push_str(line);
        lines.push('\n');
        Ok(())
    });
    exported.unwrap();
    let url = cluster.database("imported");
    let taken = open(&url).import(&mut lines.as_bytes()).unwrap();
    assert_eq!(u128::from(taken.records), records);
    let read = rows_read(cluster, "imported", "ledger", &format!("s.n_tup_ins >= {records}"));
    assert!(u128::from(read) <= 3 * records, "{read} rows were read to import {records}");
}

fn a_short_list_reads_no_more_than_it_shows(cluster: &Cluster) {
    let url = cluster.database("listed");
    let entities = 3_000;
    fill(&open(&url), entities);
    let filled = format!("s.n_tup_ins >= {entities}");
    let before = rows_read(cluster, "listed", "entity", &filled);
    let shown = 50;
    let listing = callboard_ledger::Listing { kind: None, ended: true, limit: shown };
    let newest = open(&url).entities(listing).unwrap();
    let numbers: Vec<u128> = newest.iter().map(|stored| stored.entity.state.id.uuid().as_u128()).collect();
    assert_eq!(numbers, (entities - shown as u128..entities).rev().collect::<Vec<_>>(), "the newest first");
    let told = format!(
        "(SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'entity') >= {}",
        before + shown as u64
    );
    let read = rows_read(cluster, "listed", "entity", &told) - before;
    assert!(read < 4 * shown as u64, "{read} rows were read to show {shown}");
}

fn a_board_reads_no_more_of_what_has_ended_than_it_shows(cluster: &Cluster) {
    let url = cluster.database("ended");
    let (tasks, shown) = (2_000, 20);
    let ledger = open(&url);
    let of = |number: u128, order| {
        let id = EntityId::new(Kind::Task, uuid::Uuid::from_u128(number));
        Request { actor: Actor::new(ActorClass::Operator, "ann"), ..request(id, 0, order) }
    };
    let open_task =
        || Order::Create(Create { at: TaskState::Open.into(), reasons: vec![], data: Facts::none() });
    let ended = || go(TaskState::Cancelled, "task.cancelled.operator");
    let tickets: Vec<_> = (0..tasks)
        .flat_map(|number| [of(number, open_task()), of(number, ended())])
        .map(|request| ledger.submit(request))
        .collect();
    assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
    drop(ledger);
    let read = |until: &str| -> u64 {
        ["entity", "ended_task", "ended_count"]
            .iter()
            .map(|table| rows_read(cluster, "ended", table, if *table == "entity" { until } else { "true" }))
            .sum()
    };
    let before = read(&format!("s.n_tup_ins >= {tasks}"));
    let through_indexes =
        "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('entity', 'ended_task')";
    let index_before: u64 = cluster.sql("ended", through_indexes).parse().unwrap();
    let ledger = open(&url);
    assert_eq!(ledger.ended_counts().unwrap(), [("cancelled".to_owned(), tasks as u64)]);
    assert_eq!(ledger.ended_tasks(TaskState::Cancelled, None, shown).unwrap().len(), shown);
    drop(ledger);
    let told = format!("({through_indexes}) >= {}", index_before + 2 * shown as u64);
    let read = read(&told) - before;
    assert!(read < 8 * shown as u64, "{read} rows were read to count {tasks} and show {shown}");
}

/// A row as somebody would type it; the positive control shows that only what is wrong with it is refused.
fn insert(seq: u32, entity: u32, version: u32, edge: [&str; 3]) -> String {
    let [from, via, to] = edge;
    format!(
        "INSERT INTO ledger VALUES ({seq}, '00000000-0000-0000-0000-{entity:012}', {version}, 1, 'session', \
         'transitioned', 'audit', '{from}', '{via}', '{to}', 'person', 'ann', NULL, '', decode(repeat('00', 32), 'hex'))"
    )
}

/// The schema as programs made it before every commit was sealed, and before there were leases.
const FORMATS: [&str; 3] = [
    include_str!("../src/postgres/migrations/V1__ledger.sql"),
    include_str!("../src/postgres/migrations/V2__meta.sql"),
    include_str!("../src/postgres/migrations/V3__seal.sql"),
];

fn a_store_of_a_format_before_is_brought_up_to_date_with_its_records(cluster: &Cluster) {
    let keys = tempfile::tempdir().unwrap();
    let options = Options { key_path: Some(keys.path().join("server.key")), ..Options::default() };
    let ledger = Ledger::connect(&cluster.database("filled"), options.clone()).unwrap();
    for number in 1..=40 {
        for order in whole_run() {
            ledger.append(request(session(number), 0, order)).unwrap();
        }
    }
    let written = ledger.records(after(0)).unwrap();
    let everything = Listing { ended: true, ..Listing::default() };
    let entities = ledger.entities(everything).unwrap();
    drop(ledger);
    // The records and views are the same in all formats; the server itself carries them over.
    let directory = cluster.sql("filled", "SHOW data_directory");
    let tables = [
        ("refinery_schema_history", "SELECT * FROM refinery_schema_history"),
        ("legal", "SELECT * FROM legal"),
        ("ledger", "SELECT * FROM ledger ORDER BY seq"),
        ("entity", "SELECT * FROM entity"),
        ("checkpoint", "SELECT * FROM checkpoint"),
        ("signer", "SELECT * FROM signer"),
    ];
    for (table, rows) in tables {
        cluster.sql("filled", &format!("COPY ({rows}) TO '{directory}/{table}.copy'"));
    }
    for format in 2..=FORMATS.len() {
        let name = format!("format_{format}");
        let url = cluster.database(&name);
        FORMATS[..format].iter().for_each(|sql| drop(cluster.sql(&name, sql)));
        let columns =
            "version int4 PRIMARY KEY, name varchar(255), applied_on varchar(255), checksum varchar(255)";
        cluster.sql(&name, &format!("CREATE TABLE refinery_schema_history ({columns})"));
        // Before every commit was sealed, nobody had signed this one.
        let is_sealed = |table: &str| format > 2 || !["checkpoint", "signer"].contains(&table);
        for (table, _) in tables.into_iter().filter(|(table, _)| is_sealed(table)) {
            cluster.sql(&name, &format!("COPY {table} FROM '{directory}/{table}.copy'"));
        }
        cluster.sql(&name, &format!("DELETE FROM refinery_schema_history WHERE version > {format}"));
        assert_eq!(cluster.sql(&name, "SELECT format FROM meta"), format.to_string());
        goes_on(cluster, (&name, &url, &options), &written, &entities);
    }
}

/// Opens a store of an older format that holds these records and entities.
fn goes_on(
    cluster: &Cluster,
    (name, url, options): (&str, &str, &Options),
    written: &[Record],
    entities: &[Stored],
) {
    let ledger = Ledger::connect(url, options.clone()).unwrap();
    assert_eq!(cluster.sql(name, "SELECT format FROM meta"), "6");
    assert_eq!(ledger.records(after(0)).unwrap(), written);
    assert_eq!(ledger.entities(Listing { ended: true, ..Listing::default() }).unwrap(), entities);
    for order in whole_run() {
        ledger.append(request(session(41), 0, order)).unwrap();
    }
    let hour = Duration::from_hours(1);
    assert!(ledger.take_lease("services", "host/1", hour).unwrap().granted().is_some());
    let report = ledger.verify().unwrap();
    assert!(report.ok && report.records == written.len() as u64 + 3 && report.unsealed == 0, "{report:?}");
    drop(ledger);
    // What was there before is sealed from then on.
    let cut = "ALTER TABLE ledger DISABLE TRIGGER ALL; UPDATE ledger SET actor_id = 'eve' WHERE seq = 2; \
               ALTER TABLE ledger ENABLE TRIGGER ALL";
    cluster.sql(name, cut);
    assert!(!Ledger::connect(url, options.clone()).unwrap().verify().unwrap().ok);
}

fn the_database_refuses(cluster: &Cluster) {
    let ledger = open(&cluster.database("refuses"));
    for order in whole_run() {
        ledger.append(request(session(1), 0, order)).unwrap();
    }
    let refused = |sql: &str, why: &str| match cluster.psql("refuses", sql) {
        Ok(_) => panic!("{sql} was taken"),
        Err(error) => assert!(error.contains(why), "{sql}: {error}"),
    };
    let born = ["", "created", "pending"];
    refused(&insert(4, 2, 1, ["pending", "x", "nowhere"]), "ledger_kind_from_state_via_to_state_fkey");
    refused(&insert(4, 2, 1, ["", "created", "completed"]), "fkey");
    refused(&insert(5, 2, 1, born), "does not continue the log");
    refused(&insert(0, 2, 1, born), "does not continue the log");
    refused(&insert(3, 2, 1, born), "duplicate key");
    refused(&insert(4, 2, 2, born), "does not continue its entity");
    refused(&insert(4, 1, 4, ["pending", "observed", "pending"]), "does not continue its entity");
    refused(&insert(4, 1, 1, born), "duplicate key");
    refused(
        &format!("{}, {}", insert(4, 2, 1, born), &insert(6, 3, 1, born)[26..]),
        "does not continue the log",
    );
    refused("UPDATE ledger SET actor_id = 'eve' WHERE seq = 2", "append-only");
    refused("DELETE FROM ledger WHERE seq = 3", "append-only");
    refused("TRUNCATE ledger", "append-only");
    refused("TRUNCATE ledger CASCADE", "append-only");
    refused("UPDATE legal SET to_state = 'x'", "reserved for ever");
    refused("DELETE FROM legal", "reserved for ever");
    assert_eq!(ledger.records(after(0)).unwrap().len(), 3);
    // What a shell may write, it may: the refusals above are not for another reason.
    cluster.sql("refuses", &insert(4, 2, 1, born));
    let receipt = ledger.append(request(session(5), 0, create("a"))).unwrap();
    assert_eq!(receipt.record.seq, 5, "and the writer sees it");
}

/// A runtime of the test, as a server would have one; the ledger is called on its threads.
fn runtime() -> tokio::runtime::Runtime {
    match tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime: {error}"),
    }
}

fn a_wake_up_is_sent(cluster: &Cluster) {
    let url = cluster.database("wakes");
    let ledger = open(&url);
    let (sender, heard) = std::sync::mpsc::channel();
    let runtime = runtime();
    let client = runtime.block_on(async {
        let (client, mut connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        drop(tokio::spawn(async move {
            while let Some(Ok(message)) =
                std::future::poll_fn(|context| connection.poll_message(context)).await
            {
                if let tokio_postgres::AsyncMessage::Notification(notification) = message {
                    drop(sender.send(notification));
                }
            }
        }));
        client.batch_execute("LISTEN callboard").await.unwrap();
        client
    });
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    let heard = heard.recv_timeout(Duration::from_secs(20)).unwrap();
    drop(client);
    assert_eq!((heard.channel(), heard.payload()), ("callboard", "1"));
}

fn it_may_be_called_on_a_thread_of_another_runtime(cluster: &Cluster) {
    let url = cluster.database("nested");
    runtime().block_on(async {
        let ledger = open(&url);
        let receipt = ledger.submit(request(session(1), 0, create("a"))).await.unwrap();
        ledger.append(request(session(1), 1, observe("beats", 1))).unwrap();
        assert_eq!(ledger.records(after(receipt.record.seq)).unwrap().len(), 1);
        assert!(ledger.verify().unwrap().ok);
    });
}

fn an_older_store_gets_the_edges_it_lacks(cluster: &Cluster) {
    let url = cluster.database("older");
    open(&url).append(request(session(1), 0, create("a"))).unwrap();
    let edges = || cluster.sql("older", "SELECT count(*) FROM legal");
    let all = edges();
    cluster.sql(
        "older",
        "SET session_replication_role = replica; DELETE FROM legal WHERE kind = 'session' AND via = 'spawned'; \
         UPDATE meta SET edges = repeat('0', 32)::bytea",
    );
    assert_ne!(edges(), all);
    let racers: Vec<_> = (0..4)
        .map(|_| {
            let url = url.clone();
            std::thread::spawn(move || drop(open(&url)))
        })
        .collect();
    racers.into_iter().for_each(|racer| racer.join().unwrap());
    assert_eq!(edges(), all);
    open(&url).append(request(session(1), 1, go(SessionState::Running, "run.started.ok"))).unwrap();
    // What a newer program added stays, and so does its digest.
    cluster.sql("older", "INSERT INTO legal VALUES ('session', 'running', 'evaporated', 'vapour')");
    cluster.sql("older", "UPDATE meta SET edges = repeat('0', 32)::bytea");
    drop(open(&url));
    let of_newer = "SELECT (SELECT count(*) FROM legal WHERE to_state = 'vapour'), edges = repeat('0', 32)::bytea \
                    FROM meta";
    assert_eq!(cluster.sql("older", of_newer), "1|t");
}

fn a_newer_store_is_refused(cluster: &Cluster) {
    let url = cluster.database("newer");
    let ledger = open(&url);
    ledger.append(request(session(1), 0, create("a"))).unwrap();
    cluster.sql("newer", "UPDATE meta SET format = 99");
    let refused = Ledger::connect(&url, Options::default()).map(|_| ());
    assert!(matches!(refused, Err(OpenError::Newer { found: 99, .. })), "{refused:?}");
    // A handle that was open before meets the new format when it has to connect anew.
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE datname = 'newer' AND pid <> pg_backend_pid()";
    cluster.sql("newer", end);
    let refused = ledger.append(request(session(2), 0, create("b")));
    assert!(matches!(refused, Err(AppendError::Fault(Fault::ReadOnly(_)))), "{refused:?}");
}

fn what_it_says_of_itself(cluster: &Cluster) {
    let ledger = open(&cluster.database("itself"));
    let tickets: Vec<_> = (0..600).map(|at| ledger.submit(request(session(at), 0, create("a")))).collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    let info = ledger.info().unwrap();
    assert!(
        info.engine.starts_with("PostgreSQL ") && info.records == 600 && info.bytes > 100_000,
        "{info:?}"
    );
    assert_eq!(info.checkpoints, 0, "without a key nothing is signed");
    assert!(ledger.verify().unwrap().ok, "and nothing is missed");
    let unsupported = ledger.backup(&cluster.path().join("copy"));
    assert!(matches!(unsupported, Err(ReadError::Unsupported { .. })), "{unsupported:?}");
}

fn a_guard_that_is_switched_off_is_found(cluster: &Cluster) {
    let url = cluster.database("guards");
    let ledger = open(&url);
    assert!(ledger.verify().unwrap().ok);
    cluster.sql("guards", "ALTER TABLE ledger DISABLE TRIGGER ledger_is_not_changed");
    let report = ledger.verify().unwrap();
    assert!(!report.ok && report.problems[0].problem.contains("ledger_is_not_changed"), "{report:?}");
    cluster.sql("guards", "ALTER TABLE ledger ENABLE TRIGGER ledger_is_not_changed");
    assert!(ledger.verify().unwrap().ok);
}

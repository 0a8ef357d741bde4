//! The attempts.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use callboard_ledger::{Range, Record};
use rusqlite::Connection;

use super::ground::{ENDED, Ground, PENDING, RUNNING};
use super::{Attempt, Done, On};
use crate::harness::commands::{create, keyed, observe, request, session};

const fn attempt(what: &'static str, on: On, act: fn(&Ground<'_>) -> Result<Done>) -> Attempt {
    Attempt { what, on, act }
}

pub(crate) const ATTEMPTS: &[Attempt] = &[
    attempt("a record of the newest part is edited, its run hashed anew", On::Both, |ground| {
        ground.rewrite(ENDED, 6, |record| record.actor_id = "eve".to_owned())?;
        mended(ground)
    }),
    attempt("the first record is edited, its run hashed anew", On::Both, |ground| {
        ground.rewrite(PENDING, 1, |record| record.at = record.at.plus(Duration::from_micros(1)))?;
        mended(ground)
    }),
    attempt("every signature is deleted", On::Both, |ground| {
        ground.unguarded("DELETE FROM checkpoint")?;
        Ok(Done::Made)
    }),
    attempt("every signature is deleted, and the log rewritten", On::Both, |ground| {
        ground.unguarded("DELETE FROM checkpoint")?;
        ground.rewrite(ENDED, 8, |record| record.actor_id = "eve".to_owned())?;
        mended(ground)
    }),
    attempt("an edit that an honest write is to cover", On::Both, |ground| {
        ground.rewrite(ENDED, 6, |record| record.actor_id = "eve".to_owned())?;
        ground.mend()?;
        honest(ground)
    }),
    attempt("signatures are deleted, and an honest write is to cover that", On::Both, |ground| {
        ground.unguarded("DELETE FROM checkpoint")?;
        honest(ground)
    }),
    attempt("an added record that an honest write is to cover", On::Both, |ground| {
        ground.add(&ground.next_of(RUNNING)?)?;
        ground.mend()?;
        honest(ground)
    }),
    attempt("a note is added with INSERT", On::Both, |ground| added(ground, ground.next_of(RUNNING)?)),
    attempt("an agent moves a run as only its supervisor may", On::Both, |ground| {
        added(ground, Record { actor_type: "agent".to_owned(), body: WHY.to_owned(), ..ending(ground)? })
    }),
    attempt("a move without a reason", On::Both, |ground| added(ground, ending(ground)?)),
    attempt("a move without evidence", On::Both, |ground| {
        let body = r#"{"reasons":[{"code":"run.completed.ok","message":"it ended"}]}"#;
        added(ground, Record { body: body.to_owned(), ..ending(ground)? })
    }),
    attempt("a record whose body is not JSON", On::Both, |ground| {
        let seq = ground.next_of(RUNNING)?.seq;
        let forged = Record { body: "nonsense".to_owned(), ..ground.next_of(RUNNING)? };
        ground.add(&forged)?;
        ground.unguarded(&format!(
            "UPDATE entity SET state = 'completed' WHERE last_seq < {seq} AND state = 'running'"
        ))?;
        Ok(Done::Made)
    }),
    attempt("a record with a reason that nobody knows, and a view that lies", On::Both, |ground| {
        let body = r#"{"reasons":[{"code":"run.completed.splendidly","message":"it ended"}]}"#;
        ground.add(&Record { body: body.to_owned(), ..ending(ground)? })?;
        ground.unguarded("UPDATE entity SET facts = '' WHERE state = 'running'")?;
        Ok(Done::Made)
    }),
    attempt("a time in the past", On::Both, |ground| {
        let next = ground.next_of(RUNNING)?;
        let at = callboard_kernel::Moment::from_micros(next.at.as_micros() - 3_600_000_000);
        added(ground, Record { at, ..next })
    }),
    attempt("a time ten years ahead", On::Both, |ground| {
        let next = ground.next_of(RUNNING)?;
        let at = next.at.plus(Duration::from_secs(10 * 365 * 86_400));
        added(ground, Record { at, ..next })
    }),
    attempt("a trigger that is not declared", On::Both, |ground| {
        ground.shell("INSERT INTO legal VALUES ('session', 'running', 'wished', 'completed')")?;
        added(ground, Record { via: "wished".to_owned(), body: WHY.to_owned(), ..ending(ground)? })
    }),
    attempt("a type that nobody knows revives an ended run", On::Both, |ground| {
        ground.shell("INSERT INTO legal VALUES ('session', 'completed', 'revived', 'running')")?;
        let forged = Record {
            event_type: "revived".to_owned(),
            via: "revived".to_owned(),
            to_state: "running".to_owned(),
            ..ground.next_of(ENDED)?
        };
        ground.add(&forged)?;
        // No honest program folds such a log, so the forger cannot have the views mended.
        Ok(Done::Made)
    }),
    attempt("a legal edge is added", On::Both, |ground| {
        ground.shell("INSERT INTO legal VALUES ('session', 'completed', 'spawned', 'running')")?;
        Ok(Done::Made)
    }),
    attempt("the index of what needs somebody is made anew over less", On::Both, |ground| {
        let sql = if ground.is_sqlite() {
            "DROP INDEX entity_attention; CREATE INDEX entity_attention ON entity (rank, entered_at) WHERE rank < 0"
        } else {
            "DROP INDEX entity_attention; CREATE INDEX entity_attention ON entity (urgency, id) WHERE urgency < 0"
        };
        ground.shell(sql)?;
        Ok(Done::Made)
    }),
    attempt("the index of keys is made anew without being unique", On::Both, |ground| {
        ground.shell(
            "DROP INDEX ledger_key; CREATE INDEX ledger_key ON ledger (entity, key) WHERE key IS NOT NULL",
        )?;
        Ok(Done::Made)
    }),
    attempt("a constraint is dropped", On::Postgres, |ground| {
        ground.shell("ALTER TABLE checkpoint DROP CONSTRAINT checkpoint_signature_check")?;
        Ok(Done::Made)
    }),
    attempt("an index that does not hold what its table holds", On::Sqlite, |ground| {
        // The rows are indexed under another definition, and the text of the true one is put back.
        ground.shell(
            "PRAGMA writable_schema = ON; \
             UPDATE sqlite_schema SET sql = replace(sql, 'rank < 2', 'rank < 0') WHERE name = 'entity_attention'; \
             PRAGMA writable_schema = RESET; REINDEX entity_attention; PRAGMA writable_schema = ON; \
             UPDATE sqlite_schema SET sql = replace(sql, 'rank < 0', 'rank < 2') WHERE name = 'entity_attention'; \
             PRAGMA writable_schema = RESET; UPDATE entity SET rank = 1 WHERE 0",
        )?;
        // An urgent entity, so that the index should hold something.
        let ledger = ground.open()?;
        ledger.append(request(
            session(RUNNING),
            9,
            crate::harness::commands::go(
                callboard_lifecycle::session::SessionState::Failed,
                "run.failed.exit_nonzero",
            ),
        ))?;
        drop(ledger);
        ground.shell(
            "PRAGMA writable_schema = ON; \
             UPDATE sqlite_schema SET sql = replace(sql, 'rank < 2', 'rank < 0') WHERE name = 'entity_attention'; \
             PRAGMA writable_schema = RESET; REINDEX entity_attention; PRAGMA writable_schema = ON; \
             UPDATE sqlite_schema SET sql = replace(sql, 'rank < 0', 'rank < 2') WHERE name = 'entity_attention'; \
             PRAGMA writable_schema = RESET",
        )?;
        Ok(Done::Made)
    }),
    attempt("an extra trigger makes records vanish", On::Both, |ground| {
        let sql = if ground.is_sqlite() {
            "CREATE TRIGGER a BEFORE INSERT ON ledger BEGIN SELECT RAISE(IGNORE); END"
        } else {
            "CREATE FUNCTION a() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
             CREATE TRIGGER a BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION a()"
        };
        ground.shell(sql)?;
        loud(ground)
    }),
    attempt("an extra trigger makes views vanish", On::Both, |ground| {
        let sql = if ground.is_sqlite() {
            "CREATE TRIGGER a BEFORE INSERT ON entity BEGIN SELECT RAISE(IGNORE); END"
        } else {
            "CREATE FUNCTION a() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; \
             CREATE TRIGGER a BEFORE INSERT ON entity FOR EACH ROW EXECUTE FUNCTION a()"
        };
        ground.shell(sql)?;
        loud(ground)
    }),
    attempt("an extra trigger changes views", On::Both, |ground| {
        let sql = if ground.is_sqlite() {
            "CREATE TRIGGER a AFTER UPDATE OF state ON entity BEGIN SELECT 1; END"
        } else {
            "CREATE FUNCTION a() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
             CREATE TRIGGER a BEFORE UPDATE ON entity FOR EACH ROW EXECUTE FUNCTION a()"
        };
        ground.shell(sql)?;
        Ok(Done::Made)
    }),
    attempt("a guard is dropped", On::Both, |ground| {
        let sql = if ground.is_sqlite() {
            "DROP TRIGGER ledger_is_not_updated"
        } else {
            "DROP TRIGGER ledger_is_not_changed ON ledger"
        };
        ground.shell(sql)?;
        Ok(Done::Made)
    }),
    attempt("a guard is replaced by one that lets everything through", On::Both, |ground| {
        let sql = if ground.is_sqlite() {
            "DROP TRIGGER ledger_is_not_updated; \
             CREATE TRIGGER ledger_is_not_updated BEFORE UPDATE ON ledger BEGIN SELECT 1; END"
        } else {
            "CREATE OR REPLACE FUNCTION ledger_continues() RETURNS trigger LANGUAGE plpgsql \
             AS 'BEGIN RETURN NULL; END'"
        };
        ground.shell(sql)?;
        Ok(Done::Made)
    }),
    attempt("a guard is switched off", On::Postgres, |ground| {
        ground.shell("ALTER TABLE ledger DISABLE TRIGGER ledger_continues")?;
        Ok(Done::Made)
    }),
    attempt("the log becomes UNLOGGED", On::Postgres, |ground| {
        ground.shell(
            "ALTER TABLE ledger DROP CONSTRAINT ledger_kind_from_state_via_to_state_fkey; \
             ALTER TABLE ledger SET UNLOGGED",
        )?;
        Ok(Done::Made)
    }),
    attempt("the signatures become UNLOGGED", On::Postgres, |ground| {
        ground.shell("ALTER TABLE checkpoint SET UNLOGGED")?;
        Ok(Done::Made)
    }),
    attempt("the log becomes a view that shows less to one reader", On::Postgres, |ground| {
        let seen = "ALTER TABLE ledger RENAME TO hidden; CREATE VIEW ledger AS SELECT * FROM hidden \
                    WHERE current_user = 'postgres'";
        ground.shell(seen)?;
        Ok(Done::Made)
    }),
    attempt("a rule turns writes into nothing", On::Postgres, |ground| {
        ground.shell("CREATE RULE a AS ON INSERT TO checkpoint DO INSTEAD NOTHING")?;
        Ok(Done::Made)
    }),
    attempt("a policy hides rows from one reader", On::Postgres, |ground| {
        ground.shell(
            "ALTER TABLE ledger ENABLE ROW LEVEL SECURITY; CREATE POLICY a ON ledger USING (seq < 3)",
        )?;
        Ok(Done::Made)
    }),
    attempt("a column loses its constraint", On::Postgres, |ground| {
        ground.shell("ALTER TABLE ledger ALTER COLUMN hash DROP NOT NULL")?;
        Ok(Done::Made)
    }),
    attempt("the log is cut, signatures and views too", On::Both, |ground| {
        write_on(ground)?;
        ground.unguarded("DELETE FROM checkpoint WHERE seq > 4; DELETE FROM ledger WHERE seq > 4")?;
        mended(ground)
    }),
    attempt("the log is emptied", On::Both, |ground| {
        write_on(ground)?;
        ground.unguarded("DELETE FROM checkpoint; DELETE FROM entity; DELETE FROM ledger")?;
        Ok(Done::Made)
    }),
    attempt("an older copy is put in the place of the store", On::Sqlite, |ground| {
        let copy = ground.directory().join("older");
        std::fs::copy(ground.file(), &copy)?;
        write_on(ground)?;
        std::fs::copy(&copy, ground.file())?;
        Ok(Done::Made)
    }),
    attempt("another store is put in the place of the store", On::Sqlite, |ground| {
        write_on(ground)?;
        let other = Ground::new(None, "other")?;
        // The key stays where it is; only the database is another one.
        drop(other.open()?);
        std::fs::copy(other.file(), ground.file())?;
        Ok(Done::Made)
    }),
    attempt("the WAL of a server that crashed is lost", On::Sqlite, lose_the_wal),
    attempt("a key of one's own signs everything anew", On::Both, |ground| {
        write_on(ground)?;
        ground.unguarded("DELETE FROM checkpoint; DELETE FROM signer")?;
        ground.rewrite(ENDED, 6, |record| record.actor_id = "eve".to_owned())?;
        ground.mend()?;
        // The forger's own key takes the place of the true one, and an honest program signs with it.
        for entry in std::fs::read_dir(ground.directory())?.flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "key") {
                std::fs::remove_file(entry.path())?;
            }
        }
        honest(ground)
    }),
    attempt("an export is edited and hashed anew", On::Both, |ground| {
        forged_import(ground, false, by_somebody_else)
    }),
    attempt("an export is edited, hashed anew and stripped of its seals", On::Both, |ground| {
        forged_import(ground, true, by_somebody_else)
    }),
    attempt("an export in which an agent ends its own run", On::Both, |ground| {
        match forged_import(ground, true, by_an_agent)? {
            Done::Refused => Ok(Done::Refused),
            Done::Made => bail!("it was imported"),
        }
    }),
    attempt("the time of a segment is changed", On::Sqlite, |ground| {
        archive(ground)?;
        ground.unguarded("UPDATE segment SET at = at + 1000000000")?;
        Ok(Done::Made)
    }),
    attempt("a key that no archived record has is planted", On::Sqlite, |ground| {
        archive(ground)?;
        ground.shell("INSERT INTO archived_key SELECT entity, 'planted', 1 FROM ledger LIMIT 1")?;
        Ok(Done::Made)
    }),
    attempt("a FIFO takes the place of a segment", On::Sqlite, fifo),
];

/// What a move of a supervisor carries.
const WHY: &str = r#"{"reasons":[{"code":"run.completed.ok","message":"it ended","evidence":[{"kind":"tool_result","detail":"x"}]}]}"#;

fn mended(ground: &Ground<'_>) -> Result<Done> {
    ground.mend()?;
    Ok(Done::Made)
}

/// The end of the run that works, as a record without a body.
fn ending(ground: &Ground<'_>) -> Result<Record> {
    let next = ground.next_of(RUNNING)?;
    let end = |word: &str| word.to_owned();
    Ok(Record {
        event_type: end("transitioned"),
        via: end("exited_clean"),
        to_state: end("completed"),
        ..next
    })
}

fn added(ground: &Ground<'_>, record: Record) -> Result<Done> {
    if ground.add(&record).is_err() {
        return Ok(Done::Refused);
    }
    mended(ground)
}

/// The next write of the program, which must not cover up what was done.
fn honest(ground: &Ground<'_>) -> Result<Done> {
    let ledger = ground.open()?;
    match ledger.append(request(session(PENDING), 20, observe("beats", 1))) {
        Ok(_) => Ok(Done::Made),
        Err(_) => Ok(Done::Refused),
    }
}

/// A write that does not reach the store must not be acknowledged.
fn loud(ground: &Ground<'_>) -> Result<Done> {
    let ledger = ground.open()?;
    if ledger.append(request(session(99), 20, create("vanishes"))).is_ok() {
        bail!("it was acknowledged");
    }
    Ok(Done::Refused)
}

/// An honest day's work after which the store is closed.
fn write_on(ground: &Ground<'_>) -> Result<()> {
    let ledger = ground.open()?;
    for second in 20..24 {
        ledger.append(request(session(PENDING), second, observe("beats", second)))?;
    }
    Ok(())
}

/// Records are acknowledged and in the WAL; one bit of it is flipped after a crash, so that what follows is lost.
fn lose_the_wal(ground: &Ground<'_>) -> Result<Done> {
    let crashed = ground.directory().join("crashed");
    let ledger = ground.open()?;
    for second in 20..24 {
        ledger.append(request(session(PENDING), second, observe("beats", second)))?;
    }
    let mut wal = ground.file().into_os_string();
    wal.push("-wal");
    std::fs::copy(ground.file(), &crashed)?;
    let mut bytes = std::fs::read(&wal).context("the store has no WAL")?;
    drop(ledger);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::copy(&crashed, ground.file())?;
    std::fs::write(&wal, bytes)?;
    Ok(Done::Made)
}

/// An export of a forged log, imported into a fresh store: refused, or told to have no seal.
fn forged_import(ground: &Ground<'_>, stripped: bool, forge: fn(&mut Record)) -> Result<Done> {
    ground.rewrite(ENDED, 8, forge)?;
    let mut lines = String::new();
    ground.open()?.export(Range::ALL, &mut |line| {
        if !stripped || !line.starts_with("{\"checkpoint\"") {
            lines.push_str(line);
            lines.push('\n');
        }
        Ok(())
    })?;
    let to = crate::harness::scene::Scene::new()?;
    let ledger = crate::harness::aftermath::open(&to.store())?;
    match ledger.import(&mut lines.as_bytes()) {
        Err(_) => Ok(Done::Refused),
        Ok(imported) if imported.sealed == 0 => {
            let asked = ledger.root()?.context("an import is sealed")?.key.parse();
            let other = crate::harness::scene::Scene::new()?;
            let key = asked.map_err(anyhow::Error::msg)?;
            match crate::harness::aftermath::open(&other.store())?
                .import_sealed_by(&[key], &mut lines.as_bytes())
            {
                // It was told that nothing in the file is sealed, and the store it comes from gives the forger away.
                Err(_) => Ok(Done::Made),
                Ok(_) => bail!("it was imported as sealed"),
            }
        }
        Ok(_) => bail!("it was imported as sealed"),
    }
}

fn by_an_agent(record: &mut Record) {
    record.actor_type = "agent".to_owned();
}

fn by_somebody_else(record: &mut Record) {
    record.actor_id = "eve".to_owned();
}

fn archive(ground: &Ground<'_>) -> Result<()> {
    let ledger = ground.open()?;
    for number in 0..300 {
        let beat = request(session(PENDING), 20, observe("beats", number));
        ledger.append(keyed(beat, format!("beat-{number}")))?;
    }
    ledger.archive(280, &ground.directory()).context("nothing was archived")?;
    Ok(())
}

/// How long a check of a few hundred records may take before it is said to hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Verifies beside, so that a check that hangs can be told of, and is set free by somebody who opens the other end.
fn fifo(ground: &Ground<'_>) -> Result<Done> {
    archive(ground)?;
    let connection = Connection::open(ground.file())?;
    let path: String = connection.query_row("SELECT path FROM segment", [], |row| row.get(0))?;
    std::fs::remove_file(&path)?;
    let made = std::process::Command::new("mkfifo").arg(&path).status()?;
    if !made.success() {
        bail!("mkfifo failed");
    }
    let ledger = ground.open()?;
    let (tell, told) = std::sync::mpsc::channel();
    let check = std::thread::spawn(move || drop(tell.send(ledger.verify().map(|report| report.ok))));
    let answer = told.recv_timeout(PATIENCE);
    if answer.is_err() {
        drop(std::fs::OpenOptions::new().write(true).open(&path));
    }
    drop(check.join());
    match answer {
        Ok(Ok(true)) => bail!("it went unnoticed"),
        Ok(_) => Ok(Done::Refused),
        Err(_) => bail!("verify did not come back"),
    }
}

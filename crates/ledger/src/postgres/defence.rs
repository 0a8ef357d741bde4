//! The schema as it is, beside the one that this program makes.
//!
//! Invariant: one line for each table, column, index, constraint, trigger and function of a store, and one for everything
//! that somebody added to them: a rule, a policy, a table that inherits. The lines of a fresh store are kept in `shape.txt`.
//! Deliberately absent: who may do what, which is for the owner of the server to say.

use deadpool_postgres::Client;

use crate::error::ReadError;
use crate::proof::legal;
use crate::proof::verify::Problem;

/// The lines of a store as this program makes it, sorted.
const SHAPE: &str = include_str!("shape.txt");

/// What is not as it was made: the schema, and the legal edges.
pub(super) async fn problems(client: &Client) -> Result<Vec<Problem>, ReadError> {
    let found = shape(client).await?;
    let made: Vec<&str> = SHAPE.lines().collect();
    let lost = made.iter().filter(|line| !found.iter().any(|there| there == *line));
    let mut problems: Vec<Problem> = lost.map(|line| Problem::of_defence(named(line))).collect();
    let added = found.iter().filter(|line| !made.contains(&line.as_str()));
    // What was changed is there under the same name, and was named as lost.
    let added = added.filter(|line| !made.iter().any(|known| named(known) == named(line)));
    problems
        .extend(added.map(|line| Problem::of_defence(&format!("{} is not part of a store", named(line)))));
    problems.extend(edges(client).await?);
    Ok(problems)
}

/// The sort and the name that a line begins with.
fn named(line: &str) -> &str {
    line.split_once(':').map_or(line, |(name, _)| name)
}

/// The lines of the schema that is there.
async fn shape(client: &Client) -> Result<Vec<String>, ReadError> {
    let rows = client.query(LINES, &[]).await?;
    let read =
        |row: &tokio_postgres::Row| Ok::<_, ReadError>(row.try_get::<_, &str>(0)?.trim_end().to_owned());
    let mut lines: Vec<String> = rows.iter().map(read).collect::<Result<_, _>>()?;
    lines.sort_unstable();
    Ok(lines)
}

/// Edges that are missing, and edges that only somebody else knows.
async fn edges(client: &Client) -> Result<Vec<Problem>, ReadError> {
    let rows = client.query("SELECT kind, from_state, via, to_state FROM legal", &[]).await?;
    let mut problems = Vec::new();
    let known = legal::edges();
    let mut found = Vec::with_capacity(rows.len());
    for row in &rows {
        let edge: [String; 4] = [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?];
        found.push(edge);
    }
    let is = |edge: &legal::LegalEdge, row: &[String; 4]| {
        row.iter().zip([edge.kind, edge.from_state, edge.via, edge.to_state]).all(|(a, b)| a == b)
    };
    for edge in known.iter().filter(|edge| !found.iter().any(|row| is(edge, row))) {
        let (from, to, kind) = (edge.from_state, edge.to_state, edge.kind);
        problems.push(Problem::of_defence(&format!("the legal edge {from} -> {to} of {kind}")));
    }
    let unknown = found.iter().filter(|row| !known.iter().any(|edge| is(edge, row)));
    problems.extend(unknown.map(Problem::of_edge));
    Ok(problems)
}

/// Everything about the tables of a store that decides what they take and what they give back. The names of the tables
/// are found as every statement of this program finds them, so another table in front of one of them is looked at instead.
const LINES: &str = "WITH mine AS ( \
        SELECT c.*, c.relname::text AS name FROM pg_class c WHERE c.oid IN ( \
            SELECT to_regclass(name) FROM unnest( \
                ARRAY['meta', 'signer', 'legal', 'ledger', 'checkpoint', 'legacy', 'entity', 'lease', 'service_step', \
                'offered', 'held_file', 'ended_task', 'ended_count']) name)) \
    SELECT format('table %s: %s%s %s %s %s %s', name, relkind, relpersistence, relrowsecurity, relforcerowsecurity, \
        relispartition, relnamespace = (SELECT relnamespace FROM mine WHERE name = 'ledger')) FROM mine \
    UNION ALL SELECT format('column %s.%s: %s %s %s %s %s %s %s', m.name, a.attname, a.attnum, \
        format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, \
        (SELECT collname FROM pg_collation WHERE oid = a.attcollation), \
        (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = m.oid AND adnum = a.attnum)) \
        FROM mine m JOIN pg_attribute a ON a.attrelid = m.oid WHERE a.attnum > 0 AND NOT a.attisdropped \
    UNION ALL SELECT format('index %s on %s: %s %s %s %s %s %s (%s) where %s', i.relname, m.name, am.amname, \
        x.indisunique, x.indisvalid, x.indisready, x.indisprimary, i.relpersistence, \
        (SELECT string_agg(pg_get_indexdef(i.oid, n, true), ', ' ORDER BY n) \
            FROM generate_series(1, x.indnatts::int) n), pg_get_expr(x.indpred, x.indrelid)) \
        FROM mine m JOIN pg_index x ON x.indrelid = m.oid JOIN pg_class i ON i.oid = x.indexrelid \
        JOIN pg_am am ON am.oid = i.relam \
    UNION ALL SELECT format('constraint %s on %s: %s %s %s', k.conname, m.name, k.convalidated, k.condeferrable, \
        pg_get_constraintdef(k.oid)) FROM mine m JOIN pg_constraint k ON k.conrelid = m.oid WHERE k.contype <> 'n' \
    UNION ALL SELECT format('trigger %s on %s: %s %s %s %s %s %s %s', t.tgname, m.name, t.tgenabled, t.tgtype, \
        p.proname, p.pronamespace = m.relnamespace, encode(t.tgargs, 'escape'), t.tgqual IS NULL, t.tgnewtable) \
        FROM mine m JOIN pg_trigger t ON t.tgrelid = m.oid JOIN pg_proc p ON p.oid = t.tgfoid WHERE NOT t.tgisinternal \
    UNION ALL SELECT format('the foreign keys of %s are switched off', m.name) \
        FROM mine m JOIN pg_trigger t ON t.tgrelid = m.oid WHERE t.tgisinternal AND t.tgenabled <> 'O' \
    UNION ALL SELECT format('function %s: %s %s %s %s %s', p.proname, l.lanname, p.prosecdef, p.proconfig, \
        pg_get_function_arguments(p.oid), encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex')) \
        FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang \
        WHERE p.pronamespace = (SELECT relnamespace FROM mine WHERE name = 'ledger') AND p.proname IN \
            ('ledger_in_turn', 'ledger_continues', 'is_for_ever', 'view_followed', 'all_written', 'lease_goes_on') \
    UNION ALL SELECT format('rule %s on %s', r.rulename, m.name) FROM mine m JOIN pg_rewrite r ON r.ev_class = m.oid \
    UNION ALL SELECT format('policy %s on %s', y.polname, m.name) FROM mine m JOIN pg_policy y ON y.polrelid = m.oid \
    UNION ALL SELECT format('table %s inherits from %s', h.inhrelid::regclass, m.name) \
        FROM mine m JOIN pg_inherits h ON h.inhparent = m.oid";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_sorted_and_name_what_they_are_about() {
        let lines: Vec<&str> = SHAPE.lines().collect();
        assert!(lines.is_sorted() && lines.len() > 80, "{}", lines.len());
        assert_eq!(named("table ledger: rp f"), "table ledger");
    }
}

// The records of one entity, as they stand in the ledger.
import { useEffect, useState } from "react";
import { asProblem, get, type Problem } from "../../api/client";
import type { LedgerRecord, RecordPage } from "../../api/types";
import { CopyLine } from "../../parts/copy";
import { Section } from "../../parts/section";
import { Refused } from "../../parts/states";
import { useBoard } from "../../state/board";
import { clock, count } from "../../time/format";

const PAGE = 500;
/** An entity with more records than this is read in a terminal. */
const MOST = 5000;
const SHOWN = 50;

export interface RecordsRead {
  items: LedgerRecord[];
  problem: Problem | null;
  isWhole: boolean;
}

/** Every record of an entity, oldest first; those the feed brings are added. */
export function useRecords(id: string | null): RecordsRead {
  const board = useBoard();
  const [read, setRead] = useState<RecordsRead>({ items: [], problem: null, isWhole: false });
  useEffect(() => {
    if (id === null) return;
    const stop = new AbortController();
    const add = (items: LedgerRecord[], isWhole?: boolean) =>
      setRead((was) => {
        const known = new Set(was.items.map((record) => record.seq));
        const fresh = items.filter((record) => !known.has(record.seq));
        const all = fresh.length === 0 ? was.items : [...was.items, ...fresh].sort((a, b) => a.seq - b.seq);
        return { items: all, problem: null, isWhole: isWhole ?? was.isWhole };
      });
    const readAll = async () => {
      try {
        let after: number | null = 0;
        for (let n = 0; after !== null && n < MOST / PAGE; n++) {
          const page: RecordPage = await get<RecordPage>(
            `/entities/${encodeURIComponent(id)}/records?after=${after}&limit=${PAGE}`,
            stop.signal,
          );
          after = page.next_after;
          add(page.items, after === null);
        }
      } catch (error) {
        if (!stop.signal.aborted) setRead((was) => ({ ...was, problem: asProblem(error) }));
      }
    };
    void readAll();
    const offRecord = board.onRecord((record) => {
      if (record.entity.id === id) add([record]);
    });
    const offBack = board.onBack(() => void readAll());
    return () => {
      stop.abort();
      offRecord();
      offBack();
    };
  }, [id, board]);
  return read;
}

export function Records({ records }: { records: RecordsRead }) {
  const [all, setAll] = useState(false);
  const items = records.items.toReversed();
  const shown = all ? items : items.slice(0, SHOWN);
  const id = items[0]?.entity.id;
  return (
    <Section title="Records" aside={count(records.items.length)}>
      {records.problem && <Refused problem={records.problem} />}
      <ul className="records">
        {shown.map((record) => (
          <li key={record.seq} id={`record-${record.seq}`}>
            <details>
              <summary>
                <span className="num record-seq">{record.seq}</span>
                <time className="num" dateTime={record.at} title={record.at}>
                  {clock(record.at)}
                </time>
                <span>{record.type === "transitioned" ? `${record.from} → ${record.to}` : record.type}</span>
                <span className="faint cut">
                  {record.actor.type}
                  {record.actor.id ? ` ${record.actor.id}` : ""}
                </span>
              </summary>
              <pre className="bytes" tabIndex={0}>
                {JSON.stringify(record, null, 2)}
              </pre>
            </details>
          </li>
        ))}
      </ul>
      {shown.length < items.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {count(items.length)}
        </button>
      )}
      {!records.isWhole && records.items.length >= MOST && (
        <p className="faint">There are more; the whole list is in a terminal:</p>
      )}
      {id && <CopyLine line={`callboard events ${id} --json`} />}
    </Section>
  );
}

/** Opens a record and brings it into sight. */
export function showRecord(seq: number): void {
  const item = document.getElementById(`record-${seq}`);
  const details = item?.querySelector("details");
  if (!details) return;
  details.open = true;
  details.scrollIntoView({ block: "nearest" });
  details.querySelector("summary")?.focus();
}

// An entity's records as one lane of time: segments of states, ticks of records, both as fractions of the whole.
import type { LedgerRecord } from "../../api/types";

export interface Segment {
  seq: number;
  state: string;
  from: number;
  to: number;
  seconds: number;
}

export interface Lanes {
  start: number;
  end: number;
  segments: Segment[];
  ticks: { at: number; record: LedgerRecord }[];
}

/** A lane shows at most so many ticks; where there are more, every n-th. */
const TICKS = 120;

export function lanes(records: LedgerRecord[], end: number): Lanes {
  const first = records[0];
  if (!first) return { start: end, end, segments: [], ticks: [] };
  const start = Date.parse(first.at);
  const last = Math.max(end, Date.parse(records.at(-1)?.at ?? first.at), start + 1);
  const place = (at: number) => (at - start) / (last - start);
  const moves = records.filter((record) => record.type !== "observed");
  const segments = moves.map((record, at): Segment => {
    const from = Date.parse(record.at);
    const next = moves[at + 1];
    const to = next ? Date.parse(next.at) : last;
    return { seq: record.seq, state: record.to, from: place(from), to: place(to), seconds: (to - from) / 1000 };
  });
  const every = Math.ceil(records.length / TICKS);
  const ticks = records
    .filter((record, at) => at % every === 0 || record.type !== "observed")
    .map((record) => ({ at: place(Date.parse(record.at)), record }));
  return { start, end: last, segments, ticks };
}

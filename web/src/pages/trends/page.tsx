// Trends: how work ended, how long it took, where it spent its time and why it failed. Behind each drawing stands its table.
import type { ReactNode } from "react";
import { get, query } from "../../api/client";
import type { Trends } from "../../api/types";
import { Section } from "../../parts/section";
import { Empty, Skeleton, Trouble } from "../../parts/states";
import { StatusPill } from "../../pill/pill";
import { go, usePlace, withParams } from "../../route/route";
import { useDocument, useWords } from "../../state/board";
import { count, span } from "../../time/format";
import { Bars, DurationLines, RangeBars, type Span } from "./charts";

const RANGES = [
  { days: 1, text: "24 hours", bucket: "hour" },
  { days: 7, text: "7 days", bucket: "day" },
  { days: 30, text: "30 days", bucket: "day" },
];

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const HOUR = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hour12: false });

export function TrendsPage() {
  const { params } = usePlace();
  const range = RANGES.find((one) => String(one.days) === params.get("days")) ?? {
    days: 7,
    text: "7 days",
    bucket: "day",
  };
  const read = useDocument(
    (signal) => get<Trends>(`/trends${query({ days: range.days, bucket: range.bucket })}`, signal),
    `trends ${range.days}`,
    { alsoEveryMs: 60_000 },
  );
  const name = (from: string) => (range.bucket === "hour" ? HOUR : DAY).format(new Date(from));
  return (
    <div className="trends">
      <header className="page-head">
        <h1>Trends</h1>
        <fieldset className="ranges">
          <legend className="hidden">Time range</legend>
          {RANGES.map((one) => (
            <button
              key={one.days}
              type="button"
              aria-pressed={one.days === range.days}
              onClick={() => go(withParams({ days: String(one.days) }), "replace")}
            >
              {one.text}
            </button>
          ))}
        </fieldset>
      </header>
      {read.data ? (
        <Shown trends={read.data} name={name} />
      ) : read.problem ? (
        <Trouble problem={read.problem} onRetry={read.reload} />
      ) : (
        <Skeleton rows={10} />
      )}
    </div>
  );
}

function Shown({ trends, name }: { trends: Trends; name: (from: string) => string }) {
  const outcomes = [...new Set(trends.buckets.flatMap((bucket) => Object.keys(bucket.outcomes)))];
  const total = (outcome: string) => trends.buckets.reduce((sum, bucket) => sum + (bucket.outcomes[outcome] ?? 0), 0);
  const ended = outcomes.reduce((sum, outcome) => sum + total(outcome), 0);
  if (ended === 0)
    return (
      <Empty
        title="Nothing ended in this time"
        because="Trends are drawn from runs that ended. Choose a longer time, or wait for the first."
      />
    );
  return (
    <div className="trend-grid">
      <Outcomes
        trends={trends}
        outcomes={outcomes.sort((a, b) => total(b) - total(a))}
        total={total}
        name={name}
        ended={ended}
      />
      <Durations trends={trends} name={name} />
      <TimeInState trends={trends} />
      <Failures trends={trends} />
    </div>
  );
}

interface OutcomesProps {
  trends: Trends;
  outcomes: string[];
  total: (outcome: string) => number;
  name: (from: string) => string;
  ended: number;
}

/** One small chart an outcome, on one scale each: no legend, no colour to tell from another. */
function Outcomes({ trends, outcomes, total, name, ended }: OutcomesProps) {
  const words = useWords();
  const first = trends.buckets[0];
  const last = trends.buckets.at(-1);
  return (
    <Section title="Outcomes" aside={`${count(ended)} ended`}>
      <div className="multiples">
        {outcomes.map((outcome) => (
          <div key={outcome} className={`multiple tone-${words.pill("outcome", outcome).token}`}>
            <StatusPill taxonomy="outcome" value={outcome} dense />
            <Bars
              values={trends.buckets.map((bucket) => ({
                name: name(bucket.from),
                value: bucket.outcomes[outcome] ?? 0,
              }))}
              label={words.label("outcome", outcome)}
            />
            <span className="num">{count(total(outcome))}</span>
          </div>
        ))}
        <div className="multiple axis faint">
          <span />
          <span className="axis-ends">
            <span>{first && name(first.from)}</span>
            <span>{last && name(last.from)}</span>
          </span>
          <span />
        </div>
      </div>
      <Behind
        heads={["From", ...outcomes.map((outcome) => words.label("outcome", outcome))]}
        rows={trends.buckets.map((bucket) => [
          name(bucket.from),
          ...outcomes.map((outcome) => count(bucket.outcomes[outcome] ?? 0)),
        ])}
      />
    </Section>
  );
}

function Durations({ trends, name }: { trends: Trends; name: (from: string) => string }) {
  return (
    <Section title="Duration" aside="half are shorter than p50, one in twenty is longer than p95">
      <DurationLines
        points={trends.buckets.map((bucket) => ({ name: name(bucket.from), p50: bucket.p50_s, p95: bucket.p95_s }))}
      />
      <Behind
        heads={["From", "p50", "p95"]}
        rows={trends.buckets.map((bucket) => [name(bucket.from), span(bucket.p50_s), span(bucket.p95_s)])}
      />
    </Section>
  );
}

function TimeInState({ trends }: { trends: Trends }) {
  const words = useWords();
  const rows: Span[] = trends.time_in_state.map((one) => ({
    name: words.label("session", one.state),
    token: words.pill("session", one.state).token,
    low: one.p50_s,
    high: one.p95_s,
  }));
  return (
    <Section title="Time in state" aside="bar to p50, line to p95">
      <RangeBars rows={rows} />
      <Behind heads={["State", "p50", "p95"]} rows={rows.map((row) => [row.name, span(row.low), span(row.high)])} />
    </Section>
  );
}

function Failures({ trends }: { trends: Trends }) {
  const words = useWords();
  const most = Math.max(1, ...trends.reasons.map((reason) => reason.count));
  return (
    <Section title="Failures by reason" aside={count(trends.reasons.reduce((sum, one) => sum + one.count, 0))}>
      {trends.reasons.length === 0 && <p className="faint">Nothing failed in this time.</p>}
      <ul className="reasons">
        {trends.reasons.map((reason) => (
          <li key={reason.code}>
            <span className="cut" title={reason.code}>
              {words.reasons.get(reason.code)?.meaning ?? reason.code}
            </span>
            <span className="reason-bar">
              <span style={{ width: `${(reason.count / most) * 100}%` }} />
            </span>
            <span className="num">{count(reason.count)}</span>
          </li>
        ))}
      </ul>
      <Behind
        heads={["Reason", "Failures"]}
        rows={trends.reasons.map((reason) => [reason.code, count(reason.count)])}
      />
    </Section>
  );
}

function Behind({ heads, rows }: { heads: string[]; rows: ReactNode[][] }) {
  return (
    <details className="behind">
      <summary>Table</summary>
      <div className="table-scroll" tabIndex={0} role="group" aria-label="Table">
        <table className="table">
          <thead>
            <tr>
              {heads.map((head, at) => (
                <th key={head} scope="col" className={at > 0 ? "end" : ""}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((cells, at) => (
              <tr key={at}>
                {cells.map((cell, column) => (
                  <td key={column} className={column > 0 ? "end num" : ""}>
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

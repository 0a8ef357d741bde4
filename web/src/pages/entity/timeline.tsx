// What happened: the states as segments of a lane, records as ticks on it, and every transition with who and what caused
// it. A tick reads its record; a transition can be looked at as the moment it was.
import { useState } from "react";
import type { LedgerRecord, View } from "../../api/types";
import { Section } from "../../parts/section";
import { StatusPill } from "../../pill/pill";
import { go, withParams } from "../../route/route";
import { useWords } from "../../state/board";
import { absolute, clock, secondsBetween, span } from "../../time/format";
import { useNow } from "../../time/ticking";
import { showRecord } from "./records";
import { lanes, type Segment } from "./segments";

interface TimelineProps {
  view: View;
  records: LedgerRecord[];
  /** What belongs to it, each on a lane of its own. */
  parts: View[];
  at: string | null;
}

/** More parts than this are read in the list of parts. */
const LANES = 12;
const LANE_HEIGHT = 10;

export function Timeline({ view, records, parts, at }: TimelineProps) {
  const moves = records.filter((record) => record.type !== "observed");
  return (
    <Section title="Timeline" aside={`${moves.length} ${moves.length === 1 ? "transition" : "transitions"}`}>
      {records.length > 0 && <Lane view={view} records={records} parts={parts.slice(0, LANES)} />}
      <ol className="moves">
        {moves.toReversed().map((record) => (
          <Move key={record.seq} view={view} record={record} isShown={at === record.at} />
        ))}
      </ol>
    </Section>
  );
}

function Move({ view, record, isShown }: { view: View; record: LedgerRecord; isShown: boolean }) {
  const reason = record.reasons[0];
  return (
    <li>
      <button
        type="button"
        className="inline num"
        title={`${absolute(record.at)}: look at this moment`}
        aria-pressed={isShown}
        onClick={() => go(withParams({ at: isShown ? null : record.at }))}
      >
        <time dateTime={record.at}>{clock(record.at)}</time>
      </button>
      <span className="move-states">
        {record.from && (
          <>
            <StatusPill taxonomy={view.kind} value={record.from} dense /> →{" "}
          </>
        )}
        <StatusPill taxonomy={view.kind} value={record.to} dense />
      </span>
      <span className="move-why">
        {record.trigger ? <code>{record.trigger}</code> : "created"} by {record.actor.type}
        {record.actor.id ? <span className="faint"> {record.actor.id}</span> : null}
        {reason && <span className="soft">: {reason.message}</span>}{" "}
        <button
          type="button"
          className="inline faint num"
          onClick={() => showRecord(record.seq)}
          aria-label={`Show record ${record.seq}`}
        >
          {record.seq}
        </button>
      </span>
    </li>
  );
}

function Lane({ view, records, parts }: Omit<TimelineProps, "at">) {
  const words = useWords();
  const now = useNow();
  const [read, setRead] = useState<LedgerRecord | null>(null);
  const lane = lanes(records, view.ended_at ? Date.parse(view.ended_at) : now);
  const x = (fraction: number) => `${(fraction * 100).toFixed(3)}%`;
  return (
    <div className="lane">
      <svg width="100%" height={30 + parts.length * LANE_HEIGHT} role="group" aria-label="States over time">
        {lane.segments.map((segment: Segment) => (
          <g key={segment.seq} className={`tone-${words.pill(view.kind, segment.state).token}`}>
            <rect
              className="lane-state"
              x={x(segment.from)}
              width={x(Math.max(segment.to - segment.from, 0.004))}
              y="4"
              height="14"
              rx="2"
            >
              <title>{`${words.label(view.kind, segment.state)}, ${span(segment.seconds)}`}</title>
            </rect>
          </g>
        ))}
        {parts.map((part, n) => (
          <PartLane key={part.id} part={part} y={28 + n * LANE_HEIGHT} start={lane.start} end={lane.end} />
        ))}
        {lane.ticks.map((tick) => (
          <line
            key={tick.record.seq}
            className="lane-tick"
            data-read={read?.seq === tick.record.seq || undefined}
            role="button"
            tabIndex={0}
            aria-label={`Record ${tick.record.seq}, ${tick.record.type}, ${clock(tick.record.at)}`}
            x1={x(tick.at)}
            x2={x(tick.at)}
            y1="2"
            y2="24"
            onPointerEnter={() => setRead(tick.record)}
            onFocus={() => setRead(tick.record)}
            onClick={() => showRecord(tick.record.seq)}
            onKeyDown={(event) => event.key === "Enter" && showRecord(tick.record.seq)}
          />
        ))}
      </svg>
      <p className="lane-read faint">
        {read
          ? readOut(read)
          : `${clock(lane.start)} to ${view.ended_at ? clock(view.ended_at) : "now"}, ${span(secondsBetween(view.created_at, view.ended_at ?? now))}`}
      </p>
    </div>
  );
}

function PartLane({ part, y, start, end }: { part: View; y: number; start: number; end: number }) {
  const words = useWords();
  const place = (at: number) => Math.min(1, Math.max(0, (at - start) / (end - start)));
  const from = place(Date.parse(part.started_at ?? part.created_at ?? ""));
  const to = part.ended_at ? place(Date.parse(part.ended_at)) : 1;
  if (Number.isNaN(from)) return null;
  return (
    <g className={`tone-${words.effective(part).token}`}>
      <rect
        className="lane-part"
        x={`${from * 100}%`}
        width={`${Math.max(0.4, (to - from) * 100)}%`}
        y={y}
        height={LANE_HEIGHT - 3}
        rx="1.5"
      >
        <title>{`${part.title ?? part.id}: ${part.chain}`}</title>
      </rect>
    </g>
  );
}

function readOut(record: LedgerRecord): string {
  const what =
    record.type === "observed"
      ? Object.entries(record.data).map(
          ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
        )
      : [`${record.from ?? "∅"} → ${record.to}`];
  return `${clock(record.at)}  ${record.seq}  ${what.join(", ").slice(0, 160)}`;
}

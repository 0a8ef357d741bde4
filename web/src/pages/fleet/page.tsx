// Fleet: everything that is alive, and with one tick everything that ever was.
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { StartForm } from "../../acts/start";
import { type Key, useKeys } from "../../keys/keys";
import { Empty, Skeleton, Trouble } from "../../parts/states";
import { useVirtualRows } from "../../parts/virtual";
import { LegacyPill } from "../../pill/pill";
import { go, usePlace, withParams } from "../../route/route";
import { useBoard, useWords } from "../../state/board";
import { count } from "../../time/format";
import { EntityPane } from "../entity/pane";
import { Filters, SERVER_PARAMS } from "./filters";
import { isGrouping, type Line, lines } from "./groups";
import { FleetList, type Shown } from "./list";
import { ColumnHeads, GroupLine, RowLine, WaitingLine } from "./rows";

const HEIGHTS = { wide: 32, narrow: 52, narrowBelow: 720 };
/** More rows than this are not grouped; the filters make them fewer. */
const GROUPED = 100_000;
/** How many places stand for rows that nobody has counted. */
const BEYOND = 40;

/** The list for these filters, kept up to date. */
function useFleet(params: string): [FleetList | null, Shown | null] {
  const board = useBoard();
  const [list, setList] = useState<FleetList | null>(null);
  const [listeners] = useState(() => new Set<() => void>());
  useEffect(() => {
    const tell = () => {
      for (const listener of listeners) listener();
    };
    const made = new FleetList(params, tell);
    setList(made);
    const offRecord = board.onRecord((record) => made.take(record));
    const offLook = board.onLook((view) => made.look(view));
    const offBack = board.onBack(() => made.reread());
    // Health changes by time alone, without a record.
    const timer = setInterval(() => {
      if (!document.hidden) made.reread();
    }, 15_000);
    return () => {
      made.close();
      clearInterval(timer);
      offRecord();
      offLook();
      offBack();
    };
  }, [params, board, listeners]);
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => list?.shown ?? null,
  );
  return [list, shown];
}

function serverParams(params: URLSearchParams): string {
  const own = new URLSearchParams();
  for (const name of SERVER_PARAMS) for (const value of params.getAll(name)) own.append(name, value);
  return own.toString();
}

export function FleetPage() {
  const { params } = usePlace();
  const words = useWords();
  const asked = serverParams(params);
  const [list, shown] = useFleet(asked);
  const group = params.get("group");
  const by = isGrouping(group) ? group : null;
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const selected = params.get("sel");
  useEffect(() => {
    if (by !== null) list?.want(GROUPED);
  }, [by, list]);
  const rows = shown?.rows;
  const grouped = useMemo(() => (by === null ? null : lines(rows ?? [], by, closed, words)), [rows, by, closed, words]);
  // A list without groups is not copied: it may have 100,000 rows.
  const lineAt = (at: number): Line | undefined => {
    if (grouped) return grouped[at];
    const row = rows?.[at];
    return row && { type: "row", row };
  };
  const toggle = (key: string) =>
    setClosed((was) => new Set(was.has(key) ? [...was].filter((one) => one !== key) : [...was, key]));
  const close = () => go(withParams({ sel: null, act: null }));
  const isStarting = selected === null && params.get("act") === "start";
  const start = () => go(withParams({ sel: null, act: "start" }));
  useKeys([{ keys: "n", does: "start a run", run: start }]);
  return (
    <div className="split" data-panel={selected !== null || isStarting || undefined}>
      <div className="split-list fleet">
        <header className="page-head">
          <h1>Fleet</h1>
          <Count shown={shown} params={params} />
          <button type="button" className="start" onClick={start} title="n">
            Start a run
          </button>
          {shown?.isOrderOld && (
            <button type="button" className="quiet" onClick={() => list?.reread()}>
              The order below may be old; read again
            </button>
          )}
        </header>
        <Filters params={params} />
        {shown?.problem && shown.rows.length === 0 ? (
          <Trouble problem={shown.problem} onRetry={() => list?.reread()} />
        ) : shown?.isRead && shown.rows.length === 0 && !shown.hasMore ? (
          <NothingHere />
        ) : !shown?.isRead ? (
          <Skeleton rows={16} />
        ) : (
          <Table
            key={`${asked} ${by}`}
            list={list}
            length={grouped?.length ?? lengthOf(shown)}
            lineAt={lineAt}
            isGrouped={grouped !== null}
            sort={params.get("sort") ?? "severity"}
            selected={selected}
            onToggle={toggle}
          />
        )}
      </div>
      {isStarting && (
        <aside className="split-panel" aria-label="Start a run">
          <StartForm onStarted={(id) => go(withParams({ sel: id, act: null }))} onClose={close} />
        </aside>
      )}
      {selected && (
        <aside className="split-panel" aria-label="Selected">
          <EntityPane key={selected} id={selected} onClose={close} />
        </aside>
      )}
    </div>
  );
}

/** How long the list is; where nobody has counted, a little longer than what is loaded, so that one can scroll on. */
function lengthOf(shown: Shown): number {
  return shown.total ?? shown.rows.length + (shown.hasMore ? BEYOND : 0);
}

function Count({ shown, params }: { shown: Shown | null; params: URLSearchParams }) {
  if (!shown?.isRead) return null;
  const what = params.get("ended") === "true" ? "in all" : "alive";
  const many = shown.total ?? shown.rows.length;
  const isLeast = shown.total === null && shown.hasMore;
  return (
    <>
      <span className="faint">
        {isLeast ? "at least " : ""}
        {count(many)} {what}
      </span>
      {shown.legacy > 0 && <LegacyPill count={shown.legacy} />}
    </>
  );
}

interface TableProps {
  list: FleetList | null;
  /** Without groups a place is a row of the server's order, also where it is not read yet. */
  length: number;
  lineAt: (at: number) => Line | undefined;
  isGrouped: boolean;
  sort: string;
  selected: string | null;
  onToggle: (key: string) => void;
}

function Table({ list, length, lineAt, isGrouped, sort, selected, onToggle }: TableProps) {
  const [cursor, setCursor] = useState(0);
  const sight = useVirtualRows(length, HEIGHTS);
  useEffect(() => {
    if (!isGrouped) list?.want(sight.end);
  }, [list, isGrouped, sight.end]);
  useFleetKeys(lineAt, cursor, length, onToggle, (at) => {
    setCursor(at);
    sight.reveal(at);
    requestAnimationFrame(() => document.getElementById(`row-${at}`)?.focus({ preventScroll: true }));
  });
  const places = Array.from({ length: Math.max(0, sight.end - sight.first) }, (_, n) => sight.first + n);
  return (
    <div
      className="fleet-table"
      role="table"
      aria-label="Fleet"
      aria-rowcount={length}
      data-narrow={sight.isNarrow || undefined}
    >
      <ColumnHeads sort={sort} />
      <div className="scroller" ref={sight.scroller} role="rowgroup">
        <div className="sizer" style={{ height: sight.totalHeight }}>
          {places.map((at) => {
            const line = lineAt(at);
            const place = { at, top: at * sight.rowHeight, height: sight.rowHeight, isCursor: at === cursor };
            if (!line) return <WaitingLine key={at} place={place} />;
            if (line.type === "group")
              return <GroupLine key={`group ${line.key}`} line={line} place={place} onToggle={onToggle} />;
            return (
              <RowLine
                key={line.row.id}
                row={line.row}
                place={place}
                isSelected={line.row.id === selected}
                onCursor={setCursor}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

function useFleetKeys(
  lineAt: (at: number) => Line | undefined,
  cursor: number,
  length: number,
  onToggle: (key: string) => void,
  move: (at: number) => void,
): void {
  const to = (at: number) => length > 0 && move(Math.max(0, Math.min(length - 1, at)));
  const open = () => {
    const line = lineAt(cursor);
    if (line?.type === "group") onToggle(line.key);
    else if (line) go(withParams({ sel: line.row.id, act: null }));
  };
  const keys: Key[] = [
    { keys: "j", does: "next row", run: () => to(cursor + 1) },
    { keys: "k", does: "previous row", run: () => to(cursor - 1) },
    { keys: "g g", does: "first row", run: () => to(0) },
    { keys: "G", does: "last row", run: () => to(length - 1) },
    { keys: "Enter", does: "open the row", run: open },
    { keys: "Escape", does: "close the panel", run: () => go(withParams({ sel: null, act: null })) },
  ];
  useKeys(keys);
}

function NothingHere() {
  const { params } = usePlace();
  const isFiltered = [...params.keys()].some((name) =>
    SERVER_PARAMS.some((one) => one === name && one !== "sort" && one !== "ended"),
  );
  if (isFiltered) {
    return (
      <Empty title="Nothing fits these filters" because="Other things may be alive; the filters leave them out.">
        <button type="button" onClick={() => go("/fleet", "replace")}>
          Clear the filters
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing is alive" because="Runs, tasks and agents appear here the moment they are recorded.">
      <p>
        <button type="button" onClick={() => go(withParams({ act: "start" }))}>
          Start a run
        </button>{" "}
        or type <code>callboard run -- claude -p "fix the flaky test"</code>
      </p>
    </Empty>
  );
}

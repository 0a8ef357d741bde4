// Board: every task that is not over, in columns by state, and the workers that are there for them.
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { get } from "../../api/client";
import type { EntityPage, TaskBoard, Worker } from "../../api/types";
import { type Key, useKeys } from "../../keys/keys";
import { CopyLine } from "../../parts/copy";
import { Empty, Trouble } from "../../parts/states";
import { Link } from "../../route/link";
import { go, usePlace, withParams } from "../../route/route";
import { type Read, useBoard, useDocument, useWords } from "../../state/board";
import { count } from "../../time/format";
import { EntityPane } from "../entity/pane";
import { CardLine, cardId } from "./card";
import { type Column, type Cursor, columns, countOf, ENDS, placed, type Step, stepped } from "./columns";
import { BoardFilters, SERVER_PARAMS } from "./filters";
import { useWorkers, Workers } from "./workers";

/** So many cards of a state are enough to look at; the fleet lists them all. */
const CARDS = 100;
/** So many views are read at once before the cards are drawn; the others are asked for one by one. */
const VIEWS = 500;

function serverParams(params: URLSearchParams): string {
  const own = new URLSearchParams({ limit: String(CARDS) });
  for (const name of SERVER_PARAMS) for (const value of params.getAll(name)) own.append(name, value);
  return own.toString();
}

function useTaskBoard(asked: string): Read<TaskBoard> {
  const board = useBoard();
  const isFirst = useRef(true);
  return useDocument(
    async (signal) => {
      if (isFirst.current) {
        const page = await get<EntityPage>(`/entities?kind=task&limit=${VIEWS}`, signal);
        for (const view of page.items) board.entities.put(view);
        isFirst.current = false;
      }
      const read = await get<TaskBoard>(`/board?${asked}`, signal);
      board.seen(read.head);
      return read;
    },
    `board ${asked}`,
    { on: (record) => record.entity.kind === "task", atMostEveryMs: 300, alsoEveryMs: 30_000 },
  );
}

export function BoardPage() {
  const { params } = usePlace();
  const asked = serverParams(params);
  const read = useTaskBoard(asked);
  const workers = useWorkers(false);
  const text = params.get("q") ?? "";
  const selected = params.get("sel");
  const all = useMemo(() => (read.data ? columns(read.data, text) : null), [read.data, text]);
  const close = () => go(withParams({ sel: null, act: null, at: null }));
  return (
    <div className="split" data-panel={selected !== null || undefined}>
      <div className="split-list taskboard">
        <header className="page-head">
          <h1>Board</h1>
          {read.data && <Ends board={read.data} />}
        </header>
        <BoardFilters params={params} board={read.data} />
        {read.data && all ? (
          <>
            <Workers live={workers} />
            <Shown board={read.data} all={all} workers={workers.data?.items ?? []} isFiltered={isFiltered(params)} />
          </>
        ) : read.problem ? (
          <Trouble problem={read.problem} onRetry={read.reload} />
        ) : (
          <Waiting />
        )}
      </div>
      {selected && (
        <aside className="split-panel" aria-label="Selected">
          <EntityPane key={selected} id={selected} onClose={close} />
        </aside>
      )}
    </div>
  );
}

const isFiltered = (params: URLSearchParams): boolean =>
  ["q", ...SERVER_PARAMS].some((name) => (params.get(name) ?? "") !== "");

/** What is over is counted; the fleet lists it. */
function Ends({ board }: { board: TaskBoard }) {
  const words = useWords();
  return (
    <span className="board-ends">
      {ENDS.map((state) => (
        <Link key={state} to={`/fleet?kind=task&state=${state}&ended=true&sort=newest`} data-state={state}>
          <span className="num">{count(countOf(board, state))}</span> {words.label("task", state).toLowerCase()}
        </Link>
      ))}
    </span>
  );
}

interface ShownProps {
  board: TaskBoard;
  all: Column[];
  workers: Worker[];
  isFiltered: boolean;
}

function Shown({ board, all, workers, isFiltered }: ShownProps) {
  const isEmpty = all.every((column) => column.cards.length === 0);
  if (isEmpty && isFiltered) {
    return (
      <Empty title="Nothing fits these filters" because="Other tasks may be on the board; the filters leave them out.">
        <button type="button" onClick={() => go("/board", "replace")}>
          Clear the filters
        </button>
      </Empty>
    );
  }
  if (isEmpty) {
    const isNew = board.columns.every((column) => column.count === 0);
    return (
      <Empty
        title={isNew ? "There are no tasks yet" : "Every task is over"}
        because="A task is a piece of work that an agent does in a worktree of its own. It appears here the moment it is added."
      >
        <CopyLine line={'callboard task add "fix the flaky test" --verify "cargo test"'} />
      </Empty>
    );
  }
  return <Columns all={all} workers={workers} />;
}

function Columns({ all, workers }: { all: Column[]; workers: Worker[] }) {
  const { params } = usePlace();
  const selected = params.get("sel");
  const [kept, setCursor] = useState<Cursor>({ id: selected, column: 0, row: 0 });
  const cursor = placed(all, kept);
  const focused = useFocusThatFollows(all);
  useEffect(() => {
    if (selected) document.getElementById(cardId(selected))?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [selected]);
  useBoardKeys(all, cursor, (to) => {
    setCursor(to);
    if (to.id) focused(to.id);
  });
  const titles = useMemo(() => {
    const cards = all.flatMap((column) => column.cards);
    return new Map([...cards, ...workers].map((one) => [one.id, one.title]));
  }, [all, workers]);
  const titleOf = useCallback((id: string) => titles.get(id) ?? null, [titles]);
  return (
    <div className="board-columns">
      {all.map((column) => (
        <section
          key={column.name}
          className="board-column"
          aria-label={column.name}
          data-empty={column.cards.length === 0 || undefined}
        >
          <h2>
            {column.name} <Many column={column} isFiltered={(params.get("q") ?? "") !== ""} />
          </h2>
          <ul>
            {column.cards.map((card) => (
              <CardLine
                key={card.id}
                card={card}
                titleOf={titleOf}
                isCursor={card.id === cursor.id}
                isSelected={card.id === selected}
                onFocus={() => setCursor(placed(all, { ...cursor, id: card.id }))}
              />
            ))}
          </ul>
          {column.more.map((more) => (
            <Link key={more.state} className="board-more" to={`/fleet?kind=task&state=${more.state}`}>
              {count(more.count)} more
            </Link>
          ))}
        </section>
      ))}
    </div>
  );
}

function Many({ column, isFiltered }: { column: Column; isFiltered: boolean }) {
  return (
    <span className="num faint" data-count={column.count}>
      {isFiltered ? `${count(column.cards.length)} of ${count(column.count)}` : count(column.count)}
    </span>
  );
}

/** A card that moves to another column is drawn anew; the focus goes with it. The function moves the focus to a card. */
function useFocusThatFollows(all: Column[]): (id: string) => void {
  const last = useRef<string | null>(null);
  const focus = (id: string) => document.getElementById(cardId(id))?.focus();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the columns are what may have moved the card
  useLayoutEffect(() => {
    const active = document.activeElement;
    if (last.current && (active === null || active === document.body)) focus(last.current);
    const remember = () => {
      const card = document.activeElement?.closest("[data-card]");
      last.current = card?.getAttribute("data-card") ?? null;
    };
    document.addEventListener("focusin", remember);
    return () => document.removeEventListener("focusin", remember);
  }, [all]);
  return focus;
}

function useBoardKeys(all: Column[], cursor: Cursor, move: (to: Cursor) => void): void {
  const key = (keys: string, does: string, step: Step): Key => ({
    keys,
    does,
    run: () => move(stepped(all, cursor, step)),
  });
  useKeys([
    key("j", "next card", "down"),
    key("k", "previous card", "up"),
    key("h", "column to the left", "left"),
    key("l", "column to the right", "right"),
    key("g g", "first card of the column", "first"),
    key("G", "last card of the column", "last"),
    {
      keys: "Enter",
      does: "open the card",
      run: () => cursor.id && go(withParams({ sel: cursor.id, act: null, at: null })),
    },
    { keys: "Escape", does: "close the panel", run: () => go(withParams({ sel: null, act: null, at: null })) },
  ]);
}

function Waiting() {
  return (
    <div className="board-columns" role="status" aria-label="Loading">
      {Array.from({ length: 6 }, (_, column) => (
        <div key={column} className="board-column">
          {Array.from({ length: 3 }, (_, row) => (
            <div key={row} className="card-waiting">
              <div className={`skeleton-row w${(column + row) % 4}`} />
              <div className="skeleton-row w1" />
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

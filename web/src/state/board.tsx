// Everything the pages share: the entities, the feed, the words, and hooks to read them.
//
// Invariant: one feed a page. A document that was read is shown until a newer one is there; when the feed is cut it is
// shown as old. What time alone changes (health is judged when it is read) is asked again at intervals.
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { asProblem, get, type Problem } from "../api/client";
import { Feed, type FeedState } from "../api/feed";
import type { Attention, LedgerRecord, Machine, Reason, View, Vocabulary } from "../api/types";
import { Entities } from "./entities";
import { Words } from "./words";

/** A cut that is shorter than this is not worth greying the page for. */
const GREY_AFTER_MS = 2500;
/** How long to wait when the server could not answer. */
const AGAIN_MS = 3000;
/** How many records before the first document the feed begins. */
const OVERLAP = 20;
/** The title of a tab that nobody sees still says how much needs somebody. */
const UNSEEN_EVERY_MS = 60_000;

export class Board {
  readonly entities = new Entities();
  readonly feed: Feed;
  #state: FeedState = { name: "connecting" };
  readonly #onState = new Set<() => void>();
  readonly #onRecord = new Set<(record: LedgerRecord) => void>();
  readonly #onLook = new Set<(view: View) => void>();
  readonly #onBack = new Set<() => void>();

  constructor() {
    this.feed = new Feed({
      onRecord: (record) => {
        this.entities.take(record);
        for (const listener of this.#onRecord) listener(record);
      },
      onLook: (view) => {
        this.entities.look(view);
        for (const listener of this.#onLook) listener(view);
      },
      onState: (state) => {
        this.#state = state;
        for (const listener of this.#onState) listener();
      },
      onBack: () => this.reread(),
    });
  }

  /**
   * A document was read at this head. The first one starts the feed, a little earlier, because other documents may have
   * been read before it.
   */
  seen(head: number): void {
    if (this.feed.last === null) this.feed.start(Math.max(0, head - OVERLAP));
  }

  reread(): void {
    this.entities.doubt();
    for (const listener of this.#onBack) listener();
  }

  readonly state = (): FeedState => this.#state;
  readonly onState = (listener: () => void): (() => void) => subscribe(this.#onState, listener);
  readonly onRecord = (listener: (record: LedgerRecord) => void): (() => void) => subscribe(this.#onRecord, listener);
  readonly onLook = (listener: (view: View) => void): (() => void) => subscribe(this.#onLook, listener);
  readonly onBack = (listener: () => void): (() => void) => subscribe(this.#onBack, listener);
}

function subscribe<T>(set: Set<T>, listener: T): () => void {
  set.add(listener);
  return () => void set.delete(listener);
}

const BoardContext = createContext<Board | null>(null);
const WordsContext = createContext<Words>(new Words(null, [], []));

export function useBoard(): Board {
  const board = useContext(BoardContext);
  if (!board) throw new Error("BUG: a page outside of its board");
  return board;
}

export const useWords = (): Words => useContext(WordsContext);

export function BoardProvider({ board, children }: { board: Board; children: ReactNode }) {
  return <BoardContext value={board}>{children}</BoardContext>;
}

export function WordsProvider({ words, children }: { words: Words; children: ReactNode }) {
  return <WordsContext value={words}>{children}</WordsContext>;
}

/** The words of the server. They change with its version only, so they are read once, and again after a cut. */
export function useReadWords(): { words: Words | null; problem: Problem | null } {
  const read = useDocument(async (signal) => {
    const [vocabulary, machines, reasons] = await Promise.all([
      get<Vocabulary>("/vocabulary", signal),
      get<{ machines: Machine[] }>("/machines", signal),
      get<{ reasons: Reason[] }>("/reasons", signal),
    ]);
    return new Words(vocabulary, machines.machines, reasons.reasons);
  }, "words");
  return { words: read.data, problem: read.problem };
}

export function useFeedState(): FeedState {
  const board = useBoard();
  return useSyncExternalStore(board.onState, board.state);
}

/** Is what is shown too old to be shown as now? */
export function useIsOld(): boolean {
  const state = useFeedState();
  const since = state.name === "reconnecting" ? state.since : null;
  const [old, setOld] = useState(false);
  useEffect(() => {
    setOld(since !== null && Date.now() - since >= GREY_AFTER_MS);
    if (since === null) return;
    const timer = setTimeout(() => setOld(true), Math.max(0, GREY_AFTER_MS - (Date.now() - since)));
    return () => clearTimeout(timer);
  }, [since]);
  return old;
}

/** The view of an entity, kept up to date while it is shown. */
export function useView(id: string): View | undefined {
  const { entities } = useBoard();
  return useSyncExternalStore(
    useCallback((listener: () => void) => entities.watch(id, listener), [entities, id]),
    () => entities.view(id),
  );
}

export interface Read<T> {
  data: T | null;
  problem: Problem | null;
  /** When the data came, by this browser's clock. */
  at: number | null;
  reload: () => void;
}

interface Renewal {
  /** Ask again after a record for which this holds, and after every look, at most once in `atMostEveryMs`. */
  on?: (record: LedgerRecord) => boolean;
  atMostEveryMs?: number;
  /** Ask again after this time whatever happened. */
  alsoEveryMs?: number;
  /** Ask, more seldom, in a tab that nobody sees too. */
  isForTitle?: boolean;
}

/** Reads a document and keeps it fresh. `key` names what is read: another key is another document. */
export function useDocument<T>(
  read: (signal: AbortSignal) => Promise<T>,
  key: string | null,
  renewal: Renewal = {},
): Read<T> {
  const board = useBoard();
  const [state, setState] = useState<{
    key: string | null;
    data: T | null;
    problem: Problem | null;
    at: number | null;
  }>({
    key,
    data: null,
    problem: null,
    at: null,
  });
  const latest = useRef({ read, renewal });
  latest.current = { read, renewal };
  const again = useRef<() => void>(() => {});

  useEffect(() => {
    if (key === null) return;
    const stop = new AbortController();
    const ask = oneAtATime(stop.signal, async () => {
      try {
        const data = await latest.current.read(stop.signal);
        if (!stop.signal.aborted) setState({ key, data, problem: null, at: Date.now() });
        return true;
      } catch (error) {
        const problem = asProblem(error);
        if (!stop.signal.aborted)
          setState((was) => ({ key, data: was.key === key ? was.data : null, problem, at: was.at }));
        // What the server says about the question does not change by asking again.
        return problem.status >= 400 && problem.status < 500 && problem.status !== 429;
      }
    });
    again.current = ask;
    ask();
    const settle = renew(board, ask, () => latest.current.renewal);
    return () => {
      stop.abort();
      settle();
    };
  }, [key, board]);

  const reload = useCallback(() => again.current(), []);
  const shown = state.key === key ? state : null;
  return useMemo(
    () => ({ data: shown?.data ?? null, problem: shown?.problem ?? null, at: shown?.at ?? null, reload }),
    [shown, reload],
  );
}

/**
 * Runs a job when it is asked to, never twice at a time: asked meanwhile, it runs once more afterwards. A job that says it
 * did not succeed runs again after a while.
 */
function oneAtATime(stop: AbortSignal, job: () => Promise<boolean>): () => void {
  let isRunning = false;
  let isDue = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  stop.addEventListener("abort", () => clearTimeout(timer));
  const ask = async (): Promise<void> => {
    if (stop.aborted) return;
    if (isRunning) {
      isDue = true;
      return;
    }
    clearTimeout(timer);
    isRunning = true;
    const isDone = await job();
    isRunning = false;
    if (!isDone && !stop.aborted) timer = setTimeout(() => void ask(), AGAIN_MS);
    if (isDue) {
      isDue = false;
      void ask();
    }
  };
  return () => void ask();
}

function renew(board: Board, ask: () => void, renewal: () => Renewal): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last = Date.now();
  const soon = () => {
    const wait = Math.max(50, (renewal().atMostEveryMs ?? 1000) - (Date.now() - last));
    timer ??= setTimeout(() => {
      timer = undefined;
      last = Date.now();
      ask();
    }, wait);
  };
  const offRecord = board.onRecord((record) => {
    if (renewal().on?.(record)) soon();
  });
  const offLook = board.onLook(() => {
    if (renewal().on) soon();
  });
  const offBack = board.onBack(ask);
  const every = renewal().alsoEveryMs;
  const interval = every
    ? setInterval(() => {
        const isSeldom = Date.now() - last >= UNSEEN_EVERY_MS;
        if (document.hidden && !(renewal().isForTitle && isSeldom)) return;
        last = Date.now();
        ask();
      }, every)
    : undefined;
  return () => {
    clearTimeout(timer);
    clearInterval(interval);
    offRecord();
    offLook();
    offBack();
  };
}

/** The attention document, with or without what was set aside; it is read only where `isWanted`. */
export function useAttention(setAside: boolean, isWanted = true): Read<Attention> {
  const board = useBoard();
  const read = useDocument(
    async (signal) => {
      const attention = await get<Attention>(`/attention?limit=500${setAside ? "&set_aside=true" : ""}`, signal);
      board.seen(attention.head);
      return attention;
    },
    isWanted ? `attention ${setAside}` : null,
    { on: () => true, atMostEveryMs: 500, alsoEveryMs: 15_000, isForTitle: true },
  );
  return read;
}

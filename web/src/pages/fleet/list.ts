// A long list of entities, read page by page from the top.
//
// Invariant: what is loaded is always a prefix of the server's order, so a row's place is its number. A record of a
// listed entity has its row asked again; what may have come, gone or moved has the top of the list read again. A row keeps
// only what a row shows, so 100,000 of them fit.
import { asProblem, get, type Problem } from "../../api/client";
import type { EntityPage, LedgerRecord, View } from "../../api/types";

const FIRST = 100;
const PAGE = 500;
/** Beyond this the order is left as it was read, and the page says so. */
const REREAD = 2000;
const ROWS_AT_ONCE = 10;
const SOON_MS = 500;
const TOP_MS = 1500;

export interface Row
  extends Pick<
    View,
    | "id"
    | "kind"
    | "title"
    | "version"
    | "chain"
    | "effective"
    | "created_at"
    | "started_at"
    | "ended_at"
    | "parent"
    | "host"
  > {
  state: View["state"];
  project: string | null;
}

export function rowOf(view: View): Row {
  const { id, kind, title, version, chain, effective, created_at, started_at, ended_at, parent, host } = view;
  const project = typeof view.facts.project === "string" ? view.facts.project : null;
  return {
    id,
    kind,
    title,
    version,
    chain,
    effective,
    created_at,
    started_at,
    ended_at,
    parent,
    host,
    project,
    state: { ...view.state, reasons: [] },
  };
}

export interface Shown {
  rows: Row[];
  /** The first page has come. */
  isRead: boolean;
  total: number | null;
  /** There are rows behind those that are loaded. */
  hasMore: boolean;
  legacy: number;
  problem: Problem | null;
  /** Something changed below what is read again, so the order there may be old. */
  isOrderOld: boolean;
}

type Fetch = (path: string, signal: AbortSignal) => Promise<unknown>;

export class FleetList {
  shown: Shown = { rows: [], isRead: false, total: null, hasMore: false, legacy: 0, problem: null, isOrderOld: false };
  readonly #params: string;
  readonly #fetch: Fetch;
  readonly #changed: () => void;
  readonly #stop = new AbortController();
  readonly #places = new Map<string, number>();
  readonly #old = new Set<string>();
  #cursor: string | null = null;
  #wanted = FIRST;
  #busy = false;
  #isTopOld = false;
  #rowTimer: ReturnType<typeof setTimeout> | undefined;
  #topTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(params: string, changed: () => void, fetch: Fetch = get) {
    this.#params = params;
    this.#changed = changed;
    this.#fetch = fetch;
    void this.#work();
  }

  close(): void {
    this.#stop.abort();
    clearTimeout(this.#rowTimer);
    clearTimeout(this.#topTimer);
  }

  /** Somebody looks at rows up to this one. */
  want(end: number): void {
    if (end <= this.#wanted) return;
    this.#wanted = end;
    void this.#work();
  }

  /** Reads again from the top. */
  reread(): void {
    this.#isTopOld = true;
    void this.#work();
  }

  take(record: LedgerRecord): void {
    const place = this.#places.get(record.entity.id);
    const row = place === undefined ? undefined : this.shown.rows[place];
    if (row && row.version < record.version) {
      this.#old.add(row.id);
      this.#rowTimer ??= setTimeout(() => void this.#rereadRows(), SOON_MS);
    }
    if (record.type === "observed" && row) return;
    this.#topTimer ??= setTimeout(() => {
      this.#topTimer = undefined;
      this.reread();
    }, TOP_MS);
  }

  /** A row is judged differently; its place may be another one. */
  look(view: View): void {
    const place = this.#places.get(view.id);
    const rows = this.shown.rows.slice();
    if (place !== undefined && (rows[place]?.version ?? 0) <= view.version) {
      rows[place] = rowOf(view);
      this.#show({ rows });
    }
    this.#topTimer ??= setTimeout(() => {
      this.#topTimer = undefined;
      this.reread();
    }, TOP_MS);
  }

  async #work(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      while (!this.#stop.signal.aborted) {
        if (this.#isTopOld) await this.#rereadTop();
        else if (!this.shown.isRead || (this.#cursor !== null && this.shown.rows.length < this.#wanted))
          await this.#more();
        else break;
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#show({ problem: asProblem(error) });
    }
    this.#busy = false;
  }

  async #page(cursor: string | null, limit: number): Promise<EntityPage> {
    const params = new URLSearchParams(this.#params);
    params.set("limit", String(limit));
    if (cursor !== null) params.set("cursor", cursor);
    return (await this.#fetch(`/entities?${params}`, this.#stop.signal)) as EntityPage;
  }

  async #more(): Promise<void> {
    const page = await this.#page(this.#cursor, this.shown.isRead ? PAGE : FIRST);
    this.#cursor = page.next_cursor;
    const rows = this.shown.rows.slice();
    for (const view of page.items) {
      if (this.#places.has(view.id)) continue;
      this.#places.set(view.id, rows.length);
      rows.push(rowOf(view));
    }
    const hasMore = page.next_cursor !== null;
    this.#show({ rows, isRead: true, hasMore, total: page.total, legacy: page.legacy, problem: null });
  }

  async #rereadTop(): Promise<void> {
    this.#isTopOld = false;
    const wanted = Math.min(Math.max(this.shown.rows.length, FIRST), REREAD);
    const top: Row[] = [];
    let cursor: string | null = null;
    let last: EntityPage;
    do {
      last = await this.#page(cursor, Math.min(PAGE, wanted));
      for (const view of last.items) top.push(this.#newer(view));
      cursor = last.next_cursor;
    } while (cursor !== null && top.length < wanted);
    const inTop = new Set(top.map((row) => row.id));
    const isLong = this.shown.rows.length > REREAD;
    const below = isLong ? this.shown.rows.slice(REREAD).filter((row) => !inTop.has(row.id)) : [];
    const rows = [...top, ...below];
    if (!isLong) this.#cursor = cursor;
    this.#places.clear();
    for (const [at, row] of rows.entries()) this.#places.set(row.id, at);
    const hasMore = this.#cursor !== null;
    this.#show({
      rows,
      isRead: true,
      hasMore,
      total: last.total,
      legacy: last.legacy,
      problem: null,
      isOrderOld: isLong,
    });
  }

  /** A row that was read by itself meanwhile may be newer than the same row of a list. */
  #newer(view: View): Row {
    const known = this.shown.rows[this.#places.get(view.id) ?? -1];
    return known && known.version > view.version ? known : rowOf(view);
  }

  async #rereadRows(): Promise<void> {
    const ids = [...this.#old].slice(0, ROWS_AT_ONCE);
    for (const id of ids) this.#old.delete(id);
    const ask = (id: string) => this.#fetch(`/entities/${encodeURIComponent(id)}`, this.#stop.signal) as Promise<View>;
    const views = await Promise.all(ids.map((id) => ask(id).catch(() => null)));
    this.#rowTimer = undefined;
    if (this.#stop.signal.aborted) return;
    const rows = this.shown.rows.slice();
    for (const view of views) {
      const place = view ? this.#places.get(view.id) : undefined;
      if (view && place !== undefined && (rows[place]?.version ?? 0) <= view.version) rows[place] = rowOf(view);
    }
    this.#show({ rows });
    if (this.#old.size > 0) this.#rowTimer = setTimeout(() => void this.#rereadRows(), SOON_MS);
  }

  #show(change: Partial<Shown>): void {
    this.shown = { ...this.shown, ...change };
    this.#changed();
  }
}

// The live feed: every record of the ledger from a sequence number on, over cuts and restarts of the server.
//
// Invariant: a record is handed on once and in order; after a cut the feed asks for what comes after the last one it
// handed on. A look has no place in the log: it is a view that is judged differently although nothing was recorded. Silence
// is not trusted: the server says something every 15 seconds, and a stream that does not is cut.
// Deliberately absent: what a record means; it only says that something is to be asked again.
import { BASE, problemOf } from "./client";
import { EventReader, type ServerEvent } from "./sse";
import type { LedgerRecord, View } from "./types";

export type FeedState =
  | { name: "connecting" }
  | { name: "live" }
  | { name: "behind"; by: number }
  | { name: "reconnecting"; since: number }
  | { name: "refused"; status: number };

const SILENCE_MS = 40_000;
const BACKOFF_MS = [250, 500, 1000, 2000, 5000];

export interface FeedHooks {
  onRecord(record: LedgerRecord): void;
  /** An entity is judged differently although nothing was recorded. */
  onLook(view: View): void;
  onState(state: FeedState): void;
  /** The stream stands again after a cut, looks were missed, or the server has another ledger: what was read may be old. */
  onBack(): void;
}

export class Feed {
  #last: number | null = null;
  #head = 0;
  #attempt = 0;
  #isPaused = false;
  #stop: AbortController | null = null;
  #state: FeedState = { name: "connecting" };
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #hooks: FeedHooks;

  constructor(hooks: FeedHooks) {
    this.#hooks = hooks;
  }

  get state(): FeedState {
    return this.#state;
  }

  /** The last record that was handed on, or the moment the page began from. */
  get last(): number | null {
    return this.#last;
  }

  /** Begins after a record; what the page shows was read at that moment or later. */
  start(since: number): void {
    if (this.#stop) return;
    this.#last = Math.max(this.#last ?? 0, since);
    void this.#connect();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#stop?.abort();
    this.#stop = null;
  }

  /** Gives the connection back for a while. A browser has few of them for one server, and every tab takes one. */
  pause(): void {
    if (!this.#stop) return;
    this.close();
    this.#isPaused = true;
  }

  /** Goes on after a pause from the last record. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#become({ name: "reconnecting", since: Date.now() });
    void this.#connect();
  }

  /** Tries at once instead of waiting, because there is a sign that it may work. */
  nudge(): void {
    if (this.#state.name !== "reconnecting" || !this.#stop) return;
    clearTimeout(this.#timer);
    this.#attempt = 0;
    void this.#connect();
  }

  async #connect(): Promise<void> {
    this.#stop?.abort();
    const stop = new AbortController();
    this.#stop = stop;
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (this.#last !== null) headers["Last-Event-ID"] = String(this.#last);
      const answer = await fetch(`${BASE}/events?since=${this.#last ?? 0}`, {
        credentials: "same-origin",
        headers,
        signal: stop.signal,
      });
      if (!answer.ok || !answer.body) {
        const problem = await problemOf(answer);
        if (problem.status === 401 || problem.status === 403) {
          this.#become({ name: "refused", status: problem.status });
          return;
        }
        throw problem;
      }
      await this.#read(answer.body, stop);
    } catch {
      // Every way a stream can end is answered in the same manner: ask again from the last record.
    }
    if (this.#stop === stop) this.#again();
  }

  async #read(body: ReadableStream<Uint8Array>, stop: AbortController): Promise<void> {
    const wasCut = this.#state.name === "reconnecting";
    this.#attempt = 0;
    this.#settle();
    if (wasCut) this.#hooks.onBack();
    const events = new EventReader();
    const decoder = new TextDecoder();
    const stream = body.getReader();
    for (;;) {
      const silence = setTimeout(() => stop.abort(), SILENCE_MS);
      const { done, value } = await stream.read().finally(() => clearTimeout(silence));
      if (done) return;
      for (const event of events.push(decoder.decode(value, { stream: true }))) this.#take(event);
      this.#settle();
    }
  }

  #take(event: ServerEvent): void {
    if (event.event === "behind") {
      this.#head = (JSON.parse(event.data) as { head: number }).head;
      return;
    }
    if (event.event === "reset") {
      this.#last = (JSON.parse(event.data) as { head: number }).head;
      this.#head = 0;
      this.#hooks.onBack();
      return;
    }
    if (event.event === "look") {
      this.#hooks.onLook(JSON.parse(event.data) as View);
      return;
    }
    if (event.event === "missed") {
      this.#hooks.onBack();
      return;
    }
    if (event.event !== "record") return;
    const record = JSON.parse(event.data) as LedgerRecord;
    if (this.#last !== null && record.seq <= this.#last) return;
    this.#last = record.seq;
    this.#hooks.onRecord(record);
  }

  #settle(): void {
    const by = this.#head - (this.#last ?? 0);
    this.#become(by > 0 ? { name: "behind", by } : { name: "live" });
  }

  #again(): void {
    if (this.#state.name !== "reconnecting") this.#become({ name: "reconnecting", since: Date.now() });
    const wait = BACKOFF_MS[Math.min(this.#attempt, BACKOFF_MS.length - 1)] ?? 5000;
    this.#attempt++;
    this.#timer = setTimeout(() => void this.#connect(), wait);
  }

  #become(state: FeedState): void {
    const before = this.#state;
    this.#state = state;
    const same = before.name === state.name && JSON.stringify(before) === JSON.stringify(state);
    if (!same) this.#hooks.onState(state);
  }
}

// The entities the page knows, by id. A record of the feed marks its entity as old; its view is asked again. A look of the
// feed is a view itself.
//
// Invariant: a view is always what the backend evaluated, never something the page worked out, and a view never replaces
// one of a higher version. Only what somebody looks at is asked again at once; the rest is asked when it is looked at.
import { get } from "../api/client";
import type { LedgerRecord, View } from "../api/types";

const PARALLEL = 6;
const COALESCE_MS = 100;
/** What nobody looks at is forgotten beyond this many. */
const KEPT = 5000;

type Listener = () => void;

export class Entities {
  readonly #views = new Map<string, View>();
  readonly #old = new Set<string>();
  readonly #watched = new Map<string, Set<Listener>>();
  readonly #queue = new Set<string>();
  #running = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #fetch: (id: string) => Promise<View>;

  constructor(fetch: (id: string) => Promise<View> = (id) => get<View>(`/entities/${encodeURIComponent(id)}`)) {
    this.#fetch = fetch;
  }

  view(id: string): View | undefined {
    return this.#views.get(id);
  }

  /** Takes a view that came with a list. */
  put(view: View): void {
    const known = this.#views.get(view.id);
    if (known && known.version > view.version) return;
    this.#views.delete(view.id);
    this.#views.set(view.id, view);
    this.#old.delete(view.id);
    this.#forget();
    this.#tell(view.id);
  }

  /** Somebody looks at this entity until the returned function is called. */
  watch(id: string, listener: Listener): () => void {
    const listeners = this.#watched.get(id) ?? new Set();
    listeners.add(listener);
    this.#watched.set(id, listeners);
    if (!this.#views.has(id) || this.#old.has(id)) this.#ask(id);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#watched.delete(id);
    };
  }

  /** Something was recorded about an entity. */
  take(record: LedgerRecord): void {
    const id = record.entity.id;
    const known = this.#views.get(id);
    if (known && known.version >= record.version) return;
    this.#old.add(id);
    if (this.#watched.has(id)) this.#ask(id);
  }

  /** An entity is judged differently. It is asked again too: an answer on its way may be from before. */
  look(view: View): void {
    this.put(view);
    this.#old.add(view.id);
    if (this.#watched.has(view.id)) this.#ask(view.id);
  }

  /** Everything may have changed, for instance because time passed or the feed was cut. */
  doubt(): void {
    for (const id of this.#views.keys()) this.#old.add(id);
    for (const id of this.#watched.keys()) this.#ask(id);
  }

  #ask(id: string): void {
    this.#queue.add(id);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#work();
    }, COALESCE_MS);
  }

  #work(): void {
    for (const id of this.#queue) {
      if (this.#running >= PARALLEL) return;
      this.#queue.delete(id);
      if (!this.#watched.has(id)) continue;
      this.#running++;
      this.#fetch(id)
        .then((view) => this.put(view))
        .catch(() => this.#old.add(id))
        .finally(() => {
          this.#running--;
          this.#work();
        });
    }
  }

  #forget(): void {
    if (this.#views.size <= KEPT) return;
    for (const id of this.#views.keys()) {
      if (this.#views.size <= KEPT * 0.9) return;
      if (!this.#watched.has(id)) this.#views.delete(id);
    }
  }

  #tell(id: string): void {
    for (const listener of this.#watched.get(id) ?? []) listener();
  }
}

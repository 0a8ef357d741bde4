// The columns of the board: the states of a task, put together by who has to do with them, and where the cursor is in them.
//
// Invariant: a task stands in the column of the state that the server gave it; a count is the server's. What the page works
// out is only which of the cards that came contain what somebody typed.
import type { TaskBoard, TaskCard } from "../../api/types";

/** The ends are counted in the head of the page: they need nobody. */
export const ENDS = ["closed", "cancelled"] as const;

const COLUMNS: { name: string; states: string[] }[] = [
  { name: "Planned", states: ["planned"] },
  { name: "Open", states: ["open"] },
  { name: "Working", states: ["claimed", "in_progress"] },
  { name: "Review", states: ["done", "pending_approval"] },
  { name: "Blocked", states: ["blocked", "waiting_for_subtasks", "orphaned"] },
  { name: "Failed", states: ["failed"] },
];

export interface Column {
  name: string;
  /** How many tasks are in it, also those without a card. */
  count: number;
  cards: TaskCard[];
  /** How many of each state have no card here. */
  more: { state: string; count: number }[];
}

export function columns(board: TaskBoard, text: string): Column[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  const listed = new Set<string>([...COLUMNS.flatMap((column) => column.states), ...ENDS]);
  // A state that this page does not know yet has a column of its own.
  const others = board.columns.filter((one) => !listed.has(one.state) && one.count > 0);
  const all = [...COLUMNS, ...others.map((one) => ({ name: one.state, states: [one.state] }))];
  return all.map(({ name, states }) => {
    const own = board.columns.filter((one) => states.includes(one.state));
    return {
      name,
      count: own.reduce((sum, one) => sum + one.count, 0),
      cards: own.flatMap((one) => one.items.filter((card) => contains(card, wanted))),
      more: own
        .map((one) => ({ state: one.state, count: one.count - one.items.length }))
        .filter((one) => one.count > 0),
    };
  });
}

function contains(card: TaskCard, wanted: string[]): boolean {
  const labels = Object.entries(card.labels).map(([name, value]) => `${name}=${value}`);
  const all = [card.title, card.id, card.role, card.repo, card.holder, card.progress, ...labels, ...card.waits_for];
  const text = all.filter(Boolean).join("\n").toLowerCase();
  return wanted.every((word) => text.includes(word));
}

export const countOf = (board: TaskBoard, state: string): number =>
  board.columns.find((one) => one.state === state)?.count ?? 0;

/** The card that keys act on. It is found by its id, wherever it moved; its place counts when it has left the board. */
export interface Cursor {
  id: string | null;
  column: number;
  row: number;
}

export function placed(all: Column[], cursor: Cursor): Cursor {
  for (const [column, { cards }] of all.entries()) {
    const row = cards.findIndex((card) => card.id === cursor.id);
    if (row >= 0) return { id: cursor.id, column, row };
  }
  const column = Math.min(cursor.column, all.length - 1);
  return nearest(all, column, cursor.row) ?? { id: null, column: 0, row: 0 };
}

export type Step = "up" | "down" | "left" | "right" | "first" | "last";

/** Where a key leads. Sideways, columns without a card are passed over. */
export function stepped(all: Column[], cursor: Cursor, step: Step): Cursor {
  const at = placed(all, cursor);
  const last = (all[at.column]?.cards.length ?? 0) - 1;
  switch (step) {
    case "up":
      return nearest(all, at.column, at.row - 1) ?? at;
    case "down":
      return nearest(all, at.column, at.row + 1) ?? at;
    case "first":
      return nearest(all, at.column, 0) ?? at;
    case "last":
      return nearest(all, at.column, last) ?? at;
    case "left":
    case "right": {
      const by = step === "left" ? -1 : 1;
      for (let column = at.column + by; column >= 0 && column < all.length; column += by) {
        const found = inColumn(all, column, at.row);
        if (found) return found;
      }
      return at;
    }
  }
}

function inColumn(all: Column[], column: number, row: number): Cursor | null {
  const cards = all[column]?.cards ?? [];
  if (cards.length === 0) return null;
  const place = Math.max(0, Math.min(cards.length - 1, row));
  return { id: cards[place]?.id ?? null, column, row: place };
}

/** The card at a place, or the first there is where its column has none. */
function nearest(all: Column[], column: number, row: number): Cursor | null {
  const own = inColumn(all, column, row);
  if (own) return own;
  const first = all.findIndex(({ cards }) => cards.length > 0);
  return first < 0 ? null : inColumn(all, first, 0);
}

import { describe, expect, it } from "vitest";
import type { TaskBoard } from "../../api/types";
import { card } from "../../samples";
import { columns, placed, stepped } from "./columns";

const board = (states: Record<string, string[]>, counts: Record<string, number> = {}): TaskBoard => ({
  head: 1,
  columns: Object.entries(states).map(([state, ids]) => ({
    state,
    count: counts[state] ?? ids.length,
    items: ids.map((id) => card({ id, state, title: `title of ${id}` })),
  })),
});
const start = { id: null, column: 0, row: 0 };

describe("columns", () => {
  it("put states together, with the server's counts", () => {
    const all = columns(board({ claimed: ["a"], in_progress: ["b", "c"], closed: ["z"] }, { in_progress: 40 }), "");
    expect(all.map((column) => column.name)).toEqual(["Planned", "Open", "Working", "Review", "Blocked", "Failed"]);
    expect(all[2]).toMatchObject({ count: 41, more: [{ state: "in_progress", count: 38 }] });
    expect(all[2]?.cards.map((one) => one.id)).toEqual(["a", "b", "c"]);
  });

  it("show a state that the page does not know", () => {
    expect(columns(board({ paused: ["a"] }), "").at(-1)).toMatchObject({ name: "paused", count: 1 });
    expect(columns(board({ paused: [] }), "").length).toBe(6);
  });

  it("keep their counts while somebody looks for a text", () => {
    const all = columns(board({ open: ["a", "b"] }), "TITLE b");
    expect(all[1]).toMatchObject({ count: 2, cards: [{ id: "b" }] });
  });
});

describe("the cursor", () => {
  const all = columns(board({ open: ["a", "b", "c"], failed: ["f"] }), "");

  it("begins with the first card, and steps within the board", () => {
    const first = placed(all, start);
    expect(first.id).toBe("a");
    expect(stepped(all, first, "up").id).toBe("a");
    expect(stepped(all, stepped(all, first, "down"), "down").id).toBe("c");
    expect(stepped(all, first, "last").id).toBe("c");
  });

  it("passes over columns without a card", () => {
    const right = stepped(all, { id: "c", column: 1, row: 2 }, "right");
    expect(right).toEqual({ id: "f", column: 5, row: 0 });
    expect(stepped(all, right, "right").id).toBe("f");
    expect(stepped(all, right, "left").id).toBe("a");
  });

  it("follows its card into another column, and stays in place when the card is gone", () => {
    const moved = columns(board({ open: ["a", "c"], claimed: ["b"] }), "");
    expect(placed(moved, { id: "b", column: 1, row: 1 })).toEqual({ id: "b", column: 2, row: 0 });
    expect(placed(columns(board({ open: ["a", "c"] }), ""), { id: "b", column: 1, row: 1 }).id).toBe("c");
    expect(placed(columns(board({}), ""), start).id).toBeNull();
  });
});

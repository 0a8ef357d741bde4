import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { record, view } from "../../samples";
import { FleetList } from "./list";

/** A server with numbered entities. */
function server(size: number) {
  const all = Array.from({ length: size }, (_, n) => view({ id: `e${n}`, title: `entity ${n}` }));
  const asked: string[] = [];
  const fetch = async (path: string) => {
    asked.push(path);
    const url = new URL(path, "http://x");
    if (url.pathname !== "/entities") return all.find((one) => url.pathname.endsWith(`/${one.id}`));
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const to = from + Number(url.searchParams.get("limit"));
    return {
      items: all.slice(from, to),
      next_cursor: to < all.length ? String(to) : null,
      total: all.length,
      legacy: 0,
      head: 1,
    };
  };
  return { all, asked, fetch };
}

describe("the fleet's list", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const settle = () => vi.advanceTimersByTimeAsync(3000);

  it("reads a small first page and then only what is looked at", async () => {
    const { asked, fetch } = server(100_000);
    const list = new FleetList("", () => {}, fetch);
    await settle();
    expect(asked.length).toBe(1);
    expect(list.shown.total).toBe(100_000);
    list.want(1000);
    await settle();
    expect(list.shown.rows.length).toBe(1100);
    list.want(100_000);
    await settle();
    expect(list.shown.rows.length).toBe(100_000);
    expect(list.shown.rows[99_999]?.id).toBe("e99999");
    expect(asked.length).toBe(201);
  });

  it("asks again for the row of a record, once for many", async () => {
    const { all, asked, fetch } = server(50);
    const list = new FleetList("", () => {}, fetch);
    await settle();
    all[7] = view({ id: "e7", version: 9, chain: "Running · Idle" });
    for (let version = 2; version < 10; version++) list.take(record({ id: "e7", version, type: "observed" }));
    await settle();
    expect(asked.slice(1)).toEqual(["/entities/e7"]);
    expect(list.shown.rows[7]?.chain).toBe("Running · Idle");
  });

  it("shows a look in its row at once, and reads the top again for its place", async () => {
    const { all, asked, fetch } = server(50);
    const list = new FleetList("", () => {}, fetch);
    await settle();
    const dead = view({ id: "e7", chain: "Running · Process dead" });
    list.look(dead);
    expect(list.shown.rows[7]?.chain).toBe("Running · Process dead");
    all.splice(7, 1);
    all.unshift(dead);
    await settle();
    expect(asked.length).toBe(2);
    expect(list.shown.rows[0]?.chain).toBe("Running · Process dead");
  });

  it("reads the top again when something came or moved, once for many", async () => {
    const { all, asked, fetch } = server(50);
    const list = new FleetList("", () => {}, fetch);
    await settle();
    all.unshift(view({ id: "new", title: "new" }));
    for (let n = 0; n < 20; n++) list.take(record({ id: "new", type: "created" }));
    await settle();
    expect(asked.length).toBe(2);
    expect(list.shown.rows[0]?.id).toBe("new");
    expect(list.shown.rows.length).toBe(51);
  });

  it("goes on where nobody counted", async () => {
    const { fetch } = server(250);
    const uncounted = async (path: string) => ({ ...((await fetch(path)) as object), total: null });
    const list = new FleetList("", () => {}, uncounted);
    await settle();
    expect(list.shown).toMatchObject({ isRead: true, total: null, hasMore: true });
    list.want(140);
    await settle();
    expect(list.shown.rows.length).toBe(250);
    expect(list.shown.hasMore).toBe(false);
  });

  it("keeps a row that is newer than the list that came late", async () => {
    const { all, fetch } = server(50);
    let late: (() => void) | undefined;
    const slow = async (path: string) => {
      const answer = await fetch(path);
      if (late === undefined && path.includes("limit") && list.shown.isRead) {
        await new Promise<void>((done) => {
          late = done;
        });
      }
      return answer;
    };
    const list = new FleetList("", () => {}, slow);
    await settle();
    list.reread();
    await settle();
    all[7] = view({ id: "e7", version: 9 });
    list.take(record({ id: "e7", version: 9, type: "observed" }));
    await settle();
    expect(list.shown.rows[7]?.version).toBe(9);
    late?.();
    await settle();
    expect(list.shown.rows[7]?.version).toBe(9);
  });

  it("drops what is not in the list any more", async () => {
    const { all, fetch } = server(50);
    const list = new FleetList("", () => {}, fetch);
    await settle();
    all.splice(10, 1);
    list.reread();
    await settle();
    expect(list.shown.rows.some((row) => row.id === "e10")).toBe(false);
    expect(list.shown.total).toBe(49);
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { record, view } from "../samples";
import { Entities } from "./entities";

describe("entities", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("asks once for many records of one entity", async () => {
    const fetch = vi.fn(async (id: string) => view({ id, version: 9 }));
    const entities = new Entities(fetch);
    entities.put(view({ id: "a", version: 1 }));
    const told = vi.fn();
    entities.watch("a", told);
    for (let version = 2; version < 9; version++) entities.take(record({ id: "a", version }));
    await vi.advanceTimersByTimeAsync(200);
    expect(fetch).toHaveBeenCalledTimes(1);
    expect(entities.view("a")?.version).toBe(9);
    expect(told).toHaveBeenCalledTimes(1);
  });

  it("does not ask for what nobody looks at, until somebody does", async () => {
    const fetch = vi.fn(async (id: string) => view({ id, version: 2 }));
    const entities = new Entities(fetch);
    entities.put(view({ id: "a", version: 1 }));
    entities.take(record({ id: "a", version: 2 }));
    await vi.advanceTimersByTimeAsync(1000);
    expect(fetch).not.toHaveBeenCalled();
    entities.watch("a", () => {});
    await vi.advanceTimersByTimeAsync(200);
    expect(entities.view("a")?.version).toBe(2);
  });

  it("shows a look at once, and asks again because an answer on its way may be from before", async () => {
    let answer: (chain: string) => void = () => {};
    const entities = new Entities(
      (id) =>
        new Promise((done) => {
          answer = (chain) => done(view({ id, version: 2, chain }));
        }),
    );
    entities.watch("a", () => {});
    await vi.advanceTimersByTimeAsync(200);
    const early = answer;
    entities.look(view({ id: "a", version: 2, chain: "Running · Process dead" }));
    expect(entities.view("a")?.chain).toBe("Running · Process dead");
    early("Running");
    await vi.advanceTimersByTimeAsync(200);
    answer("Running · Process dead");
    await vi.advanceTimersByTimeAsync(0);
    expect(entities.view("a")?.chain).toBe("Running · Process dead");
  });

  it("never goes back to an older version", () => {
    const entities = new Entities(async () => view({}));
    entities.put(view({ id: "a", version: 5, chain: "Completed" }));
    entities.put(view({ id: "a", version: 4, chain: "Running" }));
    expect(entities.view("a")?.chain).toBe("Completed");
  });

  it("never derives: a record alone changes nothing that is shown", async () => {
    const entities = new Entities(() => new Promise(() => {}));
    entities.put(view({ id: "a", version: 1, chain: "Running" }));
    entities.watch("a", () => {});
    entities.take(record({ id: "a", version: 2, to: "failed" }));
    await vi.advanceTimersByTimeAsync(1000);
    expect(entities.view("a")?.chain).toBe("Running");
  });

  it("keeps at most so many requests open", async () => {
    let open = 0;
    let most = 0;
    const entities = new Entities(async (id) => {
      most = Math.max(most, ++open);
      await new Promise((done) => setTimeout(done, 10));
      open--;
      return view({ id });
    });
    for (let n = 0; n < 50; n++) entities.watch(`e${n}`, () => {});
    await vi.advanceTimersByTimeAsync(5000);
    expect(most).toBe(6);
    expect(entities.view("e49")).toBeDefined();
  });
});

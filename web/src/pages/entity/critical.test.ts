import { describe, expect, it } from "vitest";
import { view } from "../../samples";
import { criticalPath } from "./critical";

const part = (id: string, minutes: number) =>
  view({
    id,
    started_at: "2026-11-15T11:00:00Z",
    ended_at: new Date(Date.parse("2026-11-15T11:00:00Z") + minutes * 60_000).toISOString(),
  });

describe("the critical path", () => {
  it("is the way that took longest, not the one with most steps", () => {
    const parts = [part("a", 1), part("b", 1), part("c", 1), part("slow", 90), part("end", 1)];
    const edges = [
      { from: "a", to: "b" },
      { from: "b", to: "c" },
      { from: "c", to: "end" },
      { from: "a", to: "slow" },
      { from: "slow", to: "end" },
    ];
    expect([...criticalPath(parts, edges)].reverse()).toEqual(["a", "slow", "end"]);
  });

  it("ends where parts wait for each other in a circle", () => {
    const edges = [
      { from: "a", to: "b" },
      { from: "b", to: "a" },
    ];
    expect(criticalPath([part("a", 1), part("b", 2)], edges).size).toBeLessThanOrEqual(2);
  });
});

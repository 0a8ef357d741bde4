import { describe, expect, it } from "vitest";
import { rowsInSight } from "./virtual";

describe("rows in sight", () => {
  it("are few, whatever the length of the list", () => {
    for (const top of [0, 1, 31, 32, 1_600_000, 3_199_200]) {
      const { first, end } = rowsInSight(top, 800, 32, 100_000);
      expect(end - first).toBeLessThanOrEqual(52);
      expect(first * 32).toBeLessThanOrEqual(top);
      expect(end * 32).toBeGreaterThanOrEqual(Math.min(top + 800, 3_200_000));
    }
  });

  it("are none of an empty list, and all of a short one", () => {
    expect(rowsInSight(0, 800, 32, 0)).toEqual({ first: 0, end: 0 });
    expect(rowsInSight(0, 800, 32, 3)).toEqual({ first: 0, end: 3 });
  });

  it("stay inside of a list that became shorter", () => {
    const { first, end } = rowsInSight(64_000, 800, 32, 10);
    expect(first).toBeLessThan(10);
    expect(end).toBe(10);
  });
});

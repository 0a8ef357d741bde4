import { describe, expect, it } from "vitest";
import { linePath } from "./charts";

describe("a line", () => {
  it("breaks where nothing is known", () => {
    expect(linePath([1, null, 2, 4], 4, { width: 30, height: 8 })).toBe("M0.0 6.0h0M20.0 4.0h0L30.0 0.0");
  });

  it("stands at the end when there is one point", () => {
    expect(linePath([2], 4, { width: 30, height: 8 })).toBe("M30.0 4.0h0");
  });
});

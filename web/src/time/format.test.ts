import { describe, expect, it } from "vitest";
import { absolute, bytes, secondsBetween, short, shortId, span, UNKNOWN } from "./format";

describe("times", () => {
  it("are short in lists", () => {
    expect([0, 59, 60, 3599, 3600, 86_399, 86_400, 200_000].map(short)).toEqual([
      "0s",
      "59s",
      "1m",
      "59m",
      "1h",
      "23h",
      "1d",
      "2d",
    ]);
  });

  it("have two units as durations", () => {
    expect([0, 0.25, 4, 72, 3600, 3660, 3605, 90_000].map(span)).toEqual([
      "0s",
      "0.3s",
      "4s",
      "1m 12s",
      "1h",
      "1h 1m",
      "1h",
      "1d 1h",
    ]);
  });

  it("are a dash when unknown, never 0", () => {
    expect([short(null), span(null), absolute(null), bytes(null)]).toEqual([UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]);
    expect(secondsBetween(null, 5)).toBeNull();
    expect(short(secondsBetween("nonsense", 5))).toBe(UNKNOWN);
  });

  it("have their zone in detail", () => {
    expect(absolute("2026-11-15T12:00:00.000000Z")).toMatch(/^2026-11-1\d \d\d:00:00 \S+/);
  });

  it("reads bytes and ids", () => {
    expect([0, 999, 1500, 94_208, 3_694_592].map(bytes)).toEqual(["0 B", "999 B", "1.5 kB", "94 kB", "3.7 MB"]);
    expect(shortId("ses_01m7grbsckepybw2zv8gzdsez6")).toBe("ses_01m7grbsckep");
  });
});

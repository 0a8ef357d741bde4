import { describe, expect, it } from "vitest";
import { record } from "../../samples";
import { lanes } from "./segments";

const at = (seconds: number, to: string | null, seq: number) => ({
  ...record({ seq, type: to ? "transitioned" : "observed" }),
  to: to ?? "running",
  at: new Date(1_000_000_000_000 + seconds * 1000).toISOString(),
});

describe("a lane", () => {
  it("is covered by its states without a gap", () => {
    const { segments } = lanes(
      [at(0, "pending", 1), at(10, "running", 2), at(50, null, 3), at(100, "failed", 4)],
      1_000_000_100_000,
    );
    expect(segments.map((one) => [one.state, one.from, one.to, one.seconds])).toEqual([
      ["pending", 0, 0.1, 10],
      ["running", 0.1, 1, 90],
      ["failed", 1, 1, 0],
    ]);
  });

  it("goes on until now while there is no end, and never past it", () => {
    const { segments, ticks } = lanes([at(0, "running", 1), at(30, null, 2)], 1_000_000_060_000);
    expect(segments[0]?.to).toBe(1);
    expect(ticks.map((tick) => tick.at)).toEqual([0, 0.5]);
  });

  it("stays readable with thousands of records, and keeps every transition", () => {
    const many = [
      at(0, "running", 1),
      ...Array.from({ length: 4000 }, (_, n) => at(n + 1, null, n + 2)),
      at(4001, "failed", 4002),
    ];
    const { ticks } = lanes(many, 0);
    expect(ticks.length).toBeLessThan(130);
    expect(ticks.at(-1)?.record.seq).toBe(4002);
  });

  it("is empty without records", () => {
    expect(lanes([], 5).segments).toEqual([]);
  });
});

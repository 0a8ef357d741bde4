import { describe, expect, it } from "vitest";
import { item } from "../../samples";
import { acts, clusters, rows } from "./clusters";

const of = (id: string, cluster: string, severity: "critical" | "warning" = "critical", size = 1) =>
  item({ entity: { kind: "session", id, title: id }, fingerprint: id, cluster, severity, cluster_size: size });

describe("clusters", () => {
  const items = [
    of("a", "oom"),
    of("b", "overloaded", "critical", 2),
    of("c", "overloaded", "critical", 2),
    of("d", "late", "warning"),
  ];

  it("put the same cause into one row, where its first stands", () => {
    expect(rows(items, new Set()).map((row) => row.key)).toEqual(["a", "critical overloaded", "d"]);
  });

  it("open in place", () => {
    expect(rows(items, new Set(["critical overloaded"])).map((row) => row.key)).toEqual([
      "a",
      "critical overloaded",
      "b",
      "c",
      "d",
    ]);
  });

  it("count what the server did not send", () => {
    expect(clusters([of("a", "x", "critical", 40)])[0]?.size).toBe(40);
  });

  it("are two where one cause has two severities", () => {
    const two = clusters([of("a", "x", "critical", 2), of("b", "x", "warning", 2)]);
    expect(two.map((cluster) => [cluster.severity, cluster.size])).toEqual([
      ["critical", 1],
      ["warning", 1],
    ]);
  });

  it("offer only what each of their items offers", () => {
    const act = (name: string) => ({ name, command: "" });
    const mixed = [of("a", "x", "critical", 2), of("b", "x", "critical", 2)];
    mixed[0] = { ...(mixed[0] ?? item()), actions: [act("retry"), act("snooze")] };
    mixed[1] = { ...(mixed[1] ?? item()), actions: [act("stop"), act("snooze")] };
    const [row] = rows(mixed, new Set());
    expect(row && [...acts(row)]).toEqual(["snooze"]);
  });
});

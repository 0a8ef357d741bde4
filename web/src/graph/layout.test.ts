import { describe, expect, it } from "vitest";
import { NODE, place } from "./layout";

const graph = (text: string) => {
  const edges = text.split(", ").map((pair) => {
    const [from = "", to = ""] = pair.split(">");
    return { from, to };
  });
  return {
    states: [...new Set(edges.flatMap((edge) => [edge.from, edge.to]))],
    initial: [edges[0]?.from ?? ""],
    edges,
  };
};

describe("the diagram of a machine", () => {
  it("goes from left to right", () => {
    const { nodes } = place(graph("a>b, b>c, a>c"));
    const x = (name: string) => nodes.get(name)?.x ?? Number.NaN;
    expect(x("a")).toBeLessThan(x("b"));
    expect(x("b")).toBeLessThan(x("c"));
  });

  it("ends for a machine that runs in circles, and marks what goes back", () => {
    const { edges, nodes } = place(graph("a>b, b>c, c>a, c>c2, c2>b"));
    expect(edges.filter((edge) => edge.isBack).map((edge) => `${edge.from}>${edge.to}`)).toEqual(["c>a", "c2>b"]);
    expect(nodes.size).toBe(4);
  });

  it("puts no state on another and every edge somewhere", () => {
    const { nodes, edges, width, height } = place(
      graph("p>o, p>x, o>c, c>i, i>d, i>f, i>x, o>x, c>x, d>z, d>f, f>o, i>w, w>i, z>z2"),
    );
    const all = [...nodes.values()];
    for (const [at, one] of all.entries()) {
      expect(one.x + NODE.width).toBeLessThanOrEqual(width);
      expect(one.y + NODE.height).toBeLessThanOrEqual(height);
      for (const other of all.slice(at + 1)) {
        const apart = Math.abs(one.x - other.x) >= NODE.width || Math.abs(one.y - other.y) >= NODE.height;
        expect(apart).toBe(true);
      }
    }
    expect(edges.every((edge) => edge.path.startsWith("M") && !edge.path.includes("NaN"))).toBe(true);
  });
});

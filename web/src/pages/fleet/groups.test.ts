import { describe, expect, it } from "vitest";
import { session, view, vocabulary } from "../../samples";
import { Words } from "../../state/words";
import { lines } from "./groups";
import { rowOf } from "./list";

const words = new Words(vocabulary, [session], []);
const row = (id: string, project: string | null, parent: string | null = null) =>
  rowOf(view({ id, title: `title of ${id}`, parent, facts: project ? { project } : {} }));
const text = (all: ReturnType<typeof lines>) =>
  all.map((line) => (line.type === "group" ? `${line.label} ${line.size}` : line.row.id));

describe("groups", () => {
  const rows = [row("a", "shop"), row("b", null), row("c", "shop", "a")];

  it("stand where their first row stands", () => {
    expect(text(lines(rows, "project", new Set(), words))).toEqual(["shop 2", "a", "c", "No project 1", "b"]);
  });

  it("close", () => {
    expect(text(lines(rows, "project", new Set(["shop"]), words))).toEqual(["shop 2", "No project 1", "b"]);
  });

  it("are named by the parent where it is known", () => {
    expect(text(lines(rows, "parent", new Set(), words))).toEqual(["On their own 2", "a", "b", "title of a 1", "c"]);
  });
});

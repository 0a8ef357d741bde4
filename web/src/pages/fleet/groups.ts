// Rows put into groups. A group stands where its first row stands, so the most urgent group is first when the rows are
// sorted so.
import type { Words } from "../../state/words";
import { shortId } from "../../time/format";
import type { Row } from "./list";

export const GROUPINGS = ["project", "parent", "state", "kind", "host"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export type Line =
  | { type: "group"; key: string; label: string; size: number; isOpen: boolean }
  | { type: "row"; row: Row };

export function isGrouping(word: string | null): word is Grouping {
  return GROUPINGS.some((one) => one === word);
}

export function lines(rows: Row[], by: Grouping, closed: ReadonlySet<string>, words: Words): Line[] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = keyOf(row, by);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  const titles = by === "parent" ? new Map(rows.map((row) => [row.id, row.title])) : new Map<string, string | null>();
  return [...groups].flatMap(([key, group]): Line[] => {
    const isOpen = !closed.has(key);
    const head: Line = {
      type: "group",
      key,
      label: labelOf(key, by, group[0], titles, words),
      size: group.length,
      isOpen,
    };
    return isOpen ? [head, ...group.map((row): Line => ({ type: "row", row }))] : [head];
  });
}

function keyOf(row: Row, by: Grouping): string {
  switch (by) {
    case "project":
      return row.project ?? "";
    case "parent":
      return row.parent ?? "";
    case "host":
      return row.host ?? "";
    case "kind":
      return row.kind;
    case "state":
      return row.effective;
  }
}

function labelOf(
  key: string,
  by: Grouping,
  row: Row | undefined,
  titles: Map<string, string | null>,
  words: Words,
): string {
  if (key === "") return { project: "No project", parent: "On their own", host: "No host", kind: "", state: "" }[by];
  if (by === "parent") return titles.get(key) ?? shortId(key);
  if (by === "kind" && row) return words.noun(row.kind);
  return key;
}

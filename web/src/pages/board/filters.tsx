// The filters of the board. They live in the URL; role, label and repository are the server's, the text is looked for in the
// cards that came.
import { useRef } from "react";
import type { TaskBoard, TaskCard } from "../../api/types";
import { Choice, Search } from "../../parts/filter";
import { go, withParams } from "../../route/route";

export const SERVER_PARAMS = ["role", "label", "repo"] as const;
type Name = (typeof SERVER_PARAMS)[number];

const VALUES: Record<Name, (card: TaskCard) => string[]> = {
  role: (card) => (card.role ? [card.role] : []),
  label: (card) => Object.entries(card.labels).map(([name, value]) => `${name}=${value}`),
  repo: (card) => (card.repo ? [card.repo] : []),
};
const TITLES: Record<Name, string> = { role: "Role", label: "Label", repo: "Repository" };

export function BoardFilters({ params, board }: { params: URLSearchParams; board: TaskBoard | null }) {
  const isFiltered = ["q", ...SERVER_PARAMS].some((name) => (params.get(name) ?? "") !== "");
  return (
    <search className="filters" aria-label="Filter">
      <Search q={params.get("q") ?? ""} placeholder="Filter by title, label or worker" />
      {SERVER_PARAMS.map((name) => (
        <One key={name} name={name} value={params.get(name) ?? ""} board={board} />
      ))}
      {isFiltered && (
        <button
          type="button"
          className="quiet"
          onClick={() => go(withParams({ q: null, role: null, label: null, repo: null }), "replace")}
        >
          Clear
        </button>
      )}
    </search>
  );
}

function One({ name, value, board }: { name: Name; value: string; board: TaskBoard | null }) {
  // A board that is filtered has no cards of the other values; those that were seen stay on offer.
  const seen = useRef(new Set<string>());
  if (value !== "") seen.current.add(value);
  for (const column of board?.columns ?? [])
    for (const card of column.items) for (const one of VALUES[name](card)) seen.current.add(one);
  if (seen.current.size === 0) return null;
  return (
    <Choice name={TITLES[name]} value={value} onChange={(to) => go(withParams({ [name]: to || null }), "replace")}>
      {[...seen.current].sort().map((one) => (
        <option key={one} value={one} title={one}>
          {name === "repo" ? lastOf(one) : one}
        </option>
      ))}
    </Choice>
  );
}

const lastOf = (path: string): string => path.replace(/\/+$/, "").split("/").at(-1) || path;

// The filters of the fleet. They live in the URL and nowhere else.
import { Chip, Choice, Search } from "../../parts/filter";
import { go, withParams } from "../../route/route";
import { useWords } from "../../state/board";
import { GROUPINGS } from "./groups";

/** The parameters that are the server's as well. */
export const SERVER_PARAMS = [
  "kind",
  "state",
  "health",
  "severity",
  "label",
  "project",
  "parent",
  "q",
  "ended",
  "sort",
] as const;

export function Filters({ params }: { params: URLSearchParams }) {
  const words = useWords();
  const kind = params.get("kind") ?? "";
  const states = kind === "" ? [] : words.values(kind);
  const value = (name: string) => params.get(name) ?? "";
  const set = (name: string, to: string) =>
    go(withParams({ [name]: to || null, ...(name === "kind" ? { state: null } : {}) }), "replace");
  const isFiltered = [...params.keys()].some((name) => name !== "sel" && name !== "act" && name !== "at");
  return (
    <search className="filters" aria-label="Filter">
      <Search q={value("q")} placeholder="Filter by title, id or state" />
      <Choice name="Kind" value={kind} onChange={(to) => set("kind", to)}>
        {words.machines.map((machine) => (
          <option key={machine.kind} value={machine.kind}>
            {machine.noun}
          </option>
        ))}
      </Choice>
      {states.length > 0 && (
        <Choice name="State" value={value("state")} onChange={(to) => set("state", to)}>
          {states.map((word) => (
            <option key={word.name} value={word.name}>
              {word.label}
            </option>
          ))}
        </Choice>
      )}
      {["health", "severity"].map((name) => (
        <Choice
          key={name}
          name={name === "health" ? "Health" : "Severity"}
          value={value(name)}
          onChange={(to) => set(name, to)}
        >
          {words.values(name).map((word) => (
            <option key={word.name} value={word.name}>
              {word.label}
            </option>
          ))}
        </Choice>
      ))}
      <Choice name="Group by" value={value("group")} none="nothing" onChange={(to) => set("group", to)}>
        {GROUPINGS.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </Choice>
      {["project", "label", "parent"].map(
        (name) => value(name) !== "" && <Chip key={name} name={name} value={value(name)} />,
      )}
      <label className="check">
        <input
          type="checkbox"
          checked={value("ended") === "true"}
          onChange={(event) => set("ended", event.target.checked ? "true" : "")}
        />
        ended too
      </label>
      {isFiltered && (
        <button type="button" className="quiet" onClick={() => go("/fleet", "replace")}>
          Clear
        </button>
      )}
    </search>
  );
}

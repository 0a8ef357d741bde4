// Machines: what may happen to each kind, and how many entities stand in each state.
import { useState } from "react";
import { get } from "../../api/client";
import type { Counts, Machine, Word } from "../../api/types";
import { fitted, NODE, place } from "../../graph/layout";
import { CopyLine } from "../../parts/copy";
import { Trouble } from "../../parts/states";
import { iconPath } from "../../pill/icons";
import { StatusPill } from "../../pill/pill";
import { Link } from "../../route/link";
import { go, usePlace, withParams } from "../../route/route";
import { useDocument, useWords } from "../../state/board";
import { count } from "../../time/format";

export function MachinesPage() {
  const words = useWords();
  const { params } = usePlace();
  const read = useDocument((signal) => get<Counts>("/counts", signal), "counts", {
    on: (record) => record.type !== "observed",
    atMostEveryMs: 1000,
  });
  const chosen = words.machine(params.get("kind") ?? "session") ?? words.machines[0];
  const countsOf = (kind: string) =>
    new Map(read.data?.machines.find((one) => one.kind === kind)?.states.map((one) => [one.state, one.count]));
  const totalOf = (kind: string) => [...countsOf(kind).values()].reduce((sum, one) => sum + one, 0);
  if (!chosen) return null;
  return (
    <div className="machines">
      <nav className="machine-list" aria-label="Kinds">
        {words.machines.map((machine) => (
          <button
            key={machine.kind}
            type="button"
            aria-current={machine.kind === chosen.kind || undefined}
            onClick={() => go(withParams({ kind: machine.kind }), "replace")}
          >
            <span>{machine.noun}</span>
            <span className="num soft">{read.data ? count(totalOf(machine.kind)) : ""}</span>
          </button>
        ))}
      </nav>
      <div className="machine">
        <header className="page-head">
          <h1>{chosen.noun}</h1>
          <span className="faint">{chosen.meaning}</span>
        </header>
        {read.problem && !read.data && <Trouble problem={read.problem} onRetry={read.reload} />}
        <Diagram key={chosen.kind} machine={chosen} counts={countsOf(chosen.kind)} isKnown={read.data !== null} />
        <CopyLine line={`callboard machines ${chosen.kind}`} />
        <Edges machine={chosen} counts={countsOf(chosen.kind)} />
      </div>
    </div>
  );
}

/** The edges of a machine, with those that only its rows name, such as the way through the approval desk. */
function edgesOf(machine: Machine): Machine["edges"] {
  const all = new Map(machine.edges.map((edge) => [`${edge.from} ${edge.to}`, edge]));
  for (const { from, to, triggers } of machine.rows ?? []) {
    const key = `${from} ${to}`;
    if (!all.has(key)) all.set(key, { from, to, triggers });
  }
  return [...all.values()];
}

function Diagram({ machine, counts, isKnown }: { machine: Machine; counts: Map<string, number>; isKnown: boolean }) {
  const [lit, setLit] = useState<string | null>(null);
  const edges = edgesOf(machine);
  const placed = place({
    states: machine.states.map((state) => state.name),
    initial: machine.initial,
    edges,
  });
  const isLit = (edge: { from: string; to: string }) => lit === null || edge.from === lit || edge.to === lit;
  return (
    <div className="diagram" tabIndex={0} role="group" aria-label={`Diagram of a ${machine.noun}`}>
      <svg
        width={placed.width}
        height={placed.height}
        viewBox={`0 0 ${placed.width} ${placed.height}`}
        aria-hidden="false"
        role="img"
        aria-label={`${machine.states.length} states and ${edges.length} edges; the table below lists them`}
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto-start-reverse"
          >
            <path d="M1 1 7 4 1 7" className="arrow" />
          </marker>
        </defs>
        {placed.edges.map((edge) => (
          <path
            key={`${edge.from} ${edge.to}`}
            className={`edge ${edge.isBack ? "back" : ""}`}
            data-lit={lit !== null && isLit(edge) ? true : undefined}
            data-dim={isLit(edge) ? undefined : true}
            d={edge.path}
            markerEnd="url(#arrow)"
          >
            <title>{`${edge.from} → ${edge.to}: ${edges.find((one) => one.from === edge.from && one.to === edge.to)?.triggers.join(", ") ?? ""}`}</title>
          </path>
        ))}
        {machine.states.map((state) => (
          <StateNode
            key={state.name}
            state={state}
            at={placed.nodes.get(state.name) ?? { x: 0, y: 0 }}
            many={isKnown ? (counts.get(state.name) ?? 0) : null}
            onLit={setLit}
          />
        ))}
      </svg>
    </div>
  );
}

interface StateNodeProps {
  state: Word;
  at: { x: number; y: number };
  /** How many stand in it, or null while that is not known. */
  many: number | null;
  onLit: (state: string | null) => void;
}

function StateNode({ state, at, many, onLit }: StateNodeProps) {
  const shown = many === null ? "" : count(many);
  return (
    <g
      className={`state tone-${state.token}`}
      data-none={many === 0 || undefined}
      transform={`translate(${at.x} ${at.y})`}
      onPointerEnter={() => onLit(state.name)}
      onPointerLeave={() => onLit(null)}
    >
      <title>{`${state.label}: ${state.meaning}`}</title>
      <rect width={NODE.width} height={NODE.height} rx="6" />
      <path className="state-icon" d={iconPath(state.icon)} transform="translate(8 9)" />
      <text x="26" y="19.5">
        {fitted(state.label, shown.length)}
      </text>
      <text x={NODE.width - 8} y="19.5" className="state-count">
        {shown}
      </text>
    </g>
  );
}

function Edges({ machine, counts }: { machine: Machine; counts: Map<string, number> }) {
  return (
    <div className="machine-tables">
      <table className="table">
        <caption>States</caption>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col" className="end">
              Now
            </th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          {machine.states.map((state) => (
            <tr key={state.name}>
              <td>
                <StatusPill taxonomy={machine.kind} value={state.name} />
              </td>
              <td className="end num">
                <Link
                  to={`/fleet?kind=${machine.kind}&state=${state.name}${machine.terminal.includes(state.name) ? "&ended=true" : ""}`}
                  aria-label={`${counts.get(state.name) ?? 0} in ${state.label}, show them`}
                >
                  {count(counts.get(state.name) ?? 0)}
                </Link>
              </td>
              <td className="soft">{state.meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <table className="table">
        <caption>Transitions</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">To</th>
            <th scope="col">On</th>
          </tr>
        </thead>
        <tbody>
          {edgesOf(machine).map((edge) => (
            <tr key={`${edge.from} ${edge.to}`}>
              <td>{edge.from}</td>
              <td>{edge.to}</td>
              <td className="soft">
                <code>{edge.triggers.join(", ")}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

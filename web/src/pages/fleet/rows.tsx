// The lines of the fleet's table.
import { CopyId } from "../../parts/copy";
import { Chain } from "../../pill/chain";
import { Icon } from "../../pill/icons";
import { go, withParams } from "../../route/route";
import { useWords } from "../../state/board";
import { count, UNKNOWN } from "../../time/format";
import { Lasting } from "../../time/ticking";
import type { Line } from "./groups";
import type { Row } from "./list";

export interface Place {
  at: number;
  top: number;
  height: number;
  isCursor: boolean;
}

const styleOf = (place: Place) => ({ transform: `translateY(${place.top}px)`, height: place.height });

export function ColumnHeads({ sort }: { sort: string }) {
  const by = (to: string) => go(withParams({ sort: to === "severity" ? null : to }), "replace");
  const age = sort === "newest" ? "descending" : sort === "oldest" ? "ascending" : undefined;
  return (
    <div className="fleet-heads" role="rowgroup">
      <div className="fleet-line" role="row">
        <span role="columnheader">Title</span>
        <span role="columnheader" aria-sort={sort === "severity" ? "descending" : undefined}>
          <button type="button" className="head" onClick={() => by("severity")} title="Most severe first">
            State{sort === "severity" ? " ↓" : ""}
          </button>
        </span>
        <span role="columnheader" className="end" aria-sort={age}>
          <button
            type="button"
            className="head"
            onClick={() => by(sort === "newest" ? "oldest" : "newest")}
            title="By age"
          >
            For{sort === "newest" ? " ↑" : sort === "oldest" ? " ↓" : ""}
          </button>
        </span>
        <span role="columnheader">Where</span>
        <span role="columnheader">Kind</span>
        <span role="columnheader">Id</span>
      </div>
    </div>
  );
}

interface RowLineProps {
  row: Row;
  place: Place;
  isSelected: boolean;
  onCursor: (at: number) => void;
}

export function RowLine({ row, place, isSelected, onCursor }: RowLineProps) {
  const words = useWords();
  const where = [row.project, row.host].filter(Boolean).join(" · ") || UNKNOWN;
  return (
    <div
      role="row"
      aria-rowindex={place.at + 1}
      className={`fleet-line fleet-row sev-${row.state.severity}`}
      style={styleOf(place)}
      data-cursor={place.isCursor || undefined}
      data-selected={isSelected || undefined}
      data-ended={row.ended_at !== null || undefined}
      data-entity={row.id}
      data-version={row.version}
      onFocus={() => onCursor(place.at)}
    >
      <span role="cell" className="fleet-title">
        <a
          id={`row-${place.at}`}
          className="cut"
          href={`/e/${row.id}`}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey) return;
            event.preventDefault();
            go(withParams({ sel: row.id, act: null }));
          }}
        >
          {row.title ?? words.noun(row.kind)}
        </a>
      </span>
      <span role="cell" className="fleet-chain">
        <Chain view={row} dense />
      </span>
      <span role="cell" className="end fleet-age">
        <Lasting from={row.started_at ?? row.created_at} to={row.ended_at} />
      </span>
      <span role="cell" className="cut fleet-where soft">
        {where}
      </span>
      <span role="cell" className="cut fleet-kind faint">
        {words.noun(row.kind)}
      </span>
      <span role="cell" className="fleet-id">
        <CopyId id={row.id} />
      </span>
    </div>
  );
}

export function GroupLine({
  line,
  place,
  onToggle,
}: {
  line: Line & { type: "group" };
  place: Place;
  onToggle: (key: string) => void;
}) {
  return (
    <div
      role="row"
      aria-rowindex={place.at + 1}
      className="fleet-line fleet-group"
      style={styleOf(place)}
      data-cursor={place.isCursor || undefined}
    >
      <span role="cell" aria-colspan={6}>
        <button
          type="button"
          id={`row-${place.at}`}
          className="cluster-title"
          aria-expanded={line.isOpen}
          onClick={() => onToggle(line.key)}
        >
          <span className={`caret ${line.isOpen ? "open" : ""}`} aria-hidden="true">
            <Icon name="caret" size={10} />
          </span>
          {line.label} <span className="faint num">{count(line.size)}</span>
        </button>
      </span>
    </div>
  );
}

export function WaitingLine({ place }: { place: Place }) {
  return (
    <div role="row" aria-rowindex={place.at + 1} className="fleet-line waiting" style={styleOf(place)}>
      <span role="cell" aria-colspan={6}>
        <span className="skeleton-row" />
      </span>
    </div>
  );
}

// The rows of attention.
import type { View } from "../../api/types";
import { Refused } from "../../parts/states";
import { ItemChain } from "../../pill/chain";
import { Icon } from "../../pill/icons";
import { TonePill } from "../../pill/pill";
import { useView, useWords } from "../../state/board";
import { clock, count, UNKNOWN } from "../../time/format";
import { Ago } from "../../time/ticking";
import { acts, type Cluster, type Row } from "./clusters";
import type { Done, Triage } from "./triage";

interface ListProps {
  rows: Row[];
  triage: Triage;
  done: ReadonlyMap<string, Done>;
  selected: string | null;
}

export function AttentionList({ rows, triage, done, selected }: ListProps) {
  return (
    <ul className="board" aria-label="What needs you">
      {rows.map((row, at) => (
        <li
          key={row.key}
          className={`row sev-${row.cluster.severity} ${row.type === "item" && row.isInside ? "inside" : ""}`}
          data-cursor={at === triage.cursor || undefined}
          data-selected={(row.type === "item" && row.item.entity.id === selected) || undefined}
          data-done={doneOf(row, done) !== null || undefined}
          onFocus={() => at !== triage.cursor && triage.setCursor(at)}
        >
          {row.type === "cluster" ? (
            <ClusterRow row={row} at={at} triage={triage} done={doneOf(row, done)} />
          ) : (
            <ItemRow row={row} at={at} triage={triage} done={doneOf(row, done)} />
          )}
          {triage.trouble?.key === row.key && <Refused problem={triage.trouble.problem} />}
        </li>
      ))}
    </ul>
  );
}

/** What was just done with a row, with a cluster only if it was done with each of its items. */
function doneOf(row: Row, done: ReadonlyMap<string, Done>): Done | null {
  const items = row.type === "item" ? [row.item] : row.cluster.items;
  const all = items.map((item) => done.get(item.fingerprint));
  return all.every((one) => one !== undefined) ? (all[0] ?? null) : null;
}

const placeOf = (view: View | undefined) => {
  const project = view?.facts.project;
  return [typeof project === "string" ? project : null, view?.host].filter(Boolean).join(" · ") || UNKNOWN;
};

function ItemRow({
  row,
  at,
  triage,
  done,
}: {
  row: Row & { type: "item" };
  at: number;
  triage: Triage;
  done: Done | null;
}) {
  const { item } = row;
  const view = useView(item.entity.id);
  const words = useWords();
  return (
    <div
      className="row-line attention-line"
      data-entity={item.entity.id}
      data-version={view?.chain === item.chain ? view.version : undefined}
    >
      <a
        id={`row-${at}`}
        className="row-title"
        href={`/e/${item.entity.id}`}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey) return;
          event.preventDefault();
          triage.open(row);
        }}
      >
        <span className="cut">{item.entity.title ?? words.noun(item.entity.kind)}</span>
      </a>
      <ItemChain item={item} view={view} />
      <span className="row-because cut" title={item.reason?.code ?? ""}>
        {item.reason?.message ?? ""}
      </span>
      <span className="row-age">
        <Ago at={item.first_seen_at} />
      </span>
      <span className="row-where cut">{placeOf(view)}</span>
      {done ? <Taken text={done.text} onUndo={() => triage.undo(row)} /> : <Actions row={row} triage={triage} />}
    </div>
  );
}

interface ClusterRowProps {
  row: Row & { type: "cluster" };
  at: number;
  triage: Triage;
  done: Done | null;
}

function ClusterRow({ row, at, triage, done }: ClusterRowProps) {
  const words = useWords();
  const { cluster } = row;
  const first = cluster.items[0];
  const meaning = words.reasons.get(cluster.cause)?.meaning ?? cluster.cause;
  return (
    <div className="row-line attention-line">
      <button
        type="button"
        id={`row-${at}`}
        className="row-title cluster-title"
        aria-expanded={row.isOpen}
        onClick={() => triage.open(row)}
      >
        <span className={`caret ${row.isOpen ? "open" : ""}`} aria-hidden="true">
          <Icon name="caret" size={10} />
        </span>
        <span className="cut">
          {count(cluster.size)} {nouns(cluster, words.noun.bind(words))}
        </span>
      </button>
      <span className="chain">{first && <TonePill tone={first.tone} text={firstWords(cluster)} dense />}</span>
      <span className="row-because cut" title={cluster.cause}>
        {meaning}
      </span>
      <span className="row-age">
        <Ago at={first?.first_seen_at ?? null} />
      </span>
      <span className="row-where cut" title={cluster.cause}>
        one cause
      </span>
      {done ? <Taken text={done.text} onUndo={() => triage.undo(row)} /> : <Actions row={row} triage={triage} />}
    </div>
  );
}

/** What all of a cluster have in common of their chains, from the left. */
function firstWords(cluster: Cluster): string {
  const chains = cluster.items.map((item) => item.chain.split(" · "));
  const [first = [], ...others] = chains;
  const common = first.filter((part, at) =>
    others.every((other) => other[at] === part && other.slice(0, at).join() === first.slice(0, at).join()),
  );
  return common.slice(0, 2).join(" · ") || (first[0] ?? "");
}

function nouns(cluster: Cluster, noun: (kind: string) => string): string {
  const kinds = [...new Set(cluster.items.map((item) => noun(item.entity.kind)))];
  return kinds.length === 1 ? `${kinds[0]}${cluster.size === 1 ? "" : "s"}` : "things";
}

function Taken({ text, onUndo }: { text: string; onUndo: () => void }) {
  return (
    <span className="row-actions taken">
      <span className="faint">{text}</span>
      <button type="button" onClick={onUndo} title="u">
        Undo
      </button>
    </span>
  );
}

function Actions({ row, triage }: { row: Row; triage: Triage }) {
  const can = acts(row);
  const all = row.type === "cluster" ? " all" : "";
  const name = row.type === "cluster" ? String(row.cluster.size) : (row.item.entity.title ?? "it");
  const aside = row.type === "item" && (row.item.dismissed || row.item.snoozed_until);
  if (aside) {
    const until = row.item.snoozed_until;
    return <Taken text={until ? `Snoozed until ${clock(until)}` : "Dismissed"} onUndo={() => triage.undo(row)} />;
  }
  return (
    <span className="row-actions">
      {can.has("answer") && (
        <button type="button" onClick={() => triage.answer(row)} title="a" aria-label={`Answer ${name}`}>
          Answer
        </button>
      )}
      {can.has("retry") && (
        <button type="button" onClick={() => triage.retry(row)} title="r" aria-label={`Retry${all} ${name}`}>
          Retry{all}
        </button>
      )}
      {can.has("stop") && (
        <button type="button" onClick={() => triage.stop(row)} title="x" aria-label={`Stop${all} ${name}`}>
          Stop{all}
        </button>
      )}
      {can.has("snooze") && (
        <button
          type="button"
          onClick={() => triage.setAside(row, "snooze")}
          title="s: for an hour, S: for a day"
          aria-label={`Snooze ${name}`}
        >
          Snooze
        </button>
      )}
      {can.has("dismiss") && (
        <button type="button" onClick={() => triage.setAside(row, "dismiss")} title="d" aria-label={`Dismiss ${name}`}>
          Dismiss
        </button>
      )}
    </span>
  );
}

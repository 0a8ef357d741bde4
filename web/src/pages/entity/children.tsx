// What belongs to an entity, as a tree. A branch is read when it is opened.
import { useState } from "react";
import { get } from "../../api/client";
import type { View } from "../../api/types";
import { Section } from "../../parts/section";
import { Chain } from "../../pill/chain";
import { Icon } from "../../pill/icons";
import { Link } from "../../route/link";
import { entityPath } from "../../route/route";
import { useDocument, useView, useWords } from "../../state/board";
import { count } from "../../time/format";
import { Lasting } from "../../time/ticking";
import { dependencyIds, PartsGraph } from "./graph";

export function useChildren(id: string | null): View[] | null {
  const read = useDocument(
    (signal) => get<{ items: View[] }>(`/entities/${encodeURIComponent(id ?? "")}/children`, signal),
    id && `children ${id}`,
    {
      on: (record) => record.type === "created",
    },
  );
  return read.data?.items ?? null;
}

export function Children({ children_: children, title = "Parts" }: { children_: View[]; title?: string }) {
  if (children.length === 0) return null;
  return (
    <Section title={title} aside={count(children.length)}>
      <PartsGraph parts={children} />
      <Branch children_={children} depth={0} />
    </Section>
  );
}

function Branch({ children_, depth }: { children_: View[]; depth: number }) {
  return (
    <ul className="tree" data-depth={depth}>
      {children_.map((child) => (
        <Leaf key={child.id} read={child} siblings={children_} depth={depth} />
      ))}
    </ul>
  );
}

/** Deep enough for every structure there is, and an end for one that runs in a circle. */
const DEPTH = 12;

function Leaf({ read, siblings, depth }: { read: View; siblings: View[]; depth: number }) {
  const view = useView(read.id) ?? read;
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const children = useChildren(isOpen && depth < DEPTH ? view.id : null);
  const after = dependencyIds(view.facts.depends_on);
  const names = after.map((id) => siblings.find((one) => one.id === id)?.title ?? id.slice(0, 16));
  return (
    <li data-ended={view.ended_at !== null || undefined}>
      <div className="leaf">
        <button
          type="button"
          className="quiet"
          aria-expanded={isOpen}
          aria-label={`Parts of ${view.title ?? view.id}`}
          onClick={() => setOpen(!isOpen)}
        >
          <span className={`caret ${isOpen ? "open" : ""}`} aria-hidden="true">
            <Icon name="caret" size={10} />
          </span>
        </button>
        <Link to={entityPath(view.id)} className="cut">
          {view.title ?? words.noun(view.kind)}
        </Link>
        <Chain view={view} dense />
        {names.length > 0 && <span className="faint cut">after {names.join(", ")}</span>}
        <span className="leaf-end">
          <Lasting from={view.started_at ?? view.created_at} to={view.ended_at} />
        </span>
      </div>
      {isOpen &&
        children &&
        (children.length > 0 ? (
          <Branch children_={children} depth={depth + 1} />
        ) : (
          <p className="faint tree-none">It has no parts.</p>
        ))}
    </li>
  );
}

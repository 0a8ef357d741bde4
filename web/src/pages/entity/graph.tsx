// The parts of an entity that wait for each other, as a graph from left to right: nodes are pills with a title, what is done
// fades, and the way that took longest is drawn stronger.
import type { Json, View } from "../../api/types";
import { fitted, NODE, place } from "../../graph/layout";
import { iconPath } from "../../pill/icons";
import { Link } from "../../route/link";
import { entityPath } from "../../route/route";
import { useWords } from "../../state/board";
import { criticalPath, type Edge } from "./critical";

const MOST = 60;

/** The ids that an entity depends on. A task has other dependencies beside tasks, so each of its own is an object. */
export function dependencyIds(after: Json | undefined): string[] {
  const idOf = (one: Json) => (one !== null && typeof one === "object" && !Array.isArray(one) ? one.id : one);
  return (Array.isArray(after) ? after : []).map(idOf).filter((id): id is string => typeof id === "string");
}

export function PartsGraph({ parts }: { parts: View[] }) {
  const words = useWords();
  const known = new Set(parts.map((part) => part.id));
  const edges: Edge[] = parts.flatMap((part) => {
    const after = dependencyIds(part.facts.depends_on);
    return after.filter((id) => known.has(id)).map((id) => ({ from: id, to: part.id }));
  });
  if (edges.length === 0 || parts.length > MOST) return null;
  const first = parts.filter((part) => !edges.some((edge) => edge.to === part.id)).map((part) => part.id);
  const placed = place({ states: parts.map((part) => part.id), initial: first, edges });
  const critical = criticalPath(parts, edges);
  return (
    <div className="parts-graph" tabIndex={0} role="group" aria-label="What waits for what">
      <svg width={placed.width} height={placed.height} viewBox={`0 0 ${placed.width} ${placed.height}`}>
        <title>What waits for what; the list below has the same</title>
        {placed.edges.map((edge) => (
          <path
            key={`${edge.from} ${edge.to}`}
            className="edge"
            d={edge.path}
            data-strong={(critical.has(edge.from) && critical.has(edge.to)) || undefined}
          />
        ))}
        {parts.map((part) => {
          const at = placed.nodes.get(part.id) ?? { x: 0, y: 0 };
          const look = words.effective(part);
          return (
            <Link key={part.id} to={entityPath(part.id)} aria-label={`${part.title ?? part.id}, ${part.chain}`}>
              <g
                className={`state tone-${look.token}`}
                data-ended={part.ended_at !== null || undefined}
                transform={`translate(${at.x} ${at.y})`}
              >
                <title>{`${part.title ?? part.id}: ${part.chain}`}</title>
                <rect width={NODE.width} height={NODE.height} rx="15" />
                <path className="state-icon" d={iconPath(look.icon)} transform="translate(10 9)" />
                <text x="28" y="19.5">
                  {fitted(part.title ?? words.noun(part.kind), 0)}
                </text>
              </g>
            </Link>
          );
        })}
      </svg>
    </div>
  );
}

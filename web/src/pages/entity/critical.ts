// The way through parts that wait for each other which takes longest.
import type { View } from "../../api/types";

export interface Edge {
  from: string;
  to: string;
}

const lasted = (part: View): number => {
  const start = Date.parse(part.started_at ?? "");
  const end = part.ended_at ? Date.parse(part.ended_at) : Date.parse(part.state.evaluated_at);
  return Number.isFinite(end - start) ? Math.max(0, end - start) : 0;
};

/** The ids on the longest way by time; where nothing has a time, by the number of steps. */
export function criticalPath(parts: View[], edges: Edge[]): Set<string> {
  const best = new Map(parts.map((part) => [part.id, { length: lasted(part) + 1, before: null as string | null }]));
  const own = new Map(parts.map((part) => [part.id, lasted(part) + 1]));
  // Without circles no way has more steps than there are parts; with one, the bound ends it.
  for (let round = 0; round < parts.length; round++) {
    for (const { from, to } of edges) {
      const length = (best.get(from)?.length ?? 0) + (own.get(to) ?? 0);
      if (length > (best.get(to)?.length ?? 0)) best.set(to, { length, before: from });
    }
  }
  const way = new Set<string>();
  let at: string | null = [...best].sort(([, a], [, b]) => b.length - a.length)[0]?.[0] ?? null;
  while (at !== null && !way.has(at)) {
    way.add(at);
    at = best.get(at)?.before ?? null;
  }
  return way;
}

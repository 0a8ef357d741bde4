// Attention items as rows: what shares a cause is one row that opens.
//
// Invariant: the order is the server's: by severity, then by age. A cluster stands where its first item stands.
import type { AttentionItem } from "../../api/types";

export interface Cluster {
  key: string;
  severity: string;
  cause: string;
  /** How many there are, also where the server sent only a part of them. */
  size: number;
  items: AttentionItem[];
}

export type Row =
  | { type: "cluster"; key: string; cluster: Cluster; isOpen: boolean }
  | { type: "item"; key: string; item: AttentionItem; cluster: Cluster; isInside: boolean };

export function clusters(items: AttentionItem[]): Cluster[] {
  const all = new Map<string, Cluster>();
  for (const item of items) {
    const key = `${item.severity} ${item.cluster}`;
    const cluster = all.get(key) ?? { key, severity: item.severity, cause: item.cluster, size: 0, items: [] };
    cluster.items.push(item);
    cluster.size = Math.max(cluster.items.length, item.cluster_size);
    all.set(key, cluster);
  }
  // A cause that appears with two severities is two clusters; the server's size counts both.
  const causes = new Map<string, number>();
  for (const cluster of all.values()) causes.set(cluster.cause, (causes.get(cluster.cause) ?? 0) + 1);
  for (const cluster of all.values()) if ((causes.get(cluster.cause) ?? 0) > 1) cluster.size = cluster.items.length;
  return [...all.values()];
}

export function rows(items: AttentionItem[], open: ReadonlySet<string>): Row[] {
  return clusters(items).flatMap((cluster): Row[] => {
    const inside = (isInside: boolean): Row[] =>
      cluster.items.map((item) => ({ type: "item", key: item.fingerprint, item, cluster, isInside }));
    if (cluster.size < 2) return inside(false);
    const isOpen = open.has(cluster.key);
    return [{ type: "cluster", key: cluster.key, cluster, isOpen }, ...(isOpen ? inside(true) : [])];
  });
}

/** The acts that every item of a row offers. */
export function acts(row: Row): Set<string> {
  const items = row.type === "item" ? [row.item] : row.cluster.items;
  const [first, ...others] = items.map((item) => new Set(item.actions.map((action) => action.name)));
  return new Set([...(first ?? [])].filter((name) => others.every((other) => other.has(name))));
}

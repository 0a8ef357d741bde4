// Where the page is. The URL is the state: path, filters, selection and the moment looked at survive a reload and can be
// sent to a colleague.
import { useMemo, useSyncExternalStore } from "react";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

const here = () => window.location.pathname + window.location.search;

export function go(to: string, how: "push" | "replace" = "push"): void {
  if (to === here()) return;
  if (how === "push") window.history.pushState(null, "", to);
  else window.history.replaceState(null, "", to);
  for (const listener of listeners) listener();
}

export interface Place {
  path: string;
  params: URLSearchParams;
}

export function usePlace(): Place {
  const url = useSyncExternalStore(subscribe, here);
  return useMemo(() => {
    const at = url.indexOf("?");
    return { path: at < 0 ? url : url.slice(0, at), params: new URLSearchParams(at < 0 ? "" : url.slice(at)) };
  }, [url]);
}

/** The same place with some parameters set or, where null, left out. */
export function withParams(changes: Record<string, string | null>): string {
  const params = new URLSearchParams(window.location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") params.delete(name);
    else params.set(name, value);
  }
  const search = params.toString();
  return window.location.pathname + (search ? `?${search}` : "");
}

export const entityPath = (id: string): string => `/e/${encodeURIComponent(id)}`;

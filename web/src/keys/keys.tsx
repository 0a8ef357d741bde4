// Keys. A page says which keys it knows while it is shown; `?` lists exactly those.
//
// Invariant: a key never acts while somebody types, and never with a modifier, so the browser's own keys stay what they are.
import { useLayoutEffect, useRef, useSyncExternalStore } from "react";

export interface Key {
  /** One key ("j"), or two in a row ("g a"). */
  keys: string;
  does: string;
  run: () => void;
}

const SEQUENCE_MS = 1200;

const layers: { current: Key[] }[] = [];
const listeners = new Set<() => void>();
let listed: Key[] = [];
let pending: { key: string; at: number } | null = null;

/** The keys as they were rendered last: their functions change with every rendering. */
const known = (): Key[] => layers.flatMap((layer) => layer.current);

function changed(): void {
  listed = known();
  for (const listener of listeners) listener();
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // A radio button or a checkbox takes no letters.
  if (target instanceof HTMLInputElement) return !/^(radio|checkbox)$/.test(target.type);
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName);
}

/** The order a key event gives, given the key before it; the newest layer wins. */
export function handle(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
  if (isTyping(event.target) && event.key !== "Escape") return;
  const first = pending && event.timeStamp - pending.at < SEQUENCE_MS ? pending.key : null;
  pending = null;
  const all = known();
  const find = (keys: string) => all.findLast((one) => one.keys === keys);
  const found = (first && find(`${first} ${event.key}`)) || find(event.key);
  // Enter and space on a control or link belong to it.
  const isOwn = event.target instanceof HTMLElement && event.target.closest("button, a, summary, input") !== null;
  if (found && !(isOwn && (event.key === "Enter" || event.key === " "))) {
    event.preventDefault();
    found.run();
  } else if (all.some((one) => one.keys.startsWith(`${event.key} `))) {
    pending = { key: event.key, at: event.timeStamp };
  }
}

if (typeof window !== "undefined") window.addEventListener("keydown", handle);

/** Knows these keys while the component is shown: a layout effect, so that whoever sees an option can type its key at once. */
export function useKeys(keys: Key[]): void {
  const layer = useRef({ current: keys });
  layer.current.current = keys;
  useLayoutEffect(() => {
    const mine = layer.current;
    layers.push(mine);
    changed();
    return () => {
      layers.splice(layers.indexOf(mine), 1);
      changed();
    };
  }, []);
}

export function useListedKeys(): Key[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => listed,
  );
}

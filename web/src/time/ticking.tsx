// Times that tick. One clock for the whole page, and only what is shown listens to it.
//
// Invariant: the clock is the server's as far as it is known, so a browser whose clock is wrong does not show wrong ages.
import { useSyncExternalStore } from "react";
import { absolute, secondsBetween, short, span, UNKNOWN } from "./format";

const listeners = new Set<() => void>();
let now = Date.now();
let offset = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  now = Date.now() + offset;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** Sets the clock by a moment the server called now. Less than two seconds is the way the answer took. */
export function setClock(serverNow: string): void {
  const difference = Date.parse(serverNow) - Date.now();
  if (!Number.isFinite(difference)) return;
  offset = Math.abs(difference) < 2000 ? 0 : difference;
}

/** The present in milliseconds, as a value that changes every second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** How long ago something was, absolute on hover. */
export function Ago({ at }: { at: string | null }) {
  return <Moment at={at} text={short(secondsBetween(at, useNow()))} />;
}

/** How long something lasts or lasted; while it has no end it ticks. */
export function Lasting({ from, to }: { from: string | null; to: string | null }) {
  const present = useNow();
  const until = to ?? present;
  const title = to ? `${absolute(from)} to ${absolute(to)}` : `since ${absolute(from)}`;
  return (
    <span className="num" title={from ? title : ""}>
      {span(secondsBetween(from, until))}
    </span>
  );
}

export function Absolute({ at }: { at: string | null }) {
  return <Moment at={at} text={absolute(at)} />;
}

function Moment({ at, text }: { at: string | null; text: string }) {
  if (at === null) return <span className="num">{UNKNOWN}</span>;
  return (
    <time className="num" dateTime={at} title={absolute(at)}>
      {text}
    </time>
  );
}

// The rows of the inbox: the questions that are open, and for a while those that were answered under one's eyes.
//
// Invariant: a row is its question. Nothing here knows a position, so a question that comes or goes never moves the cursor to
// another one that somebody has not chosen.
import { useEffect, useRef, useState } from "react";
import { get } from "../../api/client";
import type { Question } from "../../api/types";

/** How long a question that was closed while the page was open stays where it was. */
const KEPT_MS = 10_000;

interface Closed {
  question: Question;
  until: number;
}

/** The open questions and the closed ones among them, the oldest first: ids begin with their time. */
export function rowsOf(open: Question[], closed: Question[]): Question[] {
  const present = new Set(open.map((one) => one.id));
  return [...open, ...closed.filter((one) => !present.has(one.id))].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The row that the cursor is on: its question, or where that is gone the one that comes after it. */
export function follow(ids: string[], cursor: string | null): string | null {
  if (cursor === null || ids.includes(cursor)) return cursor ?? ids[0] ?? null;
  const isNewestFirst = ids.length > 1 && (ids[0] ?? "") > (ids.at(-1) ?? "");
  return ids.find((id) => (isNewestFirst ? id < cursor : id > cursor)) ?? ids.at(-1) ?? null;
}

/** The row so many rows further, at most the first or the last. */
export function step(ids: string[], cursor: string | null, by: number): string | null {
  const from = ids.indexOf(follow(ids, cursor) ?? "");
  return ids[Math.min(ids.length - 1, Math.max(0, from + by))] ?? null;
}

/** The questions that were open on this page and are not any more, with what became of them. */
export function useClosed(open: Question[] | null, selected: string | null): Question[] {
  const known = useRef<Question[]>([]);
  const [closed, setClosed] = useState<ReadonlyMap<string, Closed>>(new Map());
  useEffect(() => {
    if (open === null) return;
    const present = new Set(open.map((one) => one.id));
    const left = known.current.filter((one) => !present.has(one.id));
    known.current = open;
    for (const one of left) {
      const keep = (question: Question) =>
        setClosed((was) => new Map(was).set(one.id, { question, until: Date.now() + KEPT_MS }));
      keep(one);
      get<Question>(`/questions/${encodeURIComponent(one.id)}`)
        .then(keep)
        .catch(() => {});
    }
  }, [open]);
  useEffect(() => {
    const timer = setInterval(() => {
      setClosed((was) => {
        const kept = [...was].filter(([id, one]) => id === selected || one.until > Date.now());
        return kept.length === was.size ? was : new Map(kept);
      });
    }, 1000);
    return () => clearInterval(timer);
  }, [selected]);
  return [...closed.values()].map((one) => one.question);
}

// Triage: the row under the cursor, and what the keys do with it.
import { type Dispatch, type SetStateAction, useCallback, useEffect, useMemo, useState } from "react";
import { giveAll, type Order } from "../../acts/orders";
import type { Problem } from "../../api/client";
import type { AttentionItem } from "../../api/types";
import { type Key, useKeys } from "../../keys/keys";
import { go, withParams } from "../../route/route";
import { inboxPath } from "../../state/inbox";
import { acts, type Row } from "./clusters";

const HOUR_S = 3600;
/** How long something that was set aside can be taken back in its place. */
const KEPT_MS = 10_000;

/** Something that was just set aside and is still shown, greyed, where it was. */
export interface Done {
  item: AttentionItem;
  text: string;
  /** The item that stood behind it. */
  before: string | null;
  until: number;
}

export interface Triage {
  cursor: number;
  trouble: { key: string; problem: Problem } | null;
  setCursor: (at: number) => void;
  open: (row: Row) => void;
  setAside: (row: Row, how: "snooze" | "dismiss", forS?: number) => void;
  undo: (row: Row) => void;
  retry: (row: Row) => void;
  answer: (row: Row) => void;
  stop: (row: Row) => void;
}

const itemsOf = (row: Row): AttentionItem[] => (row.type === "item" ? [row.item] : row.cluster.items);

type Give = (row: Row, what: Order) => Promise<Set<string>>;

/** Opens the panel for an act that has to be explained first. */
function panel(act: "stop" | "retry", row: Row): void {
  if (row.type === "cluster") go(withParams({ act, cluster: row.key, sel: null }));
  else go(withParams({ act, sel: row.item.entity.id, cluster: null }));
}

function openRow(row: Row, opened: ReadonlySet<string>): void {
  if (row.type === "item") {
    go(withParams({ sel: row.item.entity.id, act: null, cluster: null }));
    return;
  }
  const next = new Set(opened);
  if (!next.delete(row.key)) next.add(row.key);
  go(withParams({ open: [...next].join(",") || null }), "replace");
}

/** The first item behind a row, before which it stands when it is kept for a while. */
function itemBehind(rows: Row[], row: Row): string | null {
  const isPart = (one: Row) => one.cluster === row.cluster && (row.type === "cluster" || one.key === row.key);
  const next = rows[rows.findLastIndex(isPart) + 1];
  return next ? (itemsOf(next)[0]?.fingerprint ?? null) : null;
}

export function useTriage(
  rows: Row[],
  opened: ReadonlySet<string>,
  reload: () => void,
  setDone: Dispatch<SetStateAction<ReadonlyMap<string, Done>>>,
): Triage {
  const [cursorKey, setCursorKey] = useState<string | null>(null);
  const [trouble, setTrouble] = useState<Triage["trouble"]>(null);
  const found = rows.findIndex((row) => row.key === cursorKey);
  const cursor = Math.max(0, found);
  const setCursor = useCallback((at: number) => setCursorKey(rows[at]?.key ?? null), [rows]);
  useForgetting(setDone);

  const order = useCallback<Give>(async (row, what) => {
    setTrouble(null);
    const outcome = await giveAll(
      itemsOf(row).map((item) => item.entity.id),
      what,
    );
    const first = outcome.refused[0];
    if (first) setTrouble({ key: row.key, problem: first.problem });
    return new Set(outcome.done);
  }, []);

  const triage = useMemo<Triage>(
    () => ({
      cursor,
      trouble,
      setCursor,
      open: (row) => openRow(row, opened),
      setAside: async (row, how, forS = HOUR_S) => {
        const before = itemBehind(rows, row);
        const done = await order(row, how === "snooze" ? { act: "snooze", forS } : { act: "dismiss" });
        const text = how === "snooze" ? `Snoozed for ${forS / HOUR_S} h` : "Dismissed until it changes";
        const until = Date.now() + KEPT_MS;
        const items = itemsOf(row).filter((item) => done.has(item.entity.id));
        setDone(
          (was) =>
            new Map([...was, ...items.map((item) => [item.fingerprint, { item, text, before, until }] as const)]),
        );
        reload();
      },
      undo: async (row) => {
        await order(row, { act: "undo" });
        const prints = new Set(itemsOf(row).map((item) => item.fingerprint));
        setDone((was) => new Map([...was].filter(([print]) => !prints.has(print))));
        reload();
      },
      retry: (row) => (row.type === "cluster" ? panel("retry", row) : void order(row, { act: "retry" }).then(reload)),
      stop: (row) => panel("stop", row),
      answer: (row) => go(row.type === "cluster" ? "/inbox" : inboxPath(row.item.entity.id)),
    }),
    [cursor, trouble, setCursor, opened, rows, order, reload, setDone],
  );

  useTriageKeys(rows, triage);
  return triage;
}

/** Forgets what was set aside after a while. */
function useForgetting(setDone: Dispatch<SetStateAction<ReadonlyMap<string, Done>>>): void {
  useEffect(() => {
    const timer = setInterval(() => {
      setDone((was) => {
        const kept = [...was].filter(([, one]) => one.until > Date.now());
        return kept.length === was.size ? was : new Map(kept);
      });
    }, 1000);
    return () => clearInterval(timer);
  }, [setDone]);
}

function useTriageKeys(rows: Row[], triage: Triage): void {
  const row = rows[triage.cursor];
  const move = (by: number) => {
    const at = Math.min(rows.length - 1, Math.max(0, triage.cursor + by));
    triage.setCursor(at);
    document.getElementById(`row-${at}`)?.focus();
  };
  const when = (name: string, run: (row: Row) => void) => () => {
    if (row && acts(row).has(name)) run(row);
  };
  const keys: Key[] = [
    { keys: "j", does: "next row", run: () => move(1) },
    { keys: "k", does: "previous row", run: () => move(-1) },
    { keys: "Enter", does: "open the row: why it is so", run: () => row && triage.open(row) },
    { keys: "o", does: "open or close a cluster", run: () => row && triage.open(row) },
    { keys: "s", does: "snooze for an hour", run: when("snooze", (one) => triage.setAside(one, "snooze")) },
    { keys: "S", does: "snooze for a day", run: when("snooze", (one) => triage.setAside(one, "snooze", 24 * HOUR_S)) },
    { keys: "d", does: "dismiss until it changes", run: when("dismiss", (one) => triage.setAside(one, "dismiss")) },
    { keys: "u", does: "take back snooze or dismiss", run: () => row && triage.undo(row) },
    { keys: "a", does: "answer the question", run: when("answer", triage.answer) },
    { keys: "r", does: "retry", run: when("retry", triage.retry) },
    { keys: "x", does: "stop, after you said why", run: when("stop", triage.stop) },
    { keys: "Escape", does: "close the panel", run: () => go(withParams({ sel: null, act: null, cluster: null })) },
  ];
  useKeys(keys);
}

// Orders the page gives, each for one or many entities.
//
// Invariant: an order for many is given to each by itself, a few at a time, and what was refused is reported with its
// entity. Nothing is shown as done that the server did not acknowledge.
import { asProblem, type Problem, post } from "../api/client";

const PARALLEL = 4;

export type Order =
  | { act: "stop"; reason: string; now: boolean }
  | { act: "retry" }
  | { act: "snooze"; forS: number }
  | { act: "dismiss" }
  | { act: "undo" }
  | { act: "note"; text: string }
  | { act: "transition"; to: string; reason: string; message: string; ifVersion: number };

function request(order: Order): [string, unknown] {
  switch (order.act) {
    case "stop":
      return ["stop", { reason: order.reason, now: order.now }];
    case "snooze":
      return ["snooze", { for_s: order.forS }];
    case "note":
      return ["notes", { text: order.text }];
    case "transition":
      return [
        "transition",
        { to: order.to, reason: order.reason, message: order.message, if_version: order.ifVersion },
      ];
    case "retry":
    case "dismiss":
    case "undo":
      return [order.act, {}];
  }
}

export async function give<T>(id: string, order: Order): Promise<T> {
  const [verb, body] = request(order);
  return post<T>(`/entities/${encodeURIComponent(id)}/${verb}`, body);
}

export interface Outcome {
  done: string[];
  refused: { id: string; problem: Problem }[];
}

export async function giveAll(
  ids: string[],
  order: Order,
  onProgress: (done: number) => void = () => {},
): Promise<Outcome> {
  const outcome: Outcome = { done: [], refused: [] };
  const waiting = [...ids];
  const worker = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await give(id, order);
        outcome.done.push(id);
      } catch (error) {
        outcome.refused.push({ id, problem: asProblem(error) });
      }
      onProgress(outcome.done.length + outcome.refused.length);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return outcome;
}

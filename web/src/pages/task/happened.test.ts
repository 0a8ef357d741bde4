import { describe, expect, it } from "vitest";
import type { TaskStory } from "../../api/types";
import { question } from "../../samples";
import { happened } from "./happened";

const at = (second: number) => `2026-11-15T12:00:0${second}.000000Z`;
const turn = (id: string, created_at: string) => ({
  id,
  created_at,
  state: "reaped",
  worker: null,
  run: null,
  bound: null,
  samples: [],
  start_ref: null,
  end_ref: null,
  reason: null,
  ended_at: null,
});
const run = (id: string, created_at: string) => ({ id, created_at, title: null, state: "completed", reason: null });

describe("what happened to a task", () => {
  it("is told in order, a claim before the turn that it began, a question before its answer", () => {
    const story: TaskStory = {
      next_move: "nobody",
      claims: [
        { at: at(1), holder: "w", epoch: 1 },
        { at: at(5), holder: "w", epoch: 2 },
      ],
      turns: [turn("t1", at(1)), turn("t2", at(5))],
      runs: [run("r1", at(2)), run("r2", at(6))],
      questions: [
        question({ id: "q1", asked_at: at(2), ended_at: at(4), state: "answered", answer: "80" }),
        question({ id: "q2", asked_at: at(7) }),
      ],
      verdicts: [],
      merge: { commit: null, branch: null },
      subtasks: [],
    };
    expect(happened(story).map((one) => one.key)).toEqual([
      `claim ${at(1)}`,
      "t1",
      "r1",
      "q1",
      "answered q1",
      `claim ${at(5)}`,
      "t2",
      "r2",
      "q2",
    ]);
    expect(happened(story)[6]).toMatchObject({ attempt: 2 });
  });
});

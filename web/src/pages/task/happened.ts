// What happened to a task, in the order in which it happened: claims, turns, runs, questions and their
// answers. What the checks found and the merge have no time of their own and come last.
import type { TaskStory } from "../../api/types";

type Of<T extends readonly unknown[]> = T[number];

export type Happened =
  | { type: "claim"; key: string; at: string | null; claim: Of<TaskStory["claims"]> }
  | { type: "turn"; key: string; at: string | null; turn: Of<TaskStory["turns"]>; attempt: number }
  | { type: "run"; key: string; at: string | null; run: Of<TaskStory["runs"]> }
  | { type: "asked" | "answered"; key: string; at: string | null; question: Of<TaskStory["questions"]> };

const ORDER = { claim: 0, turn: 1, run: 2, asked: 3, answered: 4 };

export function happened(story: TaskStory): Happened[] {
  const all: Happened[] = [
    ...story.claims.map((claim): Happened => ({ type: "claim", key: `claim ${claim.at}`, at: claim.at, claim })),
    ...story.turns.map(
      (turn, nth): Happened => ({ type: "turn", key: turn.id, at: turn.created_at, turn, attempt: nth + 1 }),
    ),
    ...story.runs.map((run): Happened => ({ type: "run", key: run.id, at: run.created_at, run })),
    ...story.questions.flatMap((question): Happened[] => {
      const asked: Happened = { type: "asked", key: question.id, at: question.asked_at, question };
      if (question.ended_at === null) return [asked];
      return [asked, { type: "answered", key: `answered ${question.id}`, at: question.ended_at, question }];
    }),
  ];
  // One command claims a task and begins its turn, so they have the same time.
  return all.sort((a, b) => (a.at ?? "").localeCompare(b.at ?? "") || ORDER[a.type] - ORDER[b.type]);
}

// The questions that wait for a person: one document that the frame reads, and that every page shares.
import { createContext, useContext } from "react";
import { get } from "../api/client";
import type { Inbox, Question } from "../api/types";
import { type Read, useDocument } from "./board";

export const InboxContext = createContext<Read<Inbox>>({ data: null, problem: null, at: null, reload: () => {} });

export const useSharedInbox = (): Read<Inbox> => useContext(InboxContext);

/** The open questions, the oldest first, asked again when a question is recorded. */
export function useInbox(): Read<Inbox> {
  return useDocument((signal) => get<Inbox>("/questions", signal), "inbox", {
    on: ({ entity }) => entity.kind === "question",
    atMostEveryMs: 100,
    alsoEveryMs: 30_000,
  });
}

/** One question, asked again when something is recorded about it. */
export function useQuestion(id: string): Read<Question> {
  return useDocument((signal) => get<Question>(`/questions/${encodeURIComponent(id)}`, signal), `question ${id}`, {
    on: ({ entity }) => entity.id === id,
    atMostEveryMs: 50,
    alsoEveryMs: 15_000,
  });
}

/** The open questions about some entities, and those among them that are named by their id. */
export function openAbout(inbox: Inbox | null, ids: ReadonlySet<string>): Question[] {
  return (inbox?.items ?? []).filter((one) => ids.has(one.id) || (one.subject !== null && ids.has(one.subject.id)));
}

/** Where a question is answered. */
export const inboxPath = (id: string): string => `/inbox?sel=${encodeURIComponent(id)}`;

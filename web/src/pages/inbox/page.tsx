// The inbox: the questions that wait for a person, the oldest first, and beside them the one that is being answered.
//
// Invariant: keys that answer belong to the question that is shown whole. The cursor and the panel are one while the panel is
// open, so what is answered is what is marked.
import { useCallback, useMemo, useState } from "react";
import { get } from "../../api/client";
import type { Inbox, Question } from "../../api/types";
import { type Key, useKeys } from "../../keys/keys";
import { Empty, Skeleton, Trouble } from "../../parts/states";
import { go, usePlace, withParams } from "../../route/route";
import { useDocument } from "../../state/board";
import { useSharedInbox } from "../../state/inbox";
import { count } from "../../time/format";
import { QuestionList, rowId } from "./list";
import { QuestionPane } from "./question";
import { follow, rowsOf, step, useClosed } from "./rows";
import { RevokeForm, RuleList, useRules } from "./rules";

/** How many questions of the past are listed. */
const PAST = 200;
const SHOWN = ["past", "rules"] as const;
type Shown = "open" | (typeof SHOWN)[number];

export function InboxPage() {
  const { params } = usePlace();
  const shown: Shown = SHOWN.find((one) => one === params.get("show")) ?? "open";
  const selected = params.get("sel");
  const revoked = params.get("revoke");
  const inbox = useSharedInbox();
  const past = usePast(shown === "past");
  const rules = useRules(shown === "rules");
  const closed = useClosed(inbox.data?.items ?? null, selected);
  const open = useMemo(() => rowsOf(inbox.data?.items ?? [], closed), [inbox.data, closed]);
  const read = shown === "past" ? past : inbox;
  const rows = shown === "open" ? open : shown === "past" ? (past.data ?? []) : [];
  const [cursor, setCursor] = useInboxCursor(rows, selected);
  const known = open.find((one) => one.id === selected) ?? null;
  const close = () => go(withParams({ sel: null, revoke: null }));
  return (
    <div className="split" data-panel={selected !== null || revoked !== null || undefined}>
      <div className="split-list">
        <Heading waiting={inbox.data?.items.length ?? null} shown={shown} />
        {shown === "rules" ? (
          <RuleList read={rules} />
        ) : !read.data ? (
          read.problem ? (
            <Trouble problem={read.problem} onRetry={read.reload} />
          ) : (
            <Skeleton rows={8} />
          )
        ) : rows.length === 0 ? (
          <Nothing shown={shown} />
        ) : (
          <QuestionList
            name={shown === "past" ? "Past questions" : "Open questions"}
            questions={rows}
            cursor={cursor}
            selected={selected}
            isPast={shown === "past"}
            onCursor={setCursor}
            onOpen={(id) => go(withParams({ sel: id, revoke: null }))}
          />
        )}
      </div>
      {revoked && rules.data ? (
        <aside className="split-panel" aria-label="Revoke">
          <RevokeForm key={revoked} id={revoked} rules={rules.data.items} onClose={close} />
        </aside>
      ) : (
        selected && (
          <aside className="split-panel" aria-label="Selected">
            <QuestionPane key={selected} id={selected} known={known} onClose={close} />
          </aside>
        )
      )}
    </div>
  );
}

/** The newest questions that are over, the newest first. */
function usePast(isWanted: boolean) {
  return useDocument(
    async (signal) => {
      const all = await get<Inbox>(`/questions?all=${PAST}`, signal);
      return all.items.filter((one) => one.state !== "asked").reverse();
    },
    isWanted ? "past questions" : null,
    { on: ({ entity }) => entity.kind === "question", atMostEveryMs: 500 },
  );
}

function useInboxCursor(rows: Question[], selected: string | null): [string | null, (id: string) => void] {
  const [chosen, setChosen] = useState<string | null>(null);
  const ids = rows.map((row) => row.id);
  const cursor = follow(ids, selected ?? chosen);
  const move = (by: number) => {
    const id = step(ids, selected ?? chosen, by);
    if (id === null) return;
    setChosen(id);
    if (selected !== null) go(withParams({ sel: id }), "replace");
    document.getElementById(rowId(id))?.focus();
  };
  const show = (what: Shown) => {
    const isShown = new URLSearchParams(window.location.search).get("show") === what;
    go(withParams({ show: isShown ? null : what, sel: null, revoke: null }));
  };
  const keys: Key[] = [
    { keys: "j", does: "next question", run: () => move(1) },
    { keys: "k", does: "previous question", run: () => move(-1) },
    { keys: "Enter", does: "open the question", run: () => cursor && go(withParams({ sel: cursor })) },
    { keys: "p", does: "the past, or back", run: () => show("past") },
    { keys: "r", does: "standing rules, or back", run: () => show("rules") },
    { keys: "Escape", does: "close the panel", run: () => go(withParams({ sel: null, revoke: null })) },
  ];
  useKeys(keys);
  const onFocus = useCallback((id: string) => {
    setChosen(id);
    // The panel follows the focus, so that a key never answers a question other than the one that is marked.
    if (new URLSearchParams(window.location.search).has("sel")) go(withParams({ sel: id }), "replace");
  }, []);
  return [cursor, onFocus];
}

function Heading({ waiting, shown }: { waiting: number | null; shown: Shown }) {
  const to = (what: Shown) => go(withParams({ show: what === "open" ? null : what, sel: null, revoke: null }));
  const title =
    waiting === 0 ? "No question waits" : `${count(waiting)} ${waiting === 1 ? "question waits" : "questions wait"}`;
  return (
    <header className="page-head">
      <h1>{waiting === null ? "Inbox" : title}</h1>
      <span className="inbox-tabs">
        <button type="button" className="quiet" aria-pressed={shown === "open"} onClick={() => to("open")}>
          Open
        </button>
        <button type="button" className="quiet" aria-pressed={shown === "past"} onClick={() => to("past")} title="p">
          Past
        </button>
        <button type="button" className="quiet" aria-pressed={shown === "rules"} onClick={() => to("rules")} title="r">
          Rules
        </button>
      </span>
    </header>
  );
}

function Nothing({ shown }: { shown: Shown }) {
  if (shown === "past")
    return (
      <Empty title="No question is over yet" because="Answered, expired and withdrawn questions are listed here." />
    );
  return (
    <Empty
      title="Nobody waits for an answer"
      because="What needs a person comes here as a question: a plan or a result to approve, a task that cannot go on, a tool that an agent wants to use, or something an agent does not know."
    >
      <p>
        An agent asks with <code>callboard ask "Which port?" -o 80 -o 8080</code> and goes on with your answer.
      </p>
    </Empty>
  );
}

// One entity: what it is, why, what happened, what it wrote. Beside a list, or as a page.
import { useState } from "react";
import { give, type Order } from "../../acts/orders";
import { NoteForm, StopForm, TransitionForm } from "../../acts/panel";
import { isTaskAct, TaskForm, taskActs, textOf } from "../../acts/tasks";
import { asProblem, get, type Problem, query } from "../../api/client";
import type { View } from "../../api/types";
import { CopyId, CopyLine } from "../../parts/copy";
import { Refused, Skeleton, Trouble } from "../../parts/states";
import { Chain } from "../../pill/chain";
import { Link } from "../../route/link";
import { entityPath, go, usePlace, withParams } from "../../route/route";
import { useSharedAttention } from "../../shell/shared";
import { type Read, useBoard, useDocument, useView, useWords } from "../../state/board";
import { absolute } from "../../time/format";
import { Ago, Lasting } from "../../time/ticking";
import { Asked } from "../task/asked";
import { Changed } from "../task/changed";
import { Next, useStory, WhatHappened } from "../task/story";
import { Artifacts } from "./artifacts";
import { Asks } from "./asks";
import { Children, useChildren } from "./children";
import { FactsOf } from "./facts";
import { OutputTail } from "./output";
import { Records, useRecords } from "./records";
import { Timeline } from "./timeline";
import { Why } from "./why";

interface PaneProps {
  id: string;
  isPage?: boolean;
  onClose?: () => void;
}

/** The entity now, kept fresh, or as it was at a moment. */
function useEntity(id: string, at: string | null): Read<View> {
  const { entities } = useBoard();
  const read = useDocument(
    async (signal) => {
      const view = await get<View>(`/entities/${encodeURIComponent(id)}${query({ at })}`, signal);
      if (at === null) entities.put(view);
      return view;
    },
    `entity ${id} ${at ?? "now"}`,
    at === null ? { on: () => false, alsoEveryMs: 10_000 } : {},
  );
  // What was asked for may be the beginning of an id.
  const present = useView(read.data?.id ?? id);
  return at === null ? { ...read, data: present ?? read.data } : read;
}

export function EntityPane({ id, isPage = false, onClose }: PaneProps) {
  const { params } = usePlace();
  const at = params.get("at");
  const { data: view, problem, reload } = useEntity(id, at);
  const records = useRecords(view?.id ?? null);
  const parts = useChildren(view?.id ?? null) ?? [];
  const isTask = view?.kind === "task";
  // The story is of now; at another moment only what was recorded then is shown.
  const story = useStory(isTask && at === null ? view.id : null);
  if (!view) {
    return (
      <div className="pane">
        {onClose && <CloseBar onClose={onClose} />}
        {problem ? <Trouble problem={problem} onRetry={reload} /> : <Skeleton rows={8} />}
      </div>
    );
  }
  return (
    <article className="pane" aria-label={view.title ?? view.id}>
      {onClose && <CloseBar onClose={onClose} full={view.id} />}
      <Head view={view} isPage={isPage} at={at} />
      {at && <Past at={at} />}
      {at === null && <Asks view={view} runs={story.data?.runs ?? []} />}
      <ActPanel view={view} act={params.get("act")} next={story.data?.next_move ?? null} />
      <div className={isPage ? "pane-columns" : ""}>
        <div>
          {isTask && at === null && <Next view={view} story={story} />}
          <Why view={view} records={records.items} />
          {story.data && <WhatHappened story={story.data} />}
          {story.data && <Changed id={view.id} merge={story.data.merge} />}
          <Timeline view={view} records={records.items} parts={parts} at={at} />
          {isTask ? (
            <Children title="Subtasks" children_={parts.filter((part) => part.kind === "task")} />
          ) : (
            <Children children_={parts} />
          )}
        </div>
        <div>
          {isTask && <Asked view={view} />}
          <OutputTail view={view} />
          <Artifacts view={view} />
          <FactsOf view={view} />
          <Records records={records} />
        </div>
      </div>
    </article>
  );
}

function CloseBar({ onClose, full }: { onClose: () => void; full?: string }) {
  return (
    <div className="close-bar">
      {full ? (
        <Link to={entityPath(full)} className="quiet-link">
          Open as a page
        </Link>
      ) : (
        <span />
      )}
      <button type="button" className="quiet" onClick={onClose} title="Escape">
        Close
      </button>
    </div>
  );
}

function Head({ view, isPage, at }: { view: View; isPage: boolean; at: string | null }) {
  const words = useWords();
  const [problem, setProblem] = useState<Problem | null>(null);
  const [retried, setRetried] = useState<string | null>(null);
  const Title = isPage ? "h1" : "h2";
  const isRun = words.machine(view.kind)?.noun === "run";
  const retry = () =>
    give<{ id: string }>(view.id, { act: "retry" })
      .then((made) => setRetried(made.id))
      .catch((error) => setProblem(asProblem(error)));
  return (
    <header
      className={`entity-head sev-${view.state.severity}`}
      data-entity={view.id}
      data-version={at === null ? view.version : undefined}
    >
      <Title className="entity-title">{view.title ?? words.noun(view.kind)}</Title>
      <div className="entity-line">
        <Chain view={view} />
      </div>
      <div className="entity-line faint">
        <span>{words.noun(view.kind)}</span>
        <CopyId id={view.id} />
        <span>
          {view.ended_at ? "lasted " : "for "}
          <Lasting from={view.started_at ?? view.created_at} to={view.ended_at} />
        </span>
        {view.ended_at && (
          <span>
            ended <Ago at={view.ended_at} /> ago
          </span>
        )}
        {view.host && <span>on {view.host}</span>}
        {view.parent && (
          <span>
            part of <Link to={entityPath(view.parent)}>{view.parent.slice(0, 16)}</Link>
          </span>
        )}
      </div>
      {at === null && (
        <div className="entity-acts">
          {isRun && !view.ended_at && <ActButton act="stop" text="Stop" />}
          {isRun && view.ended_at && (
            <button type="button" onClick={retry}>
              Retry
            </button>
          )}
          {view.kind === "task" &&
            [...taskActs(words.machine(view.kind), view).keys()].map((act) => (
              <ActButton key={act} act={act} text={textOf(act)} />
            ))}
          <SetAside id={view.id} onProblem={setProblem} />
          <ActButton act="transition" text="Move by hand" />
          <ActButton act="note" text="Note" />
        </div>
      )}
      {retried && (
        <p role="status">
          Runs again as <Link to={entityPath(retried)}>{retried.slice(0, 16)}</Link>.
        </p>
      )}
      {problem && <Refused problem={problem} />}
      <CopyLine line={lineOf(view, at)} />
    </header>
  );
}

/** The command that shows the same in a terminal. */
function lineOf(view: View, at: string | null): string {
  if (at) return `callboard inspect ${view.id} --at ${at}`;
  return view.kind === "task" ? `callboard task show ${view.id}` : `callboard inspect ${view.id}`;
}

/** Snooze and dismiss, where it stands on the list of what needs somebody. */
function SetAside({ id, onProblem }: { id: string; onProblem: (problem: Problem) => void }) {
  const attention = useSharedAttention();
  const item = attention.data?.items.find((one) => one.entity.id === id);
  if (!item) return null;
  const order = (what: Order) =>
    give(id, what)
      .then(attention.reload)
      .catch((error) => onProblem(asProblem(error)));
  return (
    <>
      <button type="button" onClick={() => order({ act: "snooze", forS: 3600 })}>
        Snooze 1 h
      </button>
      <button type="button" onClick={() => order({ act: "snooze", forS: 86_400 })}>
        1 d
      </button>
      <button type="button" onClick={() => order({ act: "dismiss" })}>
        Dismiss
      </button>
    </>
  );
}

function ActButton({ act, text }: { act: string; text: string }) {
  return (
    <button type="button" onClick={() => go(withParams({ act }), "replace")}>
      {text}
    </button>
  );
}

function ActPanel({ view, act, next }: { view: View; act: string | null; next: string | null }) {
  const close = () => go(withParams({ act: null }), "replace");
  if (act === "stop") return <StopForm view={view} onClose={close} />;
  if (act === "transition") return <TransitionForm view={view} onClose={close} />;
  if (view.kind === "task" && isTaskAct(act))
    return <TaskForm key={act} view={view} act={act} next={next} onClose={close} />;
  if (act === "note") return <NoteForm view={view} onClose={close} />;
  return null;
}

function Past({ at }: { at: string }) {
  return (
    <p className="past" role="status">
      This is how it was at {absolute(at)}.{" "}
      <button type="button" onClick={() => go(withParams({ at: null }))}>
        Back to now
      </button>
    </p>
  );
}

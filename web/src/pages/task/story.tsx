// The story of a task: what moves it on next, and what happened to it so far.
import { get } from "../../api/client";
import type { TaskStory, Verdict, View } from "../../api/types";
import { CopyText } from "../../parts/copy";
import { Section } from "../../parts/section";
import { Refused } from "../../parts/states";
import { Named, Told } from "../../parts/told";
import { visible } from "../../parts/visible";
import { StatusPill, TonePill } from "../../pill/pill";
import { Link } from "../../route/link";
import { entityPath } from "../../route/route";
import { type Read, useDocument } from "../../state/board";
import { inboxPath } from "../../state/inbox";
import { clock, shortId, UNKNOWN } from "../../time/format";
import { Lasting } from "../../time/ticking";
import { outcome, Who } from "../inbox/words";
import { Row } from "./asked";
import { type Happened, happened } from "./happened";

/** The story of a task, asked again when something is recorded about it, its turns or its runs. */
export function useStory(id: string | null): Read<TaskStory> {
  return useDocument(
    (signal) => get<TaskStory>(`/tasks/${encodeURIComponent(id ?? "")}/story`, signal),
    id && `story ${id}`,
    {
      on: ({ entity, type }) =>
        entity.id === id || (type !== "observed" && /^(task_turn|session|question)$/.test(entity.kind)),
      atMostEveryMs: 500,
      alsoEveryMs: 30_000,
    },
  );
}

/** Where it stands and who moves it on. */
export function Next({ view, story }: { view: View; story: Read<TaskStory> }) {
  const { facts } = view;
  const text = (name: string) => (typeof facts[name] === "string" && facts[name] !== "" ? String(facts[name]) : null);
  const holder = text("lease_holder");
  const used = typeof facts.retries === "number" ? facts.retries : null;
  return (
    <Section title="Next">
      {story.problem && <Refused problem={story.problem} />}
      <p className="story-next">{story.data ? <Told text={story.data.next_move} /> : UNKNOWN}</p>
      <dl className="facts">
        {holder && (
          <Row name="held by">
            <Told text={holder} />
          </Row>
        )}
        {text("progress") && <Row name="progress">{text("progress")}</Row>}
        {used !== null && used > 0 && (
          <Row name="retries">
            {used}
            {typeof facts.retries_max === "number" && ` of ${facts.retries_max}`}
          </Row>
        )}
        {text("last_error") && (
          <Row name="last error">
            <Told text={text("last_error") ?? ""} />
          </Row>
        )}
        {text("summary") && (
          <Row name="summary">
            <Told text={text("summary") ?? ""} />
          </Row>
        )}
      </dl>
    </Section>
  );
}

export function WhatHappened({ story }: { story: TaskStory }) {
  const all = happened(story);
  const isOver = story.verdicts.length > 0 || story.merge.commit !== null || story.merge.branch !== null;
  return (
    <Section title="What happened" aside={attempts(story.turns.length)}>
      {all.length === 0 && <p className="faint">Nobody has claimed it yet.</p>}
      <ol className="story">
        {all.map((one) => (
          <li key={one.key} data-type={one.type}>
            <time className="num faint" dateTime={one.at ?? undefined} title={one.at ?? undefined}>
              {one.at ? clock(one.at) : UNKNOWN}
            </time>
            <div>
              <One one={one} />
            </div>
          </li>
        ))}
        {isOver && (
          <>
            {story.verdicts.map((verdict, at) => (
              <li key={`verdict ${at}`} data-type="verdict">
                <span className="faint">check</span>
                <div>
                  <VerdictLine verdict={verdict} />
                </div>
              </li>
            ))}
            <Merge merge={story.merge} />
          </>
        )}
      </ol>
    </Section>
  );
}

const attempts = (many: number): string => (many === 1 ? "1 turn" : `${many} turns`);

function One({ one }: { one: Happened }) {
  switch (one.type) {
    case "claim":
      return (
        <>
          claimed by {one.claim.holder ? <Told text={one.claim.holder} /> : "somebody"}
          {one.claim.epoch !== null && <span className="faint"> lease {one.claim.epoch}</span>}
        </>
      );
    case "turn":
      return <Turn turn={one.turn} attempt={one.attempt} />;
    case "run":
      return (
        <>
          run <Link to={entityPath(one.run.id)}>{one.run.title ?? shortId(one.run.id)}</Link>{" "}
          <StatusPill taxonomy="session" value={one.run.state} dense />
          <Because text={one.run.reason} />
        </>
      );
    case "asked":
      return (
        <>
          <Who name={one.question.asked_by} /> asked:{" "}
          <Link to={inboxPath(one.question.id)}>{visible(one.question.text)}</Link>
          {one.question.ended_at === null && <span className="faint"> and waits for an answer</span>}
        </>
      );
    case "answered":
      return (
        <>
          {outcome(one.question)}
          {one.question.because && <p className="story-because">because {visible(one.question.because)}</p>}
        </>
      );
  }
}

function Turn({ turn, attempt }: { turn: TaskStory["turns"][number]; attempt: number }) {
  return (
    <>
      <Link to={entityPath(turn.id)}>turn {attempt}</Link> <StatusPill taxonomy="task_turn" value={turn.state} dense />
      <span className="faint">
        {" "}
        <Lasting from={turn.created_at} to={turn.ended_at} />
      </span>
      {turn.run && (
        <>
          {" in the run "}
          <Named id={turn.run} />
        </>
      )}
      <Because text={turn.reason} />
      {(turn.start_ref || turn.end_ref) && (
        <p className="story-because">
          its files at {turn.start_ref && <CopyText text={turn.start_ref} shown="the start" />}
          {turn.start_ref && turn.end_ref && " and at "}
          {turn.end_ref && <CopyText text={turn.end_ref} shown="the end" />}
        </p>
      )}
    </>
  );
}

/** A reason as the server tells it: its code, then the sentence. */
function Because({ text }: { text: string | null }) {
  if (!text) return null;
  const [, code, message = text] = /^([a-z_]+(?:\.[a-z_]+)+): (.*)$/s.exec(text) ?? [];
  return (
    <p className="story-because" title={code}>
      <Told text={message} />
    </p>
  );
}

function VerdictLine({ verdict }: { verdict: Verdict }) {
  const tone = verdict.passed === true ? "success" : verdict.passed === false ? "danger" : "neutral";
  const word = verdict.passed === true ? "passed" : verdict.passed === false ? "not passed" : "checked";
  return (
    <>
      <TonePill tone={tone} text={word} dense /> {verdict.what}
      {verdict.detail && (
        <p className="story-because">
          <Told text={verdict.detail} />
        </p>
      )}
    </>
  );
}

function Merge({ merge }: { merge: TaskStory["merge"] }) {
  if (merge.commit === null && merge.branch === null) return null;
  return (
    <li data-type="merge">
      <span className="faint">merge</span>
      <div>
        {merge.commit ? (
          <>
            merged as <CopyText text={merge.commit} shown={merge.commit.slice(0, 12)} />
            {merge.branch && (
              <>
                {" from "}
                <CopyText text={merge.branch} />
              </>
            )}
          </>
        ) : (
          <>the work is on the branch {merge.branch && <CopyText text={merge.branch} />}</>
        )}
      </div>
    </li>
  );
}

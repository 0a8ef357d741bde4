// What a task asks for: what its agent is told, for whom it is, where it works, what it depends on and how it is checked.
import type { ReactNode } from "react";
import type { Facts, Json, View } from "../../api/types";
import { CopyText } from "../../parts/copy";
import { Section } from "../../parts/section";
import { Named } from "../../parts/told";
import { Chain } from "../../pill/chain";
import { useView } from "../../state/board";
import { span, UNKNOWN } from "../../time/format";
import { Absolute } from "../../time/ticking";

/** The facts that are shown here or in the story of a task, and not once more among its facts. */
export const TOLD = new Set([
  "prompt",
  "role",
  "priority",
  "scope",
  "repo",
  "base",
  "files",
  "depends_on",
  "unmet",
  "blocked_by",
  "signals",
  "verdicts",
  "approval",
  "deliver",
  "retries",
  "retries_max",
  "plan",
  "plan_name",
  "subtasks",
  "progress",
  "summary",
  "last_error",
  "commit",
  "branch",
  "title",
  "labels",
  "lease_holder",
  "lease_epoch",
  "lease_ms",
  "run",
  "task_turn",
  "start_ref",
  "end_ref",
]);

const text = (value: Json | undefined): string | null => (typeof value === "string" && value !== "" ? value : null);
const number = (value: Json | undefined): number | null => (typeof value === "number" ? value : null);
const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
const map = (value: Json): Facts | null =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;

export function Asked({ view }: { view: View }) {
  const { facts } = view;
  const prompt = text(facts.prompt);
  const given = (value: string | number | null) => value ?? <span className="faint">not given</span>;
  const unmet = new Set(list(facts.unmet).map((one) => JSON.stringify(one)));
  const [files, checks, depends] = [list(facts.files), list(facts.signals), list(facts.depends_on)];
  const repo = text(facts.repo);
  return (
    <Section title="Asked for">
      {prompt && prompt !== view.title && (
        <pre className="bytes asked-prompt" tabIndex={0}>
          {prompt}
        </pre>
      )}
      <dl className="facts">
        <Row name="role">{text(facts.role) ?? "anybody"}</Row>
        <Row name="priority">{given(number(facts.priority))}</Row>
        <Row name="scope">
          {given(text(facts.scope))}
          {view.timeout.configured_s !== null && ` (an attempt may take ${span(view.timeout.configured_s)})`}
        </Row>
        {depends.length > 0 && (
          <Row name="depends on">
            <ul>
              {depends.map((one, at) => (
                <li key={at} className="asked-dependency">
                  <Dependency on={one} />
                  {unmet.has(JSON.stringify(one)) && <span className="faint"> not there yet</span>}
                </li>
              ))}
            </ul>
          </Row>
        )}
        {files.length > 0 && (
          <Row name="files">
            <Codes all={files.map(String)} />
          </Row>
        )}
        {checks.length > 0 && (
          <Row name="checks">
            <ul>
              {checks.map((one, at) => (
                <li key={at}>
                  <Check check={one} />
                </li>
              ))}
            </ul>
          </Row>
        )}
        {facts.approval === true && <Row name="approval">a person approves the result</Row>}
        {repo && (
          <Row name="repository">
            <CopyText text={repo} />
            {text(facts.base) && (
              <>
                {" from "}
                <code>{text(facts.base)}</code>
              </>
            )}
          </Row>
        )}
        {text(facts.deliver) && <Row name="delivered by">{text(facts.deliver)}</Row>}
        {text(facts.plan) && (
          <Row name="plan">
            {text(facts.plan)}
            {text(facts.plan_name) && <span className="faint"> as {text(facts.plan_name)}</span>}
          </Row>
        )}
      </dl>
    </Section>
  );
}

export function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Codes({ all }: { all: string[] }) {
  return all.map((one, at) => (
    <span key={one}>
      {at > 0 && ", "}
      <code>{one}</code>
    </span>
  ));
}

function Dependency({ on }: { on: Json }) {
  const one = map(on);
  const id = text(one?.id);
  switch (one?.on) {
    case "task":
      return id ? <OtherTask id={id} isEndEnough={one.until_end === "ended"} /> : UNKNOWN;
    case "person":
      return <>a person: {text(one.what)}</>;
    case "time":
      return <Absolute at={text(one.at)} />;
    case "command":
      return (
        <>
          <code>{text(one.command)}</code> succeeds
        </>
      );
    case "pull_request":
      return (
        <>
          a pull request is merged: <code>{text(one.command)}</code>
        </>
      );
    default:
      return <code>{typeof on === "string" ? on : JSON.stringify(on)}</code>;
  }
}

function OtherTask({ id, isEndEnough }: { id: string; isEndEnough: boolean }) {
  const view = useView(id);
  return (
    <>
      <Named id={id} /> {view && <Chain view={view} dense />}
      {isEndEnough && <span className="faint"> however it ends</span>}
    </>
  );
}

function Check({ check }: { check: Json }) {
  const one = map(check);
  const [path, command, said] = [text(one?.path), text(one?.command), text(one?.text)];
  switch (one?.check) {
    case "exists":
      return (
        <>
          <code>{path}</code> is there
        </>
      );
    case "test":
      return (
        <>
          <code>{command}</code> succeeds
        </>
      );
    case "diff":
      return <>something changed</>;
    case "contains":
      return (
        <>
          <code>{path}</code> contains <code>{said}</code>
        </>
      );
    case "schema":
      return (
        <>
          <code>{path}</code> fits <code>{said}</code>
        </>
      );
    case "contract":
      return (
        <>
          the contract <code>{path}</code> holds
        </>
      );
    case "review":
      return (
        <>
          the review <code>{command}</code> agrees
        </>
      );
    default:
      return <code>{typeof check === "string" ? check : JSON.stringify(check)}</code>;
  }
}

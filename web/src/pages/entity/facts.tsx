// Everything else that is known: how it ended, its bounds, what the agent says of itself, what it cost.
import type { ReactNode } from "react";
import type { Facts, Json, View } from "../../api/types";
import { Section } from "../../parts/section";
import { useWords } from "../../state/board";
import { bytes, count, span, UNKNOWN } from "../../time/format";
import { Absolute } from "../../time/ticking";
import { TOLD } from "../task/asked";

const map = (value: Json | undefined): Facts =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
const number = (value: Json | undefined): number | null =>
  typeof value === "number"
    ? value
    : typeof value === "string" && value !== "" && Number.isFinite(Number(value))
      ? Number(value)
      : null;
const text = (value: Json | undefined): string => (typeof value === "string" ? value : UNKNOWN);

/** Facts that have a line of their own above. */
const SHOWN = new Set([
  "agent",
  "usage",
  "output",
  "argv",
  "cwd",
  "containment",
  "project",
  "dir",
  "boot",
  "machine",
  "pid_ns",
  "time_ns",
  "supervisor",
  "started_ticks",
  "depends_on",
]);

/** What a run is doing: by whom, since when. */
function PhaseOf({ phase }: { phase: NonNullable<View["state"]["phase"]> }) {
  const words = useWords();
  const told = [phase.by && `by ${phase.by}`, phase.detail].filter(Boolean).join(", ");
  return (
    <>
      {words.label("phase", phase.name)}
      {told && ` (${told})`}
      {phase.since && (
        <>
          {" since "}
          <Absolute at={phase.since} />
        </>
      )}
    </>
  );
}

export function FactsOf({ view }: { view: View }) {
  const { facts, exit, timeout } = view;
  const argv = Array.isArray(facts.argv) ? facts.argv.map(String) : null;
  const usage = map(facts.usage);
  const isShown = (name: string) => SHOWN.has(name) || (view.kind === "task" && TOLD.has(name));
  const rest = Object.entries(facts).filter(([name, value]) => !isShown(name) && value !== null);
  return (
    <>
      {"agent" in facts && <Agent agent={map(facts.agent)} />}
      <Section title="Facts">
        <dl className="facts">
          {view.state.phase && (
            <Fact name="phase">
              <PhaseOf phase={view.state.phase} />
            </Fact>
          )}
          <Fact name="created">
            <Absolute at={view.created_at} />
          </Fact>
          <Fact name="started">
            <Absolute at={view.started_at} />
          </Fact>
          <Fact name="ended">
            <Absolute at={view.ended_at} />
          </Fact>
          <Fact name="last heard of">
            <Absolute at={view.last_activity_at} />
          </Fact>
          {timeout.configured_s !== null && (
            <Fact name="time bound">
              {exit.timed_out
                ? `Timed out after ${span(timeout.elapsed_s)} (configured timeout: ${span(timeout.configured_s)})`
                : span(timeout.configured_s)}
            </Fact>
          )}
          {argv && (
            <>
              <Fact name="exit">{exitText(view)}</Fact>
              <Fact name="command">
                <code>{argv.join(" ")}</code>
              </Fact>
              <Fact name="directory">
                <code>{text(facts.cwd)}</code>
              </Fact>
              <Fact name="process">
                {view.pid === null ? UNKNOWN : `pid ${view.pid}`}
                {view.host ? ` on ${view.host}` : ""}
              </Fact>
              <Fact name="contained by">{text(map(facts.containment).rung)}</Fact>
              <Fact name="memory, processor">
                {bytes(number(usage.max_rss_bytes))}, {span(number(usage.user_s))} user, {span(number(usage.system_s))}{" "}
                system
              </Fact>
            </>
          )}
          {Object.entries(view.labels).map(([name, value]) => (
            <Fact key={name} name={`label ${name}`}>
              {String(value)}
            </Fact>
          ))}
          {rest.map(([name, value]) => (
            <Fact key={name} name={name.replaceAll("_", " ")}>
              {typeof value === "object" ? <code>{JSON.stringify(value)}</code> : String(value)}
            </Fact>
          ))}
        </dl>
      </Section>
    </>
  );
}

function exitText(view: View): string {
  const { code, signal, oom } = view.exit;
  if (code === null && signal === null) return UNKNOWN;
  const parts = [
    code === null ? null : `code ${code}`,
    signal === null ? null : `signal ${signal}`,
    oom ? "out of memory" : null,
  ];
  return parts.filter(Boolean).join(", ");
}

function Agent({ agent }: { agent: Facts }) {
  const tokens = map(agent.tokens);
  const cost = number(agent.cost_usd);
  return (
    <Section title="Agent" aside={text(agent.program)}>
      <dl className="facts">
        <Fact name="model">{text(agent.model)}</Fact>
        <Fact name="cost">{cost === null ? UNKNOWN : `$${cost.toFixed(2)}`}</Fact>
        <Fact name="tokens">
          {count(number(tokens.input))} in, {count(number(tokens.output))} out, {count(number(tokens.cache_read))} from
          cache
        </Fact>
        <Fact name="turns, tools">
          {count(number(agent.turns))} turns, {count(number(agent.tool_calls))} tool calls,{" "}
          {count(number(agent.tool_errors))} errors
        </Fact>
        {typeof agent.last_message === "string" && <Fact name="last said">{agent.last_message}</Fact>}
      </dl>
    </Section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

// Why it is so: from the state to its reasons, from a reason to its evidence, from evidence to the bytes. Each step opens
// the next, by click or by the arrow keys.
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { BASE, getBytes } from "../../api/client";
import type { EvidenceRef, LedgerRecord, StateReason, View } from "../../api/types";
import { CopyLine } from "../../parts/copy";
import { Section } from "../../parts/section";
import { Refused } from "../../parts/states";
import { Chain } from "../../pill/chain";
import { Icon } from "../../pill/icons";
import { useDocument, useWords } from "../../state/board";
import { showRecord } from "./records";

const PREVIEW_BYTES = 16_384;

export function Why({ view, records }: { view: View; records: LedgerRecord[] }) {
  const { reasons } = view.state;
  return (
    <Section title="Why" aside={`judged by policy ${view.state.policy_version}`}>
      <div className="walk" onKeyDown={walk} role="group" aria-label="State, reasons and evidence">
        <div className="walk-state">
          <Chain view={view} />
        </div>
        {reasons.length === 0 && <p className="faint walk-none">No reason is recorded: this state needs none.</p>}
        {reasons.map((reason, at) => (
          <ReasonNode
            key={`${reason.code} ${at}`}
            view={view}
            reason={reason}
            records={records}
            isFirst={at === reasons.length - 1}
          />
        ))}
      </div>
      <CopyLine line={`callboard why ${view.id}`} />
    </Section>
  );
}

/** Arrow keys move through what is open, as in a tree. */
function walk(event: KeyboardEvent<HTMLElement>): void {
  const nodes = [...event.currentTarget.querySelectorAll<HTMLElement>("[aria-expanded][data-walk]")];
  const at = nodes.indexOf(document.activeElement as HTMLElement);
  if (at < 0) return;
  const node = nodes[at];
  const isOpen = node?.getAttribute("aria-expanded") === "true";
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
  if (to !== undefined) nodes[Math.max(0, Math.min(nodes.length - 1, to))]?.focus();
  else if (event.key === "ArrowRight" && isOpen) nodes[at + 1]?.focus();
  else if ((event.key === "ArrowRight" && !isOpen) || (event.key === "ArrowLeft" && isOpen)) node?.click();
  else return;
  event.preventDefault();
}

interface NodeProps {
  level: number;
  icon: string;
  /** What stands on the line. */
  line: ReactNode;
  startsOpen?: boolean;
  children: ReactNode;
  name: string;
}

function Node({ level, icon, line, startsOpen = false, children, name }: NodeProps) {
  const [isOpen, setOpen] = useState(startsOpen);
  return (
    <div className={`walk-node level-${level}`}>
      <button
        type="button"
        aria-expanded={isOpen}
        className="walk-line"
        data-walk={name}
        onClick={() => setOpen(!isOpen)}
      >
        <span className={`caret ${isOpen ? "open" : ""}`} aria-hidden="true">
          <Icon name="caret" size={10} />
        </span>
        <Icon name={icon} />
        {line}
      </button>
      {isOpen && <div className="walk-inside">{children}</div>}
    </div>
  );
}

interface ReasonProps {
  view: View;
  reason: StateReason;
  records: LedgerRecord[];
  isFirst: boolean;
}

function ReasonNode({ view, reason, records, isFirst }: ReasonProps) {
  const words = useWords();
  const record = records.findLast((one) =>
    one.reasons.some((its) => its.code === reason.code && its.message === reason.message),
  );
  const sure = reason.confidence < 1 ? `, ${Math.round(reason.confidence * 100)} % sure` : "";
  const line = (
    <>
      <span className="walk-text">{reason.message}</span>
      <code className="faint">{reason.code}</code>
    </>
  );
  return (
    <Node level={1} icon="question" line={line} startsOpen={isFirst} name="reason">
      <p className="faint">
        {words.reasons.get(reason.code)?.meaning} It is {reason.claim_status}
        {sure},{" "}
        {record ? (
          <span className="whole">
            in{" "}
            <button type="button" className="inline" onClick={() => showRecord(record.seq)}>
              record {record.seq}
            </button>
            .
          </span>
        ) : (
          "judged when it was read."
        )}
      </p>
      {reason.evidence.length === 0 && <p className="faint">No evidence is attached.</p>}
      {reason.evidence.map((evidence, at) => (
        <EvidenceNode key={at} view={view} evidence={evidence} record={record} />
      ))}
    </Node>
  );
}

function EvidenceNode({
  view,
  evidence,
  record,
}: {
  view: View;
  evidence: EvidenceRef;
  record: LedgerRecord | undefined;
}) {
  const words = useWords();
  const kind = words.pill("evidence", evidence.kind);
  const text = evidence.detail ?? evidence.path ?? evidence.url ?? evidence.message_id ?? evidence.id ?? "";
  const line = (
    <>
      <span className="faint walk-kind">{kind.label}</span>
      <span className="walk-text">
        {evidence.path && evidence.detail ? <code>{evidence.path}</code> : null} {text}
      </span>
    </>
  );
  return (
    <Node level={2} icon={kind.icon} line={line} name="evidence">
      <Bytes view={view} evidence={evidence} record={record} />
    </Node>
  );
}

/** The last step: what the evidence points at, byte for byte as far as it can be had here. */
function Bytes({ view, evidence, record }: { view: View; evidence: EvidenceRef; record: LedgerRecord | undefined }) {
  const fields = Object.entries(evidence).filter(
    ([name, value]) => value !== null && value !== undefined && name !== "kind" && name !== "detail",
  );
  const isArtifact = evidence.kind === "artifact" && typeof evidence.path === "string";
  return (
    <div className="walk-bytes" data-walk="bytes">
      {evidence.detail && <pre className="bytes">{evidence.detail}</pre>}
      {fields.length > 0 && (
        <dl className="facts">
          {fields.map(([name, value]) => (
            <div key={name}>
              <dt>{name.replaceAll("_", " ")}</dt>
              <dd>{name === "url" ? <OutsideLink url={String(value)} /> : <code>{String(value)}</code>}</dd>
            </div>
          ))}
        </dl>
      )}
      {isArtifact && <ArtifactBytes id={view.id} path={evidence.path ?? ""} />}
      {record && (
        <p className="faint">
          Stands in{" "}
          <button type="button" className="inline" onClick={() => showRecord(record.seq)}>
            record {record.seq}
          </button>
          {record.hash && (
            <>
              , hash <code>{record.hash.slice(0, 16)}</code>
            </>
          )}
          .
        </p>
      )}
    </div>
  );
}

/** Only addresses of the web are followed; anything else is shown as text. */
function OutsideLink({ url }: { url: string }) {
  if (!/^https?:\/\//i.test(url)) return <code>{url}</code>;
  return (
    <a href={url} rel="noreferrer noopener" target="_blank">
      {url}
    </a>
  );
}

export const artifactPath = (id: string, path: string): string =>
  `/entities/${encodeURIComponent(id)}/artifacts/${path.split("/").map(encodeURIComponent).join("/")}`;

export function ArtifactBytes({ id, path }: { id: string; path: string }) {
  const read = useDocument((signal) => getBytes(artifactPath(id, path), PREVIEW_BYTES, signal), `bytes ${id} ${path}`);
  if (read.problem?.status === 404)
    return (
      <p className="faint">
        There are no bytes to show: the file was not found, or its name is hidden (it begins with a dot).
      </p>
    );
  if (read.problem) return <Refused problem={read.problem} />;
  if (!read.data) return <p className="faint">Reading…</p>;
  return (
    <>
      <pre className="bytes" tabIndex={0}>
        {read.data.text}
      </pre>
      <p className="faint">
        {read.data.more ? "These are the first bytes. " : ""}
        <a href={BASE + artifactPath(id, path)} download>
          Download {path}
        </a>
      </p>
    </>
  );
}

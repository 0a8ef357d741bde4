// Standing rules: answers that hold for every question of a sort, and the way to end one.
import { ActForm } from "../../acts/panel";
import { get, post } from "../../api/client";
import type { Rule, Rules } from "../../api/types";
import { Empty, Skeleton, Trouble } from "../../parts/states";
import { visible } from "../../parts/visible";
import { Link } from "../../route/link";
import { go, withParams } from "../../route/route";
import { type Read, useDocument } from "../../state/board";
import { inboxPath } from "../../state/inbox";
import { UNKNOWN } from "../../time/format";
import { Ago } from "../../time/ticking";

export function useRules(isWanted: boolean): Read<Rules> {
  return useDocument((signal) => get<Rules>("/rules", signal), isWanted ? "rules" : null, {
    on: ({ entity }) => entity.kind === "rule",
    atMostEveryMs: 100,
  });
}

export function RuleList({ read }: { read: Read<Rules> }) {
  if (!read.data)
    return read.problem ? <Trouble problem={read.problem} onRetry={read.reload} /> : <Skeleton rows={4} />;
  if (read.data.items.length === 0)
    return (
      <Empty
        title="No standing rule is in force"
        because="An answer can be made a rule where its question says what the rule would cover. The rule then answers such questions in the name of whoever made it."
      />
    );
  return (
    <ul className="board" aria-label="Standing rules">
      {read.data.items.map((rule) => (
        <li key={rule.id} className="row" data-rule={rule.id}>
          <div className="row-line rule-line">
            <span className="rule-covers">
              <strong>{visible(rule.answer)}</strong> <code>{visible(rule.covers)}</code>
            </span>
            <span className="row-asker cut">
              {rule.made_by ? visible(rule.made_by) : UNKNOWN}
              {rule.question && (
                <>
                  {" "}
                  <Link to={inboxPath(rule.question)}>answering this</Link>
                </>
              )}
            </span>
            <span className="row-age">
              <Ago at={rule.made_at} />
            </span>
            <span className="row-actions">
              <button
                type="button"
                onClick={() => go(withParams({ sel: null, revoke: rule.id }))}
                aria-label={`Revoke ${rule.covers}`}
              >
                Revoke
              </button>
            </span>
          </div>
        </li>
      ))}
    </ul>
  );
}

export function RevokeForm({ id, rules, onClose }: { id: string; rules: Rule[]; onClose: () => void }) {
  const rule = rules.find((one) => one.id === id);
  if (!rule)
    return (
      <div className="act">
        <h2>This rule is not in force</h2>
        <p>It was revoked already.</p>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    );
  return (
    <ActForm
      title="Revoke a standing rule"
      happens={`Questions about “${visible(rule.covers)}” are no longer answered “${visible(rule.answer)}”: they wait for a person again. What the rule has answered stays as it is.`}
      button="Revoke it"
      asks="Why?"
      run={async (because) => void (await post<Rule>(`/rules/${encodeURIComponent(id)}/revoke`, { because }))}
      onClose={onClose}
    />
  );
}

// The open questions about an entity, each with the way to answer it.
import type { TaskStory, View } from "../../api/types";
import { visible } from "../../parts/visible";
import { Link } from "../../route/link";
import { inboxPath, openAbout, useSharedInbox } from "../../state/inbox";
import { Left, Who } from "../inbox/words";

/** What waits for a person about it, about its runs, or because it stands on a plan that waits. */
export function Asks({ view, runs }: { view: View; runs: TaskStory["runs"] }) {
  const inbox = useSharedInbox();
  const named = typeof view.facts.question === "string" ? [view.facts.question] : [];
  const open = openAbout(inbox.data, new Set([view.id, ...named, ...runs.map((run) => run.id)]));
  if (open.length === 0) return null;
  return (
    <ul className="asks" aria-label="Open questions">
      {open.map((question) => (
        <li key={question.id} data-question={question.id}>
          <span>
            <Who name={question.asked_by} /> asks: <strong>{visible(question.text)}</strong>
          </span>
          <span className="faint">{question.options.map(visible).join(", ") || "any text"}</span>
          <Left question={question} />
          <Link to={inboxPath(question.id)} className="button">
            Answer
          </Link>
        </li>
      ))}
    </ul>
  );
}

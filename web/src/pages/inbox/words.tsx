// How questions are told in rows, panels and stories: who asked, how much time is left, and what became of them.
import type { Question } from "../../api/types";
import { Told } from "../../parts/told";
import { visible } from "../../parts/visible";
import { useView } from "../../state/board";
import { secondsBetween, short, shortId, UNKNOWN } from "../../time/format";
import { useNow } from "../../time/ticking";

const ID = /^[a-z]{3}_[0-9a-z]{26}$/;

/** Who asked or answered: a run by its title, a person by name. */
export function Who({ name }: { name: string | null }) {
  return name === null ? UNKNOWN : <Told text={visible(name)} />;
}

/** The same without a link, for a row that is one. */
export function WhoText({ name }: { name: string | null }) {
  if (name === null) return UNKNOWN;
  return ID.test(name) ? <RunTitle id={name} /> : visible(name);
}

function RunTitle({ id }: { id: string }) {
  const view = useView(id);
  return view?.title ? visible(view.title) : <span className="id">{shortId(id)}</span>;
}

/** What it is about, in one line. */
export const aboutText = ({ subject }: Question): string =>
  subject === null ? UNKNOWN : visible(subject.title ?? shortId(subject.id));

/** How long whoever asked goes on waiting. */
export function Left({ question }: { question: Question }) {
  const now = useNow();
  if (question.expires_at === null || question.state !== "asked") return null;
  const seconds = -(secondsBetween(question.expires_at, now) ?? Number.NaN);
  return (
    <span className="num" title={`then: ${question.default}`}>
      {seconds > 0 ? `${short(seconds)} left` : "overdue"}
    </span>
  );
}

/** What became of a question, in a sentence; null while it waits. */
export function outcome(question: Question): string | null {
  const { answer, answered_by: by, rule, state } = question;
  if (state === "asked") return null;
  if (by !== null && answer !== null)
    return rule ? `a standing rule of ${by} answered: ${visible(answer)}` : `${by} answered: ${visible(answer)}`;
  if (state === "expired")
    return answer === null
      ? "nobody answered in time; it is denied"
      : `nobody answered in time; the default took effect: ${visible(answer)}`;
  return state;
}

/** What a default means, in a sentence. */
export function onExpiry(question: Question): string {
  switch (question.default) {
    case "hold":
      return "then it stays here, and whoever asked is told that there is no answer";
    case "deny":
      return "then it is denied";
    default:
      return `then the answer is “${question.default}”`;
  }
}

// A sentence of the server in which the ids are links with the names of what they mean.
import { Fragment, type ReactNode } from "react";
import { Link } from "../route/link";
import { entityPath } from "../route/route";
import { useView } from "../state/board";
import { shortId } from "../time/format";

const ID = /\b([a-z]{3}_[0-9a-z]{26})\b/;

/** The pieces of a sentence: every second one is an id. */
export const pieces = (text: string): string[] => text.split(ID);

/** `titleOf` names what is known already; without it each entity is asked for its title. */
export function Told({ text, titleOf }: { text: string; titleOf?: (id: string) => string | null }) {
  return pieces(text).map((piece, at) => (
    <Fragment key={at}>{at % 2 === 0 ? piece : titleOf ? named(piece, titleOf(piece)) : <Named id={piece} />}</Fragment>
  ));
}

/** An entity by its title, as a link. */
export function Named({ id }: { id: string }): ReactNode {
  return named(id, useView(id)?.title ?? null);
}

function named(id: string, title: string | null): ReactNode {
  return (
    <Link to={entityPath(id)} title={id}>
      {title ?? <span className="id">{shortId(id)}</span>}
    </Link>
  );
}

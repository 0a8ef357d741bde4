// One entity on a page of its own, for a link that is sent to somebody.
import { EntityPane } from "./pane";

export function EntityPage({ id }: { id: string }) {
  return (
    <div className="entity-page">
      <EntityPane key={id} id={id} isPage />
    </div>
  );
}

// What was promised, what was found, and the verdict.
import { useState } from "react";
import type { ArtifactItem, View } from "../../api/types";
import { Section } from "../../parts/section";
import { StatusPill } from "../../pill/pill";
import { bytes } from "../../time/format";
import { Absolute } from "../../time/ticking";
import { ArtifactBytes } from "./why";

export function Artifacts({ view }: { view: View }) {
  const { contract, verification, dir } = view.artifacts;
  if (!contract && !verification) return null;
  const items: ArtifactItem[] =
    verification?.items ??
    (contract?.artifacts ?? []).map((one) => ({ ...one, found: "not checked yet", because: null, files: [] }));
  return (
    <Section
      title="Artifacts"
      aside={view.state.delivery && <StatusPill taxonomy="delivery" value={view.state.delivery} dense />}
    >
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Promised</th>
            <th scope="col">Required</th>
            <th scope="col">Found</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={item.id}>
              <td>
                <code>{item.path}</code>
              </td>
              <td>{item.required ? "yes" : "no"}</td>
              <td>
                {item.found}
                {item.because ? `: ${item.because}` : ""}
                {item.files.map((file) => (
                  <FileOf
                    key={typeof file === "string" ? file : file.path}
                    id={view.id}
                    path={typeof file === "string" ? file : file.path}
                    size={typeof file === "string" ? null : (file.bytes ?? null)}
                  />
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="faint">
        {verification?.checked_at ? (
          <>
            Checked at <Absolute at={verification.checked_at} />
            {dir ? " in " : "."}
          </>
        ) : (
          "Checked when the run ends, in "
        )}
        {dir && <code>{dir}</code>}
      </p>
    </Section>
  );
}

function FileOf({ id, path, size }: { id: string; path: string; size: number | null }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div>
      <button type="button" className="inline" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <code>{path}</code>
      </button>{" "}
      <span className="faint">{size === null ? "" : bytes(size)}</span>
      {isOpen && <ArtifactBytes id={id} path={path} />}
    </div>
  );
}

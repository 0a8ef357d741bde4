// The form that starts a run.
import { useRef, useState } from "react";
import { Problem, post } from "../api/client";
import type { RunRequest, Started } from "../api/types";
import { ActForm } from "./panel";
import { cut } from "./words";

interface StartFormProps {
  onStarted: (id: string) => void;
  onClose: () => void;
}

/** What was typed last is offered again, in this tab. */
const KEPT = "callboard start directory";

export function StartForm({ onStarted, onClose }: StartFormProps) {
  const [command, setCommand] = useState("");
  const [cwd, setCwd] = useState(() => sessionStorage.getItem(KEPT) ?? "");
  const [title, setTitle] = useState("");
  const [expected, setExpected] = useState("");
  const started = useRef<string | null>(null);
  const { words, isOpen } = cut(command);
  const start = async () => {
    if (isOpen) throw new Problem(0, "A quote is not closed", "The command has an opening quote alone.", "Close it.");
    const request: RunRequest = { argv: words, cwd: cwd.trim(), expect: cut(expected).words };
    if (title.trim() !== "") request.title = title.trim();
    const { id } = await post<Started>("/runs", request);
    sessionStorage.setItem(KEPT, request.cwd);
    started.current = id;
  };
  return (
    <ActForm
      title="Start a run"
      happens={
        <>
          Starts {words[0] ? <code>{words[0]}</code> : "a command"} in the background on the server's host, as the user
          who runs the server. Words are taken as they are; for pipes and variables start a shell:{" "}
          <code>sh -c '…'</code>
        </>
      }
      button="Start it"
      run={start}
      onClose={() => (started.current === null ? onClose() : onStarted(started.current))}
    >
      <label>
        Command
        <input
          className="mono"
          value={command}
          onChange={(event) => setCommand(event.target.value)}
          placeholder={'claude -p "fix the flaky test"'}
          required
          spellCheck={false}
          autoCapitalize="off"
        />
      </label>
      <label>
        Directory
        <input
          className="mono"
          value={cwd}
          onChange={(event) => setCwd(event.target.value)}
          placeholder="/srv/shop"
          pattern="\s*/.*"
          title="A whole path, which begins with a slash"
          required
          spellCheck={false}
          autoCapitalize="off"
        />
      </label>
      <label>
        Title
        <input
          value={title}
          onChange={(event) => setTitle(event.target.value)}
          placeholder="the command"
          maxLength={200}
        />
      </label>
      <label>
        Files it must leave
        <input
          className="mono"
          value={expected}
          onChange={(event) => setExpected(event.target.value)}
          placeholder="review.md report.json"
          spellCheck={false}
          autoCapitalize="off"
        />
      </label>
    </ActForm>
  );
}

import { describe, expect, it } from "vitest";
import { session, state, view, vocabulary } from "../samples";
import { Words } from "./words";

const words = new Words(vocabulary, [session], []);

describe("words", () => {
  it("shows a stale run in the colour of its tone, with the icon of its health", () => {
    const stale = view({ effective: "stale running", state: state({ health: "process_dead", tone: "danger" }) });
    expect(words.effective(stale)).toMatchObject({ label: "stale running", icon: "x-circle", token: "error" });
  });

  it("shows a healthy run as the state declares it", () => {
    expect(words.effective(view())).toMatchObject({ label: "Running", icon: "activity", token: "running" });
  });

  it("shows a run that is being stopped with the icon of its phase", () => {
    const phase = { name: "stopping", since: null, by: "alice", detail: null };
    const stopping = view({ effective: "stopping", state: state({ phase }) });
    expect(words.effective(stopping)).toMatchObject({ label: "stopping", icon: "stop" });
  });

  it("lets the tone win where it differs from the state's own", () => {
    const missing = view({
      effective: "Completed",
      state: state({ lifecycle: "completed", health: "ok", tone: "danger" }),
    });
    expect(words.effective(missing)).toMatchObject({ icon: "check", token: "error" });
  });

  it("keeps taxonomies apart and shows an unknown word as it is", () => {
    expect(words.pill("health", "failed")).toMatchObject({ label: "failed", token: "neutral" });
    expect(words.pill("session", "failed")).toMatchObject({ label: "Failed", token: "error" });
    expect(words.noun("session")).toBe("run");
  });
});

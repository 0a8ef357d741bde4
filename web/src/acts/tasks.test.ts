import { describe, expect, it } from "vitest";
import type { Machine } from "../api/types";
import { session, state, view } from "../samples";
import { happens, taskActs } from "./tasks";

const row = (from: string, to: string, trigger: string, actor = "operator") => ({
  from,
  to,
  triggers: [trigger],
  actors: [actor],
  reasons: [],
});
const machine: Machine = {
  ...session,
  kind: "task",
  rows: [
    row("planned", "open", "plan_approved"),
    row("planned", "cancelled", "plan_rejected"),
    row("open", "cancelled", "cancel_asked"),
    row("failed", "open", "retried", "system"),
    row("pending_approval", "closed", "approved"),
  ],
};
const task = (lifecycle: string, facts = {}) => view({ kind: "task", state: state({ lifecycle }), facts });
const offered = (lifecycle: string, facts = {}) => [...taskActs(machine, task(lifecycle, facts)).keys()];

describe("the acts of a task", () => {
  it("are those that its machine lets an operator take", () => {
    expect(offered("planned")).toEqual(["approve", "reject"]);
    expect(offered("pending_approval")).toEqual(["approve"]);
    expect(offered("open")).toEqual(["cancel"]);
    expect(offered("failed")).toEqual([]);
  });

  it("let a person vouch for what an open task waits for", () => {
    expect(offered("open", { unmet: [{ on: "person", what: "the key" }] })).toContain("unblock");
    expect(offered("planned", { unmet: [{ on: "person", what: "the key" }] })).not.toContain("unblock");
  });

  it("say what will happen", () => {
    const held = task("in_progress", { lease_holder: "wrk_1", subtasks: ["a", "b"] });
    expect(happens("cancel_asked", held, null, false)).toMatch(/worker stops.*2 subtasks are called off/);
    expect(happens("approved", task("pending_approval", { base: "main" }), null, false)).toContain("merged into main");
    expect(happens("rejected", task("pending_approval"), null, true)).toContain("open again");
  });
});

import { describe, expect, it } from "vitest";
import { pieces } from "./told";

describe("a sentence with ids", () => {
  it("is cut at each whole id", () => {
    const [a, b] = ["tsk_01m7grbsckepybw2zv8gzdsez6", "wrk_01m7grbsckepybw2zv8gzdsez7"];
    expect(pieces(`task ${a}, then ${b}`)).toEqual(["task ", a, ", then ", b, ""]);
  });

  it("stays whole without one", () => {
    expect(pieces("a person: the_key tsk_short")).toEqual(["a person: the_key tsk_short"]);
  });
});

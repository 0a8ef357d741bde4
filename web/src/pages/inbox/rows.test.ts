import { expect, test } from "vitest";
import { question } from "../../samples";
import { follow, rowsOf, step } from "./rows";

const ids = ["qst_1", "qst_3", "qst_5"];

test("the cursor stays on its question whatever comes and goes", () => {
  expect(follow(ids, "qst_3")).toBe("qst_3");
  expect(follow(["qst_0", ...ids], "qst_3")).toBe("qst_3");
  expect(step(["qst_0", ...ids], "qst_3", 1)).toBe("qst_5");
});

test("from a question that is gone the cursor goes to the one after it", () => {
  expect(follow(ids, "qst_2")).toBe("qst_3");
  expect(follow(ids, "qst_6")).toBe("qst_5");
  expect(follow(ids.toReversed(), "qst_4")).toBe("qst_3");
  expect(follow([], "qst_2")).toBe(null);
});

test("the cursor stops at both ends", () => {
  expect(step(ids, null, 0)).toBe("qst_1");
  expect(step(ids, "qst_1", -1)).toBe("qst_1");
  expect(step(ids, "qst_5", 1)).toBe("qst_5");
  expect(step([], null, 1)).toBe(null);
});

test("a closed question stays in its place, once", () => {
  const [a, b, c] = ["qst_a", "qst_b", "qst_c"].map((id) => question({ id }));
  const closed = question({ id: "qst_b", state: "answered" });
  expect(rowsOf([a, c] as never, [closed]).map((one) => one.id)).toEqual(["qst_a", "qst_b", "qst_c"]);
  expect(rowsOf([a, b] as never, [closed]).map((one) => one.state)).toEqual(["asked", "asked"]);
});

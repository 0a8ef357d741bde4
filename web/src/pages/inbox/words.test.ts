import { expect, test } from "vitest";
import { question } from "../../samples";
import { onExpiry, outcome } from "./words";

test("a question that waits has no outcome", () => {
  expect(outcome(question())).toBe(null);
  expect(outcome(question({ expires_at: "2026-11-15T11:00:01Z" }))).toBe(null);
});

test("an answer is told with who gave it, and a rule is called a rule", () => {
  const answered = { state: "answered", answer: "80", answered_by: "ann" };
  expect(outcome(question(answered))).toBe("ann answered: 80");
  expect(outcome(question({ ...answered, rule: "rul_1" }))).toBe("a standing rule of ann answered: 80");
});

test("a default is never told as somebody's answer", () => {
  expect(outcome(question({ state: "expired", answer: "wait" }))).toBe(
    "nobody answered in time; the default took effect: wait",
  );
  expect(outcome(question({ state: "expired" }))).toBe("nobody answered in time; it is denied");
  expect(outcome(question({ state: "withdrawn" }))).toBe("withdrawn");
});

test("what happens without an answer is a sentence", () => {
  expect(onExpiry(question())).toMatch(/stays here/);
  expect(onExpiry(question({ default: "deny" }))).toBe("then it is denied");
  expect(onExpiry(question({ default: "wait" }))).toBe("then the answer is “wait”");
});

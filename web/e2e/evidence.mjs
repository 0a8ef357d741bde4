// Why: from the state to the reason, to the evidence, to the bytes and the record, by click and by key.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ended, newPage, startRun, visit } from "./support.mjs";

test("the walk from a state to the bytes", async (t) => {
  const page = await newPage(t);
  await visit(page, "/");
  const run = await startRun(page, "echo hello; exit 3", "walk");
  await ended(page, run.id);
  await visit(page, `/e/${run.id}`);

  const reason = page.locator("[data-walk=reason]", { hasText: "run.failed.exit_nonzero" });
  await reason.waitFor();
  const evidence = page.locator("[data-walk=evidence]").first();
  if (!(await evidence.isVisible())) await reason.click();
  assert.match(await evidence.innerText(), /exit code 3/);
  await evidence.click();
  const bytes = page.locator("[data-walk=bytes]").first();
  assert.match(await bytes.innerText(), /exit code 3/);

  await bytes.getByRole("button", { name: /^record \d+$/ }).click();
  const record = page.locator(".records details[open] pre").first();
  await record.waitFor();
  const written = JSON.parse(await record.innerText());
  assert.equal(written.to, "failed");
  assert.equal(written.entity.id, run.id);
  assert.ok(written.hash);
});

test("the walk by keys", async (t) => {
  const page = await newPage(t);
  await visit(page, "/");
  const run = await startRun(page, "exit 3", "walk by keys");
  await ended(page, run.id);
  await visit(page, `/e/${run.id}`);
  const reason = page.locator("[data-walk=reason]").last();
  await reason.focus();
  if ((await reason.getAttribute("aria-expanded")) === "false") await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement?.dataset.walk), "evidence");
  await page.keyboard.press("ArrowRight");
  await page.locator("[data-walk=bytes]").first().waitFor();
});

test("a moment of the past can be looked at and left", async (t) => {
  const page = await newPage(t);
  await visit(page, "/");
  const run = await startRun(page, "exit 3", "past");
  await ended(page, run.id);
  await visit(page, `/e/${run.id}`);
  await page
    .locator(".moves li", { hasText: "spawned" })
    .getByRole("button", { name: /^\d\d:/ })
    .click();
  await page.waitForURL((url) => url.searchParams.has("at"));
  await page.getByText("This is how it was at").waitFor();
  await page.locator(".entity-head .pill", { hasText: "Running" }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: "Back to now" }).click();
  await page.locator(".entity-head .pill", { hasText: "Failed" }).waitFor();
});

// Starting a run from the page: what is typed is what runs, and what is missing is said.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, ended, newPage, server, visit } from "./support.mjs";

test("a run is started from the page, with its words as they were typed", async (t) => {
  const page = await newPage(t);
  await visit(page, "/fleet");
  await page.locator(".fleet .search").waitFor();
  await page.keyboard.press("n");
  const form = page.getByRole("form", { name: "Start a run" });
  await form.getByRole("button", { name: "Start it" }).click();
  assert.ok(await form.isVisible(), "it is not started without a command");
  await form.getByLabel("Command").fill(`sh -c 'echo "a  b" > said.txt'`);
  await form.getByLabel("Directory").fill(server.cwd);
  await form.getByLabel("Title").fill("started by hand");
  await form.getByLabel("Files it must leave").fill("said.txt");
  await form.getByRole("button", { name: "Start it" }).click();
  await page.waitForURL((url) => url.searchParams.get("sel")?.startsWith("ses_") && !url.searchParams.has("act"));
  const id = new URL(page.url()).searchParams.get("sel");
  const view = await ended(page, id);
  assert.equal(view.title, "started by hand");
  assert.deepEqual([view.chain, view.state.delivery], ["Completed", "passed"]);
  await page.locator(".split-panel .pill", { hasText: "Completed" }).first().waitFor();
  assert.equal((await api(page, `/entities/${id}/artifacts`)).contract.artifacts[0].path, "said.txt");
});

test("a run that cannot be started says why and keeps what was typed", async (t) => {
  const page = await newPage(t);
  await visit(page, "/fleet?act=start");
  const form = page.getByRole("form", { name: "Start a run" });
  await form.getByLabel("Command").fill("sh -c 'exit 0");
  await form.getByLabel("Directory").fill("/nowhere/at/all");
  await form.getByRole("button", { name: "Start it" }).click();
  await form.getByText("opening quote alone").waitFor();
  await form.getByLabel("Command").fill("sh -c 'exit 0'");
  await form.getByRole("button", { name: "Start it" }).click();
  await form.getByText("no directory of this host").waitFor();
  assert.equal(await form.getByLabel("Command").inputValue(), "sh -c 'exit 0'");
  await form.getByRole("button", { name: "Leave it" }).click();
  await form.waitFor({ state: "detached" });
});

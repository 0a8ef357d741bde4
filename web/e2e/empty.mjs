// An empty store: nothing needs anybody, and the pages say so, since when, and what to do next.
import assert from "node:assert/strict";
import { test } from "node:test";
import { newPage, server, visit } from "./support.mjs";

test("where nothing needs anybody the page says since when", async (t) => {
  const page = await newPage(t);
  await visit(page, "/");
  await page.getByRole("heading", { name: "Nothing needs you" }).waitFor();
  const text = await page.locator(".empty", { hasText: "All is well" }).innerText();
  assert.match(text, /Nothing has needed anybody for \S+, since \d{4}-\d\d-\d\d \d\d:\d\d/);
  assert.match(text, /0 alive/);
});

test("a fleet without anybody says how to start one, and a wrong address where to go", async (t) => {
  const page = await newPage(t);
  await visit(page, "/fleet");
  await page.locator(".empty", { hasText: "Nothing is alive" }).getByRole("button", { name: "Start a run" }).click();
  await page.getByRole("form", { name: "Start a run" }).waitFor();
  await visit(page, "/nowhere");
  await page.getByRole("link", { name: "Go to what needs you" }).click();
  await page.waitForURL((url) => url.pathname === "/");
});

test("a board without tasks says what a task is and how to add one", async (t) => {
  const page = await newPage(t);
  await visit(page, "/board");
  await page.getByRole("heading", { name: "There are no tasks yet" }).waitFor();
  await page.getByText("callboard task add").waitFor();
  await page.getByRole("region", { name: "Workers" }).getByText("callboard work").waitFor();
});

test("a browser that is not signed in is told how, and the link leads to this server", async (t) => {
  const page = await newPage(t);
  await page.context().clearCookies();
  await page.goto(server.page);
  await page.getByRole("heading", { name: "This browser is not signed in" }).waitFor();
  await page.getByText("callboard token link").waitFor();
  const link = await server.say("token", "link");
  assert.ok(link.startsWith(`${server.page}/login?once=`), link);
  await page.goto(link);
  await page.waitForSelector("[data-feed=live]");
});

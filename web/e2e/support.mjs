// What the browser tests share: one browser, one login, and orders to the server under test.
//
// CALLBOARD_URL      where the server is, such as http://127.0.0.1:8080
// CALLBOARD_LOGIN    the one-time link it printed
// CALLBOARD_RESTART  a shell command that stops the server and starts it again on the same address and store (optional)
// CALLBOARD_CWD      a directory in which runs may be started; the system's temporary directory unless given
// CHROMIUM           the browser; /usr/bin/chromium unless given
import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { chromium } from "playwright-core";

export const BASE = process.env.CALLBOARD_URL;
export const RESTART = process.env.CALLBOARD_RESTART;
const LOGIN = process.env.CALLBOARD_LOGIN;
const WAIT_MS = 15_000;

if (!BASE || !LOGIN) throw new Error("set CALLBOARD_URL and CALLBOARD_LOGIN; e2e/support.mjs says to what");

let browser;
let session;

/** Starts the browser and uses the login link; it works once, so every page afterwards gets the cookie it set. */
export async function open() {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"],
  });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(LOGIN);
  await page.waitForSelector("[data-feed=live]", { timeout: WAIT_MS });
  session = await context.storageState();
  await context.close();
}

export async function close() {
  await browser?.close();
}

/** A page of its own, closed when the test ends. What it asks for and complains about is kept. */
export async function newPage(t, { width = 1280, height = 800, theme = "light" } = {}) {
  const context = await browser.newContext({ storageState: session, viewport: { width, height }, colorScheme: theme });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  page.complaints = [];
  page.requested = [];
  page.on("console", (message) => {
    if (message.type() === "error") page.complaints.push(message.text());
  });
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("request", (request) => page.requested.push(request.url()));
  t.after(() => context.close());
  return page;
}

export async function visit(page, path) {
  await page.goto(BASE + path);
  await page.waitForSelector("[data-feed=live]");
}

/** Asks the API as the page does. */
export async function api(page, path, body) {
  const answer = await page.evaluate(
    async ([path, body]) => {
      const init =
        body === undefined
          ? {}
          : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
      const response = await fetch(`/api/v1${path}`, init);
      return { status: response.status, body: await response.json() };
    },
    [path, body],
  );
  assert.ok(answer.status < 300, `${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

let made = 0;

/** Starts a run with a title no other has. */
export async function startRun(page, script, title) {
  const name = `${title} ${process.pid}-${++made}`;
  const cwd = process.env.CALLBOARD_CWD ?? tmpdir();
  const { id } = await api(page, "/runs", { argv: ["sh", "-c", script], cwd, title: name });
  return { id, title: name };
}

/** Waits until something holds, asking again and again, and says what it saw last if it never does. */
export async function until(what, ask, holds) {
  const end = Date.now() + WAIT_MS;
  let seen;
  while (Date.now() < end) {
    seen = await ask();
    if (holds(seen)) return seen;
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.fail(`${what}: last seen ${JSON.stringify(seen)}`);
}

export const ended = (page, id) =>
  until(
    `${id} ends`,
    () => api(page, `/entities/${id}`),
    (view) => view.ended_at !== null,
  );

/** Marks the page, so that a test can tell whether it was loaded again. */
export const mark = (page) =>
  page.evaluate(() => {
    window.marked = true;
  });
export const isMarked = (page) => page.evaluate(() => window.marked === true);

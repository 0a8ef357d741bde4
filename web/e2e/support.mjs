// What the browser tests share: one server, one browser, one login, and orders to the server under test.
import assert from "node:assert/strict";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import { findBrowser } from "./browser.mjs";
import { Server } from "./server.mjs";

/** Far beyond what a busy machine needs: no test is about how fast the page is. */
const WAIT_MS = 120_000;
/**
 * CALLBOARD_PAGE: a directory with a page that is shown in place of the one in the program, such as `dist` after
 * `npm run build`. It saves a compilation while one works on the page.
 */
const PAGE = process.env.CALLBOARD_PAGE;
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };

/** The server under test. */
export const server = new Server();
let browser;
let session;

/** Starts both and uses the login link; it works once, so every page afterwards gets the cookie it set. */
export async function open() {
  const login = await server.start();
  browser = await chromium.launch({
    executablePath: findBrowser(),
    args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"],
  });
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(login);
  await page.waitForSelector("[data-feed=live]", { timeout: WAIT_MS });
  session = await context.storageState();
  await context.close();
}

async function newContext(options) {
  const context = await browser.newContext(options);
  if (PAGE) {
    const isPage = (url) => url.origin === server.page && !/^\/(api|login)\b/.test(url.pathname);
    await context.route(isPage, (route) => {
      const { pathname } = new URL(route.request().url());
      const path = join(PAGE, /\.\w+$/.test(pathname) ? pathname : "index.html");
      return route.fulfill({ path, contentType: TYPES[extname(path).slice(1)] });
    });
  }
  return context;
}

export async function close() {
  await browser?.close();
  await server.close();
}

/** A page of its own, closed when the test ends. What it asks for and complains about is kept. */
export async function newPage(t, { width = 1280, height = 800, theme = "light" } = {}) {
  const context = await newContext({ storageState: session, viewport: { width, height }, colorScheme: theme });
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
  await page.goto(server.page + path);
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
  const { id } = await api(page, "/runs", { argv: ["sh", "-c", script], cwd: server.cwd, title: name });
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

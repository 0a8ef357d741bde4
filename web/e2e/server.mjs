// The server under test: the real program on a store of its own, started, killed, restarted and stopped from here.
//
// Invariant: everything lies in one directory that goes away, and nobody is left: the server is ended with this process,
// whichever way that ends, and the runs it started are stopped first.
//
// CALLBOARD_BIN  the program; what `cargo build` made unless given
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const BUILT = resolve(import.meta.dirname, "../../target/debug/callboard");
/** The program under test, for scripts of runs that call it. */
export const PROGRAM = process.env.CALLBOARD_BIN ?? BUILT;
const READY_MS = 20_000;
const STOP_MS = 15_000;
const run = promisify(execFile);

/** Within a time, or an error that says what did not happen. */
function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`${what} took more than ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

export class Server {
  /** Where it answers, such as http://127.0.0.1:34567; the same after every restart. */
  url = "";
  /** Where its page is, such as http://callboard-1a2b3c4d.localhost:34567. */
  page = "";
  /** Where runs may work. */
  cwd;
  #root;
  #environment;
  #child = null;
  #ended = null;
  #said = "";

  constructor() {
    if (!existsSync(PROGRAM)) {
      throw new Error(`${PROGRAM} does not exist; build it with cargo build, or set CALLBOARD_BIN`);
    }
    this.#root = mkdtempSync(join(tmpdir(), "callboard-e2e-"));
    this.cwd = join(this.#root, "work");
    mkdirSync(this.cwd);
    // Nothing of whoever runs the tests is read: neither their store nor their settings.
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith("CALLBOARD_"));
    this.#environment = {
      ...Object.fromEntries(own),
      CALLBOARD_STORE: join(this.#root, "store", "callboard.db"),
      XDG_CONFIG_HOME: join(this.#root, "config"),
      XDG_STATE_HOME: join(this.#root, "state"),
    };
    mkdirSync(join(this.#root, "store"));
    // A signal alone would end this process without a word to anybody.
    for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
    process.on("exit", () => {
      this.#child?.kill("SIGKILL");
      rmSync(this.#root, { recursive: true, force: true });
    });
  }

  /** Starts it, on a free port the first time and on the same one afterwards; the link that lets a browser in once. */
  async start() {
    const address = this.url === "" ? "127.0.0.1:0" : new URL(this.url).host;
    const child = spawn(PROGRAM, ["serve", "--json", "--rate", "0", "--listen", address], {
      env: this.#environment,
      cwd: this.#root,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    this.#ended = new Promise((done) => child.once("exit", done));
    child.stderr.on("data", (bytes) => {
      this.#said += bytes;
    });
    const lines = createInterface(child.stdout);
    const first = new Promise((done, fail) => {
      lines.once("line", done);
      child.once("error", fail);
      child.once("exit", (code) => fail(new Error(`the server ended with ${code}: ${this.#said}`)));
    });
    const { url, page, login } = JSON.parse(await within(READY_MS, "the start of the server", first));
    this.url = new URL(url).origin;
    this.page = new URL(page).origin;
    return login;
  }

  /** Ends the server, gracefully with SIGTERM and at once with SIGKILL. */
  async end(signal) {
    this.#child?.kill(signal);
    await within(STOP_MS, `the end of the server after ${signal}`, this.#ended);
    this.#child = null;
  }

  async restart(signal) {
    await this.end(signal);
    return this.start();
  }

  /** Asks the API as a program does. */
  async ask(path, body) {
    const token = readFileSync(join(this.#root, "store", "operator.token"), "utf8").trim();
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(said)}`);
    return said;
  }

  /** Asks the command line on the same store, past the server; what it printed. */
  async say(...words) {
    const { stdout } = await run(PROGRAM, words, {
      env: this.#environment,
      cwd: this.cwd,
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout.trim();
  }

  /** The same, for what prints one document. */
  async cli(...words) {
    return JSON.parse(await this.say(...words, "--json"));
  }

  /** Every record of the log, as the command line reads it. */
  async records() {
    const lines = await this.say("events", "--json");
    return lines.split("\n").map((line) => JSON.parse(line));
  }

  /** Stops every run, then the server, and removes what they left. */
  async close() {
    const words = ["stop", "--now", "--newer-than", "1d", "--timeout", "10s"];
    if (this.url !== "") await this.say(...words);
    if (this.#child) await this.end("SIGTERM");
    rmSync(this.#root, { recursive: true, force: true });
  }
}

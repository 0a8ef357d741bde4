// A storm of transitions: schedules and claims that are moved without end, tasks that run their course, and runs that start,
// end and are stopped. Moves go through the API, as a person's do; things are created by the command line.
//
// Invariant: every answer that says "recorded" is kept, so that a test can look for the record afterwards.
import { server } from "./support.mjs";

/** From each state the next, and the reason a person may give for it. */
const COURSES = {
  schedule: {
    enabled: ["paused", "schedule.paused.operator"],
    paused: ["disabled", "schedule.disabled.operator"],
    disabled: ["enabled", "schedule.enabled.operator"],
  },
  claim: {
    observed: ["disputed", "knowledge.disputed.user_rejection"],
    disputed: ["verified", "knowledge.verified.person"],
    verified: ["disputed", "knowledge.disputed.user_rejection"],
  },
  task: {
    planned: ["open", "task.open.plan_approved"],
    open: ["cancelled", "task.cancelled.operator"],
  },
};
const SCRIPTS = ["exit 0", "exit 3", "sleep 0.3; exit 0", "sleep 600"];

export class Storm {
  /** The name by which everything of this storm is found. */
  name;
  /** The records whose writing was acknowledged. */
  acknowledged = [];
  #isOver = false;
  #workers = [];
  #things = [];

  constructor(name) {
    this.name = name;
  }

  /** Creates so many of each kind. */
  async gather(many) {
    for (const kind of Object.keys(COURSES)) {
      for (let n = 0; n < many; n++) {
        const id = await server.say("create", kind, "--title", `${this.name} ${kind} ${n}`);
        this.#things.push({ id, kind });
      }
    }
    return this.#things.map((thing) => thing.id);
  }

  /** Begins to move what was gathered, each by itself, and to start and stop runs where they are wanted. */
  begin({ runs = 0, pauseMs = 30 } = {}) {
    this.#workers = this.#things.map((thing) => this.#move(thing, pauseMs));
    for (let n = 0; n < runs; n++) this.#workers.push(this.#start(n));
  }

  /** Ends it, when each has finished what it was about. */
  async end() {
    this.#isOver = true;
    await Promise.all(this.#workers);
  }

  async #move({ id, kind }, pauseMs) {
    while (!this.#isOver) {
      const view = await this.#ask(`/entities/${id}`);
      const next = COURSES[kind][view?.state.lifecycle];
      if (view && !next) return;
      if (view) {
        const [to, reason] = next;
        const order = { to, reason, message: "the storm", if_version: view.version };
        const said = await this.#ask(`/entities/${id}/transition`, order);
        if (said) this.acknowledged.push(said.record);
      }
      await new Promise((done) => setTimeout(done, pauseMs));
    }
  }

  async #start(n) {
    for (let turn = n; !this.#isOver; turn++) {
      const argv = ["sh", "-c", SCRIPTS[turn % SCRIPTS.length]];
      const started = await this.#ask("/runs", { argv, cwd: server.cwd, title: `${this.name} run ${n}-${turn}` });
      if (!started) continue;
      for (let asked = 0; asked < 100; asked++) {
        const view = await this.#ask(`/entities/${started.id}`);
        if (view?.ended_at) break;
        if (argv[2] === "sleep 600" && view?.state.lifecycle === "running") {
          const said = await this.#ask(`/entities/${started.id}/stop`, { reason: "the storm", now: true });
          if (said) this.acknowledged.push(said.record);
        }
        await new Promise((done) => setTimeout(done, 100));
      }
    }
  }

  /** Nothing where the server is away or says no: somebody else was faster, and the next try sees it. */
  async #ask(path, body) {
    return server.ask(path, body).catch(() => null);
  }
}

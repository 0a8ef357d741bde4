// Reads server-sent events from a stream of text, as the HTML standard defines the format.
//
// Invariant: an event is handed on only when its empty line has come, so a cut in the middle of one loses nothing that
// was counted as received. Comments are reported as signs of life.

export interface ServerEvent {
  id: string | null;
  event: string;
  data: string;
}

export class EventReader {
  #rest = "";
  #skipNewline = false;
  #id: string | null = null;
  #event = "";
  #data: string[] = [];

  /** Takes the next piece of text and returns the events it completed. */
  push(chunk: string): ServerEvent[] {
    let text = this.#rest + chunk;
    if (this.#skipNewline && text.startsWith("\n")) text = text.slice(1);
    this.#skipNewline = false;
    const events: ServerEvent[] = [];
    let start = 0;
    for (let at = 0; at < text.length; at++) {
      const c = text[at];
      if (c !== "\n" && c !== "\r") continue;
      const event = this.#line(text.slice(start, at));
      if (event) events.push(event);
      if (c === "\r") {
        if (at + 1 === text.length) this.#skipNewline = true;
        else if (text[at + 1] === "\n") at++;
      }
      start = at + 1;
    }
    this.#rest = text.slice(start);
    return events;
  }

  #line(line: string): ServerEvent | null {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id" && !value.includes("\0")) this.#id = value;
    else if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    return null;
  }

  #dispatch(): ServerEvent | null {
    const event = { id: this.#id, event: this.#event || "message", data: this.#data.join("\n") };
    const isEmpty = this.#data.length === 0;
    this.#event = "";
    this.#data = [];
    return isEmpty ? null : event;
  }
}

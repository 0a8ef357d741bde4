import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, describe, expect, it } from "vitest";
import { useKeys } from "./keys";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

const press = (key: string, on: EventTarget = document.body, more: KeyboardEventInit = {}) =>
  on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));

function Page({ did }: { did: string[] }) {
  useKeys([
    { keys: "j", does: "next", run: () => void did.push("j") },
    { keys: "g a", does: "attention", run: () => void did.push("g a") },
    { keys: "Enter", does: "open", run: () => void did.push("Enter") },
  ]);
  return <button type="button">one</button>;
}

describe("keys", () => {
  let close = () => {};
  afterEach(() => close());

  function shown() {
    const did: string[] = [];
    const place = document.createElement("div");
    document.body.append(place);
    const root = createRoot(place);
    act(() => root.render(<Page did={did} />));
    close = () => act(() => root.unmount());
    return { did, place };
  }

  it("knows single keys and two in a row", () => {
    const { did } = shown();
    press("j");
    press("g");
    press("a");
    press("a");
    expect(did).toEqual(["j", "g a"]);
  });

  it("does nothing while somebody types, with a modifier, or after the page is gone", () => {
    const { did, place } = shown();
    const input = document.createElement("input");
    place.append(input);
    press("j", input);
    press("j", document.body, { ctrlKey: true });
    close();
    close = () => {};
    press("j");
    expect(did).toEqual([]);
  });

  it("acts beside a radio button, which takes no letters, and leaves enter and space to it", () => {
    const { did, place } = shown();
    const radio = document.createElement("input");
    radio.type = "radio";
    place.append(radio);
    press("j", radio);
    press("Enter", radio);
    expect(did).toEqual(["j"]);
  });

  it("leaves enter to the button that has the focus", () => {
    const { did, place } = shown();
    press("Enter", place.querySelector("button") ?? place);
    expect(did).toEqual([]);
    press("Enter");
    expect(did).toEqual(["Enter"]);
  });
});

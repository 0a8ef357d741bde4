// Starts the page.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./shell/app";
import { Board, BoardProvider } from "./state/board";
import "./css/tokens.css";
import "./css/frame.css";
import "./css/lists.css";
import "./css/fleet.css";
import "./css/board.css";
import "./css/pills.css";
import "./css/controls.css";
import "./css/panels.css";
import "./css/entity.css";
import "./css/task.css";
import "./css/inbox.css";
import "./css/drawings.css";
import "./css/admin.css";

const board = new Board();
window.addEventListener("online", () => board.feed.nudge());
/** A tab that nobody has looked at for this long gives its connection back; it still asks for attention now and then. */
const UNSEEN_MS = 300_000;
let unseen: ReturnType<typeof setTimeout> | undefined;
document.addEventListener("visibilitychange", () => {
  clearTimeout(unseen);
  if (document.hidden) {
    unseen = setTimeout(() => board.feed.pause(), UNSEEN_MS);
  } else {
    board.feed.resume();
    board.feed.nudge();
  }
});

const root = document.getElementById("root");
if (!root) throw new Error("BUG: the page has no root");
createRoot(root).render(
  <StrictMode>
    <BoardProvider board={board}>
      <App />
    </BoardProvider>
  </StrictMode>,
);

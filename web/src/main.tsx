// Starts the page.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./shell/app";
import { Board, BoardProvider } from "./state/board";
import "./tokens.css";
import "./page.css";
import "./parts.css";

const board = new Board();
window.addEventListener("online", () => board.feed.nudge());
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) board.feed.nudge();
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

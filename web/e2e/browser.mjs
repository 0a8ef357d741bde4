// Finds the browser of the distribution.
//
// CHROMIUM  the browser; looked for on PATH and where distributions put it unless given
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const PLACES = ["/usr/bin", "/usr/lib/chromium", "/usr/lib64/chromium-browser", "/snap/bin", "/opt/google/chrome"];

export function findBrowser(environment = process.env) {
  if (environment.CHROMIUM) return environment.CHROMIUM;
  const places = [...(environment.PATH ?? "").split(delimiter), ...PLACES].filter((place) => place !== "");
  for (const place of places) {
    for (const name of NAMES) {
      if (isProgram(join(place, name))) return join(place, name);
    }
  }
  throw new Error(`no chromium is on PATH or in ${PLACES.join(", ")}; install it, or set CHROMIUM to where it is`);
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

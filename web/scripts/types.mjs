// Generates src/api/openapi.d.ts from the server's committed OpenAPI document, for src/api/types.ts to be compared with.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const document = "../docs/openapi.json";
if (!existsSync(document)) {
  console.error(`${document} does not exist; it is generated from the server's routes, then run this again`);
  process.exit(1);
}
const run = spawnSync("npx", ["openapi-typescript", document, "-o", "src/api/openapi.d.ts"], { stdio: "inherit" });
process.exit(run.status ?? 1);

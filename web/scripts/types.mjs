// Writes src/api/openapi.d.ts from the server's committed OpenAPI document; with --check it only says whether that file is
// what would be written.
import { readFileSync, writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const DOCUMENT = new URL("../../docs/openapi.json", import.meta.url);
const FILE = new URL("../src/api/openapi.d.ts", import.meta.url);

const text = `// Generated from docs/openapi.json by \`npm run types\`.\n${astToString(await openapiTS(DOCUMENT))}`;
if (!process.argv.includes("--check")) {
  writeFileSync(FILE, text);
} else if (readFileSync(FILE, "utf8") !== text) {
  console.error("src/api/openapi.d.ts is not what docs/openapi.json describes; run: npm run types");
  process.exit(1);
}

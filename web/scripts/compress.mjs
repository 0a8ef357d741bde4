// Writes a .br and a .gz beside every file of the built page, so that the server never compresses at run time, and says
// what the first load weighs. The build fails when it is heavier than it may be.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const LIMIT_BYTES = 200_000;
const dir = process.argv[2] ?? "dist";

const files = readdirSync(dir, { recursive: true })
  .map((name) => join(dir, String(name)))
  .filter((path) => statSync(path).isFile() && !/\.(br|gz)$/.test(path));

let plain = 0;
let gz = 0;
let br = 0;
for (const path of files) {
  const bytes = readFileSync(path);
  const gzipped = gzipSync(bytes, { level: 9 });
  const brotli = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
  });
  writeFileSync(`${path}.gz`, gzipped);
  writeFileSync(`${path}.br`, brotli);
  plain += bytes.length;
  gz += gzipped.length;
  br += brotli.length;
  console.log(`${path}  ${bytes.length} B  gzip ${gzipped.length}  brotli ${brotli.length}`);
}
console.log(`whole page  ${plain} B  gzip ${gz}  brotli ${br}`);
if (gz > LIMIT_BYTES) {
  console.error(`the page weighs ${gz} bytes compressed; at most ${LIMIT_BYTES} are allowed`);
  process.exit(1);
}

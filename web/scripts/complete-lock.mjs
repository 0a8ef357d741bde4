// Adds to package-lock.json the optional packages of other platforms that the registry at hand did not have. Without an
// entry for each of them `npm ci` refuses the lock, on every platform. They are fetched only where they fit.
//
// Run it after `npm install` changed the lock. The platform is read from the package's name, as those who publish such
// packages spell it.
import { readFileSync, writeFileSync } from "node:fs";

const FILE = "package-lock.json";
const SYSTEMS = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const PROCESSORS = ["arm64", "arm", "ia32", "loong64", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

const lock = JSON.parse(readFileSync(FILE, "utf8"));
let added = 0;
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    const nested = `${path}/node_modules/${name}`;
    const top = `node_modules/${name}`;
    if (lock.packages[nested]?.version || lock.packages[top]?.version) continue;
    const words = name.split(/[/-]/);
    const os = SYSTEMS.filter((one) => words.includes(one));
    const cpu = PROCESSORS.filter((one) => words.includes(one));
    if (name === "fsevents") os.push("darwin");
    if (os.length === 0 && cpu.length === 0) throw new Error(`${name} does not say which platform it is for`);
    const libc = words.includes("musl") ? ["musl"] : words.includes("gnu") ? ["glibc"] : undefined;
    const version = range.replace(/^[~^]/, "");
    lock.packages[top] = {
      version,
      ...(cpu.length > 0 ? { cpu } : {}),
      ...(entry.dev ? { dev: true } : {}),
      ...(libc ? { libc } : {}),
      optional: true,
      ...(os.length > 0 ? { os } : {}),
    };
    added++;
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} packages of other platforms added`);

// Lays a Brotli copy beside each script and style sheet, which the server prefers where a browser
// takes it, and keeps what a reader's browser must fetch within its budget.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync } from "node:zlib";

const BUDGET = 400_000;

const folder = new URL("../dist/assets/", import.meta.url);
let scripts = 0;
for (const name of readdirSync(folder)) {
  if (!/\.(js|css)$/.test(name)) continue;
  const packed = brotliCompressSync(readFileSync(new URL(name, folder)));
  writeFileSync(new URL(`${name}.br`, folder), packed);
  if (name.endsWith(".js")) scripts += packed.length;
}
console.log(`scripts: ${scripts} bytes compressed, of ${BUDGET}`);
if (scripts > BUDGET) {
  console.error("The scripts are over their budget; leave something out or load it later.");
  process.exit(1);
}

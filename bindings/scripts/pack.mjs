// Packs the npm packages as .tgz files: node pack.mjs DESTINATION [PACKAGE…]. Default: all packages. `make native` must have
// built the library, and `npm run build` the TypeScript.

import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const [, , destination, ...named] = process.argv
if (destination === undefined) throw new Error("usage: node pack.mjs DESTINATION [PACKAGE…]")

/** The packages, and for each the files of the repository that it contains. */
const root = fileURLToPath(new URL("../../", import.meta.url))
const licenses = { "LICENSE-MIT": "LICENSE-MIT", "LICENSE-APACHE": "LICENSE-APACHE" }
const packages = {
  "bindings/node": { ...licenses, dist: "bindings/node/dist" },
  "bindings/opencode": { ...licenses, dist: "bindings/opencode/dist" },
  "bindings/claude": { ...licenses, dist: "bindings/claude/dist" },
  "bindings/node/platforms/linux-x64": { ...licenses, "libcallstack.so": "target/capi/release/libcallstack_core.so" },
}

mkdirSync(destination, { recursive: true })
for (const [folder, files] of Object.entries(packages)) {
  if (named.length > 0 && !named.includes(JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")).name))
    continue
  // Stage in a temporary folder: a copy of the library in the workspace would hide newer builds of it.
  const stage = mkdtempSync(join(tmpdir(), "callstack-pack-"))
  const own = { "package.json": `${folder}/package.json`, "README.md": `${folder}/README.md` }
  for (const [name, source] of Object.entries({ ...own, ...files })) {
    cpSync(join(root, source), join(stage, name), { recursive: true })
  }
  execFileSync("npm", ["pack", "--silent", "--pack-destination", resolve(destination)], {
    cwd: stage,
    stdio: "inherit",
  })
  rmSync(stage, { recursive: true })
}

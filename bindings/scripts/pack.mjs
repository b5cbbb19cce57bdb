// Packs the npm packages as .tgz files: node pack.mjs DESTINATION [PACKAGE…] [--platforms PLATFORM=FOLDER …]. Default: all
// packages in TypeScript, which `npm run build` must have built, and the platform packages. Each FOLDER has the files of
// a platform's package. Without --platforms there is one for this machine, with the library that `make native` built.

import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { platforms: { type: "boolean", default: false } },
})
const given = values.platforms ? positionals.filter((value) => value.includes("=")) : undefined
const [destination, ...named] = positionals.filter((value) => !value.includes("="))
if (destination === undefined) {
  throw new Error("usage: node pack.mjs DESTINATION [PACKAGE…] [--platforms PLATFORM=FOLDER …]")
}

const root = fileURLToPath(new URL("../../", import.meta.url))
const { platforms } = readJson("release/platforms.json")
const { version, license } = readJson("bindings/node/package.json")
const libraries = { linux: "libcallstack.so", darwin: "libcallstack.dylib", win32: "callstack.dll" }

mkdirSync(destination, { recursive: true })
for (const folder of ["node", "opencode", "pi", "claude"]) {
  const manifest = readJson(`bindings/${folder}/package.json`)
  if (folder === "node") {
    // Only here, because in the source tree npm would look for packages that the tree does not need.
    manifest.optionalDependencies = Object.fromEntries(platforms.map((platform) => [packageOf(platform), version]))
  }
  const files = { dist: `bindings/${folder}/dist`, "README.md": `bindings/${folder}/README.md` }
  pack(manifest, files)
}
for (const [platform, files] of given === undefined ? [ofThisMachine()] : given.map(ofFolder)) {
  const { os, cpu, libc } = platform.npm
  const library = libraries[os]
  const manifest = {
    name: packageOf(platform),
    version,
    description: `The native library of callstack-core for ${platform.system}`,
    license,
    os: [os],
    cpu: [cpu],
    ...(libc === undefined ? {} : { libc: [libc] }),
    files: [library, "LICENSE-*"],
    exports: { [`./${library}`]: `./${library}` },
  }
  const readme =
    `# ${manifest.name}\n\nThe native library of the package \`callstack-core\` for ${platform.system}. npm installs it ` +
    "together with that package. It has no API.\n"
  pack(manifest, files, readme)
}

/** Packs one package, if it was asked for. */
function pack(manifest, files, readme) {
  if (named.length > 0 && !named.includes(manifest.name)) return
  // Stage in a temporary folder: a copy of the library in the workspace would hide newer builds of it.
  const stage = mkdtempSync(join(tmpdir(), "callstack-pack-"))
  const licenses = { "LICENSE-MIT": "LICENSE-MIT", "LICENSE-APACHE": "LICENSE-APACHE" }
  for (const [name, source] of Object.entries({ ...licenses, ...files })) {
    // The library in the source tree is a link to the library that was built last.
    cpSync(resolve(root, source), join(stage, name), { recursive: true, dereference: true })
  }
  writeFileSync(join(stage, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  if (readme !== undefined) writeFileSync(join(stage, "README.md"), readme)
  execFileSync("npm", ["pack", "--silent", "--pack-destination", resolve(destination)], {
    cwd: stage,
    stdio: "inherit",
    shell: process.platform === "win32",
  })
  rmSync(stage, { recursive: true })
}

function packageOf(platform) {
  return `callstack-core-${platform.name}`
}

/** The platform and the files of `PLATFORM=FOLDER`. */
function ofFolder(value) {
  const [name, folder] = value.split("=", 2)
  const platform = platforms.find((platform) => platform.name === name)
  if (platform === undefined) throw new Error(`release/platforms.json has no platform ${name}`)
  const library = libraries[platform.npm.os]
  return [platform, { [library]: join(folder, library), "LICENSE-THIRD-PARTY": join(folder, "LICENSE-THIRD-PARTY") }]
}

/** The platform of this machine, and the library in the source tree. */
function ofThisMachine() {
  const { glibcVersionRuntime } = process.report.getReport().header
  const libc = process.platform !== "linux" ? undefined : glibcVersionRuntime === undefined ? "musl" : "glibc"
  const platform = platforms.find(
    ({ npm }) => npm.os === process.platform && npm.cpu === process.arch && npm.libc === libc,
  )
  if (platform === undefined) throw new Error(`there is no package for ${process.platform}-${process.arch}`)
  const library = libraries[process.platform]
  return [platform, { [library]: `target/native/${library}` }]
}

function readJson(file) {
  return JSON.parse(readFileSync(join(root, file), "utf8"))
}

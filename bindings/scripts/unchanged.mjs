// Runs a command and fails if it changes the working tree: node unchanged.mjs COMMAND [ARGUMENT…]. Files that git ignores
// may change. Outside of a git checkout it only runs the command.

import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const [, , program, ...values] = process.argv
if (program === undefined) throw new Error("usage: node unchanged.mjs COMMAND [ARGUMENT…]")

/** The uncommitted changes and the untracked files, as text. */
function changes() {
  const git = (...options) =>
    spawnSync("git", options, { cwd: fileURLToPath(new URL("..", import.meta.url)) }).stdout ?? ""
  return `${git("diff", "HEAD", "--", ".")}${git("status", "--porcelain", "--untracked-files=all", "--", ".")}`
}

const before = changes()
const { status } = spawnSync(program, values, { stdio: "inherit" })
const after = changes()
if (after !== before) {
  console.error(
    `${program} ${values.join(" ")} has changed files of the working tree. Before:\n${before}\nAfter:\n${after}`,
  )
  process.exit(1)
}
process.exit(status ?? 1)

// A small process that kills the sessions of this process if this process dies, with everything that their
// tools have started. The kernel can kill the sessions themselves, but a command of a shell tool would
// continue and write files.

import { type ChildProcess, spawn } from "node:child_process"
import { marksOf } from "./processes.js"

/**
 * Reads lines of marks until the end of its input. Then it kills the processes whose arguments or variables
 * have one of the marks in the last line, until it finds no such process. The marks arrive through a pipe, so
 * that the search does not find itself.
 */
const SCRIPT = `
marks=
while read -r line; do marks=$line; done
[ -n "$marks" ] || exit 0
for round in 1 2 3 4 5 6 7 8 9 10; do
  found=$(printf '%s\\n' $marks | grep -lzxF -f - /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || exit 0
  for file in $found; do id=\${file#/proc/}; kill -KILL "\${id%%/*}" 2>/dev/null; done
done`

/**
 * Kills sessions if this process dies. On Linux only: elsewhere the variables of processes cannot be read.
 */
export class Watchdog {
  readonly #sessions = new Set<string>()
  #process: ChildProcess | undefined

  /** Begins to watch a session. */
  add(sessionID: string): void {
    this.#sessions.add(sessionID)
    this.#tell()
  }

  /** Ends the watch of a session. */
  remove(sessionID: string): void {
    this.#sessions.delete(sessionID)
    this.#tell()
  }

  /** Ends the watchdog. It kills nothing. */
  close(): void {
    this.#sessions.clear()
    this.#tell()
    this.#process?.stdin?.end()
    this.#process = undefined
  }

  #tell(): void {
    if (process.platform !== "linux") return
    if (this.#process?.exitCode !== null || this.#process.signalCode !== null) this.#process = undefined
    if (this.#sessions.size > 0) this.#process ??= start()
    this.#process?.stdin?.write(`${[...this.#sessions].flatMap(marksOf).join(" ")}\n`)
  }
}

/** Starts the process. It does not keep this process alive. Without a shell no process is started. */
function start(): ChildProcess {
  const child = spawn("sh", ["-c", SCRIPT], { stdio: ["pipe", "ignore", "ignore"], detached: true })
  child.on("error", () => undefined)
  child.stdin.on("error", () => undefined)
  child.unref()
  const input = child.stdin as typeof child.stdin & { unref?: () => void }
  input.unref?.()
  return child
}

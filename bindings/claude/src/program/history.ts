// The history of the lines that a person has typed: a file in the home folder that no other user may read.

import { appendFileSync, chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, isAbsolute, join } from "node:path"

/** The number of lines that are kept. */
export const HISTORY_SIZE = 1000

/** Returns the file of the history, in the folder where programs keep their state. */
export function historyFile(env: NodeJS.ProcessEnv): string {
  const given = env["XDG_STATE_HOME"] ?? ""
  const state = isAbsolute(given) ? given : join(env["HOME"] ?? homedir(), ".local", "state")
  return join(state, "callstack", "flame_history")
}

/** The lines that were typed, in this and in earlier processes. */
export class History {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** Returns the lines of earlier processes, the newest first. */
  load(): string[] {
    const kept = this.#read()
    if (kept.length > HISTORY_SIZE) this.#shorten(kept.slice(-HISTORY_SIZE))
    return kept.slice(-HISTORY_SIZE).reverse()
  }

  /** Adds a line. A line that begins with a space is not kept. */
  add(line: string): void {
    if (line.trim() === "" || /^\s/.test(line)) return
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 })
    appendFileSync(this.#file, `${line}\n`, { mode: 0o600 })
    // An existing file may have other rights.
    chmodSync(this.#file, 0o600)
  }

  #read(): string[] {
    try {
      return readFileSync(this.#file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return []
      throw error
    }
  }

  #shorten(lines: readonly string[]): void {
    const next = `${this.#file}.${process.pid}`
    writeFileSync(next, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 })
    renameSync(next, this.#file)
  }
}

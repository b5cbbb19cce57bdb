// The program `callstack`. Its commands that show or correct a stack are also commands of `flame`: the same
// words mean the same.

import { spawn } from "node:child_process"
import { Exit } from "./exit.js"
import { Failure } from "./failure.js"

/** Runs a command of `callstack` on a stack, with the terminal of this program. Returns its exit code. */
export function runCallstack(folder: string, command: string, options: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn("callstack", ["--stack", folder, command, ...options], { stdio: "inherit" })
    child.on("error", (error) => reject(withoutProgram(error)))
    child.on("close", (code) => resolve(code ?? Exit.interrupted))
  })
}

/** Writes the page, while this program works. Returns the output of `callstack view`. */
export function writeView(folder: string, directory: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("callstack", ["--stack", folder, "view"], {
      cwd: directory,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    })
    let words = ""
    const take = (text: string) => {
      words += text
    }
    child.stdout.setEncoding("utf8").on("data", take)
    child.stderr.setEncoding("utf8").on("data", take)
    child.on("error", (error) => reject(withoutProgram(error)))
    child.on("close", (code) => {
      if (code === 0) resolve(words)
      else reject(new Failure(Exit.failed, "view", words.trim().replace(/^error: /, "")))
    })
  })
}

function withoutProgram(cause: NodeJS.ErrnoException): Failure {
  if (cause.code !== "ENOENT")
    return new Failure(Exit.failed, "io", `callstack cannot be started: ${cause.message}`, { cause })
  return new Failure(Exit.failed, "no_program", "the program `callstack` is not installed, which does this", {
    next: "install it from the repository of callstack-core: cargo install --path cli",
    cause,
  })
}

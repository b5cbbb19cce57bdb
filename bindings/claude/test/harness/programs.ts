// The program `callstack`, as a person uses it together with the orchestrator. `make build` or `make program`
// builds it.

import { execFile } from "node:child_process"
import { join } from "node:path"

/** The file of the program; the variable CALLSTACK_PROGRAM names another one. */
export const PROGRAM =
  process.env["CALLSTACK_PROGRAM"] ?? join(import.meta.dirname, "../../../../../target/native/callstack")

/** How a program has ended. */
export interface Ended {
  code: number
  stdout: string
  stderr: string
}

/** Runs the program in a folder, where it finds the stack. */
export function callstack(folder: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, timeout: 60_000, maxBuffer: 64 * 2 ** 20 }
    execFile(PROGRAM, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code
      if (typeof code === "number") resolve({ code, stdout, stderr })
      else reject(new Error(`${PROGRAM} did not run to its end; \`make program\` builds it`, { cause: error }))
    })
  })
}

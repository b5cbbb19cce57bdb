// The program `callstack`, as a person uses it together with OpenCode. `make build` or `make program` builds
// it.

import { execFileSync } from "node:child_process"
import { join } from "node:path"
import type { Project } from "./opencode.js"

/** The file of the program; the variable CALLSTACK_PROGRAM names another one. */
export const PROGRAM =
  process.env["CALLSTACK_PROGRAM"] ?? join(import.meta.dirname, "../../../../../target/native/callstack")

/** Runs the program in a project's folder, where it finds the stack, and returns what it prints. */
export function program(project: Project, ...args: string[]): string {
  return execFileSync(PROGRAM, args, { cwd: project.path, encoding: "utf8" })
}

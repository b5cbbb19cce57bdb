// The API of the scenarios: starts OpenCode with the plugin and a scripted model, and reads the results.

import type { TestContext } from "node:test"
import { type Frame, Stack } from "callstack-core"
import { type Model, type ModelRequest, type Script, startModel } from "./model.js"
import { makeProject, type Project, type ProjectOptions, type Server, serve, until } from "./opencode.js"

export { readJson } from "./json.js"
export {
  answers,
  byTask,
  type Charge,
  call,
  inOrder,
  type Model,
  type ModelRequest,
  type Reply,
  type Script,
  startModel,
  type Turn,
} from "./model.js"
export {
  makeProject,
  PLUGIN,
  type Project,
  type ProjectOptions,
  run,
  type Server,
  serve,
  until,
  WIRES,
  WITH_ALL_TOOLS,
  WITH_SHORT_LEASES,
} from "./opencode.js"
export { PROGRAM, program } from "./program.js"

/** A running OpenCode with a scripted model. */
export interface Scenario {
  model: Model
  server: Server
  project: Project
  /** Returns the frames on the disk, by title. */
  frames(): Map<string, Frame>
  /** Returns the plugin's lines in OpenCode's log, without the prefix. */
  log(): string[]
  /** Waits until the plugin has a line in the log with this text, or one that matches. OpenCode writes lines late. */
  logged(line: string | RegExp): Promise<void>
}

/** Starts OpenCode with the plugin, and a model. Both are stopped at the end of the test. */
export async function scenario(
  test: TestContext,
  script: Script,
  options: ProjectOptions & { summary?: Script } = {},
): Promise<Scenario> {
  const model = await startModel(script, options.summary)
  test.after(() => {
    model.stop()
    if (model.failures.length > 0) throw model.failures[0]
  })
  const project = makeProject(model.url, options)
  const server = await serve(project)
  test.after(() => server.stop())
  const log = () => logOf(server)
  return { model, server, project, frames: () => framesOf(project), log, logged: (line) => logged(log, line) }
}

/** Returns the frames of a project's stack, by title. */
export function framesOf(project: Project): Map<string, Frame> {
  const stack = Stack.open(project.stack)
  try {
    return new Map(stack.frames().map((frame) => [frame.title, frame]))
  } finally {
    stack.close()
  }
}

/** Returns the plugin's lines in the log of a server, without the prefix. */
export function logOf(server: Server): string[] {
  return [...server.output().matchAll(/message="\[stack\] ([^"]*)"/g)].map((match) => match[1] ?? "")
}

async function logged(log: () => string[], line: string | RegExp): Promise<void> {
  const matches = (written: string) => (typeof line === "string" ? written === line : line.test(written))
  await until(`the log has a line ${line}`, () => log().some(matches)).catch((error: unknown) => {
    throw new Error(`the log has other lines:\n${log().join("\n")}`, { cause: error })
  })
}

/**
 * Returns the stable and the volatile part of a request's context; empty texts if the request has no context.
 */
export function contextOf(request: ModelRequest | undefined): { stable: string; volatile: string } {
  const stable = request?.system.filter((text) => text.includes("<stack-context")) ?? []
  const volatile = request?.messages.filter(({ text }) => text.includes("<stack-now")) ?? []
  if (stable.length > 1 || volatile.length > 1) throw new Error("a request has its context twice")
  return { stable: stable[0] ?? "", volatile: volatile[0]?.text ?? "" }
}

/** Returns arguments of a pop. */
export function done(results: string, status = "completed"): object {
  return { status, results, resultsCompacted: results }
}

/** Returns arguments of a push or a plan. */
export function task(
  title: string,
  more: object = {},
): { title: string; successCriteria: string; successCriteriaCompacted: string } {
  return { title, successCriteria: `${title} works`, successCriteriaCompacted: `${title} works`, ...more }
}

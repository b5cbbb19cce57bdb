// The job of the bench in the Claude Agent SDK: in one session, or on the stack.

import { join } from "node:path"
import { finished, frame, parts, paths, results, resultsCompacted, STEPS } from "callstack-job"
import { type Answer, call, frameOf, type ModelRequest, type World } from "../harness/index.js"

/**
 * The steps of a sub-task: all steps read a file, or the last step writes one, and a frame records a decision
 * in addition.
 */
export type Kind = "read" | "write"

/** The size of a file. With line numbers the answer of the tool `Read` has about 3,000 bytes. */
export const FILE_BYTES = 2_750

/**
 * The model in one session: it reads all files, one after the other. It states the results of a part together
 * with the call that begins the next part, so that the results need no request of their own.
 */
export function inOneSession(subtasks: number, kind: Kind) {
  const names = parts(subtasks)
  return (request: ModelRequest, world: World): Answer => {
    const done = request.results.length
    const part = names[Math.floor(done / STEPS)]
    const before = done > 0 && done % STEPS === 0 ? { text: results(nameAt(names, done / STEPS - 1)) } : {}
    if (part === undefined) return { text: `${before.text}\n${finished(subtasks)}` }
    return { ...before, calls: [step(world, part, done % STEPS, kind)] }
  }
}

/** The model on the stack: the root pushes a frame for each part, one after the other. */
export function onStack(subtasks: number, kind: Kind) {
  const names = parts(subtasks)
  return (request: ModelRequest, world: World): Answer => {
    const done = request.results.length
    const number = Number(frameOf(request)?.slice(1))
    if (number === 1) {
      const part = names[done]
      const last = finished(subtasks)
      return { calls: [part === undefined ? pop(last, last) : call("mcp__stack__stack_frame_push", frame(part))] }
    }
    const part = nameAt(names, number - 2)
    if (done < STEPS) {
      const isLast = kind === "write" && done === STEPS - 1
      return { calls: [step(world, part, done, kind), ...(isLast ? [decide(part)] : [])] }
    }
    return { calls: [pop(results(part), resultsCompacted(part))] }
  }
}

function nameAt(names: readonly string[], index: number): string {
  const name = names[index]
  if (name === undefined) throw new RangeError(`there is no name ${index}, only ${names.length}`)
  return name
}

/** The call of a step. */
function step(world: World, part: string, step: number, kind: Kind) {
  const file_path = join(world.folder, nameAt(paths(part), step))
  if (kind === "read" || step < STEPS - 1) return call("Read", { file_path })
  const written = join(world.folder, `${part}.out.ts`)
  return call("Write", { file_path: written, content: `export const ${part.replace(/\W/g, "_")} = 1\n`.repeat(60) })
}

function decide(part: string) {
  return call("mcp__stack__stack_add_decision", {
    decision: `${part}: amounts are integers in cents, so that sums are exact`,
  })
}

function pop(results: string, resultsCompacted: string) {
  return call("mcp__stack__stack_frame_pop", { status: "completed", results, resultsCompacted })
}

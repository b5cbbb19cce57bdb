// The job that the bench measures: the parts of a program are reviewed. A part has eight files; each step reads one, which
// gives 3 KB of tool output; then come short results. The same work is done in one session, or on the stack.

import { join } from "node:path"
import { type Answer, call, frameOf, type ModelRequest, type World } from "../harness/index.js"

/** Tool calls of a sub-task. */
export const STEPS = 8
/** The size of a file. With line numbers the answer of the tool `Read` has about 3,000 bytes. */
export const FILE_BYTES = 2_750

/** The goal of the job. */
export function goal(subtasks: number): string {
  return `Review all parts of the program: the ${subtasks} folders below parts/. Read the ${STEPS} modules of each, then say what they export and what is wrong.`
}

/** The last words of the job. */
export function finished(subtasks: number): string {
  return `All ${subtasks} parts are reviewed; the results of each are above.`
}

/** The files of the project, by path. Each has a text of its own. */
export function files(subtasks: number): Record<string, string> {
  const numbers = Array.from({ length: subtasks * STEPS }, (_, number) => number)
  return Object.fromEntries(numbers.map((number) => [pathOf(number), code(number)]))
}

/**
 * The model in one session: it reads all files, one after the other, and states the results of a part beside the call that
 * begins the next part, so that they need no request of their own.
 */
export function inOneSession(subtasks: number) {
  return (request: ModelRequest, world: World): Answer => {
    const done = request.results.length
    const before = done > 0 && done % STEPS === 0 ? { text: results(done / STEPS) } : {}
    if (done === subtasks * STEPS) return { text: `${before.text}\n${finished(subtasks)}` }
    return { ...before, calls: [read(world, done)] }
  }
}

/** The model on the stack: the root pushes a frame for each part, one after the other. */
export function onStack(subtasks: number) {
  return (request: ModelRequest, world: World): Answer => {
    const done = request.results.length
    const frame = Number(frameOf(request)?.slice(1))
    if (frame === 1) return { calls: [done < subtasks ? push(done + 1) : pop(finished(subtasks), finished(subtasks))] }
    const part = frame - 1
    if (done < STEPS) return { calls: [read(world, (part - 1) * STEPS + done)] }
    return { calls: [pop(results(part), `parts/${two(part)}: ${STEPS} modules; limits are checked too late in two`)] }
  }
}

function read(world: World, number: number) {
  return call("Read", { file_path: join(world.folder, pathOf(number)) })
}

function push(part: number) {
  return call("mcp__stack__stack_frame_push", {
    title: `Review part ${two(part)}`,
    successCriteria: `The ${STEPS} modules in parts/${two(part)} are read; what they export and what is wrong is listed`,
    successCriteriaCompacted: `parts/${two(part)} read, exports and errors listed`,
  })
}

function pop(results: string, resultsCompacted: string) {
  return call("mcp__stack__stack_frame_pop", { status: "completed", results, resultsCompacted })
}

/** The results of a sub-task: the same text in each way. */
function results(part: number): string {
  return (
    `Part ${two(part)} is reviewed: its ${STEPS} modules work on ${NOUNS[part % NOUNS.length]} entries. Each exports functions that ` +
    "load, merge or check entries up to a limit. Two of them check the limit only after the entry was appended, so they " +
    "return one entry too many. No module reads files or the clock. The tests do not cover empty input."
  )
}

function two(part: number): string {
  return String(part).padStart(2, "0")
}

function pathOf(number: number): string {
  return `parts/${two(Math.floor(number / STEPS) + 1)}/module${(number % STEPS) + 1}.ts`
}

const NOUNS = ["invoice", "account", "parcel", "session", "booking", "sensor", "ticket", "recipe", "tariff", "journal"]
const VERBS = ["load", "merge", "check", "sort", "collect", "filter", "update", "resolve"]
const FIELDS = ["total", "created", "owner", "state", "weight", "position", "label", "priority", "origin"]

/** A TypeScript module of {@link FILE_BYTES} bytes, the same for the same number. */
function code(number: number): string {
  let state = number + 1
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const one = (words: readonly string[]) => words[random(words.length)] ?? ""
  const upper = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
  let text = `// Module ${number}\n`
  while (text.length < FILE_BYTES) {
    const [verb, entry, field, other] = [one(VERBS), one(NOUNS), one(FIELDS), one(FIELDS)]
    text += `
/** Returns each ${entry} whose ${field} is at least ${random(1_000)}, ordered by ${other}. */
export function ${verb}${upper(entry)}By${upper(field)}(entries: readonly ${upper(entry)}[], limit = ${random(100)}): ${upper(entry)}[] {
  const found: ${upper(entry)}[] = []
  for (const entry of entries) {
    if (entry.${field} < ${random(1_000)} || entry.${other} === undefined) continue
    found.push({ ...entry, ${field}: entry.${field} + ${random(10)} })
    if (found.length > limit) break
  }
  return found.sort((one, other) => one.${other} - other.${other})
}
`
  }
  return text.slice(0, FILE_BYTES)
}

// The job that the bench measures: N parts of a program are reviewed. A part has eight files; each step reads one,
// which gives 3 KB of tool output; then comes a short result. The same work is done in one session, or on the stack.

import { byTask, call, type ProjectOptions, type Script, type Turn } from "../harness/index.js"

/** Tool calls of a sub-task. */
export const STEPS = 8
/** Size of the file that a step reads. With line numbers and tags the answer of OpenCode's `read` tool has about 3,000 bytes. */
export const FILE_BYTES = 2_600

const JOB = "Review all parts"
/** How each file begins. */
const FIRST_LINE = "// Module"

/** A way to do the job. */
export interface Way {
  name: string
  /** The settings of its project, without the files. */
  options: ProjectOptions
  /** The user's messages, one after the other in the same session. */
  prompts(subtasks: number): string[]
  /** The replies of the model. */
  script(subtasks: number): Script
  /** Number of requests that the script makes. */
  requests(subtasks: number): number
}

/** One conversation: the user asks for one part after the other; each turn ends with the part's results. */
export const oneSession: Way & { isReport(request: number): boolean } = {
  name: "one session",
  options: { plugin: null },
  prompts: (subtasks) => {
    const ask = (part: string, index: number) =>
      index === 0 ? request(subtasks, ` Begin with part ${part}.`) : `Now part ${part}.`
    return [...parts(subtasks).map(ask), "Finish."]
  },
  script: (subtasks) => {
    const turns = parts(subtasks).flatMap((part) => [...reads(part), { text: results(part) }])
    return byTask({ [JOB]: [...turns, finished(subtasks)] })
  },
  requests: (subtasks) => (STEPS + 1) * subtasks + 1,
  // A request (counted from 0) that is answered by results alone. A model that states them beside its next tool call does
  // not need it: the next request has the same prompt and the results.
  isReport: (request) => request % (STEPS + 1) === STEPS,
}

/** The plugin: the root session plans the parts and activates them one after the other. */
export const onStack: Way = {
  name: "stack",
  options: {},
  prompts: (subtasks) => [request(subtasks, "")],
  script: (subtasks) => {
    const children = parts(subtasks)
    const root = [
      call("stack_frame_plan_children", { children: children.map(plan) }),
      ...children.map((_, index) => call("stack_frame_activate", { sessionID: handle(index) })),
      call("stack_frame_pop", {
        status: "completed",
        results: finished(subtasks).text,
        resultsCompacted: finished(subtasks).text,
      }),
      finished(subtasks),
    ]
    const tasks = children.map((part, index): [string, Turn[]] => {
      return [`frame ${handle(index)}:`, [...reads(part), pop(part), { text: `Part ${part} is reviewed.` }]]
    })
    return byTask({ [JOB]: root, ...Object.fromEntries(tasks) })
  },
  requests: (subtasks) => (STEPS + 3) * subtasks + 3,
}

/** The last words of the job. */
export function finished(subtasks: number): { text: string } {
  return { text: `All ${subtasks} parts are reviewed; the results of each are above.` }
}

/** The files of the project, by path. Each has a text of its own. */
export function files(subtasks: number): Record<string, string> {
  const file = (part: string, step: number): [string, string] => [path(part, step), code(Number(part) * STEPS + step)]
  return Object.fromEntries(parts(subtasks).flatMap((part) => steps().map((step) => file(part, step))))
}

/** Whether a text holds the answer of the `read` tool to a step. */
export function hasFile(text: string): boolean {
  return text.includes(`1: ${FIRST_LINE}`)
}

function parts(subtasks: number): string[] {
  return Array.from({ length: subtasks }, (_, index) => String(index + 1).padStart(2, "0"))
}

function steps(): number[] {
  return Array.from({ length: STEPS }, (_, step) => step)
}

function path(part: string, step: number): string {
  return `parts/${part}/module${step + 1}.ts`
}

/** The handle of a sub-task: the root is f1. */
function handle(index: number): string {
  return `f${index + 2}`
}

function request(subtasks: number, more: string): string {
  return `${JOB} of the program: the ${subtasks} folders below parts/. Read the ${STEPS} modules of each, then say what they export and what is wrong.${more}`
}

function reads(part: string) {
  return steps().map((step) => call("read", { filePath: path(part, step) }))
}

function plan(part: string): object {
  return {
    title: `Review part ${part}`,
    successCriteria: `The ${STEPS} modules in parts/${part} are read; what they export and what is wrong is listed`,
    successCriteriaCompacted: `parts/${part} read, exports and errors listed`,
  }
}

function pop(part: string) {
  const resultsCompacted = `parts/${part}: ${STEPS} modules on ${noun(Number(part))}; limits are checked too late in two of them`
  return call("stack_frame_pop", { status: "completed", results: results(part), resultsCompacted })
}

/** The results of a sub-task: the same text in each way. */
function results(part: string): string {
  return (
    `Part ${part} is reviewed: ${STEPS} modules work on ${noun(Number(part))}. Each exports functions that load, merge or ` +
    "check entries up to a limit. Two of them check the limit only after the entry was appended, so they return one entry " +
    "too many. No module reads files or the clock. The tests do not cover empty input."
  )
}

const NOUNS = [
  "invoice",
  "account",
  "parcel",
  "session",
  "booking",
  "sensor",
  "ticket",
  "recipe",
  "tariff",
  "journal",
  "contract",
  "meter",
]
const VERBS = ["load", "merge", "check", "sort", "collect", "filter", "update", "resolve"]
const FIELDS = ["total", "created", "owner", "state", "weight", "position", "label", "priority", "origin"]

function noun(number: number): string {
  return wordAt(NOUNS, number % NOUNS.length)
}

function wordAt(words: readonly string[], index: number): string {
  const word = words[index]
  if (word === undefined) throw new RangeError(`there is no word ${index}, only ${words.length}`)
  return word
}

/** A TypeScript module of {@link FILE_BYTES} bytes, the same for the same seed. */
function code(seed: number): string {
  let state = seed + 1
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const one = (words: readonly string[]) => wordAt(words, random(words.length))
  const upper = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
  let text = `${FIRST_LINE} ${seed}\n`
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

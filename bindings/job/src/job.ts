// The job that the token benches measure: the parts of a program are reviewed. A part has eight files. Each
// step reads one file, which gives 3 KB of tool output. Then a short result follows. The same work is done in
// one session, or on the stack.

/** The number of tool calls of a sub-task. */
export const STEPS = 8

/** The beginning of each file. */
const FIRST_LINE = "// Module"

/** The title of the job. */
export const JOB = "Review all parts"

/** The task of the job. */
export function goal(subtasks: number): string {
  return `${JOB} of the program: the ${subtasks} folders below parts/. Read the ${STEPS} modules of each, then say what they export and what is wrong.`
}

/** The last words of the job. */
export function finished(subtasks: number): string {
  return `All ${subtasks} parts are reviewed; the results of each are above.`
}

/** The names of the parts. */
export function parts(subtasks: number): string[] {
  return Array.from({ length: subtasks }, (_, index) => String(index + 1).padStart(2, "0"))
}

/** The paths of the files of a part. */
export function paths(part: string): string[] {
  return Array.from({ length: STEPS }, (_, step) => `parts/${part}/module${step + 1}.ts`)
}

/** The files of the project, by path. Each has a text of its own, with this number of bytes. */
export function files(subtasks: number, bytes: number): Record<string, string> {
  const ofPart = (part: string) =>
    paths(part).map((path, step): [string, string] => [path, code(Number(part) * STEPS + step, bytes)])
  return Object.fromEntries(parts(subtasks).flatMap(ofPart))
}

/**
 * Whether a text contains the text of a file whose first line is numbered, as in the answers of tools for
 * reading.
 */
export function hasFile(text: string): boolean {
  return text.includes(`1: ${FIRST_LINE}`)
}

/** The frame of a part: the arguments of a push, or of a plan. */
export function frame(part: string): { title: string; successCriteria: string; successCriteriaCompacted: string } {
  return {
    title: `Review part ${part}`,
    successCriteria: `The ${STEPS} modules in parts/${part} are read; what they export and what is wrong is listed`,
    successCriteriaCompacted: `parts/${part} read, exports and errors listed`,
  }
}

/** The results of a part: the same text in each way. */
export function results(part: string): string {
  return (
    `Part ${part} is reviewed: ${STEPS} modules work on ${noun(part)}. Each exports functions that load, merge or ` +
    "check entries up to a limit. Two of them check the limit only after the entry was appended, so they return one entry " +
    "too many. No module reads files or the clock. The tests do not cover empty input."
  )
}

/** The short results of a part. */
export function resultsCompacted(part: string): string {
  return `parts/${part}: ${STEPS} modules on ${noun(part)}; limits are checked too late in two of them`
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

function noun(part: string): string {
  return wordAt(NOUNS, Number(part) % NOUNS.length)
}

function wordAt(words: readonly string[], index: number): string {
  const word = words[index]
  if (word === undefined) throw new RangeError(`there is no word ${index}, only ${words.length}`)
  return word
}

/** A TypeScript module with this number of bytes, the same for the same seed. */
function code(seed: number, bytes: number): string {
  let state = seed + 1
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
  const one = (words: readonly string[]) => wordAt(words, random(words.length))
  const upper = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
  let text = `${FIRST_LINE} ${seed}\n`
  while (text.length < bytes) {
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
  return text.slice(0, bytes)
}

// Does the job of the bench with the real SDK, and counts the tokens of its requests.

import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { query } from "@anthropic-ai/claude-agent-sdk"
import { Flame } from "callstack-flame"
import { files, finished, goal, STEPS } from "callstack-job"
import { Tiktoken } from "js-tiktoken/lite"
import o200k from "js-tiktoken/ranks/o200k_base"
import { type World, type WorldScript, within } from "../harness/index.js"
import { PromptCache, segmentsOf, type Totals, totalsOf } from "./count.js"
import { FILE_BYTES, inOneSession, type Kind, onStack } from "./job.js"

const MODEL = "claude-sonnet-5"
/** The tools of both ways, in addition to those of the stack: the tools that frames have by default. */
const TOOLS = ["Read", "Write", "Edit", "Bash", "Glob", "Grep"]
/** How long a job may take, in milliseconds. */
const LIMIT = 900_000

const encoding = new Tiktoken(o200k)
const tokens = (text: string) => encoding.encode(text, [], []).length

/** A way to do the job. */
export interface Way {
  name: string
  script(subtasks: number, kind: Kind): WorldScript
  /** Does the job, and returns the last words. */
  run(world: World, goal: string): Promise<string>
  /** The number of requests that the script makes. */
  requests(subtasks: number): number
  env?: Record<string, string>
}

/** One conversation of the SDK, without the stack. */
export const oneSession: Way = {
  name: "one session",
  script: inOneSession,
  run: async (world, prompt) => {
    const options = {
      cwd: world.folder,
      model: MODEL,
      tools: TOOLS,
      allowedTools: TOOLS,
      settingSources: [],
      strictMcpConfig: true,
    }
    let words = ""
    for await (const message of query({ prompt, options })) {
      if (message.type === "result" && message.subtype === "success") words = message.result
    }
    return words
  },
  requests: (subtasks) => STEPS * subtasks + 1,
}

/** The root pushes a frame for each part. */
export const stack: Way = {
  name: "callstack-flame",
  script: onStack,
  run: async (world, prompt) => {
    const flame = new Flame({ directory: world.folder, model: MODEL, tools: TOOLS, claude: { allowedTools: TOOLS } })
    try {
      return (await flame.run(prompt)).frame.results ?? ""
    } finally {
      await flame.close()
    }
  },
  requests: (subtasks) => (STEPS + 1) * subtasks + subtasks + 1,
}

/** The same without the block at the beginning of the system prompt that differs between sessions. */
export const stackWithoutHeader: Way = {
  ...stack,
  name: "callstack-flame, without attribution header",
  env: { CLAUDE_CODE_ATTRIBUTION_HEADER: "0" },
}

/** Does the job in one way, in a world of its own. Throws if the job is not finished as the script says. */
export function measure(way: Way, subtasks: number, kind: Kind): Promise<Totals> {
  const work = async (world: World) => {
    for (const [path, text] of Object.entries(files(subtasks, FILE_BYTES))) {
      mkdirSync(dirname(join(world.folder, path)), { recursive: true })
      writeFileSync(join(world.folder, path), text)
    }
    const begun = performance.now()
    const words = await way.run(world, goal(subtasks))
    const asked = world.model.asked
    if (!words.endsWith(finished(subtasks))) throw new Error(`the job was not finished: ${words}`)
    if (asked.some(({ isCompaction }) => isCompaction)) throw new Error("a session was compacted")
    if (asked.length !== way.requests(subtasks))
      throw new Error(`${asked.length} requests instead of ${way.requests(subtasks)}`)
    const read = new Set(
      asked.flatMap(({ results }) => results.flatMap(({ name, text }) => (name === "Read" ? text : []))),
    )
    const readSteps = (kind === "read" ? STEPS : STEPS - 1) * subtasks
    if (read.size !== readSteps) throw new Error(`${read.size} files were read instead of ${readSteps}`)
    const cache = new PromptCache(tokens)
    const totals = totalsOf(asked.map(({ body }) => cache.add(segmentsOf(body))))
    console.error(`${subtasks} sub-tasks (${kind}), ${way.name}: ${((performance.now() - begun) / 1000).toFixed(0)} s`)
    return totals
  }
  return within(way.script(subtasks, kind), work, { limit: LIMIT, env: { ...way.env } })
}

// When the call stack pays: the same job in one OpenCode session and on the stack, with the scripted model. It counts the
// tokens of each request, and what a prompt cache would save. `make bench-tokens` prints it.
// STACK_BENCH_SUBTASKS: the numbers of sub-tasks, separated by commas. Default 2,4,6,12,40.

import { rmSync } from "node:fs"
import { dirname } from "node:path"
import { Tiktoken } from "js-tiktoken/lite"
import o200k from "js-tiktoken/ranks/o200k_base"
import { logOf, makeProject, type Script, serve, startModel } from "../harness/index.js"
import { CACHED_PRICE, Prompts, segmentsOf, type Tokens, totalsOf, UNCACHED_PRICE, type Usage } from "./count.js"
import { files, finished, hasFile, oneSession, onStack, STEPS, type Way } from "./job.js"
import { startRecorder } from "./recorder.js"
import { type Comparison, short, table, verdicts } from "./table.js"

const encoding = new Tiktoken(o200k)
const tokens: Tokens = (text) => encoding.encode(text, [], []).length

// OpenCode gets an environment of its own. A native library that is named there is used by the plugin, too.
const library = process.env["CALLSTACK_LIBRARY"]
const LIBRARY: Record<string, string> = library === undefined ? {} : { CALLSTACK_LIBRARY: library }

const start = performance.now()
const comparisons: Comparison[] = []
for (const subtasks of sizes()) {
  const oneConversation = await record(oneSession, subtasks)
  comparisons.push({
    subtasks,
    oneSession: totalsOf(count(oneConversation)),
    fewestRequests: totalsOf(count(oneConversation.filter((_, request) => !oneSession.isReport(request)))),
    stack: totalsOf(count(await record(onStack, subtasks))),
  })
}
print(comparisons)

function sizes(): number[] {
  const given = process.env["STACK_BENCH_SUBTASKS"] ?? "2,4,6,12,40"
  const sizes = given.split(",").map(Number)
  if (sizes.some((size) => !Number.isInteger(size) || size < 1 || size > 99)) {
    throw new Error(`STACK_BENCH_SUBTASKS is not a list of numbers from 1 to 99, such as 2,4,6: ${given}`)
  }
  return sizes
}

/** Does the job in one way, in a project of its own. Returns the segments of each prompt. Throws if the job is not finished. */
async function record(way: Way, subtasks: number): Promise<string[][]> {
  const prompts: string[][] = []
  // Each conversation repeats its texts in every request: one copy is kept.
  const texts = new Map<string, string>()
  const keep = (text: string) => {
    const kept = texts.get(text) ?? text
    texts.set(kept, kept)
    return kept
  }
  const model = await startModel(forgetful(way.script(subtasks)))
  const recorder = await startRecorder(model.url, (body) => {
    // Requests for titles have no tools. They are left out in all ways.
    if ((body.tools?.length ?? 0) > 0) prompts.push(segmentsOf(body).map(keep))
  })
  const project = makeProject(recorder.url, { ...way.options, files: files(subtasks), env: LIBRARY })
  const server = await serve(project)
  const begun = performance.now()
  try {
    let sessionID: string | undefined
    let text = ""
    for (const prompt of way.prompts(subtasks)) {
      const answer = await server.prompt(prompt, sessionID)
      if (answer.error !== undefined) throw new Error(`a prompt has failed: ${JSON.stringify(answer.error)}`)
      ;({ sessionID, text } = answer)
    }
    if (model.failures.length > 0) throw model.failures[0]
    if (!text.endsWith(finished(subtasks).text)) throw new Error(`the job was not finished: ${text}`)
    if (model.requests.some(({ purpose }) => purpose === "summary")) throw new Error("a session was compacted")
    const expected = way.requests(subtasks)
    if (prompts.length !== expected)
      throw new Error([`${prompts.length} requests instead of ${expected}`, ...logOf(server)].join("\n"))
    const answered = [...texts.keys()].filter(hasFile).length
    if (answered !== STEPS * subtasks) throw new Error(`${answered} files were read instead of ${STEPS * subtasks}`)
  } finally {
    await server.stop()
    recorder.stop()
    model.stop()
    rmSync(dirname(project.path), { recursive: true })
  }
  console.error(`${subtasks} sub-tasks, ${way.name}: ${((performance.now() - begun) / 1000).toFixed(1)} s`)
  return prompts
}

/** Counts the prompts of a job in the order in which they were sent. */
function count(prompts: readonly string[][]): Usage[] {
  const earlier = new Prompts(tokens)
  return prompts.map((segments) => earlier.add(segments))
}

/** A script whose model does not keep the texts of its requests: they add up to hundreds of megabytes. */
function forgetful(script: Script): Script {
  return (request) => {
    const reply = script(request)
    request.messages = []
    request.system = []
    request.conversation = ""
    return reply
  }
}

function print(comparisons: readonly Comparison[]): void {
  console.log(
    `One job in OpenCode: each sub-task reads ${STEPS} files, 3 KB of tool output each, then reports a short result.`,
  )
  console.log(
    "Tokens are o200k tokens of the tools (JSON) and messages (plain text). Cached tokens are the longest common prefix",
  )
  console.log(
    `with any earlier request of the job. Cost index = ${UNCACHED_PRICE} × uncached + ${CACHED_PRICE} × cached. Requests for titles are left out.`,
  )
  console.log('"Fewest requests": the model states results beside its next tool call, so results take no request.\n')
  console.log(table(comparisons))
  console.log()
  const sentences = [...verdicts(comparisons, "oneSession"), ...verdicts(comparisons, "fewestRequests")]
  for (const sentence of sentences) console.log(`- ${sentence}`)
  const [some] = comparisons
  if (some !== undefined) {
    const [without, with_] = [short(some.oneSession.first), short(some.stack.first)]
    console.log(
      `- The first request has ${without} tokens without the plugin and ${with_} with it: its tools and its context are in every request.`,
    )
  }
  console.log(`\nDone in ${((performance.now() - start) / 1000).toFixed(0)} s.`)
}

// Does the job of the bench in the real OpenCode, and counts the tokens of its requests.

import { rmSync } from "node:fs"
import { dirname } from "node:path"
import { files, finished, hasFile, STEPS } from "callstack-job"
import { Tiktoken } from "js-tiktoken/lite"
import o200k from "js-tiktoken/ranks/o200k_base"
import { logOf, makeProject, type Script, serve, startModel } from "../harness/index.js"
import { Prompts, segmentsOf, type Tokens, totalsOf, type Usage } from "./count.js"
import { FILE_BYTES, inSessions, oneSession, onStack, type Way } from "./job.js"
import { startRecorder } from "./recorder.js"
import type { Comparison } from "./table.js"

const encoding = new Tiktoken(o200k)
const tokens: Tokens = (text) => encoding.encode(text, [], []).length

/** Does the job in one session and on the stack. */
export async function compare(subtasks: number): Promise<Comparison> {
  const oneConversation = await record(oneSession, subtasks)
  return {
    subtasks,
    oneSession: totalsOf(count(oneConversation)),
    fewestRequests: totalsOf(count(oneConversation.filter((_, request) => !oneSession.isReport(request)))),
    stack: totalsOf(count(await record(onStack, subtasks))),
    inSessions: totalsOf(count(await record(inSessions, subtasks))),
  }
}

/** Does the job in one way, in a project of its own. Returns the segments of each prompt. Throws if the job is not finished. */
async function record(way: Way, subtasks: number): Promise<string[][]> {
  const prompts: string[][] = []
  // Each conversation repeats its texts in every request, so one copy of each text is kept.
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
  const project = makeProject(recorder.url, { ...way.options, files: files(subtasks, FILE_BYTES) })
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
    if (!text.endsWith(finished(subtasks))) throw new Error(`the job was not finished: ${text}`)
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

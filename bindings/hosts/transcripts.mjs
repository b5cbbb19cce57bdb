#!/usr/bin/env node
// What real agents write of a session: a short job on the stack with a scripted model, and the file that each
// agent has written. As a program, this rewrites the samples of tests/data/transcripts, so that changes in a
// new version of an agent become visible.

import fs from "node:fs"
import path from "node:path"
import { hosts, run } from "./hosts.mjs"
import { startModel } from "./model.mjs"

export const PROMPT = "Do the job."
export const ANSWER = "All is done."
export const FRAME = "Read"
const RESULTS = "Two commands have run."

/** The agents whose files are lines, with the place of the files in their homes. */
export const PLACES = {
  claude: [".claude/projects", /^[0-9a-f-]{36}\.jsonl$/],
  codex: [".codex/sessions", /^rollout-.*\.jsonl$/],
  gemini: [".gemini/tmp", /^session-.*\.jsonl$/],
  qwen: [".qwen/projects", /\.jsonl$/],
  copilot: [".copilot/session-state", /^events\.jsonl$/],
}

/** The task of the subagent of Claude Code, and its answer. */
const TASK = "Look at it"
const LOOKED = "Looked."

/**
 * The work of the model: a frame, two commands at once in it, in Claude Code a subagent, the end of the
 * frame, a last answer.
 */
function script(name) {
  const { input, noMcp, shell } = hosts[name]
  const compacted = (key, text) => (noMcp ? { [`${key}Compacted`]: text } : {})
  const criteria = "Both commands have run."
  const begin = { title: FRAME, successCriteria: criteria, ...compacted("successCriteria", criteria) }
  const end = { status: "completed", results: RESULTS, ...compacted("results", RESULTS) }
  const agent = { name: "Agent", args: { description: "Look", prompt: TASK, subagent_type: "general-purpose" } }
  const commands = ["echo one", "false"].map((command) => ({ name: shell, args: input(command) }))
  return [
    { calls: [{ name: "push", args: begin }] },
    { reasoning: "hmm", text: "I read it.", calls: commands },
    ...(name === "claude" ? [{ calls: [agent] }] : []),
    { calls: [{ name: "pop", args: end }] },
    { text: ANSWER },
  ]
}

/**
 * Runs the job in an agent. Returns its home, its project, and the requests that were answered, as the model
 * has counted them.
 */
export async function record(name, program, world) {
  const answers = script(name)
  let done = 0
  const counted = []
  const model = await startModel((request) => {
    const isWork = request.tools.some((tool) => tool?.endsWith(hosts[name].shell))
    if (!isWork) return { text: "{}" }
    counted.push(request)
    const isOfAgent = request.items.some(({ kind, role, text }) => kind === "text" && role === "user" && text === TASK)
    if (isOfAgent) return { text: LOOKED }
    return answers[done++] ?? { text: "Done." }
  })
  const { extension } = hosts[name]
  const result = await run(name, {
    url: model.url,
    prompt: PROMPT,
    mcp: { command: program, args: ["mcp"] },
    extension,
    world,
  })
  await model.close()
  if (done < answers.length) throw new Error(`${name}: ${done} of ${answers.length} steps\n${result.out.slice(-1500)}`)
  return { ...result, bills: counted.map((request) => request.bill) }
}

/** The file of the session in the home of an agent, and the files of its subagents. */
export function sessionFiles(name, home) {
  const [folder, pattern] = PLACES[name]
  const all = fs.readdirSync(path.join(home, folder), { recursive: true, withFileTypes: true })
  const files = all.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name))
  const isOfAgent = (file) => file.includes("subagents")
  const own = files.filter((file) => pattern.test(path.basename(file)) && !isOfAgent(file))
  if (own.length !== 1) throw new Error(`${name}: ${own.length} files of sessions in ${folder}`)
  return [own[0], ...files.filter((file) => isOfAgent(file) && file.endsWith(".jsonl"))]
}

/** Longer texts are from the makers of the agents: instructions, notes, descriptions of tools. */
const LONGEST = 300
/** Lines that no reader looks at, and that have no other content. */
const BULKY = /^(api-request.*|prompt_snapshot|world_state|system\.message)$/

/** A line without the texts of the agent's maker, and without the folders of this machine. */
function cleaned(line, { home, project }) {
  const names = [
    [project, "/home/ann/shop"],
    [home, "/home/ann"],
    [project.replaceAll("/", "-"), "-home-ann-shop"],
  ]
  const record = JSON.parse(names.reduce((text, [own, other]) => text.replaceAll(own, other), line))
  const kind = record.attachment?.type ?? record.type ?? ""
  if (BULKY.test(kind)) {
    const { type, timestamp, uuid, parentUuid, sessionId } = record
    const attachment = record.attachment && { type: record.attachment.type }
    return JSON.stringify({ type, timestamp, uuid, parentUuid, sessionId, attachment, data: record.data && {} })
  }
  return JSON.stringify(record, (_, value) =>
    typeof value === "string" && value.length > LONGEST ? `${value.slice(0, 20)}…` : value,
  )
}

async function update(program) {
  const folder = path.resolve(new URL("../../tests/data/transcripts", import.meta.url).pathname)
  for (const name of Object.keys(PLACES)) {
    const recorded = await record(name, program)
    for (const [number, file] of sessionFiles(name, recorded.home).entries()) {
      const target = number === 0 ? name : `${name}-agent`
      const lines = fs.readFileSync(file, "utf8").trim().split("\n")
      const text = lines.map((line) => `${cleaned(line, recorded)}\n`).join("")
      fs.writeFileSync(path.join(folder, `${target}.jsonl`), text)
      console.log(`${target}: ${lines.length} lines`)
    }
    fs.rmSync(recorded.root, { recursive: true, force: true })
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) await update(process.env.CALLSTACK)

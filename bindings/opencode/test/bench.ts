// Measures the plugin inside OpenCode with a thousand frames: each hook over a hundred requests, and the start.
// `make bench-opencode` runs it.

import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { Stack } from "callstack-core"
import { byTask, call, makeProject, PLUGIN, readJson, serve, startModel } from "./harness/index.js"

const FRAMES = 1_000
const FAN_OUT = 8
const REQUESTS = 100
/** Limits of the medians, in milliseconds. */
const LIMITS = { hook: 1, start: 150 }

/** A plugin that wraps the plugin and measures all its hooks. */
const measure = `
import { writeFileSync } from "node:fs"
import plugin from ${JSON.stringify(PLUGIN)}
const taken = {}
const record = (name, start) => (taken[name] ??= []).push(performance.now() - start)
const timed = (name, hook) => async (...values) => {
  const start = performance.now()
  try { return await hook(...values) } finally { record(name, start) }
}
const nothing = timed("(a hook that does nothing)", async () => {})
export default {
  id: "measure",
  server: async (input, options) => {
    const start = performance.now()
    const hooks = await plugin.server(input, options)
    record("start", start)
    for (const [name, hook] of Object.entries(hooks)) {
      if (typeof hook !== "function") continue
      const measured = timed(name, hook)
      hooks[name] = async (...values) => {
        await nothing()
        return measured(...values)
      }
    }
    for (const [name, tool] of Object.entries(hooks.tool)) tool.execute = timed(name, tool.execute)
    const event = hooks.event
    hooks.event = async (input) => {
      await event(input)
      if (input.event.type === "session.idle") writeFileSync(process.env.TAKEN, JSON.stringify(taken))
    }
    return hooks
  },
}
`

const turns = Array.from({ length: REQUESTS }, (_, step) => {
  if (step % 3 === 0) return call("stack_add_decision", { decision: `Decision ${step}` })
  return call("write", { filePath: `file${step % 10}.txt`, content: String(step) })
})
const model = await startModel(byTask({ Work: turns }))
const project = makeProject(model.url, { plugin: null, files: { ".opencode/plugin/measure.js": measure } })
const taken = join(project.path, "taken.json")
project.env["TAKEN"] = taken
const server = await serve(project)
try {
  const { data: root } = await server.client.session.create({ body: { title: "Root" } })
  const { data: child } = await server.client.session.create({ body: { title: "Child", parentID: root?.id ?? "" } })
  fill(root?.id ?? "", child?.id ?? "")
  await server.prompt("Work", child?.id)
  await new Promise((resolve) => setTimeout(resolve, 500))
} finally {
  await server.stop()
  model.stop()
}
print(readJson(readFileSync(taken, "utf8")))
rmSync(taken)

/** Fills the stack with a tree of a thousand frames, about half of them finished. The child's frame is deep in the tree. */
function fill(root: string, child: string): void {
  const stack = Stack.open(project.stack)
  const frames = [stack.ensure(root, { title: "Root" })]
  const text = "The parser reads options, paths and tables; errors name the line; the tests cover it. ".repeat(8)
  for (let number = 1; number < FRAMES; number++) {
    const parent = frames[Math.floor((number - 1) / FAN_OUT)] ?? null
    const handle = stack.push({
      title: `Part ${number} of it`,
      successCriteria: text,
      parent,
      sessionID: `filler-${number}`,
    })
    stack.addArtifact(handle, `src/part${number}.ts`)
    frames.push(handle)
  }
  const pop = { status: "completed", results: text, resultsCompacted: text.slice(0, 200) } as const
  for (const handle of frames.slice(FRAMES / 2, FRAMES - 1)) stack.pop(handle, pop)
  stack.replaceId(frames.at(-1) ?? "", child)
  stack.close()
}

function print(taken: Record<string, number[]>): void {
  const at = (sorted: number[], share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(3)
  console.log(`inside OpenCode, ${FRAMES} frames, ${REQUESTS} requests; milliseconds`)
  console.log(`${"".padEnd(38)}${["count", "median", "95 %", "longest"].map((word) => word.padStart(9)).join("")}`)
  for (const [name, times] of Object.entries(taken)) {
    const sorted = [...times].sort((one, other) => one - other)
    const figures = [String(sorted.length), at(sorted, 0.5), at(sorted, 0.95), at(sorted, 1)]
    // Tools have no limit: they wait for a commit.
    const limit = name === "start" ? LIMITS.start : name.startsWith("stack_") ? Infinity : LIMITS.hook
    const verdict = Number(figures[1]) <= limit ? "" : `  over ${limit}`
    console.log(`${name.padEnd(38)}${figures.map((figure) => figure.padStart(9)).join("")}${verdict}`)
  }
}

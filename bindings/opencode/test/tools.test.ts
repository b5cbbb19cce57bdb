// Every tool in the real OpenCode, with valid and invalid arguments; changes of plans; all levels of autonomy.

import assert from "node:assert/strict"
import { test } from "node:test"
import { Stack } from "callstack-core"
import { Tiktoken } from "js-tiktoken/lite"
import o200k from "js-tiktoken/ranks/o200k_base"
import type { Body } from "./harness/formats.js"
import {
  answers,
  byTask,
  call,
  contextOf,
  done,
  type ModelRequest,
  makeProject,
  PLUGIN,
  type Reply,
  readJson,
  type Script,
  scenario,
  serve,
  startModel,
  task,
  until,
  WITH_ALL_TOOLS,
} from "./harness/index.js"
import { startRecorder } from "./tokens/recorder.js"

/** The tools of the default setting. */
const STANDARD = [
  "stack_add_artifact",
  "stack_add_decision",
  "stack_frame_activate",
  "stack_frame_details",
  "stack_frame_edit",
  "stack_frame_invalidate",
  "stack_frame_plan_children",
  "stack_frame_pop",
  "stack_frame_push",
  "stack_frame_summarize",
  "stack_heap_alloc",
  "stack_heap_free",
  "stack_heap_read",
  "stack_status",
]

/** Returns the names of the plugin's tools in a request. */
function ours(request: ModelRequest | undefined): string[] {
  return [...(request?.tools.keys() ?? [])].filter((name) => name.startsWith("stack_")).sort()
}

test("an agent gets the standard tools, which cost few tokens, and no text mentions another one", async (t) => {
  const encoding = new Tiktoken(o200k)
  const model = await startModel(
    byTask({
      "Build a shop": [
        call("stack_heap_alloc", { name: "long", content: "word ".repeat(4_000) }),
        call("stack_config", { enabled: false }),
        call("stack_frame_pop", { status: "finished" }),
        call("stack_frame_push", task("Cart")),
        { text: "Done" },
      ],
      "frame f2": [{ text: "No pop" }],
    }),
  )
  t.after(() => model.stop())
  const sent: Body[] = []
  const recorder = await startRecorder(model.url, (body) => sent.push(body))
  t.after(() => recorder.stop())
  const server = await serve(makeProject(recorder.url))
  t.after(() => server.stop())
  const { sessionID, text } = await server.prompt("Build a shop")
  assert.equal(text, "Done")
  const work = model.requests.filter(({ purpose }) => purpose === "work")
  for (const request of work) assert.deepEqual(ours(request), STANDARD)
  const tools = sent.find(({ tools }) => tools !== undefined)?.tools?.map((tool) => JSON.stringify(tool)) ?? []
  const tokens = tools.filter((tool) => tool.includes('"stack_')).map((tool) => encoding.encode(tool, [], []).length)
  const total = tokens.reduce((sum, count) => sum + count, 0)
  console.log(`${tokens.length} standard tools: ${total} o200k tokens in each request`)
  assert.ok(tokens.length === STANDARD.length && total <= 1_700, `the tools have ${total} tokens`)
  // OpenCode answers the call of a tool that it does not know. All other tools that a request names are
  // checked.
  const missing = Stack.tools()
    .map(({ name }) => name)
    .filter((name) => !STANDARD.includes(name))
  for (const request of work) {
    const { stable, volatile } = contextOf(request)
    const answered = request.messages.filter(({ role, text }) => role === "tool" && !text.includes("unavailable tool"))
    for (const text of [stable, volatile, ...answered.map(({ text }) => text)]) {
      for (const name of missing) assert.ok(!new RegExp(`\\b${name}\\b`).test(text), `${name} is in ${text}`)
    }
  }
  assert.match(answers(model.work(sessionID)[2]).at(-1) ?? "", /unavailable tool 'stack_config'/)
})

test("every tool answers, and explains what is wrong with invalid arguments", async (t) => {
  const tools = Stack.tools()
  assert.equal(tools.length, 39)
  // Arguments for this test; otherwise a tool's example. The tools that run or finish a frame come last.
  const named: Record<string, object> = {
    stack_frame_answer: { frameID: "f4", answer: "Go on" },
    stack_frame_details: { frameID: "f1" },
    stack_tree: { rootID: "f1", showDetails: true },
    stack_cache_clear: { sessionID: "f1" },
    stack_get_summary: { sessionID: "f1" },
    stack_frame_edit: { sessionID: "f5", before: "f4" },
    stack_frame_invalidate: { sessionID: "f2", reason: "Not needed" },
    stack_subagent_complete: { sessionID: "f4", summary: "Three modules" },
    stack_frame_activate: { sessionID: "f5" },
  }
  const late = [
    "stack_frame_invalidate",
    "stack_subagent_complete",
    "stack_frame_activate",
    "stack_frame_activate_ready",
    "stack_wait",
    "stack_frame_push",
    "stack_frame_pop",
  ]
  const order = [
    ...tools.filter(({ name }) => !late.includes(name) && name !== "stack_frame_identify"),
    ...late.map((name) => tools.find((tool) => tool.name === name)),
  ]
  // The first calls set what f1 is about, which works only once, plan f2 to f5, and activate f4.
  const identify = call("stack_frame_identify", { title: "Work", successCriteria: "All tools answer" })
  const plan = call("stack_frame_plan_children", { children: ["A", "B", "C", "D"].map((title) => task(title)) })
  const activate = call("stack_frame_activate", { sessionID: "f4" })
  const turns: Reply[] = [identify, plan, activate]
  const checks: { name: string; isBad: boolean }[] = [
    { name: "identify", isBad: false },
    { name: "plan", isBad: false },
    { name: "activate", isBad: false },
  ]
  for (const tool of order) {
    assert.ok(tool)
    const good = named[tool.name] ?? tool.example
    turns.push({ calls: [{ tool: tool.name, arguments: { ...good, nonsense: 1 } }] })
    checks.push({ name: tool.name, isBad: true })
    turns.push({ calls: [{ tool: tool.name, arguments: good }] })
    checks.push({ name: tool.name, isBad: false })
  }
  const answered: string[] = []
  let root: string | undefined
  const script: Script = (request) => {
    root ??= request.sessionID
    if (request.sessionID !== root) {
      const isAbout = (frame: string) => request.messages.some(({ text }) => text.includes(frame))
      // f4 stays open, so that stack_subagent_complete can finish it.
      if (isAbout("frame f4")) return { text: "Not finished" }
      return request.messages.length < 4 ? call("stack_frame_pop", done("Worked")) : { text: "Done" }
    }
    const count = request.messages.filter(({ role }) => role === "assistant").length
    if (count > 0) answered[count - 1] = answers(request).join("\n")
    return turns[count] ?? { text: "All tools were called" }
  }
  const { model, server } = await scenario(t, script, { plugin: WITH_ALL_TOOLS })
  const { text } = await server.prompt("Call them all")
  assert.equal(text, "All tools were called")
  assert.equal(answered.length, checks.length)
  checks.forEach(({ name, isBad }, index) => {
    const answer = answered[index] ?? ""
    const says = `${name} says: ${answer}`
    if (isBad) assert.match(answer, new RegExp(`^${name}: .*unknown field \`nonsense\`.* Example: \\{`), says)
    else assert.doesNotMatch(answer, /^stack_\w+: |provided to the tool|unavailable/, says)
    assert.notEqual(answer, "", says)
  })
  const offered = model.requests.find(({ purpose }) => purpose === "work")?.tools
  for (const { name, parameters } of tools) {
    const schema = offered?.get(name) as { properties?: object; required?: string[] } | undefined
    const own = parameters as { properties: object; required?: string[] }
    assert.deepEqual(Object.keys(schema?.properties ?? {}), Object.keys(own.properties), name)
    assert.deepEqual(
      [...(schema?.required ?? [])].sort(),
      [...(own.required ?? [])].sort(),
      `${name} requires what it must`,
    )
  }
})

test("an invalidated part of a plan is not suggested any more", async (t) => {
  const { model, server, frames, logged } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_plan_children", { children: [task("Cart"), task("Search"), task("Pay")] }),
        call("stack_frame_plan_children", { children: [task("Stemming")], parentSessionID: "f3" }),
        call("stack_frame_activate", { sessionID: "f2" }),
        call("stack_frame_invalidate", { sessionID: "f3", reason: "The database searches" }),
        (request) => ({ text: answers(request)[0] ?? "" }),
      ],
      "frame f2": [call("stack_frame_pop", done("Totals are right"))],
    }),
  )
  const { sessionID, text } = await server.prompt("Build a shop")
  assert.equal(text, "f3 (Search) is out of the plan. So are the planned frames below it: f5.")
  const found = frames()
  assert.deepEqual(
    ["Cart", "Search", "Stemming", "Pay"].map((title) => found.get(title)?.status),
    ["completed", "invalidated", "invalidated", "planned"],
  )
  assert.equal(found.get("Search")?.invalidationReason, "The database searches")
  const { volatile } = contextOf(model.work(sessionID).at(-1))
  assert.match(volatile, /stack_frame_activate f4/)
  assert.doesNotMatch(volatile, /Search|Stemming/)
  await logged("Frame invalidated")
})

test("autonomy: manual suggests nothing, suggest suggests, auto acts", async (t) => {
  const assess = call("stack_should_pop", { tokenCount: 199_000 })
  const { model, server, frames, logged } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_autonomy", { level: "manual" }),
        assess,
        { text: "manual" },
        call("stack_autonomy", { level: "suggest" }),
        assess,
        { text: "suggest" },
        call("stack_autonomy", { level: "auto" }),
        call("stack_should_push", { potentialGoal: "Draw a logo for the front page", errorCount: 5 }),
        (request) => ({ text: answers(request)[0] ?? "" }),
        call("stack_should_pop", { successSignals: ["the shop is open", "tests pass", "docs are written"] }),
        { text: "auto" },
      ],
      "Draw a logo": [call("stack_frame_pop", done("The logo is in logo.svg"))],
    }),
    { summary: () => ({ text: "The shop is open and has a logo in logo.svg" }), plugin: WITH_ALL_TOOLS },
  )
  const { sessionID } = await server.prompt("Build a shop")
  const last = () => contextOf(model.work(sessionID).at(-1)).volatile
  assert.doesNotMatch(last(), /STACK SUGGESTION/)
  await server.prompt("Go on", sessionID)
  assert.match(last(), /\[STACK SUGGESTION: finish f1 with stack_frame_pop \(100 % sure; context_overflow 100/)
  const pushed = await server.prompt("Go on", sessionID)
  assert.match(pushed.text, /^f2 \(Draw a logo for the front\) is completed\.\nResults: The logo is in logo\.svg\n/)
  await server.prompt("Go on", sessionID)
  const root = await until("the frame is finished by itself", () => {
    const frame = frames().get("Test")
    return frame?.status === "completed" && frame
  })
  assert.equal(root.results, "The shop is open and has a logo in logo.svg")
  await logged("Suggestion added")
})

test("the plugin observes sessions and makes suggestions by itself", async (t) => {
  const missing = call("read", { filePath: "missing.txt" })
  const { model, server } = await scenario(
    t,
    byTask({ "Build a shop": [missing, missing, missing, missing, { text: "Hm" }] }),
  )
  const { sessionID } = await server.prompt("Build a shop")
  await server.prompt("Go on", sessionID)
  assert.match(
    contextOf(model.work(sessionID).at(-1)).volatile,
    /\[STACK SUGGESTION: start a child of f1 with stack_frame_push \(\d+ % sure; failure_boundary \d+: \d errors/,
  )
})

test("the plugin's options override the environment, and invalid settings are reported", async (t) => {
  const options = {
    tools: ["standard", "stack_context_info", "stack_autonomy"],
    context: { budget: { total: 900 }, guidance: "brief" },
    autonomy: { level: "loud" },
    folder: "state/stack",
    surprise: {},
  }
  const env = {
    STACK_TOOLS: "all, stack_frame_posh",
    STACK_TOKEN_BUDGET_TOTAL: "2000",
    STACK_SUBAGENT_MIN_MESSAGES: "many",
    STACK_AUTONOMY_LEVEL: "manual",
    STACK_SUBAGENT_IDLE_DELAY: "7",
  }
  const script = byTask({
    Build: [
      call("stack_context_info"),
      (request) => ({ text: answers(request)[0] ?? "" }),
      call("stack_autonomy"),
      (request) => ({ text: answers(request)[0] ?? "" }),
    ],
    "": [],
  })
  const { server, project, model, logged } = await scenario(t, script, { plugin: [PLUGIN, options], env })
  const { sessionID, text } = await server.prompt("Build")
  assert.equal(readJson<{ budget: { total: number } }>(text).budget.total, 900)
  assert.equal(ours(model.work(sessionID)[0]).length, STANDARD.length + 2)
  assert.doesNotMatch(contextOf(model.work(sessionID)[0]).stable, /when-to-create-child-frames/)
  const autonomy = await server.prompt("Go on", sessionID)
  assert.equal(readJson<{ level: string }>(autonomy.text).level, "manual")
  const stack = Stack.open(`${project.path}/state/stack`)
  t.after(() => stack.close())
  assert.equal(stack.frames().length, 1)
  for (const problem of [
    /STACK_TOOLS is `stack_frame_posh`/,
    /STACK_SUBAGENT_MIN_MESSAGES is `many`/,
    /`autonomy.level`: unknown variant `loud`/,
    /surprise/,
  ]) {
    await logged(problem)
  }
})

// The life of frames in the real OpenCode: limits, stops, edits, ends with a summary, and restarts.

import assert from "node:assert/strict"
import { test } from "node:test"
import { Stack } from "callstack-core"
import {
  answers,
  byTask,
  call,
  contextOf,
  done,
  PLUGIN,
  type Script,
  scenario,
  serve,
  task,
  until,
  WITH_ALL_TOOLS,
  WITH_SHORT_LEASES,
} from "./harness/index.js"

const never = new Promise(() => undefined)

test("six ready frames run with a limit of two", async (t) => {
  const titles = ["A", "B", "C", "D", "E", "F"]
  let working = 0
  let most = 0
  const child: Script = () => {
    working += 1
    most = Math.max(most, working)
    const after = new Promise<void>((resolve) =>
      setTimeout(() => {
        working -= 1
        resolve()
      }, 300),
    )
    return { ...call("stack_frame_pop", done("It is there")), after }
  }
  const { server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_plan_children", { children: titles.map((title) => task(title)) }),
        call("stack_frame_activate_ready"),
        (request) => ({ text: answers(request).at(-1) ?? "" }),
      ],
      ...Object.fromEntries(titles.map((_, index) => [`frame f${index + 2}`, [child, { text: "Done" }]])),
    }),
    { plugin: [PLUGIN, { tools: "all", calls: { maxConcurrent: 2 } }] },
  )
  const { text } = await server.prompt("Build a shop")
  for (const title of titles) {
    assert.match(text, new RegExp(`\\(${title}\\) is completed\\.\\nResults: It is there`))
    assert.equal(frames().get(title)?.status, "completed")
  }
  assert.equal(most, 2, "two work at a time, and not fewer")
})

test("a background frame reports in the next request of its parent, and then as a finished child", async (t) => {
  let finish: () => void = () => undefined
  const wait = new Promise<void>((resolve) => (finish = resolve))
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_push", task("Taxes", { background: true })),
        { text: "I go on meanwhile" },
        { text: "I see" },
        { text: "Indeed" },
      ],
      "frame f2": [{ ...call("stack_frame_pop", done("VAT of 20 %")), after: wait }, { text: "Done" }],
    }),
  )
  const { sessionID } = await server.prompt("Build a shop")
  finish()
  await until(
    "the child is done",
    () => frames().get("Taxes")?.holder?.released !== undefined && frames().get("Taxes")?.status === "completed",
  )
  await server.prompt("What is there?", sessionID)
  const first = contextOf(model.work(sessionID).at(-1))
  assert.match(first.volatile, /<ended-child id="f2" title="Taxes" status="completed">VAT of 20 %<\/ended-child>/)
  assert.doesNotMatch(first.stable, /VAT of 20 %/)
  await server.prompt("And now?", sessionID)
  const second = contextOf(model.work(sessionID).at(-1))
  assert.doesNotMatch(second.volatile, /<ended-child/)
  assert.match(second.stable, /<finished-children[\s\S]*VAT of 20 %/)
})

test("a plan is edited while a frame runs, and what another process stops takes effect", async (t) => {
  const { model, server, project, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_plan_children", {
          children: [task("Catalogue"), task("Cart", { dependsOn: ["Catalogue"] })],
        }),
        call("stack_frame_activate", { sessionID: "f2" }),
        (request) => ({ text: answers(request).at(-1) ?? "" }),
      ],
      "frame f2": [
        { text: "First steps are done", calls: [{ tool: "stack_status", arguments: {} }] },
        { after: never },
      ],
    }),
  )
  const prompt = server.prompt("Build a shop")
  await until("the catalogue is worked on", () =>
    model.requests.some(
      (request) => request.messages.some(({ text }) => text.includes("frame f2")) && answers(request).length > 0,
    ),
  )
  const other = Stack.open(project.stack)
  t.after(() => other.close())
  other.edit("f3", { title: "Basket", dependsOn: [] })
  assert.deepEqual(other.stop("f1", "the catalogue is bought"), ["f2"])
  const started = Date.now()
  const { text } = await prompt
  assert.ok(Date.now() - started < 10_000, "the host has noticed it by itself")
  assert.match(
    text,
    /^f2 \(Catalogue\) is blocked\.\nResults so far: \[auto-completed: It was stopped: the catalogue is bought; it worked for \d+ m?s: \d+ messages?, \d+ tool calls?\] First steps are done\n/,
  )
  const found = frames()
  assert.deepEqual([found.get("Catalogue")?.status, found.get("Basket")?.status], ["blocked", "planned"])
  assert.deepEqual(other.handles({ relation: "ready" }), ["f3"])
})

test("a child without a pop is asked for a summary, and a checkpoint in a pushed frame compacts its session", async (t) => {
  const summary = "The lexer reads numbers and names; strings are left"
  let forgetful = ""
  const script = byTask({
    "Build a shop": [
      call("stack_frame_push", task("Forgetful")),
      (request) => {
        forgetful = answers(request)[0] ?? ""
        return call("stack_frame_push", task("Careful"))
      },
      (request) => ({ text: answers(request)[0] ?? "" }),
    ],
    "frame f2": [call("write", { filePath: "lexer.ts", content: "" }), { text: "Well" }],
    "frame f3": [call("stack_frame_summarize", { note: "the strings" }), { text: "I end my turn" }],
  })
  const { server, frames } = await scenario(
    t,
    (request) => {
      // The summary has replaced the messages before it.
      const goesOn = request.messages.slice(-2).some(({ text }) => text.includes("Continue frame f3"))
      return goesOn ? call("stack_frame_pop", done("Strings too")) : script(request)
    },
    { summary: () => ({ text: summary }) },
  )
  const { text } = await server.prompt("Build a shop")
  assert.match(
    forgetful,
    /^f2 \(Forgetful\) is blocked\.\nResults so far: \[auto-completed: its session ended without stack_frame_pop; it worked for \d+ m?s: \d+ messages?, 1 tool call; artifacts: lexer\.ts\] The lexer reads numbers/,
  )
  assert.match(text, /^f3 \(Careful\) is completed\.\nResults: Strings too\n/)
  assert.equal(frames().get("Forgetful")?.status, "blocked")
})

test("a failed frame is begun again by a new session that knows why it failed", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("stack_frame_push", task("Taxes")),
        call("stack_frame_activate", { sessionID: "f2", retry: true, answer: "Take the rates of the office" }),
        (request) => ({ text: answers(request).at(-1) ?? "" }),
      ],
      "frame f2": [call("stack_frame_pop", done("The table of rates is old", "failed")), { text: "No" }],
      "frame f3": [call("stack_frame_pop", done("Rates of the office")), { text: "Done" }],
    }),
  )
  const { text } = await server.prompt("Build a shop")
  assert.match(text, /^f3 \(Taxes\) is completed\.\nResults: Rates of the office/)
  const { stable, volatile } = contextOf(model.work(frames().get("Taxes")?.sessionID ?? "")[0])
  assert.match(stable, /<earlier-attempts>\n<frame id="f2" status="failed">[\s\S]*The table of rates is old/)
  assert.match(volatile, /<answer>Take the rates of the office<\/answer>/)
})

test("after a kill with three frames running, all are listed as interrupted and go on in their sessions", async (t) => {
  const resumed: Script = (request) =>
    request.messages.some(({ text }) => text.includes("was interrupted"))
      ? call("stack_frame_pop", done("It is there"))
      : { after: never }
  const worked = [resumed, resumed, { text: "Done" }, { text: "Done" }]
  const { model, server, project, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [
        {
          calls: ["A", "B", "C"].map((title) => ({
            tool: "stack_frame_push",
            arguments: task(title, { background: true }),
          })),
        },
        { text: "They work" },
        call("stack_status"),
        {
          calls: ["f2", "f3", "f4"].map((sessionID) => ({ tool: "stack_frame_activate", arguments: { sessionID } })),
        },
        (request) => ({ text: answers(request).slice(-3).join("\n") }),
      ],
      "frame f2": worked,
      "frame f3": worked,
      "frame f4": worked,
    }),
    { plugin: [WITH_ALL_TOOLS[0], { ...WITH_ALL_TOOLS[1], ...WITH_SHORT_LEASES[1] }] },
  )
  const { sessionID } = await server.prompt("Build a shop")
  await until("all three are asked", () => new Set(model.requests.map((request) => request.sessionID)).size === 4)
  const sessions = new Map([...frames()].map(([title, frame]) => [title, frame.sessionID]))
  const other = Stack.open(project.stack)
  t.after(() => other.close())
  const interrupted = () => other.handles({ relation: "interrupted" })
  assert.deepEqual(interrupted(), [], "the server runs them")
  await server.kill("SIGKILL")
  await until("the leases of its host have ended", () => interrupted().length === 3)
  assert.deepEqual(interrupted(), ["f2", "f3", "f4"])

  const again = await serve(project)
  t.after(() => again.stop())
  const { text } = await again.prompt("Go on", sessionID)
  for (const title of ["A", "B", "C"]) {
    assert.match(text, new RegExp(`\\(${title}\\) is completed\\.`))
    assert.equal(frames().get(title)?.sessionID, sessions.get(title), "in its own session")
  }
  const status = model.work(sessionID).flatMap((request) => answers(request))
  assert.ok(status.some((answer) => answer.includes("It was interrupted: the host that ran it has ended")))
  other.refresh()
  assert.deepEqual(interrupted(), [])
})

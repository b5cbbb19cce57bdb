// The usage of frames equals what the scripted models have charged, in the three wire formats.

import assert from "node:assert/strict"
import { test } from "node:test"
import { type ModelUsage, Stack } from "callstack-core"
import {
  byTask,
  type Charge,
  call,
  done,
  type Model,
  type Project,
  scenario,
  serve,
  task,
  until,
  WIRES,
} from "./harness/index.js"

type Wire = keyof typeof WIRES
type Sums = Omit<ModelUsage, "duration">

const TOKENS = ["uncachedInput", "cacheRead", "cacheWrite", "output", "reasoning"] as const

/**
 * The charges of the model for the requests of sessions, except for requests for titles, which no plugin
 * sees.
 */
function charged(model: Model, wire: Wire, isOf: (sessionID: string) => boolean = () => true): Sums {
  const sums = { requests: 0, failed: 0, uncachedInput: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
  for (const { request, charge } of model.charges) {
    if (request.purpose === "title" || !isOf(request.sessionID)) continue
    sums.requests += 1
    if (charge === undefined) {
      sums.failed += 1
      continue
    }
    const tokens = told(charge, wire)
    for (const key of TOKENS) sums[key] += tokens[key]
  }
  return { model: "scripted/main", ...sums }
}

/** A charge in the form that the wire format reports. */
function told({ uncachedInput, cacheRead, cacheWrite, output, reasoning }: Charge, wire: Wire): Charge {
  if (wire === "anthropic") return { uncachedInput, cacheRead, cacheWrite, output: output + reasoning, reasoning: 0 }
  return { uncachedInput: uncachedInput + cacheWrite, cacheRead, cacheWrite: 0, output, reasoning }
}

/** The sums of one model, without its times. */
function sums(usages: readonly ModelUsage[]): Sums | undefined {
  assert.ok(usages.length <= 1, "all requests ask the same model")
  const [usage] = usages
  if (usage === undefined) return undefined
  const { duration, ...rest } = usage
  assert.ok(duration > 0, "the requests have taken time")
  return rest
}

/** Waits until the usage below f1 has all requests, compares it, and that of each frame, with the charges. */
async function compare(project: Project, model: Model, wire: Wire): Promise<void> {
  const stack = Stack.open(project.stack)
  try {
    const expected = charged(model, wire)
    const total = () => {
      stack.refresh()
      return sums(stack.usage("f1").total)
    }
    await until("the last request is recorded", () => total()?.requests === expected.requests).catch(() => undefined)
    assert.deepEqual(total(), expected, "f1 and everything below it")
    for (const { handle, sessionID } of stack.frames()) {
      const own = charged(model, wire, (id) => id === sessionID)
      assert.deepEqual(sums(stack.usage(handle).own), own, `${handle} itself`)
    }
  } finally {
    stack.close()
  }
}

for (const wire of Object.keys(WIRES) as Wire[]) {
  test(`${wire}: three levels, with repeated and failed requests, a compaction and a restart`, async (t) => {
    let refusals = 2
    const charge = (factor: number) => ({
      charge: {
        uncachedInput: 1000 * factor,
        cacheRead: 200 * factor,
        cacheWrite: 30 * factor,
        output: 7 * factor,
        reasoning: 5 * factor,
      },
    })
    const { model, server, project } = await scenario(
      t,
      byTask({
        "Build a shop": [
          { ...call("stack_frame_push", task("Cart")), ...charge(1) },
          { ...call("stack_frame_push", task("Taxes")), ...charge(2) },
          { text: "The shop is open", ...charge(3) },
        ],
        "frame f2": [
          { ...call("stack_frame_push", task("Totals")), ...charge(4) },
          () => {
            refusals -= 1
            if (refusals >= 0) return { status: 503, text: "the model is overloaded" }
            return { ...call("stack_frame_pop", done("The cart adds up")), ...charge(5) }
          },
          { text: "Done", ...charge(6) },
        ],
        "frame f3": [
          { ...call("stack_frame_pop", done("Totals are right")), ...charge(7) },
          { text: "Done", ...charge(8) },
        ],
        "frame f4": [{ status: 400, text: "the request is wrong" }],
      }),
      { wire },
    )
    const { sessionID, text } = await server.prompt("Build a shop")
    assert.equal(text, "The shop is open")
    await compare(project, model, wire)
    const all = charged(model, wire)
    assert.ok(all.failed === 3 && all.requests > 8, `two requests are repeated, one fails: ${JSON.stringify(all)}`)

    await server.client.session.summarize({
      path: { id: sessionID },
      body: { providerID: "scripted", modelID: "main" },
    })
    assert.ok(model.requests.some(({ purpose }) => purpose === "summary"))
    await compare(project, model, wire)

    await server.stop()
    const again = await serve(project)
    t.after(() => again.stop())
    await again.prompt("Go on", sessionID)
    await compare(project, model, wire)
  })
}

test("a prompt that is too long is a failed request, and the compaction after it another one", async (t) => {
  let isFirst = true
  const { model, server, project } = await scenario(t, () => {
    const reply = isFirst
      ? { status: 400, text: "This model's maximum context length is 200000 tokens." }
      : { text: "Ok" }
    isFirst = false
    return reply
  })
  assert.equal((await server.prompt("Build a shop")).text, "Ok")
  await compare(project, model, "chat")
  const { requests, failed } = charged(model, "chat")
  assert.deepEqual([requests, failed], [3, 1], "refused, compacted, answered")
})

test("messages that no model has written are no requests, and the time of tools is not theirs", async (t) => {
  const { model, server, project } = await scenario(
    t,
    byTask({
      "Build a shop": [call("stack_frame_push", task("Cart")), { text: "Open" }],
      "frame f2": [call("stack_frame_pop", done("It adds up")), { text: "Done" }],
    }),
  )
  const { sessionID } = await server.prompt("Build a shop")
  await server.client.session.shell({ path: { id: sessionID }, body: { agent: "build", command: "echo hello" } })
  const { data: fork } = await server.client.session.fork({ path: { id: sessionID }, body: {} })
  assert.notEqual(fork, undefined)
  await server.prompt("Go on", sessionID)
  await compare(project, model, "chat")

  const stack = Stack.open(project.stack)
  t.after(() => stack.close())
  const requests = stack.history().flatMap((event) => (event.kind === "usageRecorded" ? [event] : []))
  const [push, ...others] = requests.filter(({ handle }) => handle === "f1").map(({ modelRequest }) => modelRequest)
  const messages = async (id: string) => (await server.client.session.messages({ path: { id } })).data ?? []
  const pushed = (await messages(sessionID)).find(({ info }) => info.role === "assistant")
  const [child] = await messages(stack.frame("f2").sessionID)
  const answered = (pushed?.info.time.created ?? 0) + (push?.duration ?? Number.POSITIVE_INFINITY)
  assert.ok(answered <= (child?.info.time.created ?? 0), "the request for the push ends before the child begins")
  const counts = [push, ...others].map((request) => request?.messages)
  assert.deepEqual(counts, [2, 3, 7], "the conversation and the context; later also the shell command with its output")
})

// Compactions in the middle of the work: the prompt for the summary, and what the conversation holds
// afterwards.

import assert from "node:assert/strict"
import test from "node:test"
import {
  type Answer,
  frameOf,
  type ModelRequest,
  pop,
  priceOf,
  push,
  type Running,
  running,
  type Step,
  stableOf,
  stack,
  volatilesOf,
  type World,
  write,
} from "./harness/index.js"

const SUMMARY: Answer = {
  text: "<analysis>Hm</analysis><summary>Half of the child is written in a.ts</summary>",
  usage: { input: 5000, output: 70 },
}

/** Returns the requests of a frame. */
function asked({ model }: World, frame: string): ModelRequest[] {
  return model.asked.filter((request) => frameOf(request) === frame)
}

function textOf({ messages }: ModelRequest): string {
  return messages.map(({ text }) => text).join("\n")
}

/** Work before a compaction: a file, a decision and a child. */
const WORK: Step[] = [
  (_, world) => ({
    text: "WORDS-BEFORE",
    calls: [write(world, "a.ts"), stack("add_decision", { decision: "Use cents" })],
  }),
  { calls: [push("Grandchild")] },
]

/**
 * Checks the content of the request for the summary, and that the next request holds what the conversation
 * has forgotten.
 */
function checkCompaction(world: World, place: number, grandchild: string): ModelRequest {
  const [compaction, next] = asked(world, "f2").slice(place)
  assert.ok(compaction?.isCompaction === true && next !== undefined)
  const instructions = textOf(compaction).split("Additional Instructions:")[1] ?? ""
  for (const part of ["The frame: Child", "criteria: Child works", "a.ts", "Use cents", `${grandchild} Grandchild`]) {
    assert.ok(instructions.includes(part), `${part} is in ${instructions}`)
  }
  const text = textOf(next)
  assert.ok(text.includes("Half of the child is written in a.ts"))
  assert.ok(!text.includes("WORDS-BEFORE"))
  // The newest context is in the system prompt, or in addition to it if the turn had begun before.
  const context = `${stableOf(next)} ${text}`
  assert.match(context, /<ancestors count="1">[\s\S]*Go on/)
  assert.match(context, /<finished-children>[\s\S]*result of the grandchild/)
  // Later changes may follow it.
  const whole = volatilesOf(next).filter((block) => block.startsWith("<stack-now>"))
  const newest = whole.at(-1) ?? ""
  for (const part of ["a.ts", "Use cents", '<current-frame id="f2"']) assert.ok(newest.includes(part), newest)
  assert.equal(whole.length, 1)
  return next
}

/** Checks that the frames have cost what the model has charged. */
function checkCosts({ flame, world }: Running, frame: string, requests: number): void {
  const charged = world.model.charged(flame.stack.frame(frame).sessionID)
  const { own, ownCostUsd } = flame.usage(frame)
  const [usage, ...others] = own
  assert.ok(usage !== undefined && others.length === 0)
  const { uncachedInput: input, output, cacheRead, cacheWrite } = usage
  assert.deepEqual({ input, output, cacheRead, cacheWrite }, charged)
  assert.deepEqual([usage.requests, usage.failed], [requests, 0])
  assert.ok(Math.abs(ownCostUsd - priceOf(charged)) < 1e-9, `${ownCostUsd} dollars for ${JSON.stringify(charged)}`)
}

test("a conversation that is too long for the model is compacted, and the work goes on", () =>
  running(
    {
      f1: [{ calls: [push("Child")] }, { calls: [pop("done")] }],
      f2: [
        ...WORK,
        { status: 400, text: "prompt is too long: 210000 tokens > 200000 maximum" },
        SUMMARY,
        { calls: [pop("child done")] },
      ],
      f3: [{ calls: [pop("result of the grandchild")] }],
    },
    async (all) => {
      const { flame, world, events } = all
      const { frame } = await flame.run("Go on")
      assert.equal(frame.status, "completed")
      assert.equal(flame.stack.frame("f2").results, "child done")
      checkCompaction(world, 3, "f3")
      assert.equal(events.filter(({ kind }) => kind === "compacted").length, 1)
      checkCosts(all, "f2", 4)
    },
  ))

test("a conversation near its window is compacted, and gets the newest stable context", () =>
  running(
    {
      f1: [{ calls: [push("Child"), push("Sibling")] }, { calls: [pop("done")] }],
      f2: [
        ...WORK.slice(0, 1),
        async (_, { model }) => {
          await model.waitFor((request) => frameOf(request) === "f3")
          return { calls: [push("Grandchild")], usage: { input: 990_000 } }
        },
        SUMMARY,
        { calls: [pop("child done")] },
      ],
      f3: [{ calls: [pop("result of the sibling")] }],
      f4: [{ calls: [pop("result of the grandchild")] }],
    },
    async (all) => {
      const { frame } = await all.flame.run("Go on")
      assert.equal(frame.status, "completed")
      const next = checkCompaction(all.world, 2, "f4")
      assert.ok(!next.system.includes("result of the sibling"))
      assert.match(textOf(next), /<completed-siblings>[\s\S]*result of the sibling/)
      checkCosts(all, "f2", 4)
    },
  ))

test("an agent asks for a checkpoint and goes on from its summary", () =>
  running(
    {
      f1: [{ calls: [push("Child")] }, { calls: [pop("done")] }],
      f2: [
        ...WORK,
        { calls: [stack("frame_summarize", { note: "Keep the names of columns" })] },
        { text: "I have asked for it" },
        SUMMARY,
        ({ lastUser }) => ({ calls: [pop(`went on: ${lastUser}`)] }),
      ],
      f3: [{ calls: [pop("result of the grandchild")] }],
    },
    async (all) => {
      const { frame } = await all.flame.run("Go on")
      assert.equal(frame.status, "completed")
      const next = checkCompaction(all.world, 4, "f3")
      assert.match(next.system, /<finished-children>[\s\S]*result of the grandchild/)
      assert.ok(
        textOf(asked(all.world, "f2")[4] as ModelRequest).includes("Special request: Keep the names of columns"),
      )
      assert.match(all.flame.stack.frame("f2").results ?? "", /^went on: /)
      checkCosts(all, "f2", 6)
    },
    { settings: { tools: ["standard", "stack_frame_summarize"] } },
  ))

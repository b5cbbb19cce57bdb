// Prompt caching: how many bytes of a request are also the beginning of the next request.

import assert from "node:assert/strict"
import { test } from "node:test"
import {
  byTask,
  call,
  contextOf,
  type ModelRequest,
  type ProjectOptions,
  scenario,
  type Turn,
  WIRES,
} from "./harness/index.js"

const STEPS = 30

/** Steps that alternately print 4 KB and do something short. */
function steps(short: (step: number) => Turn): Turn[] {
  const print = call("bash", { command: "head -c 4096 /dev/zero | tr '\\0' x", description: "Print 4 KB" })
  return Array.from({ length: STEPS }, (_, step) => (step % 2 === 0 ? print : short(step)))
}

const decide = (step: number) =>
  call("stack_add_decision", { decision: `Decision ${step}: prices are integers, since rounding errors add up` })
const echo = (step: number) => call("bash", { command: `echo ${step}`, description: "Say the step" })

/**
 * Returns the percentage of the bytes of all requests (except the last) that are also the beginning of the
 * next request.
 */
function kept(requests: readonly ModelRequest[]): number {
  let [same, all] = [0, 0]
  for (const [index, { conversation: before }] of requests.slice(0, -1).entries()) {
    const [one, other] = [Buffer.from(before), Buffer.from(requests[index + 1]?.conversation ?? "")]
    let length = 0
    while (length < one.length && one[length] === other[length]) length++
    same += length
    all += one.length
  }
  return (100 * same) / all
}

async function measure(
  t: Parameters<typeof scenario>[0],
  options: ProjectOptions,
  turns: Turn[],
): Promise<ModelRequest[]> {
  const { model, server } = await scenario(t, byTask({ Work: turns }), options)
  const { sessionID, text } = await server.prompt("Work")
  assert.equal(text, "Done.")
  assert.equal(model.work(sessionID).length, STEPS + 1)
  return model.work(sessionID)
}

for (const wire of Object.keys(WIRES) as (keyof typeof WIRES)[]) {
  test(`the next request begins with at least 97 % of the one before (${wire})`, async (t) => {
    const requests = await measure(t, { wire }, steps(decide))
    for (const request of requests) assert.notEqual(contextOf(request).volatile, "")
    const share = kept(requests)
    console.log(`prompt cache, ${wire}: ${share.toFixed(2)} % of the bytes are kept`)
    assert.ok(share >= 97, `${share.toFixed(2)} % are kept`)
    assert.equal(
      new Set(requests.map((request) => contextOf(request).stable)).size,
      1,
      "the stable part does not change",
    )
  })
}

test("without the plugin, the next request begins with the whole one before", async (t) => {
  const share = kept(await measure(t, { plugin: null }, steps(echo)))
  console.log(`prompt cache, no plugin: ${share.toFixed(2)} % of the bytes are kept`)
  assert.ok(share > 99.9, `${share.toFixed(2)} % are kept`)
})

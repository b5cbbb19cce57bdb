// Depth and width: frames down to the maximum depth, and several pushes in one message.

import assert from "node:assert/strict"
import test from "node:test"
import type { FlameEvent } from "callstack-flame"
import { frameOf, pop, push, running, treeOf } from "./harness/index.js"

/** Returns the largest number of frames below the root that had begun and not ended at the same time. */
function mostAtOnce(events: readonly FlameEvent[]): number {
  const open = new Set<string>()
  let most = 0
  for (const { kind, frame } of events) {
    if (frame === undefined || frame === "f1") continue
    if (kind === "begun") open.add(frame)
    if (kind === "ended") open.delete(frame)
    most = Math.max(most, open.size)
  }
  return most
}

test("frames go four levels deep, and an agent learns that a fifth is too deep", () => {
  let refusal = ""
  return running(
    {
      f1: [{ calls: [push("Two")] }, { calls: [pop("1")] }],
      f2: [{ calls: [push("Three")] }, { calls: [pop("2")] }],
      f3: [{ calls: [push("Four")] }, { calls: [pop("3")] }],
      f4: [
        { calls: [push("Five")] },
        ({ news }) => {
          refusal = news[0]?.isError === true ? news[0].text : ""
          return { calls: [pop("4")] }
        },
      ],
    },
    async ({ flame }) => {
      const { frame } = await flame.run("Go deep")
      assert.equal(frame.status, "completed")
      assert.match(refusal, /no frame can be started below frame f4, because the maximum depth is 3/)
      assert.deepEqual(treeOf(flame), [
        "[completed] Go deep",
        "  = 1",
        "  [completed] Two",
        "    = 2",
        "    [completed] Three",
        "      = 3",
        "      [completed] Four",
        "        = 4",
      ])
    },
    { maxDepth: 3 },
  )
})

test("six pushes of one message run two at a time, and all results arrive", () => {
  const names = ["A", "B", "C", "D", "E", "F"]
  let results: string[] = []
  return running(
    (request) => {
      const frame = frameOf(request) ?? ""
      if (frame !== "f1") return { calls: [pop(`result of ${frame}`)], wait: 150 }
      if (request.results.length === 0) return { calls: names.map((name) => push(name)) }
      results = request.news.map(({ text }) => text)
      return { calls: [pop("all six")] }
    },
    async ({ flame, events }) => {
      const { frame } = await flame.run("Six at once")
      assert.equal(frame.results, "all six")
      assert.equal(results.length, 6)
      for (const [index, name] of names.entries())
        assert.ok(results.some((text) => text.includes(`result of f${index + 2}`) && text.includes(name)))
      assert.equal(mostAtOnce(events), 2)
    },
    { maxConcurrent: 2 },
  )
})

test("pushes of one message that need one another keep their order", () => {
  let results: string[] = []
  return running(
    (request) => {
      const frame = frameOf(request) ?? ""
      if (frame !== "f1") return { calls: [pop(`result of ${frame}`)] }
      if (request.results.length === 0) {
        return { calls: [push("A"), push("B", { dependsOn: ["A"] }), push("C", { dependsOn: ["B", "A"] }), push("D")] }
      }
      results = request.news.map(({ text }) => text)
      return { calls: [pop("all")] }
    },
    async ({ flame, world, events }) => {
      await flame.run("In order")
      const order = events.flatMap(({ kind, frame }) =>
        kind === "begun" || kind === "ended" ? [`${frame} ${kind}`] : [],
      )
      const place = (text: string) => order.indexOf(text)
      assert.ok(place("f3 begun") > place("f2 ended"))
      assert.ok(place("f4 begun") > place("f3 ended"))
      assert.ok(place("f5 begun") < place("f3 begun"))
      const [c] = world.model.asked.filter((request) => frameOf(request) === "f4")
      for (const text of ["result of f2", "result of f3"]) assert.ok(c?.system.includes(text), text)
      for (const frame of ["f2", "f3", "f4", "f5"])
        assert.ok(results.some((text) => text.includes(`result of ${frame}`)))
    },
  )
})

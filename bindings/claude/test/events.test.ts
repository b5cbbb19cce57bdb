// The events of a run: their order and content, and their listeners.

import assert from "node:assert/strict"
import test from "node:test"
import type { FlameEvent } from "callstack-flame"
import { pop, push, running, write } from "./harness/index.js"

/** Returns an event as a line, without the parts that differ between runs. */
function line(event: FlameEvent): string {
  const { kind, frame } = event
  switch (event.kind) {
    case "begun":
      return `${frame} begun: ${event.title}, below ${event.parent}`
    case "ended":
      return `${frame} ended: ${event.title}, ${event.status}: ${event.results}`
    case "text":
      return `${frame} text: ${event.text}`
    case "tool":
      return `${frame} tool: ${event.tool}`
    case "toolEnded":
      return `${frame} toolEnded: ${event.tool}${event.failed ? ", failed" : ""}`
    case "usage":
      return `${frame} usage: ${event.request.uncachedInput} ${event.request.output} ${event.request.model}`
    case "cost":
      return `${frame} cost: ${event.costUsd.toFixed(6)}`
    default:
      return `${frame} ${kind}`
  }
}

const STEPS = {
  f1: [{ text: "One part", calls: [push("Part")] }, { calls: [pop("All")] }],
  f2: [
    (_: unknown, world: Parameters<typeof write>[0]) => ({
      calls: [write(world, "a.ts")],
      usage: { input: 7, output: 3 },
    }),
    { calls: [pop("Part is in a.ts")] },
  ],
}

test("a run is told in its order", () =>
  running(STEPS, async ({ flame, events }) => {
    await flame.run("Whole")
    const told = events.map(line)
    const of = (frame: string) => told.filter((text) => text.startsWith(frame))
    assert.deepEqual(of("f1"), [
      "f1 begun: Whole, below undefined",
      "f1 text: One part",
      "f1 tool: mcp__stack__stack_frame_push",
      "f1 usage: 100 10 claude-sonnet-5",
      "f1 toolEnded: mcp__stack__stack_frame_push",
      "f1 tool: mcp__stack__stack_frame_pop",
      "f1 usage: 100 10 claude-sonnet-5",
      "f1 ended: Whole, completed: All",
      "f1 toolEnded: mcp__stack__stack_frame_pop",
      "f1 cost: 0.000600",
    ])
    assert.deepEqual(of("f2"), [
      "f2 begun: Part, below f1",
      "f2 tool: Write",
      "f2 usage: 7 3 claude-sonnet-5",
      "f2 toolEnded: Write",
      "f2 tool: mcp__stack__stack_frame_pop",
      "f2 usage: 100 10 claude-sonnet-5",
      "f2 ended: Part, completed: Part is in a.ts",
      "f2 toolEnded: mcp__stack__stack_frame_pop",
      "f2 cost: 0.000344",
    ])
    const pushed = told.indexOf("f1 tool: mcp__stack__stack_frame_push")
    assert.ok(told.indexOf("f2 begun: Part, below f1") > pushed)
    assert.ok(told.indexOf("f1 toolEnded: mcp__stack__stack_frame_push") > told.indexOf("f2 cost: 0.000344"))
  }))

test("a stream has the events from the moment in which it was made, and a reader who has left gets no more", () =>
  running(STEPS, async ({ flame, events }) => {
    const stream = flame[Symbol.asyncIterator]()
    const left = flame[Symbol.asyncIterator]()
    await flame.run("Whole")
    const read = async (): Promise<FlameEvent> => {
      const next = await stream.next()
      if (next.done) throw new Error("the stream has ended")
      return next.value.kind === "log" ? read() : next.value
    }
    assert.deepEqual(await read(), events[0])
    await left.return?.()
    assert.equal((await left.next()).done, true)
  }))

test("a listener that throws does no harm, and streams have all events until the end", async () => {
  const warnings: string[] = []
  const warned = (warning: Error) => warnings.push(warning.message)
  process.on("warning", warned)
  const streams: Promise<string[]>[] = []
  let left: string[] = []
  await running(STEPS, async ({ flame, events }) => {
    flame.on(() => {
      throw new Error("no ears")
    })
    const read = async () => {
      const lines: string[] = []
      for await (const event of flame) if (event.kind !== "log") lines.push(line(event))
      return lines
    }
    const readSome = async () => {
      const lines: string[] = []
      for await (const event of flame) {
        if (event.kind !== "log") lines.push(line(event))
        if (event.kind === "usage") break
      }
      return lines
    }
    streams.push(read(), read())
    const some = readSome()
    const removed: string[] = []
    const remove = flame.on((event) => {
      removed.push(event.kind)
      remove()
    })
    const { frame } = await flame.run("Whole")
    assert.equal(frame.status, "completed")
    left = await some
    assert.equal(removed.length, 1)
    void flame.close()
    const [one, other] = await Promise.all(streams)
    assert.deepEqual(one, events.map(line))
    assert.deepEqual(other, one)
    assert.deepEqual(left, one?.slice(0, left.length))
    assert.match(left.at(-1) ?? "", /^f1 usage/)
  })
  process.off("warning", warned)
  assert.deepEqual(
    warnings.filter((message) => message.includes("listener")),
    ['a listener has failed at an event "log": Error: no ears'],
  )
})

// Stops: signals to an orchestrator with a tree of frames, and what people do to frames while they run or wait.

import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { test } from "node:test"
import type { FlameEvent } from "callstack-flame"
import { agent, type HostProcess, startHost, type Work } from "./harness/hosts.js"
import { type Answer, frameOf, type ModelRequest, transcriptLines, until, type World, within } from "./harness/index.js"

const TREE: Work = {
  title: "Root",
  children: [{ title: "Middle", children: [{ title: "Leaf", files: ["leaf.txt"] }] }],
}

/** Waits until a frame has said something. */
async function hasSaid(host: HostProcess, frame: string): Promise<void> {
  await host.line((line) => line.kind === "text" && line.frame === frame, `words of ${frame}`)
}

for (const [signal, status] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  test(`${signal} stops a tree of depth 3 without another request, and a second one ends the process`, () => {
    let isFirst = true
    const script = (request: ModelRequest, world: World): Answer | undefined => {
      if (frameOf(request) !== "f3" || !isFirst) return agent(TREE, request, world)
      isFirst = false
      return { text: "I think about the leaf.", hang: "stream" }
    }
    return within(script, async (world) => {
      const { model } = world
      const host = startHost(world, { goal: "Root" })
      await hasSaid(host, "f3")
      const asked = model.asked.length
      // As a terminal does with Ctrl-C: to the whole group.
      process.kill(-(host.child.pid ?? 0), signal)
      const [outcome] = await host.outcomes()
      assert.equal(await host.end, 0)
      await world.settled()
      assert.equal(model.asked.length, asked)
      assert.equal(outcome?.frame.status, "blocked")
      console.log(
        host.lines.filter((l) => l.kind !== "log"),
        host.errors,
      )
      const ended = host.lines.filter((line): line is Extract<FlameEvent, { kind: "ended" }> => line.kind === "ended")
      for (const { frame, results } of ended) console.log(frame, results)
      console.log(await transcriptLines(world, model.asked.at(-1)?.session ?? ""))

      const again = startHost(world)
      const [resumed] = await again.outcomes()
      assert.deepEqual([resumed?.frame.status, resumed?.frame.results], ["completed", "Results of Root."])
      assert.ok(existsSync(`${world.folder}/leaf.txt`))
      assert.equal(await again.end, 0)
      await world.settled()
      void status
      void until
    })
  })
}

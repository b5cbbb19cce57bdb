// The subagents of the SDK: frames of their own, with their words, usage and files; and what a session is
// told again.

import assert from "node:assert/strict"
import test from "node:test"
import { type Answer, call, type ModelRequest, pop, running, stack, type World, write } from "./harness/index.js"

const TASK = "Look at the shelves, one by one."

/** Plays the agent of a frame and its subagent, each with its own answers. */
function withSubagent(own: readonly Answer[], agents: readonly ((request: ModelRequest, world: World) => Answer)[]) {
  const left = { own: [...own], agents: [...agents] }
  return (request: ModelRequest, world: World): Answer => {
    const isAgent = request.headers["x-claude-code-agent-id"] !== undefined
    const answer = isAgent ? left.agents.shift()?.(request, world) : left.own.shift()
    assert.ok(answer, `no answer for a request that ends: ${request.lastUser}`)
    return answer
  }
}

const look = call("Agent", { description: "Look around", prompt: TASK, subagent_type: "general-purpose" })
const OPTIONS = { tools: ["Agent", "Write"] }

test("a subagent is a frame below its caller's, with its log, its files and its tokens", () => {
  const script = withSubagent(
    [{ calls: [look] }, { calls: [pop("All is seen")] }],
    [
      (request, world) => {
        assert.ok(JSON.stringify(request.body).includes("<stack-context"), "it is told what its frame is for")
        return { text: "I look.", calls: [write(world, "shelves.txt"), pop("Mine")] }
      },
      ({ news }) => {
        assert.ok(
          news.some(({ text }) => text.includes("no tools of the stack")),
          JSON.stringify(news),
        )
        return { text: "The shelves are full." }
      },
    ],
  )
  return running(
    script,
    async ({ flame, world }) => {
      const { frame } = await flame.run("See all")
      assert.deepEqual([frame.status, frame.artifacts ?? []], ["completed", []])
      const [agent, ...others] = flame.stack.frames({ relation: "children", frame: frame.handle })
      assert.ok(agent !== undefined && others.length === 0, flame.tree())
      assert.deepEqual(
        [agent.title, agent.successCriteria, agent.status, agent.results, agent.artifacts],
        ["Look around (@general-purpose subagent)", TASK, "completed", "The shelves are full.", ["shelves.txt"]],
      )
      const log = JSON.stringify(flame.stack.readLog(agent.handle))
      for (const words of ["I look.", "The shelves are full.", "no tools of the stack"])
        assert.ok(log.includes(words), `${words}\n${log}`)
      const { total } = flame.usage(frame.handle)
      const asked = world.model.requests.filter(({ charged }) => charged !== undefined)
      assert.equal(
        total.reduce((all, { requests }) => all + requests, 0),
        asked.length,
      )
      assert.equal(
        flame.usage(agent.handle).own.reduce((all, { requests, failed }) => all + requests - failed, 0),
        2,
      )
    },
    OPTIONS,
  )
})

test("a subagent whose requests fail blocks its frame with the reason, and its caller goes on", () => {
  const script = withSubagent(
    [{ calls: [look] }, { calls: [pop("One has failed")] }],
    Array.from({ length: 20 }, () => () => ({ status: 400, text: "no such thing" })),
  )
  return running(
    script,
    async ({ flame }) => {
      const { frame } = await flame.run("See all")
      const [agent] = flame.stack.frames({ relation: "children", frame: frame.handle })
      assert.deepEqual([frame.status, agent?.status], ["completed", "blocked"], flame.tree())
      assert.match(agent?.results ?? "", /has failed: .*400/)
    },
    OPTIONS,
  )
})

test("a session is told only what has changed in its context", () => {
  const blocks: string[] = []
  const add = (title: string) => ({ calls: [stack("frame_plan_children", { children: [child(title)] })] })
  const child = (title: string) => ({ title, successCriteria: "It works", successCriteriaCompacted: "It works" })
  return running(
    {
      f1: [
        add("Cart"),
        add("Mail"),
        (request) => {
          const texts = request.messages.map(({ text }) => text).join("\n")
          blocks.push(...(texts.match(/<stack-now[\s\S]*?<\/stack-now>/g) ?? []))
          return { calls: [pop("Planned")] }
        },
      ],
    },
    async ({ flame }) => {
      await flame.run("Build a shop")
      const [first, ...changes] = blocks
      assert.ok(first?.startsWith("<stack-now>") && first.includes("<current-frame"), first ?? "")
      assert.equal(changes.length, 2)
      for (const change of changes) {
        assert.match(change, /^<stack-now shows="only what has changed">/)
        assert.ok(change.includes("<planned-children") && !change.includes("<current-frame"), change)
      }
      assert.ok(changes[1]?.includes("Mail"), changes[1] ?? "")
    },
  )
})

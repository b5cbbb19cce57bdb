// `callstack mcp` as a local server of OpenCode, without the plugin. This OpenCode does not say which session
// makes a call, so its agents pass the handle of their frame.

import assert from "node:assert/strict"
import { test } from "node:test"
import { call, PROGRAM, program, scenario } from "./harness/index.js"

const CONFIG = { mcp: { callstack: { type: "local", command: [PROGRAM, "mcp"], enabled: true } } }

test("sessions of OpenCode work in frames of their own", async (t) => {
  const push = (title: string, more: object = {}) =>
    call("callstack_push", { title, successCriteria: `${title} works`, ...more })
  const { model, server, project } = await scenario(
    t,
    ({ messages }) => {
      const last = messages.at(-1)
      const said = JSON.stringify(messages)
      if (last?.role === "user") return push(said.includes("Build a blog") ? "Blog" : "Shop")
      if (last?.text.includes('"new"')) return push("Blog", { frame: "new" })
      const own = last?.text.match(/pass "frame": "(f\d+)" to work in it\.$/)?.[1]
      if (own !== undefined && last?.text.includes("has begun"))
        return call("callstack_record", { decisions: [`This is ${own}`], frame: own })
      return { text: "Begun" }
    },
    { plugin: null, config: CONFIG },
  )
  await server.prompt("Build a shop")
  await server.prompt("Build a blog")
  const names = [...(model.requests.find(({ purpose }) => purpose === "work")?.tools.keys() ?? [])]
  assert.ok(names.includes("callstack_push") && names.includes("callstack_context"), names.join(", "))
  assert.match(program(project, "tree", "--all"), /f1 Shop[\s\S]*f2 Blog/)
  for (const [frame, title] of [
    ["f1", "Shop"],
    ["f2", "Blog"],
  ] as const) {
    const shown = program(project, "show", frame)
    assert.ok(shown.includes(title) && shown.includes(`This is ${frame}`), shown)
  }
})

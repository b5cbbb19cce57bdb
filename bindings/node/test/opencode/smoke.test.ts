// The package inside of OpenCode's runtime: loaded by a plugin, called by a tool, its work found on the disk.

import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Stack } from "callstack-core"
import { folder } from "../common.js"
import { startModel } from "./model.js"
import type { Found } from "./plugin.js"
import { startServer } from "./server.js"

test("a plugin in the real OpenCode uses the package", async () => {
  const model = await startModel(({ messages, tools }) => {
    if (tools.length === 0) return { text: "A title" }
    const last = messages.at(-1)
    return last?.role === "tool" ? { text: String(last.content) } : { tool: "callstack_smoke", arguments: {} }
  })
  const plugin = fileURLToPath(new URL("./plugin.js", import.meta.url))
  const server = await startServer(folder(), plugin, model.url)
  try {
    const { data: session } = await server.client.session.create({ body: { title: "Smoke" } })
    assert.ok(session, server.output())
    const { data: reply } = await server.client.session.prompt({
      path: { id: session.id },
      body: { parts: [{ type: "text", text: "Go" }] },
    })
    assert.ok(model.requests.some((request) => request.tools.includes("callstack_smoke")), `the plugin was not loaded\n${server.output()}`)
    const text = reply?.parts.find((part) => part.type === "text")?.text ?? ""
    assert.match(text, /^\{/, `the tool has failed: ${text}`)
    const found = JSON.parse(text) as Found
    assert.match(found.runtime ?? "", /^1\./, "OpenCode runs plugins in Bun")
    assert.deepEqual([found.handle, found.title, found.code, found.contexts], ["f2", "Żółw 🐢", "unknown_frame", 1000])
    assert.match(found.xml, /<title>Żółw 🐢<\/title>/)
  } finally {
    await server.stop()
    model.stop()
  }
  const stack = Stack.open(join(server.project, ".opencode", "stack"))
  assert.deepEqual(stack.frames().map(({ title, status }) => [title, status]), [
    ["Inside of OpenCode", "in_progress"],
    ["Żółw 🐢", "completed"],
  ])
  stack.close()
})

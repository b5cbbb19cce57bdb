// The plugin with its stack on a server. It needs a native library with PostgreSQL: `make postgres` runs it.

import assert from "node:assert/strict"
import { test } from "node:test"
import { byTask, call, done, framesOf, makeProject, PLUGIN, run, startModel, task } from "./harness/index.js"

const url = process.env["POSTGRES_URL"]

test("the stack of a project can be on a server", { skip: url === undefined }, async (t) => {
  const model = await startModel(
    byTask({
      "Build a shop": [
        call("stack_frame_push", task("Cart")),
        call("stack_frame_pop", done("The shop is open")),
        { text: "The shop is open." },
      ],
      "frame f2": [call("stack_frame_pop", done("The cart adds up"))],
    }),
  )
  t.after(() => model.stop())
  const folder = `${url}/opencode`
  const library = process.env["CALLSTACK_LIBRARY"] ?? ""
  const project = makeProject(model.url, { plugin: [PLUGIN, { folder }], env: { CALLSTACK_LIBRARY: library } })
  assert.match(await run(project, "Build a shop, please"), /The shop is open\./)
  const found = [...framesOf({ ...project, stack: folder }).values()]
  assert.deepEqual(
    found.map(({ status, logPath }) => [status, logPath !== undefined]),
    [
      ["completed", true],
      ["completed", true],
    ],
  )
})

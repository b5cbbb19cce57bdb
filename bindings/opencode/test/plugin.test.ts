// The plugin inside OpenCode: how it is loaded, requests that it must not change, and failures.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Stack } from "callstack-core"
import {
  answers,
  byTask,
  call,
  contextOf,
  done,
  framesOf,
  logOf,
  makeProject,
  PLUGIN,
  run,
  scenario,
  serve,
  startModel,
  task,
  until,
} from "./harness/index.js"

const status = byTask({ Look: [call("stack_status"), (request) => ({ text: answers(request)[0] ?? "" })] })

test("opencode run: tools, nested calls, and only the answer on the console", async (t) => {
  const model = await startModel(
    byTask({
      "Build a shop": [
        call("stack_frame_push", task("Cart")),
        call("stack_frame_pop", done("The shop is open")),
        { text: "The shop is open." },
      ],
      "frame f2": [call("stack_frame_push", task("Totals")), call("stack_frame_pop", done("The cart adds up"))],
      "frame f3": [call("stack_frame_pop", done("Totals are right"))],
    }),
  )
  t.after(() => model.stop())
  const project = makeProject(model.url)
  const printed = await run(project, "Build a shop, please")
  assert.match(printed, /The shop is open\./)
  assert.doesNotMatch(printed, /\[stack\]|Frame created/, "the log is no output")
  const found = [...framesOf(project).values()]
  assert.deepEqual(
    found.map(({ status }) => status),
    ["completed", "completed", "completed"],
  )
  const offered = model.requests.find(({ purpose }) => purpose === "work")?.tools
  const stack = Stack.inMemory()
  t.after(() => stack.close())
  for (const { name } of stack.tools()) assert.ok(offered?.has(name), `${name} is not in the model's request`)
})

test("it loads by its package name, installed without scripts as OpenCode does", async (t) => {
  const model = await startModel(status)
  t.after(() => model.stop())
  const packages = mkdtempSync(join(tmpdir(), "callstack-packages-"))
  const names = ["opencode-callstack", "callstack-core", "callstack-core-linux-x64"]
  execFileSync("node", [fileURLToPath(new URL("../../../scripts/pack.mjs", import.meta.url)), packages, ...names])
  const project = makeProject(model.url, { plugin: "opencode-callstack@0.1.0" })
  const place = join(project.env["XDG_CACHE_HOME"] ?? "", "opencode", "packages", "opencode-callstack@0.1.0")
  mkdirSync(place, { recursive: true })
  const files = names.map((name) => join(packages, `${name}-0.1.0.tgz`))
  execFileSync("npm", ["install", "--prefix", place, "--ignore-scripts", "--no-audit", "--no-fund", ...files], {
    stdio: "ignore",
  })
  const server = await serve(project)
  t.after(() => server.stop())
  assert.match((await server.prompt("Look")).text, /^This session works on f1/)
})

test("requests for titles have no context, and requests for work have it once", async (t) => {
  const { model, server } = await scenario(t, status)
  const { data: session } = await server.client.session.create({ body: {} })
  await server.prompt("Look", session?.id)
  const title = await until("a title is asked for", () => model.requests.find(({ purpose }) => purpose === "title"))
  assert.deepEqual(contextOf(title), { stable: "", volatile: "" })
  for (const request of model.work(session?.id ?? "")) {
    const { stable, volatile } = contextOf(request)
    assert.ok(stable !== "" && volatile !== "")
    assert.ok(request.messages.at(-1)?.text.endsWith(volatile), "the volatile part is behind everything else")
  }
})

test("a session that continues after its root was popped gets a new frame", async (t) => {
  const { model, server, frames } = await scenario(
    t,
    byTask({
      "Build a shop": [call("stack_frame_pop", done("The shop is open")), { text: "Open" }, { text: "Blogging" }],
    }),
  )
  const { sessionID } = await server.prompt("Build a shop")
  await server.prompt("Now write a blog", sessionID)
  const found = frames()
  assert.deepEqual([found.get("Test")?.status, found.get("Now write a blog")?.status], ["completed", "in_progress"])
  assert.equal(found.get("Now write a blog")?.sessionID, sessionID)
  assert.match(contextOf(model.work(sessionID).at(-1)).volatile, /<current-frame id="f2"/)
})

test("without the native library the plugin logs one message, and OpenCode continues without it", async (t) => {
  const { model, server } = await scenario(t, () => ({ text: "Still here" }), {
    env: { CALLSTACK_LIBRARY: "/nowhere/libcallstack.so" },
  })
  assert.equal((await server.prompt("Look")).text, "Still here")
  const offered = [...(model.requests.find(({ purpose }) => purpose === "work")?.tools.keys() ?? [])]
  assert.ok(offered.length > 5 && !offered.some((name) => name.startsWith("stack_")), offered.join(", "))
  const lines = logOf(server)
  assert.equal(lines.length, 1, lines.join("\n"))
  assert.match(
    lines[0] ?? "",
    /^disabled, OpenCode continues without it: the native library of callstack-core was not found[\s\S]*\/nowhere\/libcallstack\.so/,
  )
})

test("a stack that cannot be opened is left unchanged, and OpenCode continues", async (t) => {
  const model = await startModel(() => ({ text: "Still here" }))
  t.after(() => model.stop())
  const project = makeProject(model.url)
  mkdirSync(project.stack, { recursive: true })
  writeFileSync(join(project.stack, "stack.db"), "this is no database, whatever its name says")
  const server = await serve(project)
  t.after(() => server.stop())
  assert.equal((await server.prompt("Look")).text, "Still here")
  assert.match(logOf(server).join("\n"), /disabled, OpenCode continues without it: .*stack\.db is damaged/)
})

test("a context that does not fit its budget is omitted, and the log has the reason", async (t) => {
  const { model, server, logged } = await scenario(t, status, {
    plugin: [PLUGIN, { context: { budget: { total: 9 } } }],
  })
  const { sessionID, text } = await server.prompt("Look")
  assert.match(text, /^This session works on f1/)
  assert.deepEqual(contextOf(model.work(sessionID)[0]), { stable: "", volatile: "" })
  await logged(/system\.transform failed: a context of frame f1 needs at least \d+ tokens/)
})

test("one server for two directories keeps two separate stacks", async (t) => {
  const { server, project, frames } = await scenario(t, status)
  const other = makeProject("")
  cpSync(join(project.path, "opencode.json"), join(other.path, "opencode.json"))
  await server.prompt("Look here")
  const query = { directory: other.path }
  const { data: session } = await server.client.session.create({ query, body: { title: "Elsewhere" } })
  await server.client.session.prompt({
    path: { id: session?.id ?? "" },
    query,
    body: { parts: [{ type: "text", text: "Look there" }] },
  })
  assert.deepEqual([...frames().keys()], ["Test"])
  assert.deepEqual([...framesOf(other).keys()], ["Elsewhere"])
})

test("it survives many garbage collections", async (t) => {
  const collect =
    "export default { id: 'collect', server: async () => ({ 'tool.execute.after': async () => Bun.gc(true) }) }"
  const turns = Array.from({ length: 5 }, () => call("stack_status"))
  const { server, project } = await scenario(t, byTask({ Look: turns }), {
    files: { ".opencode/plugin/collect.js": collect },
  })
  assert.equal((await server.prompt("Look")).text, "Done.")
  assert.equal((await server.prompt("Look again")).text, "Done.")
  assert.equal(framesOf(project).size, 1, "both are called alike")
})

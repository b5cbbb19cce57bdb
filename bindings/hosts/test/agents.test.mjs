// The job in each agent: it is folded, the model refuses nothing, and the records equal what the model has
// billed.

import assert from "node:assert/strict"
import fs from "node:fs"
import path from "node:path"
import { test } from "node:test"
import { hosts } from "../hosts.mjs"
import { answers, assertBilled, logOf, runs, SECRET, scripted, world } from "./job.mjs"

/** How many of the model's thoughts, or of their signatures, are in a request. */
const thoughts = ({ raw }) => raw.toString().match(/"(signature|encrypted_content|thoughtSignature)":"/g)?.length ?? 0

/** How many marks of the cache are in a message. */
const marksOf = ({ content }) => (Array.isArray(content) ? content.filter((block) => block.cache_control).length : 0)

for (const name of Object.keys(hosts)) {
  test(`${name}: the job is folded, accepted and recorded`, async (t) => {
    const script = answers(name)
    const model = await scripted(name, script)
    t.after(() => model.close())
    const { out, shown, ...place } = await runs(name, model, { world: world(t, name) })
    const texts = model.work.map(({ raw }) => raw.toString())
    assert.equal(texts.length, script.length, shown)
    const isThere = (text, asked) => texts[asked].includes(text)
    assert.deepEqual(
      [2, 3, 5, 6].map((asked) => isThere(SECRET, asked)),
      [true, false, true, false],
      shown,
    )
    for (const results of ["The first part says nothing new.", "The second part neither."])
      assert.ok(isThere(results, 6), `${results}\n${shown}`)
    assert.ok(isThere("Do the job.", 6), shown)
    assertBilled(place, model.work, shown)
    assert.ok(fs.existsSync(path.join(place.project, ".callstack/stack.db")), `the stack of the run\n${shown}`)
    const log = logOf(place, "First part")
    assert.ok(JSON.stringify(log).includes(SECRET), `what is folded is in the log\n${shown}`)
    // Calls are logged when the model makes them, and not again with their results.
    if (!hosts[name].noMcp) {
      const calls = log.flatMap(({ calls }) => calls ?? []).filter((call) => JSON.stringify(call).includes("file.txt"))
      assert.equal(calls.length, 1, `${JSON.stringify(calls)}\n${shown}`)
      const outcomes = log.filter(({ role, text }) => role === "tool" && text.includes(SECRET))
      assert.equal(outcomes.length, 1, `${JSON.stringify(log)}\n${shown}`)
    }
    // Each of these agents sends back the thoughts of the model, so the checks of the model apply to them.
    if (["claude", "codex", "gemini"].includes(name))
      assert.ok(thoughts(model.work[2]) >= 2, `thoughts are sent back\n${shown}`)
    if (name === "claude")
      for (const { body } of model.work)
        assert.ok(marksOf(body.messages.at(-1)) > 0, `the newest message has a mark\n${shown}`)
    assert.match(out, /^\d new frames, 2 finished; 7 requests, [\d,]+ tokens in /m, shown)
  })
}

test("claude: the tools are in the first request, also where the host lets the model search for tools", async (t) => {
  const model = await scripted("claude", [{ text: "All is done." }])
  t.after(() => model.close())
  const environment = { ENABLE_TOOL_SEARCH: "true" }
  const { shown } = await runs("claude", model, { world: world(t, "claude"), environment })
  const { tools } = model.work[0]
  assert.ok(tools.includes("ToolSearch"), `the search is in force: ${tools}\n${shown}`)
  for (const name of ["push", "pop", "status"])
    assert.ok(tools.includes(`mcp__callstack__${name}`), `${tools}\n${shown}`)
})

test("opencode: the person's own plugins and settings stay in force", async (t) => {
  const place = world(t, "opencode")
  const plugin = path.join(place.root, "own.js")
  const mark = path.join(place.root, "mark")
  fs.writeFileSync(
    plugin,
    `import { writeFileSync } from "node:fs"\nexport default { id: "own", server: async () => { writeFileSync(${JSON.stringify(mark)}, ""); return {} } }\n`,
  )
  const model = await scripted("opencode", answers("opencode"))
  t.after(() => model.close())
  const { shown } = await runs("opencode", model, { world: place, extension: plugin })
  assert.ok(fs.existsSync(mark), `the person's plugin\n${shown}`)
  assert.ok(model.work[0].tools.includes("stack_frame_push"), `the plugin of the run\n${shown}`)
})

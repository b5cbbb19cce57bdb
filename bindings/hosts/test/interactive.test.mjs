// Agents as a person uses them: at a terminal, with several messages in one session.

import assert from "node:assert/strict"
import { test } from "node:test"
import { hosts, prepare } from "../hosts.mjs"
import { Terminal } from "../terminal.mjs"
import { answers, assertBilled, FILES, program, SECRET, scripted, world } from "./job.mjs"

/** The line where the person writes, and the command that ends a session. */
const EDITORS = { claude: [/^❯/, "/exit"], codex: [/^›/, "/quit"] }

for (const [name, [editor, end]] of Object.entries(EDITORS))
  test(`${name}: a person at a terminal`, async (t) => {
    const script = [...answers(name), { text: "The second message is answered." }]
    const model = await scripted(name, script)
    t.after(() => model.close())
    const place = { ...world(t, name), url: model.url }
    const { cwd, env } = prepare(name, place, FILES)
    hosts[name].greet(place)
    const terminal = new Terminal([program, "run", ...hosts[name].interactive(place)], { cwd, env, rows: 50 })
    t.after(() => terminal.close())
    const write = async (text) => {
      await terminal.waitFor(editor)
      terminal.type(text)
      await terminal.waitFor(new RegExp(`${editor.source}\\s*${text}`))
      terminal.type("\r")
    }
    await write("Do the job.")
    await terminal.waitFor(/All is done\./)
    await write("And now?")
    await terminal.waitFor(/The second message is answered\./)
    await write(end)
    assert.equal(await terminal.ended(), 0)
    const shown = `${model.refused.join("\n")}\n${terminal.lines().join("\n")}`
    assert.deepEqual(model.refused, [], shown)
    assert.match(terminal.lines().join(" "), /\d new frames?, 2 finished; \d+ requests, /, shown)
    const last = model.work.at(-1).raw.toString()
    assert.ok(!last.includes(SECRET) && last.includes("And now?") && last.includes("Do the job."), shown)
    assertBilled(place, model.requests, shown)
  })

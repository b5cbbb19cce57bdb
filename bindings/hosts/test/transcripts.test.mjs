// Sessions as the installed versions of the agents write them: listed, with everything that the model has
// counted, and as a tree.

import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import { test } from "node:test"
import { ANSWER, FRAME, PROMPT, record } from "../transcripts.mjs"

const program = process.env.CALLSTACK

for (const name of ["claude", "codex", "gemini", "qwen", "copilot", "opencode", "pi"]) {
  test(`${name}: its session is a tree with all that it has used`, async (t) => {
    const world = { root: fs.mkdtempSync(path.join(os.tmpdir(), "session-")) }
    t.after(() => fs.rmSync(world.root, { recursive: true, force: true }))
    const { home, project, bills } = await record(name, program, world)
    const look = (...words) => {
      const env = { PATH: process.env.PATH, HOME: home }
      const out = execFileSync(program, [...words, "--json"], { cwd: project, env, encoding: "utf8", stdio: "pipe" })
      return JSON.parse(out).data
    }
    const { sessions } = look("sessions", "--agent", name)
    assert.equal(sessions.length, 1, JSON.stringify(sessions))
    const [session] = sessions
    assert.deepEqual([session.turns, session.unknown, session.newKinds], [1, 0, undefined], JSON.stringify(session))
    assert.equal(session.requests, bills.length, "each request once")
    // The model rounds the parts of a prompt.
    const input = bills.reduce((sum, bill) => sum + bill.total, 0)
    assert.ok(Math.abs(session.input - input) <= bills.length, `${session.input} tokens of prompts, not ${input}`)

    // OpenCode puts words of the command line in quotes.
    const { frames } = look("tree", "--session", session.id)
    const turn = frames.find((frame) => frame.level === 1)
    assert.ok(turn.title.includes(PROMPT), turn.title)
    const { record: ended } = look("show", turn.handle, "--session", session.id)
    assert.equal(ended.results, ANSWER)
    const own = frames.find((frame) => frame.title === FRAME)
    assert.equal(own?.level, 2, `the frame that was pushed is below the turn: ${JSON.stringify(frames)}`)
    assert.equal(own.status, "completed")
    assert.ok(look("fold", "--session", session.id).requests > 0)
  })
}

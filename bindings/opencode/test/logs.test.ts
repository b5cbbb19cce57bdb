// The logs of frames grow while their sessions work.

import assert from "node:assert/strict"
import { test } from "node:test"
import { Stack } from "callstack-core"
import { answers, byTask, call, done, type Project, scenario, task, until, WITH_ALL_TOOLS } from "./harness/index.js"

interface Entry {
  id: string
  role: string
  text: string
  time: number
  parts: { type: string; state?: { status: string } }[]
}

/** Returns the log of a frame as it is on the disk now. */
function logOf(project: Project, frame: string): Entry[] {
  const stack = Stack.open(project.stack)
  try {
    return stack.readLog(frame).lines.map(({ entry }) => entry as Entry)
  } finally {
    stack.close()
  }
}

test("the logs of an open root and of a working child grow with each message", async (t) => {
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  const { server, project, model } = await scenario(
    t,
    byTask({
      "Build a shop": [
        call("read", { filePath: "opencode.json" }),
        call("stack_frame_push", task("Cart")),
        call("stack_frame_log", { frameID: "f2", search: "adds up" }),
        (request) => ({ text: answers(request)[0] ?? "" }),
      ],
      "frame f2": [
        call("read", { filePath: "opencode.json" }),
        { ...call("read", { filePath: "opencode.json" }), after: held },
        call("stack_frame_pop", done("The cart adds up")),
      ],
    }),
    { plugin: WITH_ALL_TOOLS },
  )
  const answered = server.prompt("Build a shop")
  try {
    await until("the child's first message is in its log", () => {
      const frames = model.requests.filter(({ messages }) => messages[0]?.text.includes("frame f2"))
      return frames.length > 1 && logOf(project, "f2").length >= 2
    })
    const [prompt, first] = logOf(project, "f2")
    assert.match(prompt?.text ?? "", /frame f2/)
    assert.deepEqual(
      first?.parts.filter(({ type }) => type === "tool").map(({ state }) => state?.status),
      ["completed"],
    )
    const root = logOf(project, "f1")
    assert.deepEqual(
      root.slice(0, 2).map(({ role }) => role),
      ["user", "assistant"],
    )
  } finally {
    release()
  }
  const { text } = await answered
  assert.match(text, /The cart adds up/, "an agent finds it in the log of another frame")
  const entries = await until("the root's last message is in its log", () => {
    const entries = logOf(project, "f1")
    return entries.at(-1)?.text.includes("adds up") && entries
  })
  assert.deepEqual(
    entries.map(({ role }) => role),
    ["user", "assistant", "assistant", "assistant", "assistant"],
  )
  assert.deepEqual(
    entries.map(({ time }) => time),
    entries.map(({ time }) => time).sort(),
  )
  const ids = logOf(project, "f2").map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length, "no message is there twice")
})

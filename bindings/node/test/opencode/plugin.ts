// A plugin that loads the package inside of OpenCode, and says how it fares there.

import { join } from "node:path"
import { CallstackError, Stack } from "callstack-core"

/** What the tool answers. */
export interface Found {
  runtime: string | undefined
  handle: string
  title: string
  xml: string
  code: string
  contexts: number
}

async function work(folder: string): Promise<string> {
  const stack = Stack.open(folder)
  const root = stack.ensure("ses_root", { title: "Inside of OpenCode" })
  const handle = stack.push({ title: "Żółw 🐢", sessionID: "ses_child", parent: root })
  let code = "none"
  try {
    stack.activate("f99")
  } catch (error) {
    if (error instanceof CallstackError) code = error.code
  }
  let contexts = 0
  for (let round = 0; round < 1000; round++) {
    if (round % 10 === 0) stack.clearCache()
    if (stack.context(handle).volatile.includes("🐢")) contexts++
  }
  const found: Found = {
    runtime: process.versions["bun"],
    handle,
    title: stack.frame(handle).title,
    xml: stack.context(handle).xml,
    code,
    contexts,
  }
  stack.pop(handle, "completed", "It works here")
  // Not closed: OpenCode is stopped with a signal, too.
  return JSON.stringify(found)
}

export default {
  id: "callstack-smoke",
  server: async ({ directory }: { directory: string }) => ({
    tool: {
      callstack_smoke: {
        description: "Pushes, pops and makes contexts with callstack-core.",
        args: {},
        execute: () => work(join(directory, ".opencode", "stack")),
      },
    },
  }),
}

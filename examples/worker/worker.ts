// A worker: does the frames of a plan one after the other, on any number of machines. node worker.ts STACK COMMAND…
import { spawn } from "node:child_process"
import { once } from "node:events"
import { hostname } from "node:os"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { Stack } from "callstack-core"

const LEASE = 60_000
const [folder = "", command = "", ...args] = process.argv.slice(2)
const stack = Stack.open(folder)
const isLeft = ({ free, held, later }: { free: number; held: number; later: number }) => free + held + later > 0
const attempt = (call: () => void) => {
  try {
    call()
  } catch (refused) {
    console.error(String(refused)) // A person has stopped the frame, or another worker has it by now.
  }
}
while (isLeft(stack.workLeft())) {
  const hold = stack.hold({ name: `${hostname()}-${process.pid}`, lease: LEASE })
  if (hold === undefined) {
    await sleep(200)
    continue
  }
  const renewing = setInterval(() => attempt(() => stack.renew(hold, { lease: LEASE })), LEASE / 3)
  // The command reads on its standard input what the frame is about, and writes its results.
  const work = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] })
  work.stdin.on("error", () => {}) // A command need not read it.
  work.stdin.end(stack.context(hold.handle, { guidance: "none" }).xml)
  const ended = Promise.all([text(work.stdout), once(work, "close")]).finally(() => clearInterval(renewing))
  const [results, [code]] = await ended.catch((error: unknown) => {
    stack.release(hold) // The command cannot be started.
    throw error
  })
  const end = code === 0 ? "done" : "failed"
  attempt(() => stack.finish(hold, { end, results: results.trim() || "It wrote nothing." }))
}
stack.close()

// A worker thread of threads.test.ts: pushes frames, records decisions, reads contexts.

import { parentPort, workerData } from "node:worker_threads"
import { Stack } from "callstack-core"

const { path, number, rounds }: { path: string; number: number; rounds: number } = workerData
const stack = Stack.open(path)
let seen = 0
for (let round = 0; round < rounds; round++) {
  const sessionID = `w${number}_${round}`
  stack.push({ title: `Frame ${sessionID}`, sessionID, parent: "root" })
  stack.addDecision("root", sessionID)
  if (stack.context(sessionID).xml.includes(sessionID)) seen++
}
stack.close()
parentPort?.postMessage(seen)

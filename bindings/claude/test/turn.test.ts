// How the driver for the Claude Agent SDK reads a turn when its owner cannot record what happens.

import assert from "node:assert/strict"
import test from "node:test"
import type { Query, SDKResultMessage } from "@anthropic-ai/claude-agent-sdk"
import type { SessionOwner } from "callstack-flame"
import { checkEnd } from "../src/drivers/claude/ends.js"
import { Turn } from "../src/drivers/claude/turn.js"

const RESULT = {
  type: "result",
  subtype: "success",
  is_error: false,
  result: "I am done",
  session_id: "s",
  total_cost_usd: 0.1,
  uuid: "00000000-0000-0000-0000-000000000000",
} as unknown as SDKResultMessage

/** Reads a turn that has only a result, for an owner that fails. */
async function read(failing: Partial<SessionOwner>) {
  const logged: string[] = []
  const owner = {
    tell: () => undefined,
    report: () => Promise.resolve(),
    isWorking: () => true,
    log: (level: string, message: string) => logged.push(`${level}: ${message}`),
    ...failing,
  } as unknown as SessionOwner
  const messages = [{ type: "user", parent_tool_use_id: null, uuid: "u", message: { content: "an answer" } }, RESULT]
  const query = { [Symbol.asyncIterator]: () => messages.values() } as unknown as Query
  const turn = await new Turn(owner, "s", new Map(), 0, () => undefined).read(query)
  return { turn: { ...turn, errors: "" }, logged }
}

test("a turn that was done ends well although its cost cannot be recorded, which is logged", async () => {
  const full = () => {
    throw new Error("the disk is full")
  }
  const { turn, logged } = await read({ tell: full })
  assert.doesNotThrow(() => checkEnd(turn))
  assert.deepEqual(logged, ["error: a turn of session s could not be recorded in full: the disk is full"])
})

test("a report that fails is logged once, and the turn ends well", async () => {
  const full = () => Promise.reject(new Error("the disk is full"))
  const { turn, logged } = await read({ report: full })
  assert.doesNotThrow(() => checkEnd(turn))
  assert.deepEqual(logged, ["error: a turn of session s could not be recorded in full: the disk is full"])
})

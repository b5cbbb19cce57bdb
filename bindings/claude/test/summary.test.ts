// How the answer to a request for a summary is read.

import assert from "node:assert/strict"
import { test } from "node:test"
import type { SDKResultMessage } from "@anthropic-ai/claude-agent-sdk"
import { readSummary } from "../src/drivers/claude/summary.js"

/** A result of the SDK with this structured output. */
function answer(output: unknown): SDKResultMessage {
  return {
    type: "result",
    subtype: "success",
    is_error: false,
    result: "Words",
    structured_output: output,
  } as SDKResultMessage
}

test("an answer without the fields of a summary is a summary of words alone", () => {
  for (const output of [undefined, null, {}, { artifacts: "a.ts" }]) {
    assert.deepEqual(readSummary(answer(output)), { text: "Words", artifacts: [], decisions: [] })
  }
})

test("of the lists of a summary, the texts that are not empty are kept", () => {
  const output = { summary: "Done", artifacts: [" a.ts ", "", 1], decisions: null }
  assert.deepEqual(readSummary(answer(output)), { text: "Done", artifacts: ["a.ts"], decisions: [] })
})

// All kinds of texts come back unchanged; characters that UTF-8 cannot represent are replaced.

import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { Stack } from "callstack-core"
import { folder } from "./common.js"

const texts = {
  emoji: "👩‍👩‍👧‍👦 🇩🇪 𝒳 e\u0301",
  scripts: "解析器 テスト שלום مرحبا Привет naïve",
  NUL: "before\0after\0",
  controls: "\u0001\u001f\u007f\u2028\ufeff\ufffe",
  markup: "</title>]]>&amp;<!-- \" '",
  "one megabyte": "Ä1".repeat(350_000),
}

for (const [kind, text] of Object.entries(texts)) {
  test(`${kind}: in records, as arguments, on the disk`, () => {
    const path = join(folder(), "stack")
    {
      using stack = Stack.open(path)
      stack.push({ title: text, sessionID: "ses_1", successCriteria: text })
      stack.addDecision("ses_1", text)
      stack.addArtifact("ses_1", text)
      stack.ensure("ses_2", { title: text })
      stack.pop("ses_1", { status: "completed", results: text, resultsCompacted: text })
    }
    using stack = Stack.open(path)
    const frame = stack.frame("f1")
    assert.deepEqual(
      [frame.title, frame.successCriteria, frame.results, frame.resultsCompacted, frame.decisions, frame.artifacts],
      [text, text, text, text, [text], [text]],
    )
    assert.equal(stack.frame("f2").title, text)
    const context = stack.context("f2")
    assert.ok(context.tokens <= 4000)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that XML forbids
    assert.doesNotMatch(context.xml, /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/)
  })
}

test("lone surrogates become U+FFFD in every position", () => {
  using stack = Stack.inMemory()
  const text = "\ud800 a \udfff b \ud83d"
  const expected = "\ufffd a \ufffd b \ufffd"
  stack.push({ title: "Root", sessionID: "ses_1" })
  stack.addDecision("ses_1", text)
  stack.addArtifact("ses_1", `${text}\ud83d\ude00`)
  stack.pop("ses_1", { status: "completed", results: text })
  const frame = stack.frame("ses_1")
  assert.deepEqual([frame.decisions, frame.artifacts], [[expected], [`${expected.slice(0, -1)}\ufffd\ud83d\ude00`]])
  assert.equal(frame.results, expected)
  stack.push({ title: text, sessionID: "ses_2" })
  assert.equal(stack.frame("ses_2").title, expected)
})

test("a text of ten megabytes comes back unchanged and does not enlarge the context", () => {
  using stack = Stack.inMemory()
  const text = "0123456789".repeat(1024 * 1024)
  stack.push({ title: "Root", sessionID: "ses_1" })
  stack.addDecision("ses_1", text)
  assert.equal(stack.frame("ses_1").decisions[0], text)
  assert.ok(stack.context("ses_1").xml.length < 40_000)
})

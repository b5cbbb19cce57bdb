// The counting of `make bench-flame`: segments of a prompt, the tokens that the prompt cache reads and
// writes, and the cost index.

import assert from "node:assert/strict"
import { test } from "node:test"
import { costOf, PromptCache, type Segment, segmentsOf, totalsOf } from "./bench/count.js"

/** A token is a character. */
const characters = (text: string) => text.length

/** A prompt of these words. A word that ends with `*` has a mark. */
function prompt(...words: string[]): Segment[] {
  return words.map((word) => ({ text: word.replace("*", ""), isMarked: word.endsWith("*"), part: "conversation" }))
}

/** The tokens that the cache reads, the tokens that it writes, and the other tokens. */
function count(cache: PromptCache, ...words: string[]): [number, number, number] {
  const { read, written, uncached, prompt: all } = cache.add(prompt(...words))
  assert.equal(read + written + uncached, all)
  return [read, written, uncached]
}

test("the segments of a prompt are its tools, its system prompt and the blocks of its messages", () => {
  const cache_control = { type: "ephemeral" }
  const segments = segmentsOf({
    tools: [{ name: "Read" }, { name: "mcp__stack__stack_frame_pop" }],
    system: [
      { type: "text", text: 'Say "a"' },
      { type: "text", text: "b", cache_control },
    ],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "<system-reminder>c</system-reminder>" },
          { type: "text", text: "d" },
        ],
      },
      { role: "system", content: "e" },
      { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "Read", input: { file_path: "f" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "g", cache_control }] },
    ],
  })
  assert.deepEqual(
    segments.map(({ text, isMarked, part }) => [text, isMarked, part]),
    [
      ['{"name":"Read"}', false, "tools of the SDK"],
      ['{"name":"mcp__stack__stack_frame_pop"}', false, "tools of the stack"],
      ['Say "a"\n', false, "system prompt"],
      ["b\n", true, "system prompt"],
      ["user\n<system-reminder>c</system-reminder>\n", false, "reminders"],
      ["user\nd\n", false, "conversation"],
      ["system\ne\n", false, "reminders"],
      ['assistant\nt1 Read {"file_path":"f"}\n', false, "conversation"],
      ["user\nt1\ng\n", true, "conversation"],
    ],
  )
})

test("a text of one block and a string are the same segment, with and without a mark", () => {
  const asString = segmentsOf({ messages: [{ role: "system", content: "a" }] })
  const asBlock = segmentsOf({
    messages: [{ role: "system", content: [{ type: "text", text: "a", cache_control: {} }] }],
  })
  assert.equal(asString[0]?.text, asBlock[0]?.text)
  assert.deepEqual([asString[0]?.isMarked, asBlock[0]?.isMarked], [false, true])
})

test("the cache is read up to the last mark of an earlier request, and written up to the last mark of this one", () => {
  const cache = new PromptCache(characters)
  assert.deepEqual(count(cache, "tools", "one*", "first"), [0, 8, 5])
  assert.deepEqual(count(cache, "tools", "one*", "first", "more*"), [8, 9, 0])
  assert.deepEqual(count(cache, "tools", "one", "first", "more", "again*", "end"), [17, 5, 3])
  // The common part of two prompts does not count if there was no mark.
  assert.deepEqual(count(cache, "tools", "two*"), [0, 8, 0])
  // A prompt without marks is not cached.
  assert.deepEqual(count(cache, "tools", "one", "first"), [0, 0, 13])
  // The same prompt again is read as a whole.
  assert.deepEqual(count(cache, "tools", "two*"), [8, 0, 0])
})

test("a mark finds what was cached less than twenty blocks before it", () => {
  const words = (count: number) => Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index))
  const near = new PromptCache(characters)
  count(near, "x*")
  assert.deepEqual(count(near, "x", ...words(18), "z*"), [1, 19, 0])
  const far = new PromptCache(characters)
  count(far, "x*")
  assert.deepEqual(count(far, "x", ...words(19), "z*"), [0, 21, 0])
})

test("the cost index weighs tokens by their prices", () => {
  assert.equal(costOf({ uncached: 1_000, read: 0, written: 0 }), 1_000)
  assert.equal(costOf({ uncached: 100, read: 1_000, written: 400 }), 700)
  const cache = new PromptCache(characters)
  const totals = totalsOf([cache.add(prompt("abcd*", "ef")), cache.add(prompt("abcd*", "efgh*"))])
  assert.deepEqual(
    { ...totals, parts: totals.parts.conversation },
    { requests: 2, first: 6, peak: 8, input: 14, read: 4, written: 8, cost: 12.4, parts: 14 },
  )
})

// The counting of `make bench-tokens`: common prefixes, and the cost index. Also the costs of the stack in
// the real OpenCode.

import assert from "node:assert/strict"
import { test } from "node:test"
import { commonPrefix, costOf, Prompts, segmentsOf, totalsOf } from "./tokens/count.js"
import { compare } from "./tokens/record.js"
import { short, verdicts } from "./tokens/table.js"

/** A token is a character. */
const characters = (text: string) => text.length

test("the common prefix of two texts ends at their first difference, or with the shorter one", () => {
  assert.equal(commonPrefix("abc", "abd"), 2)
  assert.equal(commonPrefix("ab", "abc"), 2)
  assert.equal(commonPrefix("abc", "abc"), 3)
  assert.equal(commonPrefix("", "abc"), 0)
  assert.equal(commonPrefix("xbc", "abc"), 0)
})

test("a prompt's segments are its tools, then its messages", () => {
  const calls = [{ id: "call_1", type: "function", function: { name: "read", arguments: '{"filePath":"a"}' } }]
  const messages = [
    { role: "system", content: 'Say "a"' },
    {
      role: "user",
      content: [
        { type: "text", text: "b" },
        { type: "text", text: "c" },
      ],
    },
    { role: "assistant", content: "", tool_calls: calls },
    { role: "tool", tool_call_id: "call_1", content: "d" },
  ]
  assert.deepEqual(segmentsOf({ model: "main", tools: [{ name: "read" }], messages }), [
    '{"name":"read"}',
    'system\nSay "a"\n',
    "user\nb\nc\n",
    'assistant\ncall_1 read {"filePath":"a"}\n',
    "tool\ncall_1\nd\n",
  ])
  assert.deepEqual(segmentsOf({ model: "main" }), [])
})

test("cached is the longest common prefix with any earlier prompt", () => {
  const prompts = new Prompts(characters)
  assert.deepEqual(prompts.add(["tools", "one", "first"]), { prompt: 13, cached: 0 })
  // It continues after the first prompt.
  assert.deepEqual(prompts.add(["tools", "one", "first", "more"]), { prompt: 17, cached: 13 })
  // It differs from both prompts within the second segment.
  assert.deepEqual(prompts.add(["tools", "other"]), { prompt: 10, cached: 6 })
  // The first prompt is nearer than the newest one, and ends within "first".
  assert.deepEqual(prompts.add(["tools", "one", "fire"]), { prompt: 12, cached: 11 })
  // Text after the first difference does not count, even if it has been seen there.
  assert.deepEqual(prompts.add(["tools", "two", "first"]), { prompt: 13, cached: 5 })
  assert.deepEqual(prompts.add(["tools", "one"]), { prompt: 8, cached: 8 })
})

test("only what is behind the common prefix is tokenised", () => {
  const counted: string[] = []
  const prompts = new Prompts((text) => counted.push(text) && text.length)
  prompts.add(["a", "bc"])
  prompts.add(["a", "bc", "d"])
  prompts.add(["a", "bd"])
  assert.deepEqual(counted, ["a", "bc", "d", "bd", "b"])
})

test("the cost index weighs uncached and cached tokens", () => {
  assert.equal(costOf({ prompt: 1_000, cached: 0 }), 1_250)
  assert.equal(costOf({ prompt: 1_000, cached: 1_000 }), 100)
  assert.equal(costOf({ prompt: 1_000, cached: 600 }), 560)
  const totals = totalsOf([
    { prompt: 1_000, cached: 0 },
    { prompt: 1_200, cached: 1_000 },
    { prompt: 400, cached: 400 },
  ])
  assert.deepEqual(totals, { requests: 3, first: 1_000, peak: 1_200, input: 2_600, cached: 1_400, cost: 1_640 })
})

test("the verdicts name the numbers of sub-tasks for which the stack is cheaper, and the others", () => {
  const totals = (cost: number) => ({ requests: 1, first: 1, peak: 1, input: 1, cached: 0, cost })
  const compare = (subtasks: number, one: number, stack: number) => ({
    subtasks,
    oneSession: totals(one),
    fewestRequests: totals(one),
    stack: totals(stack),
    inSessions: totals(stack),
  })
  const [from, not] = verdicts([compare(2, 100, 150), compare(6, 200, 150), compare(4, 120, 120)], "oneSession")
  assert.match(from ?? "", /cheaper from 6 sub-tasks on.*: 6 \(−25.0 %\)\.$/)
  assert.match(not ?? "", /not pay.*: 2 \(\+50.0 %\), 4 \(\+0.0 %\)\.$/)
  const [never] = verdicts([compare(2, 100, 150)], "oneSession")
  assert.match(never ?? "", /not cheaper/)
  const [always, none] = verdicts([compare(2, 100, 50)], "oneSession")
  assert.match(always ?? "", /cheaper from 2 /)
  assert.match(none ?? "", /no measured number/)
})

test("numbers of tokens have three digits", () => {
  assert.deepEqual([950, 9_994, 57_310, 999_499, 999_600, 53_210_000].map(short), [
    "0.95k",
    "9.99k",
    "57.3k",
    "999k",
    "1.00M",
    "53.2M",
  ])
})

test("a job of four sub-tasks costs less on the stack than in one session", async () => {
  const { oneSession, stack } = await compare(4)
  const ratio = stack.cost / oneSession.cost
  console.log(`four sub-tasks cost ${(100 * ratio).toFixed(1)} % of one session`)
  assert.ok(ratio < 0.97, `${short(stack.cost)} instead of ${short(oneSession.cost)}`)
})

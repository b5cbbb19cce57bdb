// The Stack class: commands, queries, contexts, persistence.

import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout } from "node:timers/promises"
import { type Budget, CallstackError, Context, type Hold, Stack } from "callstack-core"
import { fails, folder } from "./common.js"

test("frames are pushed, planned, activated, popped and invalidated", () => {
  using stack = Stack.inMemory()
  const root = stack.push({ title: "Build", sessionID: "ses_1", successCriteria: "It runs" })
  assert.equal(root, "f1")
  const children = stack.planChildren(root, [
    { title: "Parser", sessionID: "parser" },
    { title: "Printer", dependsOn: ["parser"] },
  ])
  assert.deepEqual(children, ["f2", "f3"])
  assert.equal(stack.plan({ title: "Later", parent: root }), "f4")
  assert.deepEqual(stack.handles({ relation: "ready" }), ["f2", "f4"])

  stack.edit("later", { title: "Docs", dependsOn: ["Printer"], before: "f2" })
  const order = stack.frames({ relation: "children", frame: root }).map((frame) => frame.handle)
  assert.deepEqual(order, ["f4", "f2", "f3"])
  assert.deepEqual(stack.frame(root).childOrder?.slice(1, 2), ["parser"])
  assert.deepEqual(stack.frame("docs").dependsOn, [stack.frame("f3").sessionID])
  stack.edit("f4", { dependsOn: [], before: null, parent: root })
  assert.deepEqual(stack.handles({ relation: "ready" }), ["f2", "f4"])
  assert.throws(() => stack.edit(root, { title: "Other" }), { code: "not_planned" })
  assert.throws(() => stack.edit("f4", { before: root }), { code: "not_sibling" })

  stack.activate("parser")
  assert.equal(stack.active(), "f2")
  assert.equal(stack.addArtifact("f2", "src/parser.ts"), true)
  assert.equal(stack.addArtifact("f2", "src/parser.ts"), false)
  stack.addDecision("f2", "LL(1)")
  stack.replaceId("parser", "ses_2")
  stack.block("ses_2", { question: "Which grammar?", results: "Half of it" })
  stack.answer("ses_2", "LL(1)")
  const { status: asked, questions } = stack.frame("ses_2")
  assert.deepEqual([asked, questions?.[0]?.question, questions?.[0]?.answer], ["blocked", "Which grammar?", "LL(1)"])
  stack.resume("ses_2")
  assert.throws(() => stack.answer("ses_2", "again"), { code: "not_blocked" })
  const popped = stack.pop("ses_2", { status: "completed", results: "It parses", resultsCompacted: "parses" })
  assert.deepEqual(popped, { handle: "f2", parent: "f1", active: "f1", stillOpen: [], stillPlanned: [] })

  const frame = stack.frame("f2")
  assert.equal(frame.handle, "f2")
  assert.equal(frame.sessionID, "ses_2")
  assert.equal(frame.parentSessionID, "ses_1")
  assert.equal(frame.status, "completed")
  assert.equal(frame.results, "It parses")
  assert.deepEqual(frame.artifacts, ["src/parser.ts"])
  assert.deepEqual(frame.decisions, ["LL(1)"])
  assert.ok(Math.abs(Date.now() - frame.updatedAt) < 60_000)

  assert.deepEqual(stack.invalidate("f4", "no time"), { invalidated: ["f4"], stillOpen: [], dependents: [] })
  assert.equal(stack.frame("f4").invalidationReason, "no time")

  assert.equal(stack.ensure("ses_9", { title: "A session", parent: "f1" }), "f5")
  assert.equal(stack.ensure("ses_9"), "f5")
  stack.identify("f5", { title: "Docs", successCriteria: "They are read" })
  assert.equal(stack.frame("f5").title, "Docs")
  fails(() => stack.identify("f5", { title: "Other" }), "identity_fixed")
  stack.summarize("f5", { results: "Half of it is written", resultsCompacted: "half written" })
  assert.equal(stack.frame("f5").results, "Half of it is written")
  assert.match(stack.context("f5").volatile, /half written/)
  fails(() => stack.summarize("f2", { results: "It parses even more" }), "results_fixed")
  stack.pop("f5", { status: "blocked", results: "waits for the parser" })
  stack.setActive("f5")
  assert.equal(stack.active(), "f5")
})

test("a person reopens a frame, and takes that back", () => {
  using stack = Stack.inMemory()
  using ann = stack.asActor({ kind: "person", name: "Ann" })
  using bob = stack.asActor({ kind: "person", name: "Bob" })
  const shop = stack.push({ title: "Shop" })
  const cart = ann.plan({ title: "Cart", parent: shop, task: "Sum up the prices", priority: 1 })
  const mail = stack.plan({ title: "Mail", parent: shop, dependsOn: [cart] })
  assert.deepEqual([stack.frame(cart).task, stack.frame(cart).priority], ["Sum up the prices", 1])
  ann.activate(cart)
  ann.pop(cart, { status: "completed", results: "Totals without taxes" })
  assert.deepEqual(stack.handles({ relation: "ready" }), [mail])
  assert.equal(ann.reopen(cart, "taxes are missing").handle, cart)
  assert.deepEqual([stack.frame(cart).status, stack.handles({ relation: "ready" })], ["in_progress", []])
  assert.equal(ann.undo().command, "reopen")
  assert.equal(stack.frame(cart).status, "completed")
  assert.throws(() => bob.undo(), { code: "nothing_to_undo" })
  assert.throws(() => stack.reopen(mail, "it has never begun"), { code: "transition" })
})

test("what can go on goes on leaf first", () => {
  using stack = Stack.inMemory()
  const shop = stack.push({ title: "Shop" })
  const cart = stack.push({ title: "Cart", parent: shop })
  for (const frame of [shop, cart]) {
    stack.block(frame, { question: "Shall I go on?" })
    stack.answer(frame, "Yes.")
  }
  const { now, later, running, asking, missed } = stack.resumption()
  assert.deepEqual([now, later, running, asking, missed], [[cart], [shop], [], [], []])
  assert.deepEqual(stack.resumption([shop]).now, [shop])
  assert.throws(() => stack.resumption(["f9"]), { code: "unknown_frame" })
  assert.deepEqual(stack.noteInterruptions(), [])
})

test("limits and costs are those of the tree", () => {
  using stack = Stack.inMemory()
  const shop = stack.push({ title: "Shop" })
  stack.setLimits(shop, { maxCostMicroUsd: 100_000, maxTurns: 40, tools: ["Read"] })
  const cart = stack.push({ title: "Cart", parent: shop })
  stack.recordUsage(cart, { model: "small", output: 5 })
  stack.recordCost(cart, { conversation: "ses_cart", costMicroUsd: 60_000 })
  assert.equal(stack.usage(shop).totalCostMicroUsd, 60_000)
  const { maxCostMicroUsd, maxTurns, tools } = stack.allowance(cart)
  assert.deepEqual([maxCostMicroUsd, maxTurns, tools], [40_000, 40, ["Read"]])
  assert.equal(stack.overspent(cart), undefined)
  stack.recordCost(cart, { conversation: "ses_cart", costMicroUsd: 110_000 })
  assert.equal(stack.overspent(cart)?.frame, shop)
  assert.match(stack.overspent(cart)?.reason ?? "", /0\.1 US dollars/)
  assert.throws(() => stack.setLimits(cart, { tools: ["Bash"] }), { code: "tools_exceed" })
  assert.throws(() => stack.setLimits(cart, { maxTokens: 0 }), { code: "setting" })
})

test("a failed frame is begun again", () => {
  using stack = Stack.inMemory()
  const root = stack.push({ title: "Build", sessionID: "ses_1" })
  const print = stack.push({ title: "Print", parent: root })
  fails(() => stack.retry(print), "not_retriable")
  const below = stack.plan({ title: "A part of it", parent: print })
  stack.pop(print, { status: "failed", results: "The paper is wet" })
  const retried = stack.retry(print, "Use dry paper")
  assert.deepEqual(retried, { handle: "f4", attempt: 2, invalidated: [below], stillOpen: [] })
  assert.equal(stack.frame("f4").retryOf, stack.frame(print).sessionID)
  assert.deepEqual(stack.handles({ relation: "children", frame: root }), [print, "f4"])
  const context = stack.context("f4")
  assert.match(context.stable, /<earlier-attempts>[\s\S]*The paper is wet/)
  const { entries } = stack.contextReport("f4")
  assert.equal(entries.find((entry) => entry.section === "earlier-attempts")?.handle, print)
  stack.activate("f4")
  assert.match(stack.context("f4").volatile, /<answer>Use dry paper<\/answer>/)
  assert.throws(
    () => stack.retry(print),
    (error: CallstackError) => error.code === "not_retriable" && error.details.newest === "f4",
  )
})

test("workers hold frames, and old holds are refused", async () => {
  using stack = Stack.inMemory()
  const shop = stack.plan({ title: "Shop", parent: null })
  const cart = stack.plan({ title: "Cart", parent: shop })
  assert.deepEqual(stack.workLeft(), { free: 1, held: 0, later: 0, waiting: 1, begun: 0, blocked: 0, assigned: 0 })
  const first = stack.hold({ name: "one", lease: 60_000, below: shop })
  assert.ok(first)
  assert.deepEqual([first.handle, first.name, first.generation], [cart, "one", 1])
  assert.equal(stack.hold({ name: "two", lease: 60_000 }), undefined)
  assert.ok(stack.renew(first, { lease: 90_000 }).until > first.until)
  stack.release(first)
  const second = stack.hold({ name: "two", lease: 60_000, frame: cart })
  assert.ok(second)
  using late = stack.asActor(first)
  assert.throws(
    () => late.pop(cart, { status: "completed", results: "done" }),
    (error: CallstackError) =>
      error.code === "hold_lost" && error.details.generation === 2 && error.details.refused === 1,
  )
  using worker = stack.asActor(second)
  worker.addArtifact(cart, "cart.ts")
  // A part that another actor plans meanwhile is not lost.
  const part = stack.plan({ title: "Part", parent: cart })
  const split = stack.finish(second, { end: "done", results: "half" })
  assert.deepEqual([split.status, stack.frame(cart).results], ["in_progress", "half"])
  assert.deepEqual(stack.frame(cart).holder?.released?.how, "putBack")
  stack.invalidate(part, "no time")
  fails(() => stack.finish(first, { end: "failed", results: "no" }), "hold_lost")
  const other = { kind: "conversation", name: "codex/1" } as const
  using conversation = stack.asActor(other)
  const end = { end: "done", results: "done in full", resultsCompacted: "done" } as const
  // The frame was put back for its part: the worker holds it again, when its wait of a second is over.
  fails(() => stack.finish(second, end), "not_free")
  let third: Hold | undefined
  for (let looks = 0; !third && looks < 500; looks++) {
    third = stack.hold({ name: "two", lease: 60_000 })
    await setTimeout(20)
  }
  assert.ok(third)
  assert.deepEqual(stack.standing(third), { kind: "held" })
  fails(() => stack.standing(first), "hold_lost")
  assert.deepEqual(stack.finish(third, end), { status: "completed" })
  assert.deepEqual(stack.standing(third), { kind: "ended", status: "completed" })
  const mail = conversation.push({ title: "Mail", parent: null })
  assert.equal(stack.frame(mail).holder?.name, "codex/1")
  using another = stack.asActor({ ...other, name: "codex/2" })
  fails(() => another.pop(mail, { status: "completed", results: "done" }), "held")
  using taker = stack.asActor({ ...other, name: "codex/2", takesOver: true })
  taker.pop(mail, { status: "completed", results: "done" })
  assert.deepEqual([stack.frame(cart).results, stack.frame(cart).resultsCompacted], ["done in full", "done"])
  fails(() => stack.finish(third, { end: "failed", results: "no" }), "not_free")
  assert.equal(stack.frame(cart).holder?.generation, 3)
  assert.deepEqual(stack.workLeft(shop), { free: 0, held: 0, later: 0, waiting: 0, begun: 0, blocked: 0, assigned: 0 })
  fails(() => stack.renew(third, { lease: 60_000 }), "not_free")
  fails(() => stack.hold({ name: "one", lease: 1e12 }), "setting")
  fails(() => stack.hold({ name: "one", lease: 0 }), "setting")
  fails(() => stack.hold({ name: "one", lease: -1 }), "json")
  fails(() => stack.hold({ name: " ", lease: 1 }), "empty")
})

test("histories are compacted, and old logs removed", () => {
  using stack = Stack.open(folder(), { mirror: false, finishedFrames: 0 })
  const done = stack.push({ title: "Done", sessionID: "ses_1" })
  stack.appendLog(done, ["a line"])
  stack.pop(done, { status: "completed", results: "Works" })
  assert.equal(stack.compactHistory({ before: 1 }).trees, 0)
  const compaction = stack.compactHistory({ before: Number.MAX_SAFE_INTEGER })
  assert.equal(compaction.trees, 1)
  assert.ok(compaction.events > 2 && compaction.bytesBefore > 0 && compaction.bytesAfter > 0)
  assert.deepEqual(stack.pruneLogs({ bytes: 0 }), { files: 1, bytes: 9, left: 0 })
  assert.equal(stack.frame(done).results, "Works")
  using memory = Stack.inMemory()
  assert.throws(() => memory.compactHistory({ before: 1 }), { code: "in_memory" })
})

test("requests to models are summed by frame and model", () => {
  using stack = Stack.inMemory()
  const shop = stack.push({ title: "Shop" })
  const cart = stack.push({ title: "Cart", parent: shop })
  stack.recordUsage(shop, { model: "large", uncachedInput: 100, output: 10 })
  stack.recordUsage(cart, { model: "large", cacheRead: 50, cacheWrite: 5, reasoning: 3, duration: 7, messages: 2 })
  stack.recordUsage(cart, { model: "large", failed: true })
  const own = { model: "large", requests: 2, failed: 1, uncachedInput: 0, cacheRead: 50, cacheWrite: 5, output: 0 }
  assert.deepEqual(stack.usage(cart).own, [{ ...own, reasoning: 3, duration: 7 }])
  const total = { ...own, requests: 3, uncachedInput: 100, output: 10, reasoning: 3, duration: 7 }
  assert.deepEqual(stack.usage(shop).total, [total])
  assert.deepEqual(stack.frame(cart).usage, stack.usage(cart).own)
  fails(() => stack.recordUsage("f9", {}), "unknown_frame")
  fails(() => stack.recordUsage(cart, { output: -1 }), "json")
})

test("queries return handles, or records", () => {
  using stack = Stack.inMemory()
  assert.equal(stack.active(), undefined)
  stack.push({ title: "Root", sessionID: "root" })
  stack.push({ title: "Other root", sessionID: "other", parent: null })
  for (const name of ["a", "b", "c"]) stack.push({ title: name, sessionID: name, parent: "root" })
  stack.pop("b", { status: "completed", results: "done" })
  stack.push({ title: "Below a", sessionID: "below", parent: "a" })

  assert.deepEqual(stack.handles(), ["f1", "f2", "f3", "f4", "f5", "f6"])
  assert.deepEqual(stack.handles({ relation: "roots" }), ["f1", "f2"])
  assert.deepEqual(stack.handles({ relation: "subtree", frame: "root", status: "in_progress" }), [
    "f1",
    "f3",
    "f6",
    "f5",
  ])
  assert.deepEqual(stack.handles({ relation: "ancestors", frame: "below" }), ["f3", "f1"])
  assert.deepEqual(stack.handles({ relation: "children", frame: "root" }), ["f3", "f4", "f5"])
  assert.deepEqual(stack.handles({ relation: "siblings", frame: "a" }), ["f4", "f5"])
  assert.deepEqual(stack.handles({ status: "completed" }), ["f4"])
  assert.equal(stack.resolve("belo"), "f6")
  const completed = stack.frames({ relation: "siblings", frame: "a", status: "completed" })
  assert.deepEqual(completed, [stack.frame("b")])
  assert.deepEqual(
    stack.frames().map((frame) => frame.title),
    ["Root", "Other root", "a", "b", "c", "Below a"],
  )
  fails(() => stack.handles({ relation: "children" }), "empty")

  assert.match(stack.outline(), /\[x\] f4 b/)
  assert.match(stack.outline({ style: "indented", root: "a", depth: 0 }), /\[in_progress\] a\n/)
  const info = stack.info()
  assert.equal(info.frames, 6)
  assert.equal(info.active, "f6")
  assert.equal(info.mirror, null)
})

test("a context has three texts and a report, and stays within its budget", () => {
  using stack = Stack.inMemory()
  const root = stack.push({ title: "Build a shop", sessionID: "ses_1" })
  stack.push({ title: "Cart", sessionID: "ses_2", parent: root })
  stack.pop("ses_2", {
    status: "completed",
    results: "Cart with totals",
    resultsCompacted: "src/cart.ts: total()",
  })
  const pay = stack.push({ title: "Pay for the cart", sessionID: "ses_3", parent: root })

  const context = stack.context(pay)
  assert.ok(context instanceof Context)
  assert.match(context.xml, /^<stack-context>[\s\S]*src\/cart\.ts: total\(\)[\s\S]*<\/stack-context>\n?$/)
  assert.match(context.stable, /^<stack-context[\s\S]*src\/cart\.ts: total\(\)/)
  assert.match(context.volatile, /^<stack-now[\s\S]*Pay for the cart/)
  assert.ok(context.tokens > 0 && context.tokens <= 4000)
  const report = stack.contextReport(pay)
  assert.equal(report.handle, pay)
  assert.equal(report.tokens, context.tokens)
  const sibling = report.entries.find((entry) => entry.section === "completed-siblings")
  assert.equal(sibling?.handle, "f2")

  const before = stack.context(pay).stable
  stack.addDecision(root, "Pay by card")
  assert.equal(stack.context(pay).stable, before, "a decision changes no stable byte")
  assert.equal(stack.info().cache.entries, 1)
  stack.clearCache(pay)
  assert.equal(stack.info().cache.entries, 0)
  stack.clearCache()

  const small = stack.context(pay, { budget: { total: 300 }, guidance: "none", minimumRelevance: 50 })
  assert.ok(small.tokens <= 300)
  const error = fails(() => stack.context(pay, { budget: { total: 1 } }), "budget_too_small")
  const { needed } = error.details
  assert.ok(needed !== undefined)
  assert.ok(stack.context(pay, { budget: { total: needed }, guidance: "none" }).tokens <= needed)
  assert.equal(error.details.unit, "tokens")
  const capped = stack.context(pay, { budget: { bytes: 1200 }, guidance: "none" })
  assert.ok(Buffer.byteLength(capped.xml) <= 1200)
  const { details } = fails(() => stack.context(pay, { budget: { bytes: 10 } }), "budget_too_small")
  assert.deepEqual([details.unit, details.total], ["bytes", 10])
  assert.deepEqual(Object.keys(Stack.settings()).sort(), [
    "budget",
    "finishedChildren",
    "form",
    "guidance",
    "heapCeiling",
    "minimumRelevance",
  ])
})

test("a wrong variable of the environment is reported, and the others count", () => {
  const code = `import("${import.meta.resolve("callstack-core")}").then(({ Stack }) => console.log(JSON.stringify(Stack.settings().budget)))`
  const env = { ...process.env, STACK_TOKEN_BUDGET_TOTAL: "9000", STACK_TOKEN_BUDGET_CURRENT: "many" }
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", code], { env, encoding: "utf8" })
  const budget = JSON.parse(stdout) as Budget
  assert.deepEqual([budget.total, budget.current], [9000, 800], stderr)
  assert.match(stderr, /STACK_TOKEN_BUDGET_CURRENT is `many`/)
})

test("a stack in a folder is persistent, and can be rebuilt from its history", () => {
  const path = folder()
  const first = Stack.open(join(path, "first"), { durability: "full", busyTimeout: 1000 })
  first.push({ title: "Build", sessionID: "ses_1" })
  const second = Stack.open(join(path, "first"))
  second.push({ title: "Parse", sessionID: "ses_2" })
  second.close()
  assert.equal(first.refresh(), true)
  assert.equal(first.refresh(), false)
  first.flush()
  assert.equal(first.deadline(), undefined)
  first.addDecision("f1", "so be it")
  first.poll()

  first.appendLog("f1", [{ role: "user", text: "Build a shop" }, "two", null])
  const page = first.readLog("f1", { search: "SHOP" })
  assert.deepEqual(page, {
    lines: [{ number: 1, entry: { role: "user", text: "Build a shop" } }],
    total: 3,
    damaged: [],
  })
  assert.equal(first.readLog("f1", { from: 2, to: 3 }).lines.length, 2)
  assert.equal(first.readLog("f2").total, 0)
  first.setLogPath("f2", "/var/log/two.jsonl")
  assert.equal(first.frame("f2").logPath, "/var/log/two.jsonl")

  const decisions = first.history({ kind: "decisionAdded" })
  assert.equal(decisions.length, 1)
  const [decided] = decisions
  assert.ok(decided?.kind === "decisionAdded")
  assert.equal(decided.decision, "so be it")
  assert.deepEqual(first.history({ kind: "decisionAdded", frame: "ses_1" }), decisions)
  assert.deepEqual(first.history({ kind: "decisionAdded", frame: "f2" }), [])
  fails(() => first.history({ frame: "nobody" }), "unknown_frame")
  assert.ok(first.history().length > decisions.length)
  assert.deepEqual(
    first.history({ since: 1, limit: 1 }).map((event) => event.revision),
    [2],
  )

  const [history, state] = [first.exportHistory(), first.state()]
  first.exportFiles(join(path, "exported"))
  first.close()
  assert.equal(state.frames["ses_1"]?.title, "Build")
  assert.ok(existsSync(join(path, "exported", "state.json")))

  using again = Stack.rebuild(join(path, "again"), history)
  assert.deepEqual(again.state(), state)
  // A state can come from a stranger: it names no files outside of the folder of a stack.
  const two = { ...state.frames["ses_2"] }
  assert.equal(two.logPath, "/var/log/two.jsonl")
  delete two.logPath
  const without = { ...state, frames: { ...state.frames, ses_2: two } }
  using read = Stack.fromState(readFileSync(join(path, "first", "state.json"), "utf8"))
  assert.deepEqual(read.state(), without)
  using object = Stack.fromState(state)
  assert.deepEqual(object.state(), without)
  using imported = Stack.open(join(path, "exported"))
  assert.deepEqual(
    imported.frames().map((frame) => frame.title),
    ["Build", "Parse"],
  )
  fails(() => Stack.rebuild(join(path, "again"), history), "not_empty")
})

test("plans are imported, and their problems are listed", () => {
  using stack = Stack.inMemory()
  const plan = {
    master: { tasks: [{ id: 1, title: "Set up", status: "done", dependencies: [] }, { id: 2 }, "nonsense"] },
  }
  const { handles, problems } = stack.importPlan(JSON.stringify(plan))
  assert.deepEqual(handles.map((handle) => stack.frame(handle).title).slice(0, 2), ["master", "Set up"])
  assert.ok(problems.length > 0 && problems.every((problem) => problem.place && problem.message))
  using damaged = Stack.fromState('{"version": 1, "frames": {"a": {"sessionID": "a", "status": "odd"}}}')
  assert.match(JSON.stringify(damaged.info().repairs), /`odd` is unknown/)
})

test("a stack in memory keeps a history on request", () => {
  using stack = Stack.inMemory({ history: true })
  stack.push({ title: "Build" })
  assert.equal(stack.history()[0]?.kind, "added")
  using other = Stack.inMemory()
  fails(() => other.history(), "in_memory")
})

test("a closed stack throws, and closing it again does nothing", () => {
  const stack = Stack.inMemory()
  stack.close()
  stack.close()
  stack[Symbol.dispose]()
  const error = fails(() => stack.push({ title: "Late" }), "closed")
  assert.match(error.message, /open it again/)
  fails(() => stack.context("f1"), "closed")
})

test("files of a newer version and files that are not stacks are rejected and left unchanged", () => {
  const path = folder()
  writeFileSync(join(path, "stack.db"), "this is no database, whatever its name says")
  const error = fails(() => Stack.open(path), "damaged")
  assert.equal(error.details.path, join(path, "stack.db"))
  assert.match(readFileSync(join(path, "stack.db"), "utf8"), /^this is no database/)
  fails(() => Stack.fromState({ version: 99, frames: {}, rootFrameIDs: [], updatedAt: 1 }), "version")
  fails(() => Stack.open(""), "empty")
})

test("the token counter is chosen by name", () => {
  const tokens = (counter: "approx" | "chars4" | "o200k"): number => {
    using stack = Stack.inMemory({ counter })
    return stack.context(stack.push({ title: "Build a shop" })).tokens
  }
  assert.notEqual(tokens("approx"), tokens("chars4"))
  // Only a library that is built with the vocabulary has the exact counter.
  try {
    assert.notEqual(tokens("o200k"), tokens("chars4"))
  } catch (error) {
    assert.ok(error instanceof CallstackError && error.code === "setting")
    assert.match(error.message, /counter is `o200k`.*built with the feature tokenizer/)
  }
})

test("contexts of several frames come in one call, as each comes alone", () => {
  using stack = Stack.inMemory()
  const frames = ["Build", "Test Ĳssel – ✓ 👩"].map((title) => stack.push({ title, parent: null }))
  const settings = { guidance: "none", budget: { total: 900 } } as const
  const both = stack.contexts(frames, settings)
  assert.deepEqual(
    both.map((context) => context.toJSON()),
    frames.map((frame) => stack.context(frame, settings).toJSON()),
  )
  assert.match(both[1]?.volatile ?? "", /Test Ĳssel – ✓ 👩/)
  assert.equal(JSON.parse(JSON.stringify(both[0])).xml, both[0]?.xml)
  assert.deepEqual(stack.contexts([]), [])
  // More and longer texts than fit into the memory of the first call.
  const title = "The same 👩 title ".repeat(200)
  stack.push({ title, parent: null })
  assert.equal(stack.contexts(Array<string>(300).fill(title.trim())).length, 300)
  fails(() => stack.contexts([...frames, "nothing"]), "unknown_frame")
  fails(() => stack.contexts(frames, { budget: { total: 0 } }), "setting")
  assert.throws(() => stack.contexts([1 as unknown as string]), /contexts: expected a string, got number 1/)
})

test("a context stays readable when it is old, when the stack has changed, and after it is closed", () => {
  const stack = Stack.inMemory()
  const frame = stack.push({ title: "Build" })
  const before = stack.context(frame)
  const contexts = Array.from({ length: 600 }, (_, number) => {
    stack.addDecision(frame, `Decision ${number} ${"with reasons ".repeat(200)}`)
    return stack.context(frame, { budget: { total: 8000, current: 6000 } })
  })
  stack.close()
  assert.doesNotMatch(before.xml, /Decision/)
  assert.ok(before.stable.startsWith("<stack-context") && before.volatile.startsWith("<stack-now"))
  for (const [number, { xml, volatile }] of contexts.entries()) {
    assert.ok(xml.includes(`Decision ${number} `) && !volatile.includes(`Decision ${number + 1} `), String(number))
  }
})

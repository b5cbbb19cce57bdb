// The parts of the program that need no session: texts, the screen, the keyboard, completion, history and permissions.

import assert from "node:assert/strict"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { mock, test } from "node:test"
import xterm from "@xterm/headless"
import { CallstackError, Stack } from "callstack-core"
import { commandIn, commandOf } from "../src/program/commands.js"
import { commonStart, complete } from "../src/program/completion.js"
import { Editor } from "../src/program/editor.js"
import { endingIn } from "../src/program/endings.js"
import { exitOfRun } from "../src/program/exit.js"
import { failureOf } from "../src/program/failure.js"
import { rootToRun } from "../src/program/goals.js"
import { HISTORY_SIZE, History, historyFile } from "../src/program/history.js"
import { PATIENCE, patiently } from "../src/program/interrupts.js"
import { Keyboard } from "../src/program/keyboard.js"
import { line, paint, toned } from "../src/program/lines.js"
import { nearestOf } from "../src/program/nearest.js"
import { sameCommand, stackFolder } from "../src/program/options.js"
import { NO_PERSON, Permissions, refuseAll, requestLines } from "../src/program/permissions.js"
import { lineOf } from "../src/program/reports.js"
import { type Area, Screen } from "../src/program/screen.js"
import { cut, cutStart, harmless, harmlessJson, oneLine, rowsOf, widthOf } from "../src/program/text.js"

const ESC = "\u001b"
const HOSTILE = `a${ESC}[31mb${ESC}]0;title\u0007c\u009b2Jd\u202ee\u0000f\rg\u007fh`

test("no control character of a text reaches a terminal", () => {
  assert.equal(harmless("größe\t1\n日本 👩‍👩‍👧 क्‍ष"), "größe\t1\n日本 👩‍👩‍👧 क्‍ष")
  assert.equal(harmless("a\r\nb"), "a\nb")
  for (let unit = 0; unit < 0xa0; unit += 1) {
    const character = String.fromCharCode(unit)
    const isControl = unit < 0x20 || unit >= 0x7f
    const isKept = !isControl || character === "\n" || character === "\t"
    assert.equal(harmless(`x${character}y`).includes(character), isKept, `U+${unit.toString(16)}`)
  }
  for (const shown of [harmless(HOSTILE), oneLine(HOSTILE), paint(line(HOSTILE), true)]) {
    assert.doesNotMatch(shown, /[\p{Cc}\u202e]/u)
    assert.match(shown, /^abc/)
  }
  assert.equal(oneLine(" a \n\t b\r\nc "), "a b c")
  assert.deepEqual(JSON.parse(harmlessJson({ HOSTILE })), { HOSTILE })
  assert.doesNotMatch(harmlessJson({ HOSTILE }), /[\p{Cc}\u202e]/u)
})

test("colours surround harmless texts, if there are colours", () => {
  const words = line(toned("good", `yes${ESC}[0m`), " and ", toned("plain", "no"))
  assert.equal(paint(words, false), "yes and no")
  assert.equal(paint(words, true), `${ESC}[32myes${ESC}[0m and no`)
})

test("texts are cut by the columns that they take", () => {
  assert.deepEqual(["abc", "日本", "é", "e\u0301", "👩", ""].map(widthOf), [3, 4, 1, 1, 2, 0])
  assert.deepEqual([cut("日本語", 6), cut("日本語", 5), cut("日本語", 4)], ["日本語", "日本…", "日…"])
  assert.deepEqual([cutStart("abcdef", 6), cutStart("abcdef", 4), cutStart("日本語", 4)], ["abcdef", "…def", "…語"])
  assert.deepEqual(rowsOf("日本語a", 3), ["日", "本", "語a"])
  assert.deepEqual(rowsOf("", 3), [""])
})

test("an event is one line, and says what its frame waits for", () => {
  const text = (event: Parameters<typeof lineOf>[0]) => paint(lineOf(event) ?? [], false)
  const frame = "f2"
  const title = `Ti${ESC}[2Jtle`
  const begun = { kind: "begun", frame, title, parent: "f1", sessionID: "s" } as const
  assert.equal(text({ ...begun, again: false }), "f2 begun: Title (below f1)")
  assert.equal(text({ ...begun, again: true }), "f2 resumes: Title (below f1)")
  assert.equal(text({ kind: "ended", frame, title, status: "completed", results: "One\nTwo" }), "f2 completed: One")
  const stopped = { kind: "ended", frame, title, status: "blocked", results: "So far", reason: "the key" } as const
  assert.equal(text(stopped), "f2 blocked: the key")
  assert.equal(text({ kind: "waiting", frame, title, question: "Which\ndatabase?" }), "f2 waits for you: Which")
  // The question of the agent follows as an event of its own.
  assert.equal(lineOf({ kind: "ended", frame, title, status: "blocked", results: "So far" }), undefined)
  assert.equal(lineOf({ kind: "text", frame, text: "word" }), undefined)
  const log = { kind: "log", frame: undefined, message: "process 7 runs f2", data: {} } as const
  assert.equal(text({ ...log, level: "error" }), "error: process 7 runs f2")
  assert.equal(lineOf({ ...log, level: "info" }), undefined)
  assert.equal(text({ ...log, level: "info", data: { process: 7 } }), "process 7 runs f2")
})

/** A screen on an emulated terminal. */
function emulated(columns: number, rows: number) {
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 1000, allowProposedApi: true })
  const surface = { write: (text: string) => terminal.write(text), columns, rows }
  const screen = new Screen(surface)
  const settled = () => new Promise<void>((resolve) => terminal.write("", resolve))
  async function shown(): Promise<string[]> {
    await settled()
    const { active } = terminal.buffer
    const all = Array.from(
      { length: active.length },
      (_, index) => active.getLine(index)?.translateToString(true) ?? "",
    )
    return all.slice(0, all.findLastIndex((text) => text !== "") + 1)
  }
  async function cursor(): Promise<[number, number]> {
    await settled()
    return [terminal.buffer.active.cursorX, terminal.buffer.active.baseY + terminal.buffer.active.cursorY]
  }
  function resize(newColumns: number, newRows: number): void {
    terminal.resize(newColumns, newRows)
    Object.assign(surface, { columns: newColumns, rows: newRows })
  }
  return { screen, shown, cursor, resize, settled }
}

const EMPTY: Area = { live: [], label: "f1> ", typed: "", cursor: 0 }

test("a screen prints above its live lines and the typed line", async () => {
  const { screen, shown, cursor } = emulated(20, 6)
  screen.draw({ ...EMPTY, live: ["f1 works"] }, ["first"])
  screen.draw({ ...EMPTY, live: ["f1 works", "f2 works too, and tells a lot"], typed: "push x", cursor: 4 }, ["second"])
  assert.deepEqual(await shown(), ["first", "second", "f1 works", "f2 works too, and …", "f1> push x"])
  assert.deepEqual(await cursor(), [8, 4])
  screen.draw({ ...EMPTY, typed: "日本語 and much more than fits", cursor: 30 })
  assert.deepEqual(await shown(), ["first", "second", "f1> 日本語 and much", " more than fits"])
  screen.erase()
  assert.deepEqual(await shown(), ["first", "second"])
  assert.deepEqual(await cursor(), [0, 2])
})

test("typed text that is longer than the terminal is shown around the cursor", async () => {
  const { screen, shown, cursor } = emulated(11, 5)
  const typed = Array.from({ length: 20 }, (_, index) => `word${String(index).padStart(2, "0")} `).join("")
  screen.draw({ ...EMPTY, live: ["one", "two", "three"], typed, cursor: typed.length })
  assert.equal((await shown()).length, 4)
  assert.match((await shown()).at(-1) ?? "", /19/)
  screen.draw({ ...EMPTY, live: [], typed, cursor: 0 })
  assert.match((await shown())[0] ?? "", /^f1> word00/)
  assert.deepEqual(await cursor(), [4, 0])
})

test("whatever is printed stays on the screen once and in order", async () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2 ** 31
    return seed % below
  }
  const { screen, shown } = emulated(30, 8)
  const printed: string[] = []
  let area = EMPTY
  for (let step = 0; step < 300; step += 1) {
    const live = Array.from({ length: random(12) }, (_, index) => `live ${index} ${"x".repeat(random(60))}`)
    const typed = `t${"yz".repeat(random(70))}`
    area = { live, label: "f1> ", typed, cursor: random(typed.length + 1) }
    const lines = Array.from({ length: random(3) }, (_, index) => `line ${step}.${index}`)
    printed.push(...lines)
    screen.draw(area, lines)
  }
  screen.erase()
  assert.deepEqual(await shown(), printed)
})

test("a terminal that becomes narrower keeps what was printed", async () => {
  const { screen, shown, resize, settled } = emulated(40, 10)
  const area = { ...EMPTY, live: ["f1 ".padEnd(39, "l"), "f2 ".padEnd(39, "m")], typed: "typed", cursor: 5 }
  screen.draw(area, ["printed one", "printed two"])
  await settled()
  for (const columns of [25, 15, 30]) {
    resize(columns, 10)
    screen.draw(area)
    const lines = await shown()
    assert.deepEqual(lines.slice(0, 2), ["printed one", "printed two"])
    assert.deepEqual(
      lines.slice(2).map((text) => text.slice(0, 4)),
      ["f1 l", "f2 m", "f1> "],
    )
  }
})

/** An editor that gets its keys as text. */
function typing(text: string) {
  const keys = new PassThrough()
  const keyboard = new Keyboard({ setRawMode: () => process.stdin })
  const lines: string[] = []
  const happened: string[] = []
  const editor = new Editor({
    input: keys.pipe(keyboard),
    history: ["newest", "oldest"],
    complete: (before) => [["tree "].filter((word) => word.startsWith(before)), before],
    isKept: (typed) => typed !== "y",
    onLine: (typed) => lines.push(typed),
    onChange: () => undefined,
    onInterrupt: () => happened.push("interrupt"),
    onSuspend: () => happened.push("suspend"),
    onClear: () => happened.push("clear"),
    onEnd: () => happened.push("end"),
  })
  keys.write(text)
  return { editor, keys, lines, happened, passed: () => new Promise((resolve) => setTimeout(resolve, 150)) }
}

test("a line is edited, completed, and repeated from the history", async () => {
  const { editor, keys, lines, happened, passed } = typing("helo\u001b[Dl\r")
  await passed()
  keys.write("y\r\u001b[A\u001b[A\u001b[A")
  await passed()
  assert.deepEqual(lines, ["hello", "y"])
  assert.deepEqual([editor.line, editor.cursor], ["oldest", 6])
  keys.write("\u001b[D\u001b[Dxyz")
  await passed()
  assert.deepEqual([editor.line, editor.cursor], ["oldexyzst", 7])
  editor.clear()
  assert.deepEqual([editor.line, editor.cursor], ["", 0])
  keys.write("tr\t\u0003\u000c\u001a")
  await passed()
  assert.equal(editor.line, "tree ")
  assert.deepEqual(happened, ["interrupt", "clear", "suspend"])
  editor.close()
})

test("pasted lines act as no commands", async () => {
  const { editor, keys, lines, passed } = typing("push \u001b[20")
  keys.write("0~one\r\nstop\n\u001b[31mtwo\u001b[201")
  keys.write("~!")
  await passed()
  assert.deepEqual([editor.line, lines], ["push one stop [31mtwo!", []])
  // Escape alone is not the beginning of a paste.
  keys.write("\u001b")
  await passed()
  keys.write("x\r")
  await passed()
  assert.equal(lines.length, 1)
  editor.close()
})

test("Tab completes commands, frames that they can be about, and statuses", () => {
  const stack = Stack.inMemory()
  const root = stack.push({ title: "Shop" })
  stack.plan({ title: "Cart", parent: root })
  const done = stack.push({ title: "Schema", parent: root })
  stack.pop(done, { status: "completed", results: "Done" })
  const texts = (text: string) => complete(stack, text).candidates.map((candidate) => candidate.text)
  assert.deepEqual(texts("st"), ["stop", "status"])
  assert.deepEqual(texts("/st"), ["/stop", "/status"])
  assert.deepEqual(texts("activate "), ["f1", "f2"])
  assert.deepEqual(texts("/activate f2"), ["f2"])
  assert.deepEqual(texts("tree f"), ["f1", "f2", "f3"])
  assert.deepEqual(texts("pop "), ["f1", "completed", "failed", "blocked"])
  assert.deepEqual(texts("pop f1 fa"), ["failed"])
  assert.deepEqual([texts("pop f1 failed "), texts("nonsense "), texts("constructor ")], [[], [], []])
  assert.equal(complete(stack, "push f1").completed, "f1")
  const candidates = complete(stack, "sta").candidates
  assert.equal(commonStart(candidates), "status")
  assert.equal(commonStart(complete(stack, "st").candidates), "st")
  stack.close()
})

test("commands have names with and without a slash, and other names", () => {
  assert.deepEqual(commandIn("/push f2 Write  tests "), { name: "push", text: "f2 Write  tests" })
  assert.deepEqual(
    ["yes", "/exit", "?", "status"].map((word) => commandIn(word).name),
    ["y", "quit", "help", "status"],
  )
  assert.throws(() => commandOf("toString"), /there is no command `toString`/)
})

test("a run is about a new goal, a handle, or the only planned root", () => {
  const stack = Stack.inMemory()
  assert.throws(() => rootToRun(stack, ""), /no root is planned/)
  const first = stack.plan({ title: "First", parent: null })
  assert.deepEqual(rootToRun(stack, ""), { frame: first, goal: "" })
  assert.deepEqual(rootToRun(stack, "f7"), { frame: "f7", goal: "" })
  assert.deepEqual(rootToRun(stack, "Build a shop"), { frame: undefined, goal: "Build a shop" })
  stack.plan({ title: "Second", parent: null })
  assert.throws(() => rootToRun(stack, ""), /several roots are planned: f1, f2/)
  stack.close()
})

test("the history is a file that only its owner may read", () => {
  const folder = mkdtempSync(join(tmpdir(), "flame-history-"))
  try {
    assert.equal(historyFile({ HOME: "/home/me" }), "/home/me/.local/state/callstack/flame_history")
    assert.equal(historyFile({ HOME: "/home/me", XDG_STATE_HOME: "relative" }), historyFile({ HOME: "/home/me" }))
    const file = historyFile({ XDG_STATE_HOME: folder })
    assert.equal(file, join(folder, "callstack", "flame_history"))
    const history = new History(file)
    assert.deepEqual(history.load(), [])
    for (const typed of ["push a", " secret", "", "pop"]) history.add(typed)
    assert.equal(readFileSync(file, "utf8"), "push a\npop\n")
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(new History(file).load(), ["pop", "push a"])
    writeFileSync(file, Array.from({ length: HISTORY_SIZE + 5 }, (_, index) => `line ${index}\n`).join(""))
    assert.equal(history.load().length, HISTORY_SIZE)
    const kept = readFileSync(file, "utf8").trimEnd().split("\n")
    assert.deepEqual([kept.length, kept[0]], [HISTORY_SIZE, "line 5"])
    assert.equal(statSync(file).mode & 0o777, 0o600)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** A request for a permission, and the function that withdraws it. */
function request(frame: string) {
  const controller = new AbortController()
  const more = { title: undefined, blockedPath: undefined, toolUseID: "t1" }
  return { withdraw: () => controller.abort(), details: { frame, signal: controller.signal, ...more } }
}

test("a person decides on one permission after another", async () => {
  const permissions = new Permissions()
  const news: (string | undefined)[] = []
  permissions.onChange = (asked) => news.push(asked && `${asked.frame} ${asked.tool}`)
  const first = permissions.ask("Bash", { command: "ls" }, request("f1").details)
  const second = permissions.ask("Bash", { command: "rm" }, request("f1").details)
  const withdrawn = request("f2")
  const third = permissions.ask("Write", {}, withdrawn.details)
  const fourth = permissions.ask("Write", {}, request("f2").details)
  const seen = permissions.next
  assert.deepEqual(seen?.input, { command: "ls" })
  assert.ok(seen && permissions.decide(seen, "always"))
  assert.deepEqual(await first, { behavior: "allow", updatedInput: { command: "ls" } })
  assert.deepEqual(await second, { behavior: "allow", updatedInput: { command: "rm" } })
  // Only this tool of this frame is allowed from now on.
  assert.equal((await permissions.ask("Bash", {}, request("f1").details)).behavior, "allow")
  const next = permissions.next
  assert.deepEqual([next?.frame, next?.tool], ["f2", "Write"])
  withdrawn.withdraw()
  assert.equal((await third).behavior, "deny")
  assert.equal(next && permissions.decide(next, "yes"), false)
  const last = permissions.next
  assert.ok(last && permissions.decide(last, "no"))
  const refused = await fourth
  assert.ok(refused.behavior === "deny" && /person/.test(refused.message))
  assert.equal(permissions.next, undefined)
  const asked = ["f1 Bash", "f1 Bash", "f2 Write", "f2 Write"]
  assert.deepEqual(
    news.filter((text) => text !== undefined),
    asked,
  )
})

test("a request shows a command in full, and the beginning of a file", () => {
  const long = Array.from({ length: 30 }, (_, index) => `line ${index}`).join("\n")
  const shown = (input: Record<string, unknown>) =>
    requestLines({ frame: "f1", tool: `Ba${ESC}[2Jsh`, input, title: undefined }).map((words) => paint(words, false))
  assert.equal(shown({ command: long }).length, 32)
  const file = shown({ file_path: "/a\u0007b", content: long })
  assert.deepEqual(file.slice(0, 3), ["f1 asks to use Bash", "  file_path: /a\u{FFFD}b", "  content: line 0"])
  assert.equal(file.at(-2), "  … 20 more lines")
})

test("without a terminal a permission is refused, and the person is told once", async () => {
  const told: string[] = []
  const ask = refuseAll((frame, tool) => told.push(`${frame} ${tool}`))
  for (const frame of ["f1", "f1", "f2"]) {
    assert.deepEqual(await ask("Write", {}, request(frame).details), { behavior: "deny", message: NO_PERSON })
  }
  assert.deepEqual(told, ["f1 Write", "f2 Write"])
  assert.match(NO_PERSON, /--permission-mode acceptEdits.*--tools/)
})

test("errors have codes for scripts, and no stack traces", () => {
  const codes = (["busy", "setting", "io", "unknown_frame", "library"] as const).map(
    (code) => failureOf(new CallstackError(code, "no")).exit,
  )
  assert.deepEqual(codes, [5, 2, 1, 4, 1])
  const failure = failureOf(new TypeError("x is not a function"))
  assert.deepEqual([failure.exit, failure.code, failure.message], [1, "failed", "x is not a function"])
})

test("advised commands work on the same stack", () => {
  assert.equal(sameCommand({}), "flame ")
  assert.equal(sameCommand({ directory: "my shop", folder: "/s" }), "flame --directory 'my shop' --folder /s ")
  assert.equal(stackFolder({ directory: "/p" }, {}), "/p/.callstack")
  assert.equal(stackFolder({ directory: "/p" }, { CALLSTACK_DIR: "/c" }), "/c")
  assert.equal(stackFolder({ directory: "/p", folder: "/f" }, { CALLSTACK_DIR: "/c" }), "/f")
})

test("a mistyped word is compared with the commands", () => {
  const names = ["run", "resume", "push", "plan", "pop", "answer", "status"]
  const typed = { anwser: "answer", psuh: "push", stat: "status", Resum: "resume", ppush: "push", pussh: "push" }
  for (const [word, name] of Object.entries(typed)) assert.equal(nearestOf(word, names), name)
  for (const word of ["Build", "", "documentation"]) assert.equal(nearestOf(word, names), undefined)
})

test("an ending is a status and results", () => {
  assert.deepEqual(endingIn("failed  No prices\nat all"), { status: "failed", results: "No prices\nat all" })
  assert.deepEqual(endingIn("failedtoo"), { status: "completed", results: "failedtoo" })
  assert.deepEqual(endingIn("blocked"), { status: "blocked", results: "" })
})

test("only a limit of the root itself is the exit code of a limit", () => {
  const stack = Stack.inMemory()
  stack.push({ title: "Root", parent: null })
  const codeOf = (text: string, isInterruption = true) => {
    const question = { question: text, askedAt: 0, ...(isInterruption && { interruption: true as const }) }
    const frame = { ...stack.frame("f1"), status: "blocked" as const, questions: [question] }
    return exitOfRun([{ frame, report: "", waiting: [] }])
  }
  const error = "It was interrupted: its session ended with an error: "
  const limits = [
    "It was stopped: its budget of 50 tokens is spent: 110 with all frames below it",
    "It was stopped: its budget of 0.5 US dollars is spent: 0.6 with all frames below it",
    "It was interrupted: its time limit of 90000 ms was exceeded; 2 tool calls",
    `${error}f1 may not continue: its budget of 50 tokens is spent: 110`,
    `${error}Reached maximum number of turns (1); a frame that resumes gets as many again`,
    `${error}its budget is spent: Reached maximum budget ($0.5)`,
    `${error}frame f1 has had its 3 turns; a frame that resumes gets as many again`,
    `${error}the budget of frame f1 is spent: 0.6 of 0.5 US dollars`,
  ]
  for (const limit of limits) assert.equal(codeOf(limit), 3, limit)
  const [spent = ""] = limits
  // The agent of the frame has written the words, or they are in the middle of other words.
  assert.equal(codeOf(spent, false), 1)
  assert.equal(codeOf(`${error}the API says: ${spent}`), 1)
  assert.equal(codeOf("It was stopped: by a person"), 1)
  stack.close()
})

test("a person is told when an end takes long", async () => {
  mock.timers.enable({ apis: ["setTimeout"] })
  try {
    const told: string[] = []
    let end = (): void => undefined
    const work = patiently(
      new Promise<void>((resolve) => {
        end = resolve
      }),
      (text) => told.push(text),
    )
    mock.timers.tick(PATIENCE - 1)
    assert.deepEqual([...told], [])
    mock.timers.tick(1)
    assert.match(told[0] ?? "", /^not everything has ended after 10 seconds; Ctrl-C ends at once$/)
    end()
    await work
    await patiently(Promise.resolve(), (text) => told.push(text))
    mock.timers.tick(PATIENCE)
    assert.equal(told.length, 1)
  } finally {
    mock.timers.reset()
  }
})

// The program `flame` without a terminal: its commands, exit codes, lines and JSON, with real sessions where frames run.

import assert from "node:assert/strict"
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { Stack } from "callstack-core"
import { type Actions, runCommandLine } from "../src/program/command-line.js"
import { Failure } from "../src/program/failure.js"
import {
  byFrame,
  call,
  callstack,
  type ModelRequest,
  PROGRAM,
  pop,
  push,
  stack,
  until,
  within,
  write,
} from "./harness/index.js"
import { FLAME, flame, sessionsOf } from "./harness/person.js"

const ESC = "\u001b"
const MODULES = join(import.meta.dirname, "../../../node_modules")

/**
 * A name that the SDK's program itself offers to some models. The program says that the name is reserved for
 * the loading of tools, and must not be called.
 */
const PLACEHOLDER = "DeferredToolPlaceholder"

/** A command line that reaches an action is not wrong. */
const NO_ACTIONS = new Proxy({} as Actions, { get: (_, name) => assert.fail(`the action ${String(name)} was reached`) })

/** A folder without a model, for commands that run nothing. */
async function inFolder(use: (place: { folder: string; env: Record<string, string> }) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "flame-program-"))
  try {
    await use({
      folder,
      env: { PATH: `${dirname(PROGRAM)}:${process.env["PATH"] ?? ""}`, HOME: folder, LANG: "C.UTF-8" },
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The data of the envelopes of a kind. */
function dataOf<T>(text: string, kind: string): T[] {
  const envelopes = text
    .trimEnd()
    .split("\n")
    .map((words): { schemaVersion: number; kind: string; data: T } => JSON.parse(words))
  assert.deepEqual([...new Set(envelopes.map(({ schemaVersion }) => schemaVersion))], [1])
  return envelopes.filter((envelope) => envelope.kind === kind).map(({ data }) => data)
}

test("help names the commands and the exit codes", () =>
  inFolder(async (place) => {
    const help = await flame(place, ["--help"])
    assert.deepEqual([help.code, help.stderr], [0, ""])
    for (const word of [
      "run",
      "resume",
      "repl",
      "push",
      "plan",
      "activate",
      "pop",
      "status",
      "tree",
      "usage",
      "answer",
      "stop",
      "show",
      "log",
      "edit",
      "retry",
      "invalidate",
      "reopen",
      "undo",
      "view",
    ])
      assert.match(help.stdout, new RegExp(`^  ${word} `, "m"))
    assert.match(help.stdout, /Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 /)
    assert.match((await flame(place, ["run", "--help"])).stdout, /--max-budget-usd/)
    assert.doesNotMatch((await flame(place, ["tree", "--help"])).stdout, /--max-budget-usd/)
    assert.match((await flame(place, ["--version"])).stdout, /^\d+\.\d+\.\d+\n$/)
    assert.equal(existsSync(join(place.folder, ".callstack")), false)
  }))

test("a wrong command line is refused before anything is done", () =>
  inFolder(async (place) => {
    const wrong: [string[], RegExp][] = [
      [["--nonsense", "Build a shop"], /^error: unknown option '--nonsense'/],
      [["statsu"], /^error: there is no command `statsu`\nnext: .*flame run statsu/],
      [[], /^error: there is no goal, and no terminal/],
      [
        ["anwser", "f3", "yes"],
        /^error: there is no command `anwser`\nnext: perhaps it is `flame answer`; .*one argument/,
      ],
      [["Build", "a", "shop"], /^error: there is no command `Build`\nnext: `flame --help`.*one argument/],
      [["psuh", "Add tests"], /`flame push`/],
      [["push"], /^error: missing required argument 'goal'/],
      [["run", "--max-depth", "many", "A goal"], /--max-depth.*whole number/],
      [["run", "--max-turns", "0", "A goal"], /--max-turns.*at least 1/],
      [["run", "--max-budget-usd", "-1", "A goal"], /--max-budget-usd.*above 0/],
      [["run", "--time-limit", "90", "A goal"], /--time-limit.*unit/],
      [["run", "--permission-mode", "all", "A goal"], /--permission-mode.*acceptEdits/],
    ]
    for (const [words, message] of wrong) {
      await assert.rejects(runCommandLine(words, NO_ACTIONS, { isInteractive: false, version: "0" }), (error) => {
        assert.ok(error instanceof Failure)
        const next = error.nextStep === undefined ? "" : `\nnext: ${error.nextStep}`
        assert.match(`error: ${error.message}${next}`, message)
        return error.exit === 2
      })
    }
    const plain = await flame(place, ["statsu"])
    assert.deepEqual([plain.code, plain.stdout], [2, ""])
    assert.match(plain.stderr, /^error: there is no command `statsu`\nnext: .*flame run statsu\n$/)
    const { code, stderr } = await flame(place, ["--json", "resume", "f1"])
    assert.equal(code, 2)
    assert.equal(dataOf<{ code: string }>(stderr, "error")[0]?.code, "arguments")
    assert.equal(existsSync(join(place.folder, ".callstack")), false)
  }))

test("commands that look need a stack, and a mistyped folder begins none", () =>
  inFolder(async (place) => {
    for (const words of [
      ["tree"],
      ["status"],
      ["usage"],
      ["answer", "f1", "Yes"],
      ["stop"],
      ["view"],
      ["resume"],
      ["push", "Tests"],
      ["plan", "Tests"],
      ["activate", "f1"],
      ["pop", "f1", "Done"],
    ]) {
      const { code, stderr } = await flame(place, [...words, "--folder", "nowhere"])
      assert.equal(code, 1, words.join(" "))
      assert.match(stderr, /^error: there is no stack in .*nowhere\nnext: /)
    }
    assert.equal(existsSync(join(place.folder, "nowhere")), false)
  }))

test("a stack is planned, shown and steered while nothing runs", () =>
  inFolder(async (place) => {
    const planned = await flame(place, ["plan", `Shop${ESC}[2J`, "--criteria", "It sells"])
    assert.equal(planned.code, 0, planned.stderr)
    assert.match(planned.stdout, /^planned f1: Shop/)
    const stack = Stack.open(join(place.folder, ".callstack"))
    assert.equal(stack.frame("f1").successCriteria, "It sells")
    stack.activate("f1")
    stack.push({ title: "Taxes", parent: "f1" })
    stack.block("f2", { question: "Which rate?\nThe user knows" })
    stack.recordUsage("f1", { model: "m", uncachedInput: 1200, output: 34 })
    stack.close()

    const tree = await flame(place, ["tree"])
    assert.match(tree.stdout, /^\[>\] f1 Shop.* {2}<-- ACTIVE\n`-- \[\?\] f2 Taxes\n.*Which rate/)
    assert.match((await flame(place, ["tree", "f2"])).stdout, /^\[\?\] f2 Taxes/)
    const status = await flame(place, ["status"])
    assert.match(status.stdout, /^0 of 2 done\nasks +\[\?\] f2 Taxes.*\n +Which rate\? The user knows\n/)
    const usage = await flame(place, ["usage", "f1"])
    assert.match(usage.stdout, /1,200/)
    for (const { stdout } of [tree, status, usage]) assert.doesNotMatch(stdout, /(?!\n)\p{Cc}/u)

    const json = await Promise.all(["tree", "status", "usage"].map((word) => flame(place, [word, "--json"])))
    const [shown, now] = json.map(({ stdout }) => JSON.parse(stdout).data)
    assert.deepEqual(
      shown.frames.map(({ handle }: { handle: string }) => handle),
      ["f1", "f2"],
    )
    assert.deepEqual(
      now.asking.map(({ handle, why }: { handle: string; why: string }) => [handle, why]),
      [["f2", "Which rate?\nThe user knows"]],
    )

    const unknown = await flame(place, ["tree", "f9"])
    assert.deepEqual([unknown.code, unknown.stdout], [4, ""])
    assert.match(unknown.stderr, /^error: .*f9/)
    const answered = await flame(place, ["answer", "f2", "20 %"])
    assert.match(answered.stdout, /^answered f2.*: Taxes\n/)
    assert.equal((await flame(place, ["answer", "f1", "Yes"])).code, 4)
    assert.match((await callstack(place.folder, "show", "f2")).stdout, /20 %/)
    assert.equal((await flame(place, ["stop", "--all"])).code, 0)
    const help = await flame(place, ["pop", "--help"])
    assert.match(help.stdout, /--results/, "the help is that of callstack")
  }))

test("a frame is planned below another one, and ended, while nothing runs", () =>
  inFolder(async (place) => {
    await flame(place, ["plan", "Build a shop"])
    assert.equal((await flame(place, ["plan", "A cart", "--parent", "f1", "--criteria", "It adds up"])).code, 0)
    const stack = Stack.open(join(place.folder, ".callstack"))
    for (const frame of ["f1", "f2"]) stack.activate(frame)
    assert.match((await flame(place, ["plan", "Totals"])).stdout, /^planned f3 below f2: Totals\n/)
    const ended = await flame(place, ["pop", "f2", "--status", "failed", "--results", "No prices", "--json"])
    assert.equal(JSON.parse(ended.stdout).data.handle, "f2")
    assert.equal((await flame(place, ["pop", "f1", "--results", "It sells"])).code, 4, "Totals is planned")
    assert.equal((await flame(place, ["pop", "f1", "--results", "It sells", "--anyway"])).code, 0)
    stack.refresh()
    const [f1, f2, f3] = ["f1", "f2", "f3"].map((frame) => stack.frame(frame))
    assert.deepEqual([f1?.status, f1?.results], ["completed", "It sells"])
    assert.deepEqual([f2?.status, f2?.results, f2?.successCriteria], ["failed", "No prices", "It adds up"])
    assert.deepEqual(stack.handles({ relation: "ancestors", frame: f3?.handle ?? "" }), ["f2", "f1"])
    stack.close()
    assert.equal((await flame(place, ["pop", "f1", "--results", "Again"])).code, 4)
    assert.equal((await flame(place, ["plan", "More", "--parent", "f9"])).code, 4)
  }))

test("options that a driver does not support are refused before anything is done", () =>
  inFolder(async (place) => {
    const words = ["--driver", "opencode", "--permission-mode", "plan", "--allow", "Bash", "Build a shop"]
    const { code, stderr } = await flame(place, words)
    assert.equal(code, 2)
    assert.match(stderr, /^error: --driver opencode does not support --permission-mode and --allow\nnext: /)
    assert.equal(existsSync(join(place.folder, ".callstack")), false)
  }))

test("a page is drawn by the program callstack, if it is installed", () =>
  inFolder(async (place) => {
    await flame(place, ["plan", "Build a shop"])
    const missing = await flame(place, ["view"], { env: { PATH: "/nonexistent" } })
    assert.equal(missing.code, 1)
    assert.match(missing.stderr, /^error: the program `callstack` is not installed.*\nnext: .*cargo install/)
    const PATH = `${dirname(PROGRAM)}:${place.env["PATH"]}`
    const drawn = await flame(place, ["view", "page.html"], { env: { PATH } })
    assert.deepEqual([drawn.code, drawn.stderr], [0, ""])
    assert.ok(existsSync(join(place.folder, "page.html")))
    assert.equal((await flame(place, ["view", "--nonsense"], { env: { PATH } })).code, 2)
  }))

test("commands of callstack are those of flame, and a tree has summaries", () =>
  inFolder(async (place) => {
    const PATH = `${dirname(PROGRAM)}:${place.env["PATH"]}`
    const run = async (...words: string[]) => {
      const { code, stdout, stderr } = await flame(place, words, { env: { PATH } })
      assert.equal(code, 0, `${words.join(" ")}: ${stderr}`)
      return stdout
    }
    await run("plan", "Build a shop")
    await run("plan", "Cart", "--parent", "f1")
    await run("edit", "f2", "--title", "Shopping cart")
    assert.match(await run("show", "f2"), /Shopping cart/)
    await run("invalidate", "f2", "It is bought")
    assert.match(await run("history"), /It is bought/)
    assert.match(await run("log", "f1"), /no log|No log|nothing/i)
    const stack = Stack.open(join(place.folder, ".callstack"))
    stack.activate("f1")
    stack.close()
    await run("pop", "f1", "--status", "failed", "--results", "The supplier is closed")
    await run("retry", "f1", "--note", "Ask another one")
    assert.match(await run("tree", "--summaries"), /f1 Build a shop[\s\S]*Summary: The supplier is closed/)
    assert.equal((await flame(place, ["retry"], { env: { PATH } })).code, 2)
    assert.equal(JSON.parse(await run("show", "f1", "--json")).kind, "frame")
  }))

test("without the SDK the program says what to install", () =>
  inFolder(async (place) => {
    const modules = join(place.folder, "node_modules")
    mkdirSync(modules)
    for (const name of ["callstack-core", "commander"])
      symlinkSync(realpathSync(join(MODULES, name)), join(modules, name))
    cpSync(join(dirname(FLAME), ".."), join(place.folder, "dist"), { recursive: true })
    cpSync(join(dirname(FLAME), "../../package.json"), join(place.folder, "package.json"))
    const program = join(place.folder, "dist/program/main.js")
    assert.equal((await flame(place, ["--help"], { program })).code, 0)
    const { code, stdout, stderr } = await flame(place, ["Build a shop"], { program })
    assert.deepEqual([code, stdout], [1, ""])
    assert.match(stderr, /^error: .*npm install @anthropic-ai\/claude-agent-sdk @modelcontextprotocol\/sdk zod\n$/)
  }))

test("a run writes plain lines, JSON, or its results alone", () =>
  within(
    byFrame({
      f1: [
        (_, world) => ({ calls: [write(world, "a.ts")] }),
        { calls: [push(`Ca${ESC}]0;x\u0007rt`)] },
        { calls: [pop("The shop is built\nIt sells")] },
      ],
      f2: [{ calls: [pop("Cart in cart.ts\nand its tests")] }],
      f3: [{ text: `wo${ESC}[2Jrds`, calls: [pop("Third")] }],
      f4: [{ calls: [pop("Fourth\nwith more")] }],
    }),
    async (world) => {
      const plain = await flame(world, ["Build a shop"])
      const lines = plain.stdout.split("\n")
      assert.deepEqual(lines.slice(0, 9), [
        "f1 begun: Build a shop",
        "f2 begun: Cart (below f1)",
        "f2 completed: Cart in cart.ts",
        "f1 completed: The shop is built",
        "",
        "The shop is built",
        "It sells",
        "",
        lines[8],
      ])
      assert.match(lines[8] ?? "", /^f1: 4 requests, 440 tokens, \$0\.\d{4}$/)
      // No person can be asked: the model and the person are told so.
      assert.match(
        plain.stderr,
        /^f1: Write was refused: no person can be asked.*--permission-mode acceptEdits.*--tools/,
      )
      assert.match(world.model.asked[1]?.news[0]?.text ?? "", /no person can be asked/)
      assert.equal(existsSync(join(world.folder, "a.ts")), false)

      const json = await flame(world, ["Build more", "--json"])
      assert.deepEqual([json.code, json.stderr], [0, ""])
      const events = dataOf<{ kind: string; frame?: string }>(json.stdout, "event").map(({ kind }) => kind)
      for (const kind of ["begun", "text", "tool", "usage", "ended"]) assert.ok(events.includes(kind), kind)
      const [outcome] = dataOf<{ frame: { handle: string; status: string }; usage: object }>(json.stdout, "outcome")
      assert.deepEqual([outcome?.frame.handle, outcome?.frame.status], ["f3", "completed"])

      const quiet = await flame(world, ["--quiet", "run", "And more"])
      assert.deepEqual([quiet.code, quiet.stdout, quiet.stderr], [0, "Fourth\nwith more\n", ""])
      for (const { stdout } of [plain, json, quiet]) assert.doesNotMatch(stdout, /(?!\n)\p{Cc}/u)
      await world.settled()
    },
  ))

test("how a root ends decides the exit code", () =>
  within(
    byFrame({
      f1: [{ calls: [pop("It cannot be done", "failed")] }],
      f2: [
        {
          calls: [
            stack("frame_pop", { status: "blocked", results: "", resultsCompacted: "", question: "Which database?" }),
          ],
        },
        { calls: [pop("With PostgreSQL")] },
      ],
      // The SDK asks several times: the model for a summary, and an API that has failed.
      f3: Array(5).fill({ calls: [call("Bash", { command: "true" })] }),
      f4: Array(5).fill({ calls: [call("Bash", { command: "true" })] }),
      f5: Array(5).fill({ status: 401, text: "invalid x-api-key" }),
      f6: [{ calls: [pop("Planned and done")] }],
    }),
    async (world) => {
      assert.equal((await flame(world, ["An impossible goal"])).code, 1)

      const waits = await flame(world, ["--no-wait", "Store orders"])
      assert.equal(waits.code, 6)
      assert.match(waits.stdout, /^f2 waits for you: Which database\?\n/m)
      assert.match(waits.stdout, /^next: flame answer f2 TEXT, then flame resume\n$/m)
      await flame(world, ["answer", "f2", "PostgreSQL"])
      const resumed = await flame(world, ["resume"])
      assert.equal(resumed.code, 0)
      assert.match(resumed.stdout, /^f2 completed: With PostgreSQL$/m)
      const nothing = await flame(world, ["resume"])
      assert.deepEqual([nothing.code, nothing.stderr], [0, "nothing was stopped, interrupted or answered\n"])

      const turns = await flame(world, ["--max-turns", "1", "Turn and turn"])
      assert.equal(turns.code, 3, turns.stdout)
      const tokens = await flame(world, ["--max-tokens", "50", "Think a lot"])
      assert.equal(tokens.code, 3, tokens.stdout)
      assert.match(tokens.stdout, /^f4 is stopped: its budget of 50 tokens is spent/m)

      const refused = await flame(world, ["Use a wrong key"])
      assert.equal(refused.code, 1)
      assert.match(refused.stdout, /^f5 blocked: .*ANTHROPIC_API_KEY.*claude login/m)
      assert.doesNotMatch(refused.stderr, /^\s+at /m)

      assert.match((await flame(world, ["run"])).stderr, /^error: no root is planned/)
      await flame(world, ["plan", "A planned goal"])
      assert.equal((await flame(world, ["run", "--title", "Other"])).code, 2)
      assert.equal((await flame(world, ["run"])).code, 0)
      await world.settled()
    },
  ))

test("the limits and the tools of a run hold for a planned root, and those of a resume for one that was stopped", () => {
  let isPatient = false
  const answer = () => (isPatient ? { calls: [pop("Done")] } : { calls: [call("Read", { file_path: "/none" })] })
  return within(answer, async (world) => {
    const toolsOf = (request: ModelRequest | undefined) =>
      (request?.tools ?? []).filter((name) => !name.startsWith("mcp__stack__") && name !== PLACEHOLDER)
    await flame(world, ["plan", "Read a lot"])
    assert.equal((await flame(world, ["run", "--tools", "Read", "--max-tokens", "50"])).code, 3)
    assert.deepEqual(toolsOf(world.model.asked[0]), ["Read"])

    // Without a larger limit, the model is not asked.
    const before = world.model.asked.length
    assert.equal((await flame(world, ["resume"])).code, 3)
    assert.equal(world.model.asked.length, before)
    assert.equal((await flame(world, ["resume", "--max-tokens", `${before * 110 + 50}`])).code, 3)
    assert.ok(world.model.asked.length > before)
    isPatient = true
    const dialogue = await flame(world, ["repl", "--max-tokens", "100000"], { input: "resume\n" })
    assert.equal(dialogue.code, 0)
    assert.match(dialogue.stdout, /^f1 completed: Done$/m)
    assert.deepEqual(toolsOf(world.model.asked.at(-1)), ["Read"])
    await world.settled()
  })
})

test("a frame is pushed below one that is stopped, and a planned one is run, with limits of its own", () =>
  within(
    byFrame({
      f1: [
        { calls: [stack("frame_pop", { status: "blocked", results: "", resultsCompacted: "", question: "Which?" })] },
        { calls: [pop("The shop is built")] },
      ],
      f2: [{ calls: [pop("Nine tests")] }],
      f3: [{ calls: [pop("Three pages")] }],
      f4: Array(5).fill({ calls: [call("Read", { file_path: "/none" })] }),
    }),
    async (world) => {
      assert.equal((await flame(world, ["--no-wait", "Build a shop"])).code, 6)
      const tests = await flame(world, ["push", "Add tests", "--parent", "f1", "--tools", "Read", "--title", "Tests"])
      assert.equal(tests.code, 0, tests.stderr)
      assert.match(tests.stdout, /^f2 begun: Tests \(below f1\)\nf2 completed: Nine tests$/m)
      assert.ok(!world.model.asked.at(-1)?.tools.includes("Write"))
      await flame(world, ["plan", "Write pages", "--parent", "f1"])
      assert.equal((await flame(world, ["activate", "f3"])).code, 0)
      assert.ok(world.model.asked.at(-1)?.tools.includes("Write"))
      // The limit is for this frame. Its root has no limit, and continues.
      const spent = await flame(world, ["push", "Read a lot", "--parent", "f1", "--max-tokens", "50"])
      assert.equal(spent.code, 3, spent.stdout)
      assert.match(spent.stdout, /^f4 is stopped: its budget of 50 tokens is spent/m)
      assert.equal((await flame(world, ["activate", "f1", "The", "first"])).code, 0)
      await world.settled()
    },
  ))

test("a frame is pushed below the current one, which another process runs", () => {
  let goOn = (): void => undefined
  const pushed = new Promise<void>((resolve) => {
    goOn = resolve
  })
  return within(
    byFrame({
      f1: [
        async () => {
          await pushed
          return { calls: [call("Read", { file_path: "/none" })] }
        },
        { calls: [pop("The shop is built")] },
      ],
      f2: [{ calls: [pop("Nine tests")] }],
    }),
    async (world) => {
      const ended = await flame(world, ["Build a shop"], {
        meanwhile: async () => {
          await until(() => world.model.asked.length > 0, "f1 asks the model")
          const tests = await flame(world, ["push", "Add", "tests"])
          assert.deepEqual([tests.code, tests.stderr], [0, ""])
          assert.match(tests.stdout, /^f2 begun: Add tests \(below f1\)\nf2 completed: Nine tests$/m)
          assert.equal(world.model.asked.length, 2)
          goOn()
        },
      })
      assert.equal(ended.code, 0, ended.stderr)
      assert.match(ended.stdout, /^f1 completed: The shop is built$/m)
      await world.settled()
    },
  )
})

test("signals stop everything so that it can be resumed", () =>
  within(
    () => ({ text: "Wait", hang: "stream" }),
    async (world) => {
      const whenWorking = async () => {
        const before = world.model.asked.length
        await until(() => world.model.asked.length > before, "the model is asked")
      }
      const codes = { SIGTERM: 143, SIGHUP: 129, SIGINT: 130 } as const
      for (const [index, [signal, code]] of Object.entries(codes).entries()) {
        const words = index === 0 ? ["Build a shop"] : ["resume"]
        const ended = await flame(world, words, {
          meanwhile: async (child) => {
            await whenWorking()
            child.kill(signal as keyof typeof codes)
          },
        })
        assert.equal(ended.code, code)
        assert.match(ended.stderr, /^stopping; once more ends at once\nstopped; `flame resume` continues\n$/)
        await world.settled()
        assert.match((await flame(world, ["status"])).stdout, /f1 Build a shop/)
      }
      // A session that does not react keeps the program from stopping, until the second signal.
      let said = ""
      const ended = await flame(world, ["resume"], {
        meanwhile: async (child) => {
          child.stderr.on("data", (text: string) => {
            said += text
          })
          await whenWorking()
          for (const id of sessionsOf(world)) process.kill(id, "SIGSTOP")
          child.kill("SIGINT")
          await until(() => said.includes("stopping"), "the program stops")
          child.kill("SIGINT")
        },
      })
      assert.deepEqual([ended.code, ended.stderr], [130, "stopping; once more ends at once\n"])
      await world.settled()
    },
  ))

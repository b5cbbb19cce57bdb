// `make demo-flame`: callstack-flame builds a small API with the real SDK and a scripted model, and a person
// answers a question. Prints the events and pictures of the tree, then the files, their tests, the costs, and
// the flame chart of the run.

import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Flame } from "callstack-flame"
import { callstack, PROGRAM, type World, within } from "../harness/index.js"
import { ANSWER, demoApi, GOAL } from "./api.js"
import { Teller } from "./teller.js"

const MODEL = "claude-sonnet-5"
/** Prices for a million tokens, in US dollars: those of the SDK for this model. */
const PRICES = { [MODEL]: { uncachedInput: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 10 } }
/** The time that a person needs to find the answer, in milliseconds. */
const THOUGHT = 1_000

const folder = join(mkdtempSync(join(tmpdir(), "flame-demo-")), "notes")
let isAnswered: () => void = () => undefined
const answered = new Promise<void>((resolve) => {
  isAnswered = resolve
})
const stopped = await within(demoApi(answered), build, { limit: 100_000 })
await show(stopped)

/** Runs the goal, and copies the project to its permanent place. Returns the teller of the run. */
async function build(world: World): Promise<Teller> {
  const flame = new Flame({
    directory: world.folder,
    model: MODEL,
    claude: { permissionMode: "acceptEdits", allowedTools: ["Bash(node --test)"] },
  })
  const teller = new Teller(() =>
    flame
      .status()
      .map(({ frame, title }) => `${frame} ${title}`)
      .join(", "),
  )
  const picture = (title: string) => {
    teller.rule(title)
    teller.line(flame.tree().split("\n\n")[0] ?? "")
    teller.line("")
  }
  const reply = async (frame: string) => {
    picture("A frame asks a person, the others go on: flame tree")
    await sleep(THOUGHT)
    teller.line(`$ callstack answer ${frame} "${ANSWER}"`)
    teller.line((await callstack(world.folder, "answer", frame, ANSWER)).stdout.trimEnd())
    isAnswered()
  }
  flame.on((event) => {
    teller.event(event)
    // Another program takes its own turn at the stack, outside of the turn of the engine.
    if (event.kind === "waiting") setImmediate(() => void reply(event.frame))
    if (event.kind === "begun" && flame.status().length === 4)
      setImmediate(picture, "Two parts at the same time: flame tree")
  })
  teller.rule(`flame "${GOAL}"`)
  try {
    const { frame, report } = await flame.run(GOAL)
    if (frame.status !== "completed") throw new Error(`the demo was not finished: ${report}`)
    const sessions = new Set(world.model.asked.map(({ session }) => session)).size
    teller.rule(`${frame.handle} is ${frame.status}`)
    teller.line(frame.results ?? "")
    teller.line(
      `${world.model.asked.length} requests of ${sessions} sessions in ${teller.seconds} s; the SDK's estimate of the costs: $${flame.usage(frame.handle).totalCostUsd.toFixed(3)}`,
    )
  } finally {
    teller.close()
    await flame.close()
    cpSync(world.folder, folder, { recursive: true })
  }
  return teller
}

/** Shows the results of the run: files, tests, tree, costs and charts. */
async function show(teller: Teller): Promise<void> {
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await callstack(folder, ...args)
    if (code !== 0) throw new Error(`callstack ${args[0]} has failed: ${stderr}`)
    return stdout.trimEnd()
  }
  const files = readdirSync(folder).filter((name) => !name.startsWith("."))
  teller.rule("The files, written by the tools of the SDK")
  teller.line(files.join("  "))
  const tests = execFileSync(process.execPath, ["--test"], { cwd: folder, encoding: "utf8" })
  teller.line(
    `$ node --test\n${tests
      .split("\n")
      .filter((line) => /^\S* ?(tests|pass|fail) /.test(line))
      .join("\n")}`,
  )
  teller.rule("callstack tree --all")
  teller.line(await run("tree", "--all"))
  const prices = join(folder, "..", "prices.json")
  writeFileSync(prices, `${JSON.stringify(PRICES)}\n`)
  teller.rule("callstack usage f1 --prices prices.json")
  teller.line(await run("usage", "f1", "--prices", prices))
  const [chart, page] = [join(folder, "..", "notes.svg"), join(folder, "..", "notes.html")]
  await run("export", chart, "--format", "svg")
  await run("view", page, "--prices", prices)
  const shown = relative(join(import.meta.dirname, "../../../../.."), PROGRAM)
  teller.rule("Look at it")
  teller.line(`The flame chart of the run, as a page and as a picture: ${page}, ${chart}
export CALLSTACK_DIR=${join(folder, ".callstack")}
${shown} watch         # the tree on the full screen; live while agents work
${shown} show f6       # a frame
${shown} log f6        # its conversation`)
  teller.rule("With a key, and a goal of yours")
  teller.line(`export ANTHROPIC_API_KEY=…
npm run --silent build --prefix bindings
node bindings/claude/dist/program/main.js "${GOAL}" --directory my-project --permission-mode acceptEdits`)
}

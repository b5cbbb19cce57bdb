// The dialogue of the program `flame` at a real pseudo-terminal, with real sessions and a scripted model.

import assert from "node:assert/strict"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import {
  type Answer,
  call,
  callstack,
  frameOf,
  type ModelRequest,
  pop,
  stack,
  until,
  type World,
  within,
  write,
} from "./harness/index.js"
import { FLAME, flame, type Person, sessionsOf, sitDown } from "./harness/person.js"

const ESC = "\u001b"
const CTRL_C = "\u0003"
const CTRL_D = "\u0004"
const UP = `${ESC}[A`

/** A call that asks the person. */
const ask = (question: string) => stack("frame_pop", { status: "blocked", results: "", resultsCompacted: "", question })

/** Answers that a test gives at the moments that it chooses. */
class Script {
  readonly #given = new Map<string, (answer: Answer) => void>()
  readonly #ready = new Map<string, Answer[]>()

  readonly answer = (request: ModelRequest): Answer | Promise<Answer> => {
    const frame = frameOf(request) ?? ""
    const ready = this.#ready.get(frame)?.shift()
    return ready ?? new Promise((resolve) => this.#given.set(frame, resolve))
  }

  /** True if the session of a frame waits for an answer. */
  isAsked(frame: string): boolean {
    return this.#given.has(frame)
  }

  /** Gives the answer to the present request of a frame, or to its next one. */
  give(frame: string, answer: Answer): void {
    const waiting = this.#given.get(frame)
    this.#given.delete(frame)
    if (waiting !== undefined) waiting(answer)
    else this.#ready.set(frame, [...(this.#ready.get(frame) ?? []), answer])
  }
}

/** Lets a person hold a dialogue in a world whose answers the test gives. */
function atTerminal(
  words: readonly string[],
  use: (person: Person, script: Script, world: World) => Promise<void>,
): Promise<void> {
  const script = new Script()
  return within(script.answer, async (world) => {
    await use(sitDown(world, words), script, world)
    await world.settled()
  })
}

const historyOf = ({ env }: World) => join(env["HOME"] ?? "", ".local/state/callstack/flame_history")

test("a person pushes, answers and pops while frames run, and what is typed survives", () =>
  atTerminal(["repl"], async (person, script) => {
    await person.prompt(/^flame>/)
    person.type("run Build a shop\r")
    await person.waitFor(/^f1 begun: Build a shop/)
    await until(() => script.isAsked("f1"), "f1 asks the model")

    // The model writes while the person types.
    person.type("/push Wr")
    await person.prompt(/^f1> \/push Wr$/)
    const text = Array.from({ length: 60 }, (_, index) => `The model writes word ${index}, and more of them. `).join("")
    script.give("f1", { text, pace: 20, calls: [call("Glob", { pattern: "*.none" })] })
    const working = /^f1 Build a shop: ….* word \d+/
    const before = await person.waitFor(working)
    for (const letter of "ite the tests") {
      person.type(letter)
      await person.waitFor(working)
      assert.match(person.sees().at(-1) ?? "", /^f1> \/push Wr[ite hs]*$/)
    }
    await person.prompt(/^f1> \/push Write the tests$/)
    await until(() => person.all().some((words) => working.test(words) && words !== before), "the model writes on")
    await person.prompt(/^f1> \/push Write the tests$/)
    person.type("\r")
    await person.waitFor(/^f2 begun: Write the tests \(below f1\)/)

    script.give("f2", { calls: [ask("Which runner?\nThe person knows")] })
    await person.waitFor(/^f2 waits for you: Write the tests/)
    await person.waitFor(/^ {2}The person knows$/)
    person.type("answer node:test\r")
    await person.waitFor(/^f2 is answered$/)
    script.give("f2", { calls: [pop("Nine tests\nin test/")] })
    await person.waitFor(/^f2 completed: Write the tests/)
    await person.waitFor(/^ {2}Nine tests$/)

    await until(() => script.isAsked("f1"), "f1 asks the model again")
    person.type("pop f1 failed Not needed any more\r")
    await person.waitFor(/^f1 failed: Build a shop/)
    await person.waitFor(/^f1: \d+ requests, /)
    await person.prompt(/^flame>$/)
    person.type("tree\r")
    await person.waitFor(/^\[!\] f1 Build a shop/)
    await person.waitFor(/^`-- \[x\] f2 Write the tests/)
    person.type("status\r")
    await person.waitFor(/^no frame works, and none waits/)
    person.type("quit\r")
    assert.equal(await person.ended(), 0)
    // Nothing of the lower end of the terminal is left.
    assert.equal(person.all().at(-1), "flame> quit", person.all().join("\n"))
    for (const words of ["f2 begun", "f2 resumes"])
      assert.equal(person.all().filter((shown) => shown.startsWith(words)).length, 1)
  }))

test("Tab completes, and the history lasts over two sessions", () =>
  atTerminal(["repl"], async (person, _, world) => {
    await person.prompt(/^flame>/)
    person.type("plan Build a shop\r")
    await person.waitFor(/^f1 is planned: Build a shop/)
    person.type("plan f1 Cart\r")
    await person.waitFor(/^f2 is planned: Cart/)
    person.type("stat\t")
    await person.prompt(/^flame> status$/)
    person.type(`${CTRL_C}st\t`)
    await person.waitFor(/^ {2}stop +stop what runs/)
    await person.prompt(/^flame> st$/)
    person.type(`${CTRL_C}activate \t`)
    await person.prompt(/^flame> activate f$/)
    person.type("\t")
    await person.waitFor(/^ {2}f2 +Cart/)
    person.type("2\t")
    await person.prompt(/^flame> activate f2$/)
    person.type(`${CTRL_C}pop comp\t`)
    await person.prompt(/^flame> pop completed$/)
    person.type(`${CTRL_C}nonsense f1\r`)
    await person.waitFor(/^error: there is no command `nonsense`/)
    person.type(" show f2\r")
    await person.waitFor(/^\[ \] f2 Cart/)
    person.type("y\r")
    await person.waitFor(/^error: no frame asks for a permission/)
    person.type("help push\r")
    await person.waitFor(/^push \[FRAME\] GOAL: /)
    person.type(CTRL_D)
    assert.equal(await person.ended(), 0)
    assert.equal(readFileSync(historyOf(world), "utf8"), "plan Build a shop\nplan f1 Cart\nnonsense f1\nhelp push\n")
    assert.equal(statSync(historyOf(world)).mode & 0o777, 0o600)

    const again = sitDown(world, [])
    await again.prompt(/^flame>/)
    again.type(UP)
    await again.prompt(/^flame> help push$/)
    again.type(UP + UP)
    await again.prompt(/^flame> plan f1 Cart$/)
    again.type(`${CTRL_C}`)
    await again.prompt(/^flame>$/)
    again.type(CTRL_C)
    await again.waitFor(/^`quit` leaves/)
    again.type("quit\r")
    assert.equal(await again.ended(), 0)
  }))

test("Ctrl-C stops what runs, and a second one leaves at once", () =>
  atTerminal(["repl"], async (person, script, world) => {
    await person.prompt(/^flame>/)
    person.type("run Build a shop\r")
    await until(() => script.isAsked("f1"), "f1 asks the model")
    // With text on the line, only the line is emptied.
    person.type("push x")
    await person.prompt(/^f1> push x$/)
    person.type(CTRL_C)
    await person.prompt(/^f1>$/)
    person.type(CTRL_C)
    await person.waitFor(/^stopping; another Ctrl-C leaves at once/)
    await person.waitFor(/^f1 blocked: Build a shop/)
    await person.waitFor(/^ {2}It was stopped: by a person$/)
    await person.waitFor(/^next: resume/)
    await until(() => sessionsOf(world).length === 0, "no session is left")

    script.give("f1", { hang: "headers" })
    const asked = world.model.asked.length
    person.type("resume\r")
    await until(() => world.model.asked.length > asked, "f1 asks the model again")
    // A session that does not react keeps the program from stopping.
    const sessions = sessionsOf(world)
    assert.notEqual(sessions.length, 0)
    for (const id of sessions) process.kill(id, "SIGSTOP")
    person.type(CTRL_C)
    await until(() => person.all().filter((words) => words.startsWith("stopping")).length === 2, "it stops again")
    person.type(CTRL_C)
    assert.equal(await person.ended(), 130)
    await world.settled()
    assert.match(
      (await flame(world, ["status"])).stdout,
      /^interrupted +\[\?\] f1 Build a shop.*\n.*It was stopped: by a person/m,
    )
  }))

test("a run at a terminal asks for permissions, and ends with its root", () =>
  atTerminal([`Build${ESC}]0;pwned\u0007${ESC}[2J a shop`], async (person, script, world) => {
    const writing = (name: string) => write(world, name, `${name}${ESC}[5m\n`)
    await person.waitFor(/^f1 begun: Build a shop/)
    script.give("f1", { calls: [writing("refused.ts")] })
    await person.waitFor(/^f1 asks to use Write/)
    await person.waitFor(/^ {2}content: refused\.ts$/)
    await person.prompt(/^f1 Write\? y\/n\/always>$/)
    // The terminal is resized while a question is open, and something is typed.
    person.type("n")
    person.resize(50, 12)
    await person.prompt(/^f1 Write\? y\/n\/always> n$/)
    person.resize(100, 30)
    person.type("o\r")
    await person.prompt(/^f1>$/)
    script.give("f1", { calls: [writing("allowed.ts")] })
    await person.prompt(/^f1 Write\? y\/n\/always>$/)
    person.type("always\r")
    await until(() => existsSync(join(world.folder, "allowed.ts")), "the file is written")
    script.give("f1", { calls: [writing("again.ts")] })
    await until(() => existsSync(join(world.folder, "again.ts")), "the second file is written without a question")
    script.give("f1", { calls: [pop(`The shop ${ESC}[31mis built\nand sells`)] })
    assert.equal(await person.ended(), 0)
    assert.equal(existsSync(join(world.folder, "refused.ts")), false)
    const shown = person.all()
    assert.equal(shown.filter((words) => words.startsWith("f1 asks to use Write")).length, 2)
    assert.deepEqual(shown.slice(-4, -1), ["f1 completed: Build a shop", "  The shop is built", "  and sells"])
    assert.match(shown.at(-1) ?? "", /^f1: 4 requests, 440 tokens, \$/)
    // Only the escape sequences of the program itself reach the terminal.
    const sequences = new Set(person.written().match(new RegExp(`${ESC}(\\[[0-9;?]*.|[^[]|$)`, "g")))
    for (const sequence of sequences) assert.match(sequence.slice(1), /^\[(\?2004[hl]|\d*[ACJ]|[0-9]{1,2}m)$/)
    assert.doesNotMatch(person.written(), /pwned|\[2J|\[5m/)
  }))

test("Ctrl-C ends a run so that it can be resumed", () =>
  atTerminal(["Build a shop"], async (person, script) => {
    await until(() => script.isAsked("f1"), "f1 asks the model")
    person.type(CTRL_C)
    assert.equal(await person.ended(), 130)
    assert.match(person.all().at(-1) ?? "", /^stopped; `flame resume` continues/)
  }))

test("a second Ctrl-C ends the program while its driver hangs", () =>
  within(
    () => assert.fail("no session asks the model"),
    async (world) => {
      const folder = join(world.root, "bin")
      mkdirSync(folder)
      // A server that never listens.
      writeFileSync(join(folder, "opencode"), "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 })
      const env = { PATH: `${folder}:${world.env["PATH"]}` }
      for (const words of [
        ["--driver", "opencode", "Build a shop"],
        ["--driver", "opencode", "repl"],
      ]) {
        const person = sitDown(world, words, { env })
        await person.prompt(/^flame>$/)
        if (words.includes("repl")) person.type("run Build a shop\r")
        await until(() => world.processes().length > 1, "the driver starts its server")
        person.type(CTRL_C)
        if (words.includes("repl")) await person.waitFor(/^stopping; another Ctrl-C leaves at once/)
        else await until(() => person.written().includes(`${ESC}[?2004l`), "the program leaves the terminal")
        person.type(CTRL_C)
        assert.equal(await person.ended(), 130)
        world.kill()
        await world.settled()
      }
    },
  ))

test("Ctrl-C of a terminal stops a run in order whose output goes to another program", () =>
  within(
    () => ({ text: "The first words", hang: "stream" }),
    async (world) => {
      const line = `"${process.execPath}" "${FLAME}" --json "Build a shop" | cat; echo "ended with \${PIPESTATUS[0]}"`
      const person = sitDown(world, ["-c", line], { program: "bash" })
      await until(() => person.written().includes("The first words"), "the session has words")
      person.type(CTRL_C)
      await person.waitFor(/^ended with 130$/)
      await person.ended()
      await world.settled()
      // The terminal has sent the signal to all processes, and the process of the session has kept its words.
      assert.match((await callstack(world.folder, "show", "f1")).stdout, /The first words/)
    },
  ))

test("a simple terminal gets lines without escape sequences, and so does a pipe", () =>
  within(
    (request) => ({ calls: [pop(`Done in ${frameOf(request)}`)] }),
    async (world) => {
      const person = sitDown(world, ["repl"], { env: { TERM: "dumb" } })
      person.type("run Build a shop\r")
      await person.waitFor(/^f1 completed: Done in f1/)
      person.type("quit\r")
      assert.equal(await person.ended(), 0)
      assert.equal(person.written().includes(ESC), false)

      const plain = sitDown(world, ["repl"], { env: { NO_COLOR: "1" } })
      await plain.prompt(/^flame>/)
      plain.type("tree\r")
      await plain.waitFor(/^\[x\] f1 Build a shop/)
      plain.type("quit\r")
      assert.equal(await plain.ended(), 0)
      assert.doesNotMatch(plain.written(), new RegExp(`${ESC}\\[[0-9;]*m`))

      const piped = await flame(world, ["repl"], { input: "run Build more\nnonsense\n" })
      assert.equal(piped.code, 2)
      assert.match(piped.stdout, /^f2 begun: Build more\nf2 completed: Done in f2\nf2: 1 request, 110 tokens, \$/)
      assert.match(piped.stderr, /^error: there is no command `nonsense`\nnext: .*\n$/)
      assert.equal((piped.stdout + piped.stderr).includes(ESC), false)
      await world.settled()
    },
  ))

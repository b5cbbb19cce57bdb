// The dialogue at a terminal: a prompt below a line for each frame that works, and above them the events so
// far.

import type { ReadStream, WriteStream } from "node:tty"
import { ancestorsOf } from "../ancestors.js"
import type { FlameEvent } from "../events.js"
import type { Flame, Outcome } from "../flame.js"
import type { FrameLimits } from "../limits.js"
import { Activities } from "./activity.js"
import { commandIn, type Seen, STOPPED } from "./commands.js"
import { type Candidate, commonStart, complete } from "./completion.js"
import { Dialogue } from "./dialogue.js"
import { Editor } from "./editor.js"
import { Exit, type ExitCode, exitOfRun } from "./exit.js"
import { Failure, failureOf } from "./failure.js"
import type { History } from "./history.js"
import { patiently } from "./interrupts.js"
import { Keyboard, MARK_PASTES, UNMARK_PASTES } from "./keyboard.js"
import { type Line, line, paint, showsColours, toned } from "./lines.js"
import { type Permissions, requestLines } from "./permissions.js"
import { failureLines } from "./reporters.js"
import { linesOf, outcomeLines } from "./reports.js"
import { Screen } from "./screen.js"
import { cut, oneLine } from "./text.js"

/** The parts of a terminal dialogue. */
export interface TerminalParts {
  input: ReadStream
  output: WriteStream
  env: NodeJS.ProcessEnv
  flame: Flame
  /** The limits of roots that were given at the command line. */
  limits: FrameLimits
  permissions: Permissions
  history: History
  view: () => Promise<string>
  /** The beginning of commands that are recommended. */
  command: string
}

/** The minimum time between two drawings of the live lines, in milliseconds. */
const FRAME_TIME = 100

/** The maximum number of candidates that Tab lists. */
const LISTED = 30

/** A dialogue at a terminal. */
export class Terminal {
  readonly #parts: TerminalParts
  readonly #screen: Screen
  readonly #dialogue: Dialogue
  readonly #activities = new Activities()
  readonly #hasColours: boolean
  #editor: Editor | undefined
  /** What the person sees: it stays the same while the person types something. */
  #seen: Seen
  #drawing: NodeJS.Immediate | undefined
  #timer: NodeJS.Timeout | undefined
  #isStopping = false
  /** True if the program ends when the runs that it has begun have ended. */
  #isOneRun = false
  #leave: (code: ExitCode) => void = () => undefined

  constructor(parts: TerminalParts) {
    const { output, env, flame, limits, permissions, view } = parts
    this.#parts = parts
    this.#hasColours = showsColours(output, env)
    const look = (tone: "faint" | "strong") => (text: string) => paint([toned(tone, text)], this.#hasColours)
    this.#screen = new Screen(output, { live: look("faint"), label: look("strong") })
    this.#dialogue = new Dialogue({
      flame,
      limits,
      permissions,
      view,
      say: (lines) => this.#print(lines),
      complain: (failure) => this.#complain(failure),
      ended: (outcomes) => this.#ended(outcomes),
      quit: () => void this.#quit(this.#codeOfQuit),
    })
    this.#seen = this.#dialogue.seen
  }

  /** Holds the dialogue until the person leaves. */
  converse(greeting: readonly Line[]): Promise<ExitCode> {
    return this.#open(greeting)
  }

  /** Begins a run, and holds the dialogue until it has ended. */
  run(begin: () => Promise<Outcome | Outcome[]>): Promise<ExitCode> {
    this.#isOneRun = true
    const over = this.#open([])
    void this.#runOnce(begin())
    return over
  }

  /** Tells the person something that is not an answer. */
  tell(text: string): void {
    this.#print([line(toned("faint", text))])
  }

  /** Stops everything and leaves. */
  async end(code: ExitCode): Promise<void> {
    await this.#quit(code)
  }

  /** A person who leaves a run before its end interrupts it. */
  get #codeOfQuit(): ExitCode {
    return this.#isOneRun ? Exit.interrupted : Exit.done
  }

  async #runOnce(run: Promise<Outcome | Outcome[]>): Promise<void> {
    const end = await this.#dialogue.track(run)
    if (this.#isStopping) return
    // Other frames that the person has begun may still run.
    if (this.#parts.flame.status().length > 0) await this.#stop()
    this.#leave(end instanceof Failure ? end.exit : exitOfRun(end))
  }

  #open(greeting: readonly Line[]): Promise<ExitCode> {
    const { input, output, flame, permissions } = this.#parts
    const keyboard = new Keyboard(input)
    output.write(MARK_PASTES)
    // The mark is also removed when an error ends the program.
    process.on("exit", this.#unmark)
    const ignore = flame.on((event) => this.#take(event))
    const over = new Promise<ExitCode>((resolve) => {
      this.#leave = (code) => {
        ignore()
        this.#close(keyboard)
        resolve(code)
      }
    })
    permissions.onChange = (news) => this.#print(news === undefined ? [] : requestLines(news))
    output.on("resize", this.#resized)
    this.#editor = new Editor({
      input: keyboard,
      history: this.#loadHistory(),
      complete: (text) => this.#complete(text),
      isKept: (typed) => !(isDecision(typed) || /^\s/.test(typed)),
      onLine: (typed) => this.#submit(typed),
      onChange: () => this.#drawSoon(),
      onInterrupt: () => void this.#interrupt(),
      onSuspend: () => this.#suspend(),
      onClear: () => {
        this.#screen.clear()
        this.#draw([])
      },
      onEnd: () => void this.#quit(this.#codeOfQuit),
    })
    input.pipe(keyboard)
    this.#print(greeting)
    return over
  }

  #close(keyboard: Keyboard): void {
    const { input, output } = this.#parts
    clearTimeout(this.#timer)
    clearImmediate(this.#drawing)
    this.#screen.erase()
    this.#editor?.close()
    this.#editor = undefined
    input.unpipe(keyboard).pause()
    output.off("resize", this.#resized)
    process.off("exit", this.#unmark)
    this.#unmark()
  }

  readonly #unmark = (): void => {
    this.#parts.output.write(UNMARK_PASTES)
  }

  readonly #resized = (): void => this.#draw([])

  #take(event: FlameEvent): void {
    const isLive = this.#activities.take(event)
    const { stack } = this.#parts.flame
    const lines = linesOf(event, (frame) => ancestorsOf(stack, frame).length === 0)
    if (lines.length > 0) this.#print(lines)
    else if (isLive) this.#drawLater()
  }

  #submit(typed: string): void {
    const seen = this.#seen
    this.#print([line(toned("strong", labelOf(seen)), typed)])
    if (!isDecision(typed)) this.#keep(typed)
    void this.#dialogue.execute(typed, seen).then(() => this.#drawSoon())
  }

  #complete(text: string): [string[], string] {
    const { candidates, completed } = complete(this.#parts.flame.stack, text)
    if (candidates.length > 1 && commonStart(candidates) === completed) this.#list(candidates)
    const [only, ...others] = candidates.map((candidate) => candidate.text)
    return [only !== undefined && others.length === 0 ? [`${only} `] : candidates.map((known) => known.text), completed]
  }

  #list(candidates: readonly Candidate[]): void {
    const width = Math.max(...candidates.map(({ text }) => text.length))
    const room = Math.max(1, this.#screen.width - width - 4)
    const lines = candidates
      .slice(0, LISTED)
      .map(({ text, note }) => line(`  ${text.padEnd(width)}  `, toned("faint", cut(oneLine(note), room))))
    const rest = candidates.length - lines.length
    this.#print(rest > 0 ? [...lines, line(toned("faint", `  … ${rest} more`))] : lines)
  }

  /**
   * Ctrl-C: empties the line. If the line is empty, stops what runs. A second Ctrl-C during the stop ends the
   * program at once.
   */
  async #interrupt(): Promise<void> {
    if (this.#isStopping) {
      this.#leave(Exit.interrupted)
      process.exit(Exit.interrupted)
    }
    if (this.#editor?.line !== "") this.#editor?.clear()
    else if (this.#isOneRun) await this.#quit(Exit.interrupted)
    else if (this.#dialogue.isWorking) await this.#stop()
    else this.#print([line(toned("faint", "`quit` leaves"))])
  }

  async #stop(): Promise<void> {
    this.#isStopping = true
    this.#print([line(toned("faint", "stopping; another Ctrl-C leaves at once"))])
    try {
      await patiently(this.#stopAll(), (text) => this.tell(text))
    } catch (error) {
      this.#complain(failureOf(error))
    }
    this.#isStopping = false
  }

  async #stopAll(): Promise<void> {
    await this.#parts.flame.stop(STOPPED)
    await this.#dialogue.finished()
  }

  /** Stops what runs and leaves, because the person or a signal requests it. */
  async #quit(code: ExitCode): Promise<void> {
    if (this.#isStopping) return
    const { flame, command } = this.#parts
    if (flame.status().length > 0) await this.#stop()
    this.#isStopping = true
    const isOpen = (["in_progress", "blocked"] as const).some((status) => flame.stack.handles({ status }).length > 0)
    this.#leave(code)
    if (isOpen) this.tell(`stopped; \`${command}resume\` continues`)
  }

  #ended(outcomes: readonly Outcome[]): void {
    // The person has left: the process of a session may end later than its frame.
    if (this.#editor === undefined) return
    const { flame, command } = this.#parts
    const prefix = this.#isOneRun ? command : ""
    this.#print(outcomes.flatMap((outcome) => outcomeLines(outcome, flame.usage(outcome.frame.handle), prefix)))
  }

  #complain(failure: Failure): void {
    // The person has left: operations that were stopped end with errors.
    if (this.#editor === undefined) return
    this.#print(failureLines(failure))
  }

  /** Releases the terminal until the person continues the program. */
  #suspend(): void {
    const { input, output } = this.#parts
    this.#screen.erase()
    this.#unmark()
    input.setRawMode(false)
    process.once("SIGCONT", () => {
      input.setRawMode(true)
      output.write(MARK_PASTES)
      this.#draw([])
    })
    // Stops the whole job, as a terminal does it, including programs around this one, such as npx.
    process.kill(0, "SIGTSTP")
  }

  #loadHistory(): string[] {
    try {
      return this.#parts.history.load()
    } catch (error) {
      this.#complainOfHistory(error)
      return []
    }
  }

  #keep(typed: string): void {
    try {
      this.#parts.history.add(typed)
    } catch (error) {
      this.#complainOfHistory(error)
    }
  }

  #complainOfHistory(error: unknown): void {
    this.#print([line(toned("faint", `the history of commands is not kept: ${failureOf(error).message}`))])
  }

  #print(lines: readonly Line[]): void {
    this.#draw(lines.map((words) => paint(words, this.#hasColours)))
  }

  #drawSoon(): void {
    this.#drawing ??= setImmediate(() => this.#draw([]))
  }

  #drawLater(): void {
    this.#timer ??= setTimeout(() => this.#draw([]), FRAME_TIME)
  }

  #draw(lines: readonly string[]): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#drawing)
    this.#timer = undefined
    this.#drawing = undefined
    const editor = this.#editor
    if (editor === undefined) {
      for (const words of lines) this.#parts.output.write(`${words}\n`)
      return
    }
    if (editor.line === "") this.#seen = this.#dialogue.seen
    const { width } = this.#screen
    const live = this.#parts.flame.status().map((running) => this.#activities.lineOf(running, width))
    const area = { live, label: labelOf(this.#seen), typed: editor.line, cursor: editor.cursor }
    this.#screen.draw(area, lines)
  }
}

/** Returns the text before the typed line: the request that can be decided, or the current frame. */
function labelOf({ frame, asked }: Seen): string {
  if (asked !== undefined) return `${asked.frame} ${cut(oneLine(asked.tool), 20)}? y/n/always> `
  return `${frame ?? "flame"}> `
}

function isDecision(typed: string): boolean {
  return ["y", "n", "always"].includes(commandIn(typed).name)
}

// The commands that run frames: as a dialogue at a terminal, and otherwise with lines for people, logs or
// programs.

import { createInterface } from "node:readline"
import type { FrameRef, Stack } from "callstack-core"
import { Flame, type FramePlan, type Outcome } from "../flame.js"
import type { FrameLimits } from "../limits.js"
import { writeView } from "./callstack.js"
import { STOPPED } from "./commands.js"
import { Dialogue } from "./dialogue.js"
import { Exit, type ExitCode, exitOfRun } from "./exit.js"
import { Failure } from "./failure.js"
import { parentOf, rootToRun } from "./goals.js"
import { History, historyFile } from "./history.js"
import { Interrupts } from "./interrupts.js"
import { isCapable, type Line, line, toned } from "./lines.js"
import {
  type ChildOptions,
  type GoalOptions,
  identityOf,
  limitsOf,
  type RunOptions,
  runOptions,
  sameCommand,
  stackFolder,
  withoutLimits,
} from "./options.js"
import { NO_PERSON, Permissions, refuseAll, requestLines } from "./permissions.js"
import type { Reporter, Streams } from "./reporters.js"
import { outcomeLines, statusLines } from "./reports.js"
import { Terminal } from "./terminal.js"
import { oneLine } from "./text.js"
import { takeWarnings } from "./warnings.js"

/** The inputs of a command that runs frames. */
export interface Work {
  options: RunOptions
  input: NodeJS.ReadStream
  streams: Streams & { output: NodeJS.WriteStream }
  reporter: Reporter
}

/** Begins the frames of a run. */
type Begin = (flame: Flame) => Promise<Outcome | Outcome[]>

/** `flame GOAL`, `flame run` */
export function run(work: Work, text: string, options: GoalOptions): Promise<number> {
  const more = identityOf(options)
  return runOnce(work, (flame) => beginRoot(flame, text, more, limitsOf(work.options)))
}

/** `flame push` */
export function push(work: Work, goal: string, { parent, ...identity }: ChildOptions): Promise<number> {
  return runFrame(work, (flame, limits) =>
    flame.push({ goal, ...identityOf(identity), ...limits, parent: parentOf(flame.stack, parent) }),
  )
}

/** `flame activate` */
export function activate(work: Work, frame: FrameRef, answer: string): Promise<number> {
  return runFrame(work, (flame, limits) => flame.activate(frame, { ...limits, ...(answer !== "" && { answer }) }))
}

/** `flame resume` */
export function resume(work: Work): Promise<number> {
  return runOnce(work, async (flame) => {
    const outcomes = await flame.resume(limitsOf(work.options))
    if (outcomes.length === 0) work.reporter.notice("nothing was stopped, interrupted or answered")
    return outcomes
  })
}

/** `flame repl` */
export function converse(work: Work): Promise<number> {
  return isDialogue(work) ? converseAtTerminal(work) : converseInLines(work)
}

/** True if a person can type while frames run. */
export function isDialogue({ options, input, streams }: Omit<Work, "reporter">): boolean {
  const isTerminal = input.isTTY === true && isCapable(streams.output, streams.env)
  return isTerminal && options.json !== true && options.quiet !== true
}

/** Runs one frame. The limits of the command line are for this frame. */
function runFrame(work: Work, begin: (flame: Flame, limits: FrameLimits) => Promise<Outcome>): Promise<number> {
  const limits = limitsOf(work.options)
  return runOnce({ ...work, options: withoutLimits(work.options) }, async (flame) => begin(flame, limits))
}

async function beginRoot(
  flame: Flame,
  text: string,
  more: Omit<FramePlan, "goal">,
  limits: FrameLimits,
): Promise<Outcome> {
  const { frame, goal } = rootToRun(flame.stack, text)
  if (frame !== undefined && Object.keys(more).length > 0) {
    throw new Failure(Exit.usage, "arguments", "--title and --criteria are for a new root: a planned one has its own")
  }
  return await (frame === undefined ? flame.run(goal, more) : flame.activate(frame, limits))
}

async function runOnce(work: Work, begin: Begin): Promise<number> {
  if (isDialogue(work)) return withTerminal(work, (terminal, flame) => terminal.run(() => begin(flame)))
  const { reporter } = work
  takeWarnings((text) => reporter.notice(text))
  const flame = await openFlame(work, refusing(reporter))
  flame.on((event) => reporter.event(event))
  const interrupts = stopping(work, flame)
  return await untilInterrupted(interrupts, flame, async () => {
    const outcomes = [await begin(flame)].flat()
    if (!interrupts.isStopping) reporter.outcomes(flame, outcomes)
    return exitOfRun(outcomes)
  })
}

/** Returns the object that stops all frames at an interrupt, and when nothing reads the output any more. */
function stopping(work: Work, flame: Flame): Interrupts {
  const interrupts = new Interrupts(
    () => stopAll(work, flame),
    (text) => work.reporter.notice(text),
  )
  endWithReader(work.streams, interrupts, Exit.failed)
  return interrupts
}

/**
 * Runs, and closes the orchestrator. After an interrupt it does not return: the interrupt ends the program.
 */
async function untilInterrupted(interrupts: Interrupts, flame: Flame, run: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    const code = await run()
    return interrupts.isStopping ? await never() : code
  } catch (error) {
    // Operations that were stopped end with errors.
    if (interrupts.isStopping) return await never()
    throw error
  } finally {
    await interrupts.leave(() => flame.close())
  }
}

async function stopAll({ options, reporter }: Work, flame: Flame): Promise<void> {
  reporter.notice("stopping; once more ends at once")
  await flame.stop(STOPPED)
  await flame.close()
  reporter.notice(`stopped; \`${sameCommand(options)}resume\` continues`)
}

/** Stops everything when nothing reads the output any more: a pipe is closed, or the terminal is gone. */
function endWithReader({ output }: Streams, interrupts: Interrupts, code: ExitCode): void {
  output.on("error", () => {
    if (!interrupts.isStopping) void interrupts.end(code)
  })
}

/** Never returns: the interrupt ends the program. */
function never(): Promise<never> {
  return new Promise(() => undefined)
}

function converseAtTerminal(work: Work): Promise<number> {
  return withTerminal(work, (terminal, flame) => {
    const isOpen = (stack: Stack) =>
      [stack.frames({ status: "in_progress" }), stack.frames({ status: "blocked" })].flat()
    const hint = line(toned("faint", "`help` shows the commands, `quit` leaves"))
    const open =
      isOpen(flame.stack).length > 0 ? [...statusLines(flame), line(toned("faint", "`resume` continues"))] : []
    return terminal.converse([...open, hint])
  })
}

async function withTerminal(work: Work, use: (terminal: Terminal, flame: Flame) => Promise<ExitCode>): Promise<number> {
  const { options, input, streams } = work
  const permissions = new Permissions()
  const flame = await openFlame(work, permissions.ask)
  const terminal = new Terminal({
    input,
    output: streams.output,
    env: streams.env,
    flame,
    limits: limitsOf(options),
    permissions,
    history: new History(historyFile(streams.env)),
    view: () => viewOf(work),
    command: sameCommand(options),
  })
  takeWarnings((text) => terminal.tell(text))
  const interrupts = new Interrupts(
    async (code) => {
      await terminal.end(code)
      await flame.close()
    },
    (text) => terminal.tell(text),
  )
  endWithReader(streams, interrupts, Exit.hangup)
  return await untilInterrupted(interrupts, flame, () => use(terminal, flame))
}

/** A dialogue without escape sequences: for scripts, and for terminals that do not understand them. */
async function converseInLines(work: Work): Promise<number> {
  const { input, reporter } = work
  const codes: ExitCode[] = []
  let hasQuit = false
  const permissions = new Permissions()
  const flame = await openFlame(work, input.isTTY === true ? permissions.ask : refusing(reporter))
  takeWarnings((text) => reporter.notice(text))
  const typed = createInterface({ input, terminal: false })
  const complain = (failure: Failure) => {
    codes.push(failure.exit)
    reporter.complain(failure)
  }
  const dialogue = new Dialogue({
    flame,
    limits: limitsOf(work.options),
    permissions,
    complain,
    say: (lines) => reporter.answer("answer", { text: textOf(lines) }, lines),
    ended: (outcomes) => {
      codes.push(exitOfRun(outcomes))
      const lines = outcomes.flatMap((outcome) => outcomeLines(outcome, flame.usage(outcome.frame.handle), ""))
      if (work.options.json === true) reporter.outcomes(flame, outcomes)
      else reporter.answer("outcome", {}, lines)
    },
    view: () => viewOf(work),
    quit: () => {
      hasQuit = true
      typed.close()
    },
  })
  permissions.onChange = (news) => {
    if (news !== undefined) dialogue.say(...requestLines(news))
  }
  flame.on((event) => reporter.event(event))
  return await untilInterrupted(stopping(work, flame), flame, async () => {
    for await (const words of typed) {
      await dialogue.execute(words)
      if (hasQuit) break
    }
    if (!hasQuit) await dialogue.finished()
    return codes.find((code) => code !== Exit.done) ?? Exit.done
  })
}

async function openFlame({ options, streams }: Work, canUseTool: Parameters<typeof runOptions>[2]): Promise<Flame> {
  return new Flame(await runOptions(options, streams.env, canUseTool))
}

/** Refuses all permissions, and tells the person so. */
function refusing(reporter: Reporter): ReturnType<typeof refuseAll> {
  return refuseAll((frame, tool) => reporter.notice(`${frame}: ${oneLine(tool)} was refused: ${NO_PERSON}`))
}

function viewOf({ options, streams }: Work): Promise<string> {
  return writeView(stackFolder(options, streams.env), options.directory ?? ".")
}

function textOf(lines: readonly Line[]): string {
  return lines.map((pieces) => pieces.map(({ text }) => text).join("")).join("\n")
}

// The options of the command line, and the options for the library that follow from them.

import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { type Command, InvalidArgumentError, Option } from "commander"
import type { SessionDriver } from "../driver.js"
import type { CanUseTool, ClaudeOptions } from "../drivers/claude/index.js"
import type { FlameOptions } from "../flame.js"
import { given } from "../given.js"
import type { FrameLimits } from "../limits.js"
import { Exit } from "./exit.js"
import { Failure } from "./failure.js"
import { oneLine } from "./text.js"

/** Options of all commands. */
export interface PlaceOptions {
  directory?: string
  folder?: string
  json?: boolean
}

/** Options of commands that run frames. */
export interface RunOptions extends PlaceOptions {
  model?: string
  tools?: string[]
  allow?: string[]
  permissionMode?: NonNullable<ClaudeOptions["permissionMode"]>
  maxDepth?: number
  maxConcurrent?: number
  maxTurns?: number
  maxTokens?: number
  maxBudgetUsd?: number
  timeLimit?: number
  budget?: number
  driver?: "claude" | "opencode"
  wait?: boolean
  quiet?: boolean
}

/** The title and the criteria of a new frame. */
export interface GoalOptions {
  title?: string
  criteria?: string
}

/** The title, the criteria and the parent of a new frame below another one. */
export interface ChildOptions extends GoalOptions {
  parent?: string
}

/** The permission modes of the Claude Agent SDK. */
const MODES: readonly NonNullable<ClaudeOptions["permissionMode"]>[] = [
  "default",
  "acceptEdits",
  "plan",
  "dontAsk",
  "auto",
  "bypassPermissions",
]

/** The units of a time, in milliseconds. */
const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 }

/** Adds the options of all commands. */
export function addPlaceOptions(command: Command): Command {
  return command
    .option("-C, --directory <folder>", "the project, in which sessions work (default: the current folder)")
    .option("--folder <folder>", "the folder of the stack (default: $CALLSTACK_DIR, else .callstack in the project)")
    .option("--json", "write JSON: an event, or an answer, on each line")
}

/** Adds the options of a new frame. */
export function addGoalOptions(command: Command): Command {
  return command
    .option("--title <text>", "a short name of the frame (default: the beginning of the goal)")
    .option("--criteria <text>", "what must be true when the goal is reached (default: the goal)")
}

/** Adds the options of a new frame below another one. */
export function addChildOptions(command: Command): Command {
  return addGoalOptions(command).option("--parent <frame>", "the frame above it (default: the current one)")
}

/** Adds the options of commands that run frames. */
export function addRunOptions(command: Command): Command {
  return command
    .option("-m, --model <name>", "the model of frames (default: that of the driver)")
    .option("--tools <names>", "the tools of frames besides those of the stack, as A,B,C", listOf)
    .option("--allow <rule>", "allow a tool without a question, as 'Bash(npm test:*)'; can be repeated", collect)
    .addOption(new Option("--permission-mode <mode>", "what is allowed without a question").choices(MODES))
    .option("--max-depth <count>", "how many ancestors a frame may have", wholeFrom(0))
    .option("--max-concurrent <count>", "how many sessions work at the same time; 0: no limit", wholeFrom(0))
    .option("--max-turns <count>", "turns of the model in one prompt", wholeFrom(1))
    .option("--max-tokens <count>", "tokens of a root with everything below it", wholeFrom(1))
    .option("--max-budget-usd <amount>", "US dollars for a root with everything below it", amount)
    .option("--time-limit <time>", "how long the work on a frame may take, as 90s, 30m or 2h", time)
    .option("--budget <tokens>", "the size of a context", wholeFrom(1))
    .addOption(new Option("--driver <name>", "what runs the sessions").choices(["claude", "opencode"]))
    .option("--no-wait", "end when a frame waits for a person, instead of waiting for the answer")
    .option("-q, --quiet", "write the results alone")
}

/** Returns the folder of the stack. */
export function stackFolder({ directory, folder }: PlaceOptions, env: NodeJS.ProcessEnv): string {
  const given = folder ?? (env["CALLSTACK_DIR"] || undefined)
  return given === undefined ? resolve(directory ?? ".", ".callstack") : resolve(given)
}

/** Fails if a folder has no stack. A folder with a mistyped name must not get an empty stack. */
export function demandStack(options: PlaceOptions, env: NodeJS.ProcessEnv): void {
  const folder = stackFolder(options, env)
  if (["stack.db", "state.json"].some((name) => existsSync(join(folder, name)))) return
  throw new Failure(Exit.failed, "no_stack", `there is no stack in ${oneLine(folder)}`, {
    next: 'name another folder with --directory or --folder, or begin one: flame "GOAL"',
  })
}

/** Returns the beginning of a command that is recommended: it works on the same stack. */
export function sameCommand({ directory, folder }: PlaceOptions): string {
  const options = [
    ...(directory === undefined ? [] : ["--directory", quoted(directory)]),
    ...(folder === undefined ? [] : ["--folder", quoted(folder)]),
  ]
  return ["flame", ...options, ""].join(" ")
}

/** Returns the options of the library for a stack on which nothing runs. */
export function placeOptions(options: PlaceOptions, env: NodeJS.ProcessEnv): FlameOptions {
  return { directory: resolve(options.directory ?? "."), folder: stackFolder(options, env) }
}

/** Returns the title and the criteria that were given, in the form of the library. */
export function identityOf({ title, criteria }: GoalOptions): { title?: string; successCriteria?: string } {
  return given({ title, successCriteria: criteria })
}

/** Returns the options without the limits, because the limits are for one frame and not for all roots. */
export function withoutLimits(options: RunOptions): RunOptions {
  const limits = Object.keys(limitsOf(options))
  return Object.fromEntries(Object.entries(options).filter(([name]) => !limits.includes(name)))
}

/** Returns the limits that were given, and no others. */
export function limitsOf({ model, tools, maxTurns, maxTokens, maxBudgetUsd }: RunOptions): FrameLimits {
  return given({ model, tools, maxTurns, maxTokens, maxBudgetUsd })
}

/** Returns the options of the library for runs. */
export async function runOptions(
  options: RunOptions,
  env: NodeJS.ProcessEnv,
  canUseTool: CanUseTool,
): Promise<FlameOptions> {
  if (options.driver === "opencode") refuseForOpenCode(options)
  const { maxDepth, maxConcurrent, timeLimit, budget, permissionMode, allow, wait } = options
  return {
    ...placeOptions(options, env),
    ...limitsOf(options),
    ...given({ maxDepth, maxConcurrent, timeLimit }),
    ...(budget !== undefined && { budget: { total: budget } }),
    ...(wait === false && { waitForAnswers: false }),
    ...(options.driver === "opencode"
      ? { driver: await openCode(options) }
      : { claude: { canUseTool, ...given({ permissionMode, allowedTools: allow }) } }),
  }
}

/** An option without an effect would allow, or forbid, less than the person thinks. */
function refuseForOpenCode({ permissionMode, allow }: RunOptions): void {
  const typed = [permissionMode !== undefined && "--permission-mode", allow !== undefined && "--allow"].filter(Boolean)
  if (typed.length === 0) return
  const message = `--driver opencode does not support ${typed.join(" and ")}`
  throw new Failure(Exit.usage, "arguments", message, {
    next: "leave it out; `permission` in the configuration of OpenCode says what is allowed, and --tools what is offered",
  })
}

/** Loads the driver for a server of OpenCode. */
async function openCode({ model }: RunOptions): Promise<SessionDriver> {
  const { OpenCodeDriver } = await import("../drivers/opencode/index.js")
  return new OpenCodeDriver(given({ model }))
}

/** Returns a word as a shell reads it. */
export function quoted(word: string): string {
  return /^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
}

function collect(rule: string, before: readonly string[] = []): string[] {
  return [...before, rule]
}

function wholeFrom(least: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return number
    throw new InvalidArgumentError(`It must be a whole number of at least ${least}.`)
  }
}

function amount(text: string): number {
  const number = Number(text)
  if (/^\d*\.?\d+$/.test(text) && number > 0) return number
  throw new InvalidArgumentError("It must be a number above 0, such as 2.50.")
}

function time(text: string): number {
  const [, number = "", unit = ""] = /^(\d+)([smh])$/.exec(text) ?? []
  const milliseconds = Number(number) * (UNITS[unit] ?? 0)
  if (milliseconds > 0) return milliseconds
  throw new InvalidArgumentError("It must be a number with a unit, such as 90s, 30m or 2h.")
}

// The driver for the Claude Agent SDK: a session is a conversation of the SDK, a turn of it one query.

import { randomUUID } from "node:crypto"
import type { Options, SDKResultMessage } from "@anthropic-ai/claude-agent-sdk"
import type { SessionMessage } from "callstack-core"
import {
  type SessionDriver,
  SessionError,
  type SessionLimits,
  type SessionOwner,
  type Summary,
  type TurnEnd,
} from "../../driver.js"
import { SentContexts, sessionHooks } from "./hooks.js"
import type { ClaudeOptions } from "./options.js"
import { canTieToParent, killLeftovers, spawnTied } from "./processes.js"
import { askAbout, askSession, readSummary, SUMMARY_SCHEMA } from "./summary.js"
import { loadProtocol, PREFIX, type ProtocolModules, SERVER, stackServer } from "./tools.js"
import { formatTranscript, messagesOf } from "./transcript.js"
import { Turn, type TurnResult } from "./turn.js"

export type { CanUseTool, ClaudeOptions, PermissionRequest } from "./options.js"

type Sdk = typeof import("@anthropic-ai/claude-agent-sdk")

/** What is loaded when the driver opens. */
interface Opened {
  owner: SessionOwner
  sdk: Sdk
  protocol: ProtocolModules
  /** Whether the kernel kills sessions when this process dies. */
  isTied: boolean
}

/** The time without a word from the model after which a turn is interrupted, in milliseconds, and how often it is repeated. */
const SILENCE = 180_000
const REPETITIONS = 2
/** The size of a transcript for a summary, in tokens, and the number of turns that a summary may take. */
const TRANSCRIPT_TOKENS = 20_000
const SUMMARY_TURNS = 6
/** How long an interrupted turn may take to end before its process is killed, in milliseconds. */
const GRACE = 5000

/** Runs frames as sessions of the Claude Agent SDK, which must be installed beside this package. */
export class ClaudeDriver implements SessionDriver {
  readonly toolPrefix = PREFIX
  readonly defaultTools = ["Read", "Write", "Edit", "Bash", "Glob", "Grep"]
  readonly #options: ClaudeOptions
  #opened: Opened | undefined
  /** New sessions that had no turn yet, and so have no transcript and no process. */
  readonly #fresh = new Set<string>()
  /** Sessions that had a turn in this process, so that no other process can have left anything running of them. */
  readonly #own = new Set<string>()
  readonly #running = new Map<string, RunningTurn>()

  constructor(options: ClaudeOptions = {}) {
    const config = options.env?.["CLAUDE_CONFIG_DIR"]
    if (config !== undefined && config !== process.env["CLAUDE_CONFIG_DIR"]) {
      throw new Error(
        "CLAUDE_CONFIG_DIR must be set in the environment of this process, where transcripts are read, not in `env`",
      )
    }
    this.#options = options
  }

  async open(owner: SessionOwner): Promise<void> {
    try {
      const [sdk, protocol, isTied] = await Promise.all([
        import("@anthropic-ai/claude-agent-sdk"),
        loadProtocol(),
        canTieToParent(),
      ])
      this.#opened = { owner, sdk, protocol, isTied }
    } catch (cause) {
      const packages = "@anthropic-ai/claude-agent-sdk @modelcontextprotocol/sdk zod"
      throw new Error(
        `the Claude Agent SDK cannot be loaded; install it beside callstack-flame: npm install ${packages}`,
        { cause },
      )
    }
  }

  isOwn(sessionID: string): boolean {
    return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(sessionID)
  }

  start(): Promise<string> {
    const sessionID = randomUUID()
    this.#fresh.add(sessionID)
    return Promise.resolve(sessionID)
  }

  async send(sessionID: string, prompt: string): Promise<TurnEnd> {
    let words = prompt
    for (let repetition = 0; ; repetition += 1) {
      const turn = await this.#turn(sessionID, words, (options) => options)
      if (turn.interruption !== "silence" || repetition === REPETITIONS) return endOf(turn)
      words = "The connection to the model was silent, and your turn was interrupted. Go on."
    }
  }

  async interrupt(sessionID: string): Promise<void> {
    await this.#running.get(sessionID)?.end()
  }

  async messages(sessionID: string): Promise<readonly SessionMessage[]> {
    const { sdk, owner } = this.#ready()
    if (this.#fresh.has(sessionID)) return []
    return messagesOf(await sdk.getSessionMessages(sessionID, { dir: owner.directory }))
  }

  async compact(sessionID: string): Promise<boolean> {
    let isDone = false
    await this.#turn(sessionID, "/compact", (options) => {
      const done = () => {
        isDone = true
        return Promise.resolve({})
      }
      return {
        ...options,
        hooks: { ...options.hooks, PostCompact: [...(options.hooks?.PostCompact ?? []), { hooks: [done] }] },
      }
    })
    return isDone
  }

  async summarize(sessionID: string, prompt: string): Promise<Summary | undefined> {
    const forSummary = (options: Options): Options => {
      const { mcpServers: _, allowedTools: __, ...rest } = options
      return {
        ...rest,
        tools: [],
        maxTurns: SUMMARY_TURNS,
        outputFormat: { type: "json_schema", schema: SUMMARY_SCHEMA },
      }
    }
    const { result } = await this.#turn(sessionID, askSession(prompt), forSummary)
    const summary = readSummary(result)
    if (summary !== undefined) return summary
    const transcript = formatTranscript(await this.messages(sessionID), TRANSCRIPT_TOKENS)
    const outside = (options: Options): Options => {
      const { resume: _, systemPrompt: __, hooks: ___, ...rest } = forSummary(options)
      return { ...rest, persistSession: false, sessionId: randomUUID() }
    }
    return readSummary((await this.#turn(sessionID, askAbout(transcript, prompt), outside)).result)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#running.values()].map((turn) => turn.end()))
  }

  #ready(): Opened {
    if (this.#opened === undefined) throw new Error("the driver is not open")
    return this.#opened
  }

  /** Runs one turn of a session, with changed options. */
  async #turn(
    sessionID: string,
    prompt: string,
    change: (options: Options) => Options,
  ): Promise<TurnResult & { errors: string }> {
    const { owner, sdk } = this.#ready()
    if (this.#running.has(sessionID)) throw new SessionError(`session ${sessionID} has a turn already`)
    const running = new RunningTurn(new Turn(owner, sessionID, this.#options.silenceTimeout ?? SILENCE))
    this.#running.set(sessionID, running)
    try {
      const limits = owner.limits(sessionID)
      const place = await this.#place(sessionID)
      const options = change({ ...this.#sessionOptions(sessionID, limits, running), ...place })
      await owner.report({ kind: "messageFinished", sessionID, message: promptMessage(prompt) })
      if (running.isEnded)
        return {
          result: undefined,
          error: new SessionError("the session was stopped"),
          interruption: undefined,
          errors: "",
        }
      this.#fresh.delete(sessionID)
      this.#own.add(sessionID)
      return { ...(await running.run(sdk.query({ prompt, options }))), errors: running.errors }
    } finally {
      this.#running.delete(sessionID)
      running.finish()
    }
  }

  /** Where a turn goes on: in the transcript of the session, or in a new one. */
  async #place(sessionID: string): Promise<Pick<Options, "resume" | "sessionId">> {
    const { owner, sdk } = this.#ready()
    if (this.#fresh.has(sessionID)) return { sessionId: sessionID }
    if (this.#own.has(sessionID)) return { resume: sessionID }
    await killLeftovers(sessionID)
    const isNew = (await sdk.getSessionInfo(sessionID, { dir: owner.directory })) === undefined
    return isNew ? { sessionId: sessionID } : { resume: sessionID }
  }

  #sessionOptions(sessionID: string, limits: SessionLimits, running: RunningTurn): Options {
    const { owner, protocol, isTied } = this.#ready()
    const { permissionMode = "default", canUseTool, allowedTools = [], mcpServers, hooks = {}, env } = this.#options
    const { settingSources = [], additionalDirectories, pathToClaudeCodeExecutable, instructions } = this.#options
    const { frame, model, maxTurns, maxBudgetUsd, tools } = limits
    const sent = new SentContexts(owner, sessionID)
    return {
      cwd: owner.directory,
      env: { ...process.env, ...env },
      abortController: running.controller,
      includePartialMessages: true,
      strictMcpConfig: true,
      settingSources,
      permissionMode,
      tools: tools.filter((tool) => !tool.startsWith("mcp__")),
      mcpServers: { ...mcpServers, [SERVER]: stackServer(protocol, owner, sessionID) },
      allowedTools: [...allowedTools, ...owner.tools.map(({ name }) => PREFIX + name)],
      hooks: sessionHooks(owner, sessionID, sent, limits, hooks),
      ...(canUseTool && {
        canUseTool: (tool, input, { title, blockedPath, toolUseID, signal }) =>
          canUseTool(tool, input, { frame, title, blockedPath, toolUseID, signal }),
      }),
      ...(isTied && { spawnClaudeCodeProcess: (options) => spawnTied(options, running.noteError) }),
      ...(model !== undefined && { model }),
      ...(maxTurns !== undefined && { maxTurns }),
      ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
      ...(additionalDirectories && { additionalDirectories: [...additionalDirectories] }),
      ...(pathToClaudeCodeExecutable !== undefined && { pathToClaudeCodeExecutable }),
      systemPrompt: systemPrompt(sent.system(), instructions),
    }
  }
}

/** A turn that runs, and how it is ended. */
class RunningTurn {
  readonly controller = new AbortController()
  readonly #turn: Turn
  readonly #finished: Promise<void>
  /** Tells those who wait for the end. */
  finish: () => void = () => undefined
  /** The last words of the process's standard error. */
  errors = ""
  isEnded = false

  constructor(turn: Turn) {
    this.#turn = turn
    this.#finished = new Promise((resolve) => {
      this.finish = resolve
    })
  }

  readonly noteError = (text: string): void => {
    this.errors = text
  }

  run(query: Parameters<Turn["read"]>[0]): Promise<TurnResult> {
    return this.#turn.read(query)
  }

  /** Interrupts the turn, so that its words are kept, and waits for its end. A process that does not end is killed. */
  async end(): Promise<void> {
    this.isEnded = true
    const kill = setTimeout(() => this.controller.abort(), GRACE)
    await this.#turn.interrupt()
    await this.#finished
    clearTimeout(kill)
  }
}

/** The system prompt of a turn: `snapshot: false` makes each turn send the newest. */
function systemPrompt(context: string, instructions: string | undefined): NonNullable<Options["systemPrompt"]> {
  if (instructions === "claude_code") return { type: "preset", preset: "claude_code", append: context, snapshot: false }
  const prompt = instructions === undefined ? context : `${instructions}\n\n${context}`
  return { type: "custom", prompt, snapshot: false }
}

function promptMessage(text: string): SessionMessage {
  return { id: `prompt-${randomUUID()}`, role: "user", text, time: Date.now(), parts: [{ type: "text", text }] }
}

/** Returns how a turn has ended. @throws SessionError if it has ended with an error. */
function endOf({ result, error, interruption, errors }: TurnResult & { errors: string }): TurnEnd {
  if (interruption === "refused") {
    throw new SessionError(
      "the API refuses the key: set ANTHROPIC_API_KEY to a valid one, or log in with `claude login`",
      { isFatal: true, cause: error },
    )
  }
  if (interruption === "silence")
    throw new SessionError("the model was silent too often; its connection or its provider may be down")
  if (result === undefined)
    throw new SessionError(withErrors(messageOf(error) ?? "the session ended without a result", errors), {
      cause: error,
    })
  if (!result.is_error && result.subtype === "success") return { text: result.result }
  throw new SessionError(withErrors(problemOf(result), errors), { cause: error })
}

function problemOf(result: SDKResultMessage): string {
  switch (result.subtype) {
    case "success":
      return result.result
    case "error_max_turns":
      return `${result.errors.join("; ")}; a frame that goes on gets as many again`
    case "error_max_budget_usd":
      return `its budget is spent: ${result.errors.join("; ")}`
    case "error_during_execution":
      return result.terminal_reason?.startsWith("aborted") ? "the session was stopped" : result.errors.join("; ")
    default:
      return result.errors.join("; ")
  }
}

function withErrors(message: string, errors: string): string {
  const words = errors.trim().split("\n").at(-1) ?? ""
  return words === "" ? message : `${message} (${words})`
}

function messageOf(error: unknown): string | undefined {
  return error instanceof Error ? error.message : undefined
}

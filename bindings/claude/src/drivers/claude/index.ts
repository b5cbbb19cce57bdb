// The driver for the Claude Agent SDK: a session is a conversation of the SDK, and each turn of it is one
// query.

import type { ChildProcess } from "node:child_process"
import { randomUUID } from "node:crypto"
import type { Options, Query, SpawnedProcess, SpawnOptions } from "@anthropic-ai/claude-agent-sdk"
import type { SessionMessage } from "callstack-core"
import { type SessionDriver, SessionError, type SessionLimits, type SessionOwner, type Summary } from "../../driver.js"
import { askSession, SUMMARY_SCHEMA } from "../summary.js"
import { checkEnd, type EndedTurn, isRefused, STOPPED } from "./ends.js"
import { SentContexts, sessionHooks } from "./hooks.js"
import type { ClaudeOptions } from "./options.js"
import { canTieToParent, ended, killLeftovers, spawnSession } from "./processes.js"
import { askAbout, readSummary } from "./summary.js"
import { loadProtocol, PREFIX, type ProtocolModules, SERVER, stackServer } from "./tools.js"
import { formatTranscript, messagesOf } from "./transcript.js"
import { GRACE, Turn } from "./turn.js"
import { Watchdog } from "./watchdog.js"

export type { CanUseTool, ClaudeOptions, PermissionRequest } from "./options.js"

type Sdk = typeof import("@anthropic-ai/claude-agent-sdk")

/** The parts that are loaded when the driver opens. */
interface Opened {
  owner: SessionOwner
  sdk: Sdk
  protocol: ProtocolModules
  /** Whether the kernel kills sessions when this process dies. */
  isTied: boolean
}

/**
 * The environment of sessions. A task in the background would keep a session alive after the end of its
 * frame. The simple mode has no hooks, and therefore neither contexts nor a guard.
 */
const SESSION_ENVIRONMENT = { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1", CLAUDE_CODE_SIMPLE: undefined }

/**
 * The time without a word from the model after which a turn is interrupted, in milliseconds, and how often
 * the turn is repeated.
 */
const SILENCE = 180_000
const REPETITIONS = 2
/** The size of a transcript for a summary, in tokens, and the number of turns that a summary may take. */
const TRANSCRIPT_TOKENS = 20_000
const SUMMARY_TURNS = 6

/** Runs frames as sessions of the Claude Agent SDK, which must be installed together with this package. */
export class ClaudeDriver implements SessionDriver {
  readonly toolPrefix = PREFIX
  readonly defaultTools = ["Read", "Write", "Edit", "Bash", "Glob", "Grep"]
  readonly #options: ClaudeOptions
  #opened: Opened | undefined
  /** New sessions that had no turn yet, and so have no transcript and no process. */
  readonly #fresh = new Set<string>()
  /**
   * Sessions of open frames that had a turn in this process. Their running processes were not left by another
   * process.
   */
  readonly #own = new Set<string>()
  readonly #works = new Map<string, Work>()
  /** The context windows of models in tokens, as far as turns have reported them. */
  readonly #windows = new Map<string, number>()
  readonly #watchdog = new Watchdog()
  #isClosed = false

  constructor(options: ClaudeOptions = {}) {
    const config = options.env?.["CLAUDE_CONFIG_DIR"]
    if (config !== undefined && config !== process.env["CLAUDE_CONFIG_DIR"]) {
      throw new Error(
        "CLAUDE_CONFIG_DIR must be set in the environment of this process, where transcripts are read, not in `env`",
      )
    }
    for (const [name, server] of Object.entries(options.mcpServers ?? {})) {
      if (typeof server !== "function" && server.type === "sdk") {
        throw new Error(`the server ${name} can serve one session only: give a function that makes one for each turn`)
      }
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

  send(sessionID: string, prompt: string): Promise<void> {
    return this.#work(sessionID, async (work) => {
      let words = prompt
      for (let repetition = 0; ; repetition += 1) {
        const turn = await this.#turn(work, words, (options) => options)
        const isOver = work.isEnded || repetition === REPETITIONS
        if (turn.interruption !== "silence" || isOver) return checkEnd(turn)
        words = "The connection to the model was silent and interrupted your turn. Continue."
      }
    })
  }

  async interrupt(sessionID: string): Promise<void> {
    await this.#works.get(sessionID)?.end()
  }

  async messages(sessionID: string): Promise<readonly SessionMessage[]> {
    const { sdk, owner } = this.#loaded()
    // Subagents have no sessions of the SDK: their words were reported already.
    if (this.#fresh.has(sessionID) || !this.isOwn(sessionID)) return []
    return messagesOf(await sdk.getSessionMessages(sessionID, { dir: owner.directory }))
  }

  compact(sessionID: string): Promise<boolean> {
    return this.#work(sessionID, async (work) => {
      let isDone = false
      const done = () => {
        isDone = true
        return Promise.resolve({})
      }
      // The next prompt brings the context, as each prompt does.
      const SessionStart = this.#options.hooks?.SessionStart ?? []
      await this.#turn(work, "/compact", (options) => {
        const PostCompact = [...(options.hooks?.PostCompact ?? []), { hooks: [done] }]
        return { ...options, hooks: { ...options.hooks, SessionStart, PostCompact } }
      })
      return isDone
    })
  }

  summarize(sessionID: string, prompt: string): Promise<Summary | undefined> {
    return this.#work(sessionID, async (work) => {
      const turn = await this.#turn(work, askSession(prompt), forSummary)
      const summary = readSummary(turn.result)
      if (summary !== undefined || work.isEnded || isRefused(turn)) return summary
      const transcript = formatTranscript(await this.messages(sessionID), TRANSCRIPT_TOKENS)
      const outside = (options: Options): Options => {
        const { resume: _, systemPrompt: __, hooks: ___, ...rest } = forSummary(options)
        return { ...rest, persistSession: false, sessionId: randomUUID() }
      }
      return readSummary((await this.#turn(work, askAbout(transcript, prompt), outside)).result)
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#works.values()].map((work) => work.end()))
    this.#watchdog.close()
  }

  #loaded(): Opened {
    if (this.#opened === undefined) throw new SessionError("no session can run: open the driver first")
    return this.#opened
  }

  #ready(): Opened {
    if (this.#isClosed) throw new SessionError("no session can run: the driver is closed")
    return this.#loaded()
  }

  /** Works in a session. Nothing else works in that session at the same time. */
  async #work<Result>(sessionID: string, work: (work: Work) => Promise<Result>): Promise<Result> {
    const { owner } = this.#ready()
    if (!this.isOwn(sessionID)) throw new SessionError(`${sessionID} is not a session of the Claude Agent SDK`)
    if (this.#works.has(sessionID)) throw new SessionError(`session ${sessionID} has a turn already`)
    const current = new Work(sessionID)
    this.#works.set(sessionID, current)
    this.#watchdog.add(sessionID)
    try {
      return await work(current)
    } finally {
      this.#works.delete(sessionID)
      this.#watchdog.remove(sessionID)
      if (!owner.isOpen(sessionID)) this.#own.delete(sessionID)
      current.finish()
    }
  }

  /** Runs one turn of a session, with changed options. */
  async #turn(work: Work, prompt: string, change: (options: Options) => Options): Promise<EndedTurn> {
    const { owner, sdk } = this.#ready()
    const { sessionID } = work
    const silence = this.#options.silenceTimeout ?? SILENCE
    const running = new RunningTurn(owner, sessionID, this.#windows, silence)
    work.turn = running
    const limits = owner.limits(sessionID)
    const place = await this.#place(sessionID)
    const options = change({ ...this.#sessionOptions(sessionID, limits, running), ...place })
    await owner.report({ kind: "messageFinished", sessionID, message: promptMessage(prompt) })
    if (!work.isEnded) {
      this.#fresh.delete(sessionID)
      return running.run(() => sdk.query({ prompt, options }))
    }
    const error = new SessionError(STOPPED)
    return { result: undefined, error, apiError: undefined, interruption: undefined, errors: "" }
  }

  /** Where a turn continues: in the transcript of the session, or in a new one. */
  async #place(sessionID: string): Promise<Pick<Options, "resume" | "sessionId">> {
    const isFresh = this.#fresh.has(sessionID)
    if (!(isFresh || this.#own.has(sessionID))) await killLeftovers(sessionID)
    this.#own.add(sessionID)
    const isOld = !isFresh && (await this.#hasTranscript(sessionID))
    return isOld ? { resume: sessionID } : { sessionId: sessionID }
  }

  /**
   * Whether a session has a transcript with which it can continue. Removes a transcript that holds no
   * message: the session then starts from the beginning.
   */
  async #hasTranscript(sessionID: string): Promise<boolean> {
    const { owner, sdk } = this.#ready()
    const place = { dir: owner.directory }
    if ((await sdk.getSessionInfo(sessionID, place)) !== undefined) return true
    // The SDK has no information on a session that was interrupted before its first prompt was written.
    if ((await sdk.getSessionMessages(sessionID, place)).length > 0) return true
    await sdk.deleteSession(sessionID, place).catch(() => undefined)
    return false
  }

  #sessionOptions(sessionID: string, limits: SessionLimits, running: RunningTurn): Options {
    const { owner, protocol, isTied } = this.#ready()
    const {
      permissionMode = "default",
      canUseTool,
      allowedTools = [],
      mcpServers = {},
      hooks = {},
      env,
    } = this.#options
    const { settingSources = [], additionalDirectories, pathToClaudeCodeExecutable, instructions } = this.#options
    const { frame, model, maxTurns, maxBudgetUsd, tools } = limits
    const sent = new SentContexts(owner, sessionID)
    return {
      cwd: owner.directory,
      env: { ...process.env, ...SESSION_ENVIRONMENT, ...env },
      abortController: running.controller,
      includePartialMessages: true,
      forwardSubagentText: true,
      strictMcpConfig: true,
      settingSources,
      permissionMode,
      tools: tools.filter((tool) => !tool.startsWith("mcp__")),
      mcpServers: { ...namedServers(mcpServers, tools), [SERVER]: stackServer(protocol, owner, sessionID) },
      allowedTools: [...allowedTools],
      hooks: sessionHooks(owner, sessionID, sent, limits, hooks),
      ...(canUseTool && {
        canUseTool: (tool, input, { title, blockedPath, toolUseID, signal }) =>
          canUseTool(tool, input, { frame, title, blockedPath, toolUseID, signal }),
      }),
      spawnClaudeCodeProcess: (options) => running.spawn(options, isTied),
      ...(model !== undefined && { model }),
      ...(maxTurns !== undefined && { maxTurns }),
      ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
      ...(additionalDirectories && { additionalDirectories: [...additionalDirectories] }),
      // The sessions of the SDK's own program get the servers by their standard input, so that no other user
      // may see the environment of the servers.
      ...(pathToClaudeCodeExecutable === undefined
        ? { mcpServersDelivery: "initialize" }
        : { pathToClaudeCodeExecutable }),
      systemPrompt: systemPrompt(sent.system(), instructions),
    }
  }
}

/**
 * Returns the servers that have at least one tool that a session may use. The tools of the other servers are
 * not shown to the session.
 */
function namedServers(servers: NonNullable<ClaudeOptions["mcpServers"]>, tools: readonly string[]) {
  const isNamed = (server: string) =>
    tools.some((tool) => tool === `mcp__${server}` || tool.startsWith(`mcp__${server}__`))
  const named = Object.entries(servers).filter(([server]) => isNamed(server))
  return Object.fromEntries(named.map(([name, server]) => [name, typeof server === "function" ? server() : server]))
}

/** Work in a session, made of one turn or several, and how it is ended. */
class Work {
  readonly sessionID: string
  /** The turn that runs now, or ran last. */
  turn: RunningTurn | undefined
  isEnded = false
  /** Notifies the callers that wait for the end. */
  finish: () => void = () => undefined
  readonly #finished: Promise<void>

  constructor(sessionID: string) {
    this.sessionID = sessionID
    this.#finished = new Promise((resolve) => {
      this.finish = resolve
    })
  }

  /**
   * Interrupts the work, so that its words are kept, and waits for its end. A process that does not end is
   * killed.
   */
  async end(): Promise<void> {
    this.isEnded = true
    const kill = setTimeout(() => this.turn?.controller.abort(), GRACE)
    await this.turn?.interrupt()
    await this.#finished
    clearTimeout(kill)
  }
}

/** A turn that runs in a process. */
class RunningTurn {
  readonly controller = new AbortController()
  readonly #turn: Turn
  #process: ChildProcess | undefined
  #errors = ""

  constructor(owner: SessionOwner, sessionID: string, windows: Map<string, number>, silence: number) {
    this.#turn = new Turn(owner, sessionID, windows, silence, () => this.controller.abort())
  }

  spawn(options: SpawnOptions, isTied: boolean): SpawnedProcess {
    const onError = (text: string) => {
      this.#errors = text
    }
    const child = spawnSession(options, { isTied, onError })
    this.#process = child
    return child
  }

  /** Runs the turn to its end, and until the end of its process. */
  async run(start: () => Query): Promise<EndedTurn> {
    try {
      const turn = await this.#turn.read(start())
      return { ...turn, errors: this.#errors }
    } finally {
      if (this.#process !== undefined) await ended(this.#process)
    }
  }

  interrupt(): Promise<void> {
    return this.#turn.interrupt()
  }
}

/** Returns the options of a turn that only summarizes: it has no tools. */
function forSummary({ mcpServers: _, allowedTools: __, ...rest }: Options): Options {
  return { ...rest, tools: [], maxTurns: SUMMARY_TURNS, outputFormat: { type: "json_schema", schema: SUMMARY_SCHEMA } }
}

/** The system prompt of a turn: `snapshot: false` makes each turn send the newest one. */
function systemPrompt(context: string, instructions: string | undefined): NonNullable<Options["systemPrompt"]> {
  if (instructions === "claude_code") return { type: "preset", preset: "claude_code", append: context, snapshot: false }
  const prompt = instructions === undefined ? context : `${instructions}\n\n${context}`
  return { type: "custom", prompt, snapshot: false }
}

function promptMessage(text: string): SessionMessage {
  return { id: `prompt-${randomUUID()}`, role: "user", text, time: Date.now(), parts: [{ type: "text", text }] }
}

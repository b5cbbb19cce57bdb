// The driver for OpenCode: frames are sessions of its server. A bridge in the server connects the sessions
// with the orchestrator.

import type { Event, OpencodeClient, PermissionRequest, SessionPromptData } from "@opencode-ai/sdk/v2"
import type { HostEvent, SessionMessage } from "callstack-core"
import { isCompacted, messageOf, modelRequested, sessionMessage, textOf } from "opencode-callstack/adapter"
import {
  requestOf,
  type SessionContext,
  type SessionDriver,
  SessionError,
  type SessionOwner,
  type Summary,
} from "../../driver.js"
import { answered, RequestError } from "./client.js"
import { Connection, type SessionHandlers } from "./connection.js"
import { bridgeOf, type OpenCodeOptions } from "./options.js"
import { askForText, readText } from "./summary.js"
import { READ_AND_WRITE, toolSwitches } from "./tools.js"
import { ANSWERED, COMPACTED, PROBLEM, type Purpose, reported, Turn, told } from "./turn.js"

export type { OpenCodeOptions } from "./options.js"

type Body = Omit<NonNullable<SessionPromptData["body"]>, "parts">

/** How often an abort is repeated, and how long the driver waits for a late error, in milliseconds. */
const ABORT_INTERVAL = 300
const PROBLEM_LATENESS = 1000
/**
 * How long the server may take to end a turn that is interrupted, in milliseconds. After that time the driver
 * does not wait any more.
 */
const INTERRUPT_TIME = 10_000
/** How long the driver waits for the messages of such a session, in milliseconds. */
const GIVEN_UP_TIME = 2000

/**
 * Runs frames as sessions of an OpenCode server. The package @opencode-ai/sdk must be installed together with
 * this package.
 */
export class OpenCodeDriver implements SessionDriver {
  readonly toolPrefix = ""
  readonly defaultTools = READ_AND_WRITE
  readonly #options: OpenCodeOptions
  #connection: Connection | undefined
  #opening: Promise<void> | undefined
  readonly #closing = new AbortController()
  /** Why no session can continue. */
  #failure: SessionError | undefined
  /**
   * The sessions of the orchestrator, and of subagents in them. A server that already ran has other sessions
   * too.
   */
  readonly #sessions = new Set<string>()
  /** Sessions that are being created. */
  readonly #starting = new Set<Promise<string>>()
  readonly #turns = new Map<string, Turn>()
  /** Sessions whose last turn was given up: the server may still be busy with it. */
  readonly #givenUp = new Set<string>()
  /** What sessions have cost, in US dollars, as reported to the orchestrator. */
  readonly #costs = new Map<string, number>()

  constructor(options: OpenCodeOptions = {}) {
    if (options.model !== undefined) modelOf(options.model)
    const bridge = bridgeOf(options)
    this.#options = { ...options, ...(bridge && { bridge }) }
  }

  open(owner: SessionOwner): Promise<void> {
    this.#opening = this.#open(owner)
    return this.#opening
  }

  async #open(owner: SessionOwner): Promise<void> {
    const handlers: SessionHandlers = {
      report: async ({ event }) => ({ prompts: await this.#report(event) }),
      context: async ({ sessionID }) => ({ context: (await this.#context(sessionID)) ?? null }),
      tool: ({ sessionID, name, args }, signal) => {
        if (this.#sessions.has(sessionID)) return owner.tool(sessionID, name, args, signal)
        const text = `${name}: the orchestrator has no frame for this session`
        return Promise.resolve({ text, title: text, ended: [], isError: true })
      },
    }
    const connection = await Connection.open(owner, this.#options, handlers, this.#closing.signal)
    this.#connection = connection
    try {
      await connection.listen(
        (event) => this.#take(event),
        (error) => this.#fail(error),
      )
    } catch (error) {
      this.#connection = undefined
      await connection.close()
      throw error
    }
  }

  isOwn(sessionID: string): boolean {
    return /^ses_\w+$/.test(sessionID)
  }

  async start(parentID: string | undefined, title: string): Promise<string> {
    const { client } = this.#ready()
    const parent = parentID !== undefined && this.isOwn(parentID) ? { parentID } : {}
    const starting = answered(client.session.create({ ...parent, title })).then(({ id }) => {
      this.#sessions.add(id)
      return id
    })
    this.#starting.add(starting)
    try {
      return await starting
    } finally {
      this.#starting.delete(starting)
    }
  }

  send(sessionID: string, prompt: string): Promise<void> {
    return this.#run(sessionID, "work", async (turn) => {
      const { client, owner } = this.#ready()
      const limits = owner.limits(sessionID)
      const tools = await toolSwitches(
        client,
        [...limits.tools, ...owner.tools.map(({ name }) => name)],
        this.#options.agent,
      )
      turn.limits = limits
      turn.costBefore = limits.maxBudgetUsd === undefined ? 0 : await this.#cost(sessionID)
      await this.#prompt(sessionID, turn, prompt, { tools, ...this.#mode(limits.model) })
    })
  }

  async interrupt(sessionID: string): Promise<void> {
    const turn = this.#turns.get(sessionID)
    if (turn === undefined) return
    turn.failure ??= new SessionError("the session was stopped")
    turn.giveUpAfter(INTERRUPT_TIME)
    // If a prompt is just beginning, the first abort has no effect on it. The turn also ends if the server
    // cannot be reached.
    while (this.#turns.get(sessionID) === turn && !turn.hasSeen(ANSWERED)) {
      await turn.whileHeld(this.#abort(sessionID)).catch(() => undefined)
      await turn.seen([ANSWERED], ABORT_INTERVAL)
    }
  }

  async messages(sessionID: string): Promise<readonly SessionMessage[]> {
    if (!this.isOwn(sessionID)) return []
    // A server that has not ended a turn may not answer at all.
    const limits = this.#givenUp.has(sessionID) ? { signal: AbortSignal.timeout(GIVEN_UP_TIME) } : {}
    const { data = [] } = await this.#ready().client.session.messages({ sessionID }, limits)
    return entriesOf(data).map(sessionMessage)
  }

  compact(sessionID: string): Promise<boolean> {
    return this.#run(sessionID, "compaction", async (turn) => {
      const { client, patientClient } = this.#ready()
      const { model } = await answered(client.session.get({ sessionID }))
      if (model === undefined) return false
      const { id: modelID, providerID } = model
      const { signal } = turn
      await answered(patientClient.session.summarize({ sessionID, providerID, modelID }, { signal }))
      const isDone = isCompacted(entriesOf(await answered(client.session.messages({ sessionID }))))
      if (isDone) await turn.seen([COMPACTED])
      return isDone
    })
  }

  summarize(sessionID: string, prompt: string): Promise<Summary | undefined> {
    return this.#run(sessionID, "summary", async (turn) => {
      const { client, owner } = this.#ready()
      const tools = await toolSwitches(client, [])
      const parts = await this.#prompt(sessionID, turn, askForText(prompt), {
        tools,
        ...this.#mode(owner.limits(sessionID).model),
      })
      return readText(textOf(parts))
    })
  }

  async close(): Promise<void> {
    await Promise.allSettled([...this.#turns.keys()].map((sessionID) => this.interrupt(sessionID)))
    this.#closing.abort(new SessionError("the driver for OpenCode was closed"))
    await this.#opening?.catch(() => undefined)
    await this.#connection?.close()
    this.#connection = undefined
  }

  /** Ends all turns, because no session can continue. */
  #fail(error: SessionError): void {
    this.#failure = error
    for (const [sessionID, turn] of this.#turns) {
      turn.failure ??= error
      void this.interrupt(sessionID)
    }
  }

  #ready(): Connection {
    if (this.#connection === undefined) throw new SessionError("the driver for OpenCode is not open")
    return this.#connection
  }

  /** Runs a turn of a session. @throws SessionError */
  async #run<Result>(sessionID: string, purpose: Purpose, work: (turn: Turn) => Promise<Result>): Promise<Result> {
    const connection = this.#ready()
    if (this.#failure !== undefined) throw this.#failure
    if (this.#turns.has(sessionID)) throw new SessionError(`session ${sessionID} has a turn already`)
    const turn = new Turn(purpose)
    this.#turns.set(sessionID, turn)
    this.#sessions.add(sessionID)
    this.#givenUp.delete(sessionID)
    turn.signal.addEventListener("abort", () => this.#givenUp.add(sessionID))
    try {
      return await turn.whileHeld(work(turn))
    } catch (error) {
      throw turn.failure ?? (await connection.sessionError(error))
    } finally {
      turn.note(ANSWERED)
      await turn.whileHeld(this.#cost(sessionID)).catch(() => undefined)
      turn.end()
      this.#turns.delete(sessionID)
    }
  }

  /** Prompts a session. Returns the parts of the last message. */
  async #prompt(sessionID: string, turn: Turn, text: string, body: Body): Promise<Entry["parts"]> {
    if (turn.failure !== undefined) throw turn.failure
    const { patientClient } = this.#ready()
    try {
      const { info, parts } = await answered(
        patientClient.session.prompt({ sessionID, ...body, parts: [{ type: "text", text }] }, { signal: turn.signal }),
      )
      turn.note(ANSWERED)
      // Nothing of the turn comes after its end.
      await turn.seen([told(info.id), reported(info.id)])
      if (turn.failure !== undefined) throw turn.failure
      if (info.error !== undefined && !turn.isOver) throw failureOf(info.error)
      return parts as Entry["parts"]
    } catch (error) {
      if (!(error instanceof RequestError) || error.isConnection) throw error
      // The answer says only that there is a problem. An event says which problem it is.
      await turn.seen([PROBLEM], PROBLEM_LATENESS)
      throw turn.problem === undefined ? error : failureOf(turn.problem)
    }
  }

  #mode(model = this.#options.model): Pick<Body, "agent" | "model"> {
    const { agent } = this.#options
    return { ...(agent !== undefined && { agent }), ...(model !== undefined && { model: modelOf(model) }) }
  }

  async #abort(sessionID: string): Promise<void> {
    await answered(this.#ready().client.session.abort({ sessionID }))
  }

  /** Returns what a session has cost so far, and tells the orchestrator. */
  async #cost(sessionID: string): Promise<number> {
    const { client, owner } = this.#ready()
    const { cost: costUsd = 0 } = await answered(client.session.get({ sessionID }))
    if (costUsd > (this.#costs.get(sessionID) ?? 0)) {
      owner.tell(sessionID, { kind: "cost", session: sessionID, costUsd })
      this.#costs.set(sessionID, costUsd)
    }
    return costUsd
  }

  /**
   * Returns the context for a request that is being prepared; undefined if the session has no context, or if
   * its turn is ended.
   */
  async #context(sessionID: string): Promise<SessionContext | undefined> {
    if (!this.#sessions.has(sessionID)) return undefined
    const { owner } = this.#ready()
    const turn = this.#turns.get(sessionID)
    const isEnded = this.#givenUp.has(sessionID)
    if (isEnded || (turn?.purpose === "work" && (await this.#isAtEnd(sessionID, turn, owner)))) {
      await this.#abort(sessionID)
      return undefined
    }
    const context = owner.context(sessionID)
    // The bridge needs only these two parts of the context.
    return context && { stable: context.stable, volatile: context.volatile }
  }

  /** Whether a turn ends before its next request because its frame has ended, or has reached a limit. */
  async #isAtEnd(sessionID: string, turn: Turn, owner: SessionOwner): Promise<boolean> {
    turn.requests += 1
    // The words of the model after a pop are not used.
    turn.isOver = !owner.isWorking(sessionID)
    const { frame, maxTurns, maxBudgetUsd } = turn.limits ?? owner.limits(sessionID)
    if (maxTurns !== undefined && turn.requests > maxTurns) {
      turn.failure ??= new SessionError(
        `frame ${frame} has had its ${maxTurns} turns; a frame that resumes gets as many again`,
      )
    }
    if (maxBudgetUsd !== undefined) {
      const spent = (await this.#cost(sessionID)) - turn.costBefore
      if (spent >= maxBudgetUsd) {
        turn.failure ??= new SessionError(
          `the budget of frame ${frame} is spent: ${spent.toFixed(4)} of ${maxBudgetUsd} US dollars`,
        )
      }
    }
    turn.isCut = turn.isOver || turn.failure !== undefined
    return turn.isCut
  }

  /** Reports an event of the bridge to the engine. Returns texts for the prompt of a compaction. */
  async #report(event: HostEvent): Promise<string[]> {
    if (!("sessionID" in event && (await this.#concerns(event)))) return []
    const { owner } = this.#ready()
    const turn = this.#turns.get(event.sessionID)
    const prompts: string[] = []
    const report = turn === undefined ? event : adapted(event, turn)
    const isRequest = requestOf(event) !== undefined
    await Promise.all([
      report && owner.report(report, (text) => prompts.push(text)),
      // OpenCode adds the cost of a request before it reports the end of the request.
      isRequest && this.#cost(event.sessionID).catch(() => undefined),
    ])
    if (event.kind === "sessionCompacted") turn?.note(COMPACTED)
    if (event.kind === "messageFinished" && event.message.id !== undefined) {
      turn?.note(reported(event.message.id))
    }
    return prompts
  }

  /** Whether an event is about a session of the orchestrator. */
  async #concerns(event: Extract<HostEvent, { sessionID: string }>): Promise<boolean> {
    if (event.kind !== "sessionCreated") return this.#sessions.has(event.sessionID)
    await Promise.allSettled(this.#starting)
    // The engine knows the sessions that were started for it. The sessions of subagents are reported to it.
    const isSubagent =
      !this.#sessions.has(event.sessionID) && event.parentID !== undefined && this.#sessions.has(event.parentID)
    if (isSubagent) this.#sessions.add(event.sessionID)
    return isSubagent
  }

  /** Takes an event of the server. */
  #take(event: Event): void {
    const sessionID = "sessionID" in event.properties ? event.properties.sessionID : undefined
    if (this.#connection === undefined || typeof sessionID !== "string" || !this.#sessions.has(sessionID)) return
    const { client, owner } = this.#connection
    const news = this.#turns.get(sessionID)?.take(event)
    if (news !== undefined) owner.tell(sessionID, news)
    if (event.type === "session.compacted") owner.tell(sessionID, { kind: "compacted" })
    if (event.type === "permission.asked") void refuse(client, event.properties)
    if (event.type === "question.asked") void client.question.reject({ requestID: event.properties.id })
  }
}

/** Refuses what a session asks a person for, because no person would answer. */
async function refuse(client: OpencodeClient, { id: requestID, permission }: PermissionRequest): Promise<void> {
  const message = `No person can be asked for the permission ${permission} here. Do without it, or report that you are blocked.`
  await client.permission.reply({ requestID, reply: "reject", message })
}

/** A message as the adapter knows it, in the first version of the SDK's types. */
type Entry = Parameters<typeof sessionMessage>[0]

function entriesOf(messages: readonly unknown[]): Entry[] {
  return messages as Entry[]
}

/** Returns an event as the engine needs it; undefined if the engine must not know it. */
function adapted(event: HostEvent, turn: Turn): HostEvent | undefined {
  if (event.kind !== "message") return event
  // The question for a summary is not a task, and its answer is not a step of the work.
  if (turn.purpose === "summary") return event.role === "user" ? undefined : modelRequested(event)
  // A request that was not sent has left an empty message.
  if (turn.isCut && event.request?.failed === true) return undefined
  return event
}

/** Returns an error of OpenCode as an error of a session. */
function failureOf(error: unknown): SessionError {
  const { name, data } = error as { name?: string; data?: { statusCode?: number } }
  // A provider can use 403 to refuse a model or a region, which concerns only this session.
  const isRefused = name === "ProviderAuthError" || data?.statusCode === 401
  const message = isRefused
    ? `the provider refuses the key: ${messageOf(error)}; set a valid one, or log in with \`opencode auth login\``
    : messageOf(error)
  return new SessionError(message, { isFatal: isRefused, cause: error })
}

/** Splits OpenCode's name of a model into its parts. @throws Error if it has another form. */
function modelOf(name: string): { providerID: string; modelID: string } {
  const [, providerID = "", modelID = ""] = /^([^/]+)\/(.+)$/.exec(name) ?? []
  if (modelID === "")
    throw new SessionError(`the model ${name} has no provider: OpenCode names models as provider/model`)
  return { providerID, modelID }
}

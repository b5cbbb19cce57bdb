// The connection of the driver with OpenCode: a server, started or found, with the bridge in it, and a
// client.

import { realpathSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import type { Event, OpencodeClient } from "@opencode-ai/sdk/v2"
import { SessionError, type SessionOwner } from "../../driver.js"
import { answered, connect, type Place, RequestError } from "./client.js"
import type { OpenCodeOptions } from "./options.js"
import { VARIABLES } from "./protocol.js"
import { type Handlers, newToken, Receiver, Refusal } from "./receiver.js"
import { OpenCodeServer } from "./server.js"

/** The file of the bridge. */
const BRIDGE = new URL("./bridge.js", import.meta.url)
/**
 * How often OpenCode is asked to load the bridge, and how long the bridge may take to say hello after that,
 * in milliseconds.
 */
const ATTEMPTS = 5
const GREETING_TIME = 1000
/**
 * How long a request may last while the server loads its plugins, and how long a later request may last if it
 * is not a turn of a session, in milliseconds.
 */
const LOAD_TIME = 120_000
const REQUEST_TIME = 30_000
/**
 * How long the stream of events stays closed after it was cut off, and how long its first event may take, in
 * milliseconds.
 */
const REOPEN_TIME = 500
const EVENT_TIME = 30_000
/** How often the stream of events is opened again without an event in it. */
const REOPENINGS = 5

/** What the connection does with calls of the bridge, except for the first call. */
export type SessionHandlers = Omit<Handlers, "hello">

/** A server of OpenCode whose bridge has said hello. */
export class Connection {
  readonly owner: SessionOwner
  /** For requests that the server answers at once. These requests have a time limit. */
  readonly client: OpencodeClient
  /** For turns of sessions, which may last hours. */
  readonly patientClient: OpencodeClient
  readonly #receiver: Receiver
  /** The server that was started; undefined if the server already ran. */
  readonly #server: OpenCodeServer | undefined
  readonly #closing: AbortSignal

  private constructor(
    owner: SessionOwner,
    clients: Clients,
    receiver: Receiver,
    server: OpenCodeServer | undefined,
    closing: AbortSignal,
  ) {
    this.owner = owner
    this.client = clients.quick
    this.patientClient = clients.patient
    this.#receiver = receiver
    this.#server = server
    this.#closing = closing
  }

  /**
   * Starts a server, or finds the one that runs, and waits for its bridge. `closing` ends this wait, and
   * later all requests.
   */
  static async open(
    owner: SessionOwner,
    options: OpenCodeOptions,
    handlers: SessionHandlers,
    closing: AbortSignal,
  ): Promise<Connection> {
    let greet: () => void = () => undefined
    const greeted = new Promise<void>((resolve) => {
      greet = resolve
    })
    const hello: Handlers["hello"] = ({ directory }) => {
      if (realpathSync(directory) !== realpathSync(owner.directory)) {
        throw new Refusal(409, `the orchestrator works in ${owner.directory}, not in ${directory}`)
      }
      greet()
      return Promise.resolve({ tools: owner.tools })
    }
    const receiver = await Receiver.listen({ ...handlers, hello }, options.bridge?.port, options.bridge?.token)
    let server: OpenCodeServer | undefined
    try {
      const { url } = options
      const password = newToken()
      if (url === undefined) server = await startServer(owner.directory, options, receiver, password, closing)
      const found = server === undefined ? placeOf(url ?? "") : { url: server.url, password }
      const place = { ...found, directory: owner.directory }
      await load(await connect(place, { closing, timeLimit: LOAD_TIME }), greeted, server === undefined, closing)
      const clients = {
        quick: await connect(place, { closing, timeLimit: REQUEST_TIME }),
        patient: await connect(place, { closing }),
      }
      closing.throwIfAborted()
      return new Connection(owner, clients, receiver, server, closing)
    } catch (error) {
      await server?.stop()
      receiver.close()
      throw closing.aborted ? closing.reason : error
    }
  }

  /**
   * Passes on the events of the server from now on, until the connection is closed. Returns when the first
   * event has come, and rejects if no event comes. Calls `fail` if the events cannot be read any more later.
   */
  listen(take: (event: Event) => void, fail: (error: SessionError) => void): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      let hasBegun = false
      const takeFirst = (event: Event) => {
        hasBegun = true
        resolve()
        take(event)
      }
      this.#read(takeFirst).catch(async (error: unknown) => {
        if (this.#closing.aborted) reject(this.#closing.reason as Error)
        else if (hasBegun) fail(await this.#eventsError(error))
        else reject(await this.#eventsError(error))
      })
    })
  }

  /**
   * Reads events, and continues after the stream was cut off. Never returns; rejects if the stream does not
   * come back.
   */
  async #read(take: (event: Event) => void): Promise<never> {
    // A stream that was cut off is opened again here, because the client would keep this process awake
    // between its own attempts.
    for (let left = 0; ; left -= 1) {
      const problem = await this.#readStream((event) => {
        left = REOPENINGS
        take(event)
      })
      this.#closing.throwIfAborted()
      if (left <= 0) throw problem
      await sleep(REOPEN_TIME, undefined, { signal: this.#closing })
    }
  }

  /** Reads one stream of events to its end. Returns why it has ended. */
  async #readStream(take: (event: Event) => void): Promise<RequestError> {
    let cause: unknown = new Error("their stream has ended")
    const silent = new AbortController()
    const late = setTimeout(() => {
      cause = new Error(`none has come within ${EVENT_TIME / 1000} seconds`)
      silent.abort()
    }, EVENT_TIME)
    const onSseError = (error: unknown) => {
      if (!silent.signal.aborted) cause = error
    }
    try {
      const options = { signal: silent.signal, sseMaxRetryAttempts: 1, onSseError }
      const { stream } = await this.patientClient.event.subscribe({}, options)
      for await (const event of stream) {
        clearTimeout(late)
        take(event)
      }
    } finally {
      clearTimeout(late)
    }
    return new RequestError(cause instanceof Error ? cause.message : String(cause), { cause })
  }

  /** Returns an error of the stream of events. Says so if the server has ended. */
  async #eventsError(error: unknown): Promise<SessionError> {
    const end = await this.#server?.end()
    const message = error instanceof Error ? error.message : String(error)
    return new SessionError(end ?? `the events of OpenCode's server cannot be read: ${message}`, {
      isFatal: true,
      cause: error,
    })
  }

  /** Returns an error of a request as an error of a session. Says so if the server has ended. */
  async sessionError(error: unknown): Promise<SessionError> {
    if (error instanceof SessionError) return error
    const message = error instanceof Error ? error.message : String(error)
    if (!(error instanceof RequestError && error.isConnection)) return new SessionError(message, { cause: error })
    const end = await this.#server?.end()
    return new SessionError(end ?? `OpenCode's server does not answer: ${message}`, { isFatal: true, cause: error })
  }

  /** Ends what was started. The signal `closing` has ended the requests before. */
  async close(): Promise<void> {
    await this.#server?.stop()
    this.#receiver.close()
  }
}

/** Clients of one server. */
interface Clients {
  quick: OpencodeClient
  patient: OpencodeClient
}

function startServer(
  directory: string,
  { program = "opencode", config, env }: OpenCodeOptions,
  receiver: Receiver,
  password: string,
  signal: AbortSignal,
): Promise<OpenCodeServer> {
  const environment = { ...process.env, ...env }
  const given = environment["OPENCODE_CONFIG_CONTENT"]
  const content: Record<string, unknown> = { ...(given !== undefined && (JSON.parse(given) as object)), ...config }
  const plugins: unknown[] = Array.isArray(content["plugin"]) ? content["plugin"] : []
  return OpenCodeServer.start({
    program,
    directory,
    signal,
    env: {
      ...environment,
      OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...content, plugin: [...plugins, fileURLToPath(BRIDGE)] }),
      OPENCODE_SERVER_PASSWORD: password,
      OPENCODE_SERVER_USERNAME: undefined,
      [VARIABLES.url]: receiver.address.url,
      [VARIABLES.token]: receiver.address.token,
      [VARIABLES.isOwned]: "1",
    },
  })
}

/** Takes the user and the password out of an address. */
function placeOf(text: string): Omit<Place, "directory"> {
  const url = new URL(text)
  const { username, password } = url
  url.username = ""
  url.password = ""
  return {
    url: url.href.replace(/\/$/, ""),
    ...(username !== "" && { username: decodeURIComponent(username) }),
    ...(password !== "" && { password: decodeURIComponent(password) }),
  }
}

/**
 * Waits until OpenCode has loaded the bridge: sends the first request for a folder, which OpenCode answers
 * after it has loaded the bridge.
 */
async function load(
  client: OpencodeClient,
  greeted: Promise<void>,
  isOld: boolean,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    // A server that already runs has loaded its plugins while there was no orchestrator, or another
    // orchestrator. The server may be so busy with the end of that orchestrator's sessions that it does not
    // load the plugins again the first time.
    if (isOld) await answered(client.instance.dispose())
    await answered(client.config.get())
    if (await Promise.race([greeted.then(() => true), sleep(GREETING_TIME, false, { signal })])) return
  }
  throw new Error(
    isOld
      ? `OpenCode has not loaded the bridge: its configuration must have the plugin callstack-flame/bridge, and its environment ${VARIABLES.url} and ${VARIABLES.token}`
      : "OpenCode has not loaded the bridge: its log says why (in the folder that `opencode debug paths` names)",
  )
}

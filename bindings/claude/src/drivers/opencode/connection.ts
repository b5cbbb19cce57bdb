// The connection of the driver with OpenCode: a server, started or found, with the bridge in it, and a client.

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
/** How often OpenCode is asked to load the bridge, and how long it may say hello after that, in milliseconds. */
const ATTEMPTS = 5
const GREETING_TIME = 1000
/** How long the stream of events stays closed when it has broken off, in milliseconds. */
const REOPEN_TIME = 500

/** What the connection does with calls of the bridge, besides the first one. */
export type SessionHandlers = Omit<Handlers, "hello">

/** A server of OpenCode whose bridge has said hello. */
export class Connection {
  readonly owner: SessionOwner
  readonly client: OpencodeClient
  readonly #receiver: Receiver
  /** The server that was started; undefined if it ran already. */
  readonly #server: OpenCodeServer | undefined
  readonly #closing = new AbortController()

  private constructor(
    owner: SessionOwner,
    client: OpencodeClient,
    receiver: Receiver,
    server: OpenCodeServer | undefined,
  ) {
    this.owner = owner
    this.client = client
    this.#receiver = receiver
    this.#server = server
  }

  /** Starts a server, or finds the one that runs, and waits for its bridge. */
  static async open(owner: SessionOwner, options: OpenCodeOptions, handlers: SessionHandlers): Promise<Connection> {
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
      if (url === undefined) server = await startServer(owner.directory, options, receiver, password)
      const place = server === undefined ? placeOf(url ?? "") : { url: server.url, password }
      const client = await connect({ ...place, directory: owner.directory })
      await load(client, greeted, server === undefined)
      return new Connection(owner, client, receiver, server)
    } catch (error) {
      await server?.stop()
      receiver.close()
      throw error
    }
  }

  /** Passes on the events of the server from now on, until the connection is closed. Returns when the first has come. */
  async listen(take: (event: Event) => void): Promise<void> {
    const { signal } = this.#closing
    await new Promise<void>((resolve) => {
      const read = async () => {
        // A stream that breaks off is opened again here: between its own attempts, the client would keep this process awake.
        for (; !signal.aborted; await sleep(REOPEN_TIME, undefined, { signal })) {
          const { stream } = await this.client.event.subscribe({}, { signal, sseMaxRetryAttempts: 1 })
          for await (const event of stream) {
            resolve()
            take(event)
          }
        }
      }
      read().catch(() => resolve())
    })
  }

  /** Returns an error of a request as one of a session. Says so if the server has ended. */
  async sessionError(error: unknown): Promise<SessionError> {
    if (error instanceof SessionError) return error
    const message = error instanceof Error ? error.message : String(error)
    if (!(error instanceof RequestError && error.isConnection)) return new SessionError(message, { cause: error })
    const end = await this.#server?.end()
    return new SessionError(end ?? `OpenCode's server does not answer: ${message}`, { isFatal: true, cause: error })
  }

  /** Ends what was started. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#server?.stop()
    this.#receiver.close()
  }
}

function startServer(
  directory: string,
  { program = "opencode", config, env }: OpenCodeOptions,
  receiver: Receiver,
  password: string,
): Promise<OpenCodeServer> {
  const environment = { ...process.env, ...env }
  const given = environment["OPENCODE_CONFIG_CONTENT"]
  const content: Record<string, unknown> = { ...(given !== undefined && (JSON.parse(given) as object)), ...config }
  const plugins: unknown[] = Array.isArray(content["plugin"]) ? content["plugin"] : []
  return OpenCodeServer.start({
    program,
    directory,
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

/** Takes user and password out of an address. */
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

/** Waits until OpenCode has loaded the bridge: with the first request for a folder, which it answers after that. */
async function load(client: OpencodeClient, greeted: Promise<void>, isOld: boolean): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    // A server that runs already has loaded its plugins when there was no orchestrator, or another one. It may be so busy
    // with the end of that one's sessions that it does not load them again the first time.
    if (isOld) await answered(client.instance.dispose())
    await answered(client.config.get())
    if (await Promise.race([greeted.then(() => true), sleep(GREETING_TIME, false)])) return
  }
  throw new Error(
    isOld
      ? `OpenCode has not loaded the bridge: its configuration must have the plugin callstack-flame/bridge, and its environment ${VARIABLES.url} and ${VARIABLES.token}`
      : "OpenCode has not loaded the bridge: its log says why (in the folder that `opencode debug paths` names)",
  )
}

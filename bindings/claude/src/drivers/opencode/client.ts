// The client of OpenCode's server: its SDK, which is loaded when it is needed, with requests that may take
// hours.

import { request as requestPlain } from "node:http"
import { request as requestSecure } from "node:https"
import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"
import type { OpencodeClient } from "@opencode-ai/sdk/v2"
import { messageOf } from "opencode-callstack/adapter"

/** Responses with these statuses have no body. */
const WITHOUT_BODY = [204, 205, 304]

/** The address of a server, with the credentials for it. */
export interface Place {
  url: string
  /** The folder in which sessions work. */
  directory: string
  username?: string | undefined
  password?: string | undefined
}

/** How long the requests of a client may last. */
export interface Patience {
  /** Ends all requests. */
  closing?: AbortSignal
  /** After how many milliseconds a request fails. Default: never, because a turn may last hours. */
  timeLimit?: number
}

/** Makes a client. Rejects if the SDK is not installed. */
export async function connect(
  { url, directory, username = "opencode", password }: Place,
  patience: Patience = {},
): Promise<OpencodeClient> {
  let sdk: typeof import("@opencode-ai/sdk/v2")
  try {
    sdk = await import("@opencode-ai/sdk/v2")
  } catch (cause) {
    throw new Error(
      "the SDK of OpenCode cannot be loaded; install it beside callstack-flame: npm install @opencode-ai/sdk",
      { cause },
    )
  }
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`
  const headers = password === undefined ? {} : { authorization }
  const fetch = (input: string | URL | Request, init?: RequestInit) => patientFetch(input, init, patience)
  return sdk.createOpencodeClient({ baseUrl: url, directory, headers, fetch })
}

/** A request that the server has not answered as it should. */
export class RequestError extends Error {
  override readonly name = "RequestError"

  /** True if the server could not be reached, or has ended meanwhile. */
  get isConnection(): boolean {
    return this.cause instanceof Error
  }
}

/** Returns the answer to a request of the SDK. @throws RequestError if there is none. */
export async function answered<Data>(
  asked: Promise<{ data?: Data; error?: unknown }>,
): Promise<Exclude<Data, undefined>> {
  const { data, error } = await asked.catch((cause: unknown) => ({ data: undefined, error: cause }))
  if (data !== undefined) return data as Exclude<Data, undefined>
  throw new RequestError(messageOf(error), { cause: error })
}

/**
 * Like `fetch`, with a time limit other than its five minutes: the server answers a prompt when the turn has
 * ended.
 */
export async function patientFetch(
  input: string | URL | Request,
  init?: RequestInit,
  { closing, timeLimit }: Patience = {},
): Promise<Response> {
  const asked = new Request(input, init)
  const signal = closing === undefined ? asked.signal : AbortSignal.any([asked.signal, closing])
  const body = Buffer.from(await asked.arrayBuffer())
  const request = asked.url.startsWith("https:") ? requestSecure : requestPlain
  const headers = { ...Object.fromEntries(asked.headers), "content-length": String(body.length) }
  return new Promise((resolve, reject) => {
    const sent = request(asked.url, { method: asked.method, headers, agent: false })
    const abort = () => sent.destroy(new Error("the request was aborted"))
    sent.on("error", reject)
    const expire = () => sent.destroy(new Error(`no answer within ${Number(timeLimit) / 1000} seconds`))
    const timer = timeLimit === undefined ? undefined : setTimeout(expire, timeLimit)
    sent.on("close", () => {
      clearTimeout(timer)
      signal.removeEventListener("abort", abort)
    })
    sent.on("response", (answer) => {
      const { statusCode: status = 500, headers } = answer
      const content = Readable.toWeb(answer) as ReadableStream<Uint8Array>
      resolve(new Response(WITHOUT_BODY.includes(status) ? null : content, { status, headers: textsOf(headers) }))
    })
    signal.addEventListener("abort", abort, { once: true })
    if (signal.aborted) abort()
    else sent.end(body)
  })
}

function textsOf(headers: NodeJS.Dict<string | string[]>): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
}

// A project and a home of their own. In them the real pi runs with this extension and a scripted model.

import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Frame, Stack } from "callstack-core"

/** The program, as npm installs it. */
export const PI = join(dirname(fileURLToPath(import.meta.resolve("@mariozechner/pi-coding-agent"))), "cli.js")

/** The folder of the extension, which pi loads as a package. */
export const EXTENSION = fileURLToPath(new URL("../../..", import.meta.url))

/** The APIs of providers, with the paths of their base URLs. */
const APIS = {
  "anthropic-messages": "",
  "openai-responses": "/v1",
  "openai-completions": "/v1",
  "google-generative-ai": "/v1beta",
} as const

/** Options of a world. */
export interface WorldOptions {
  /** The API of the model. Default: `anthropic-messages`. */
  api?: keyof typeof APIS
  /** Further keys of the model. */
  model?: object
  /** The contents of the project's files, by path. */
  files?: Record<string, string>
  /** pi's settings for all projects. */
  settings?: object
  /** The extensions. Default: this one. */
  extensions?: readonly string[]
  /** Further environment variables. */
  env?: Record<string, string>
}

/** A project that pi works on. */
export interface World {
  /** The folder of the project. */
  path: string
  /** The folder of pi's own files. */
  agent: string
  /** The folder of the stack. */
  stack: string
  env: Record<string, string>
  /** The words of the command line that choose the model and the extensions. */
  words: string[]
}

/** Creates a world in a temporary folder. */
export function makeWorld(modelUrl: string, options: WorldOptions = {}): World {
  const { api = "anthropic-messages", extensions = [EXTENSION] } = options
  const folder = mkdtempSync(join(tmpdir(), "callstack-pi-"))
  const [path, home] = [join(folder, "project"), join(folder, "home")]
  const agent = join(home, ".pi", "agent")
  const model = {
    id: "scripted",
    name: "Scripted",
    reasoning: false,
    input: ["text", "image"],
    contextWindow: 200_000,
    maxTokens: 8192,
    cost: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
    ...options.model,
  }
  const provider = { baseUrl: modelUrl + APIS[api], api, apiKey: "none", models: [model] }
  write(join(agent, "models.json"), JSON.stringify({ providers: { scripted: provider } }))
  write(join(agent, "settings.json"), JSON.stringify({ quietStartup: true, ...options.settings }))
  mkdirSync(path)
  for (const [name, text] of Object.entries(options.files ?? {})) write(join(path, name), text)
  const env = {
    PATH: process.env["PATH"] ?? "",
    LANG: "C.UTF-8",
    HOME: home,
    PI_OFFLINE: "1",
    NO_PROXY: "127.0.0.1",
    // The extension uses the native library of the tests, if a library is set for the tests.
    ...(process.env["CALLSTACK_LIBRARY"] && { CALLSTACK_LIBRARY: process.env["CALLSTACK_LIBRARY"] }),
    ...options.env,
  }
  const chosen = ["--provider", "scripted", "--model", "scripted", ...extensions.flatMap((file) => ["-e", file])]
  return { path, agent, stack: join(path, ".pi", "stack"), env, words: chosen }
}

/** How a program has ended. */
export interface Ended {
  code: number
  stdout: string
  stderr: string
}

/** Runs pi without an interface, and waits for its end. */
export function print({ path, env, words }: World, ...more: string[]): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const options = { cwd: path, env, timeout: 120_000, maxBuffer: 2 ** 26 }
    const child = execFile(process.execPath, [PI, ...words, "-p", ...more], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code
      if (typeof code === "number") resolve({ code, stdout, stderr })
      else reject(new Error(`pi did not run to its end:\n${stdout}\n${stderr}`, { cause: error }))
    })
    child.stdin?.end()
  })
}

/** Returns the frames of a world's stack, by title. */
export function framesOf({ stack: folder }: World): Map<string, Frame> {
  using stack = Stack.open(folder)
  return new Map(stack.frames().map((frame) => [frame.title, frame]))
}

/** Waits until `look` returns a value other than undefined and false, and returns it. `limit` is in milliseconds. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  limit = 30_000,
): Promise<T> {
  for (const end = Date.now() + limit; ; await new Promise((resolve) => setTimeout(resolve, 25))) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > end) throw new Error(`${limit} ms have passed, but this has not happened: ${what}`)
  }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

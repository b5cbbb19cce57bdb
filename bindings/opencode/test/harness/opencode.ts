// Runs the real OpenCode on a temporary project, with a scripted model and this plugin.

import { type ChildProcess, execFile, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { createOpencodeClient, type OpencodeClient } from "@opencode-ai/sdk"
import { readJson } from "./json.js"

/** The package of the AI SDK for each wire format. */
export const WIRES = {
  chat: "@ai-sdk/openai-compatible",
  responses: "@ai-sdk/openai",
  anthropic: "@ai-sdk/anthropic",
} as const

/** Options of a project. */
export interface ProjectOptions {
  wire?: keyof typeof WIRES
  /** The entry of the plugin in `opencode.json`; null: no entry. Default: the path of the plugin. */
  plugin?: string | [string, object] | null
  /**
   * Where pushed frames are worked on. Default: in sessions of their own, because most of these tests are
   * about them.
   */
  frames?: "sessions" | "conversation"
  /** Further keys of `opencode.json`. */
  config?: object
  /** The contents of the project's files, by path. */
  files?: Record<string, string>
  /** Further environment variables. */
  env?: Record<string, string>
}

/** A project that OpenCode works on. */
export interface Project {
  /** The folder that the agent works on. */
  path: string
  /** The folder of the plugin's stack. */
  stack: string
  env: Record<string, string | undefined>
}

/** A running OpenCode server. */
export interface Server {
  client: OpencodeClient
  project: Project
  /** Returns its output so far, which includes its log. */
  output(): string
  /** Prompts a session and waits for the answer. Default: a new session. */
  prompt(text: string, sessionID?: string): Promise<{ sessionID: string; text: string; error: unknown }>
  /** Sends a signal to the process and waits for its end. */
  kill(signal: NodeJS.Signals): Promise<void>
  stop(): Promise<void>
}

/** Disables everything that OpenCode would fetch from the network or do in the background. */
const QUIET = {
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_SHARE: "1",
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
  OPENCODE_DISABLE_CLAUDE_CODE: "1",
  OPENCODE_DISABLE_EMBEDDED_WEB_UI: "1",
  NO_COLOR: "1",
}

const require = createRequire(import.meta.url)
const opencode = dirname(require.resolve("opencode-ai/package.json"))
const binary = join(opencode, "bin", "opencode.exe")

/** The built file of the plugin. */
export const PLUGIN = require.resolve("opencode-callstack")

/** The plugin with all tools, also those that agents do not need. */
export const WITH_ALL_TOOLS: [string, object] = [PLUGIN, { tools: "all" }]

/** The plugin whose calls count as interrupted soon after a kill. */
export const WITH_SHORT_LEASES: [string, object] = [PLUGIN, { calls: { lease: 1_500 } }]

/** Creates a project in a temporary folder. */
export function makeProject(modelUrl: string, options: ProjectOptions = {}): Project {
  const folder = mkdtempSync(join(tmpdir(), "callstack-opencode-"))
  const path = join(folder, "project")
  const home = join(folder, "home")
  // OpenCode does not install a folder that has all its dependencies. The project finds this package through
  // node_modules, as if it were installed together with OpenCode's own packages.
  const manifest = { dependencies: { "@opencode-ai/plugin": version() } }
  for (const config of [join(path, ".opencode"), join(home, "config", "opencode")]) {
    mkdirSync(config, { recursive: true })
    writeFileSync(join(config, "package.json"), JSON.stringify(manifest))
    const lock = { name: "config", lockfileVersion: 3, requires: true, packages: { "": manifest } }
    writeFileSync(join(config, "package-lock.json"), JSON.stringify(lock))
  }
  symlinkSync(dirname(opencode), join(path, ".opencode", "node_modules"))
  mkdirSync(join(home, "config", "opencode", "node_modules"))
  writeFileSync(join(path, "opencode.json"), JSON.stringify(configuration(modelUrl, options)))
  for (const [name, text] of Object.entries(options.files ?? {})) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  const places = ["config", "data", "cache", "state"].map((name) => [
    `XDG_${name.toUpperCase()}_HOME`,
    join(home, name),
  ])
  const env = {
    PATH: process.env["PATH"],
    LANG: "C.UTF-8",
    HOME: home,
    ...Object.fromEntries(places),
    ...QUIET,
    // The plugin uses the native library of the tests, if a library is set for the tests.
    ...(process.env["CALLSTACK_LIBRARY"] && { CALLSTACK_LIBRARY: process.env["CALLSTACK_LIBRARY"] }),
    ...options.env,
  }
  return { path, stack: join(path, ".opencode", "stack"), env }
}

/** Starts OpenCode's server in a project. */
export async function serve(project: Project): Promise<Server> {
  const { path, env } = project
  const arguments_ = ["serve", "--port", "0", "--hostname", "127.0.0.1", "--print-logs", "--log-level", "DEBUG"]
  const child = spawn(binary, arguments_, { cwd: path, env, stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  const read = (chunk: Buffer) => {
    output += chunk.toString()
  }
  child.stdout.on("data", read)
  child.stderr.on("data", read)
  const url = await listening(child, () => output)
  const client = createOpencodeClient({ baseUrl: url, directory: path })
  const prompt = async (text: string, known?: string) => {
    const sessionID = known ?? (await client.session.create({ body: { title: "Test" } })).data?.id
    if (sessionID === undefined) throw new Error(`there is no session\n${output}`)
    const { data, error } = await client.session.prompt({
      path: { id: sessionID },
      body: { parts: [{ type: "text", text }] },
    })
    const last = data?.parts.findLast((part) => part.type === "text")
    return { sessionID, text: last?.text ?? "", error: error ?? data?.info.error }
  }
  const kill = (signal: NodeJS.Signals) => end(child, signal)
  return { client, project, output: () => output, prompt, kill, stop: () => kill("SIGTERM") }
}

/** Runs `opencode run` in a project and returns its output. */
export async function run({ path, env }: Project, ...words: string[]): Promise<string> {
  const running = promisify(execFile)(binary, ["run", ...words], { cwd: path, env, timeout: 60_000 })
  running.child.stdin?.end()
  const { stdout, stderr } = await running
  return stdout + stderr
}

/** Waits until `look` returns a value other than undefined and false, and returns it. `limit` is in milliseconds. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  limit = 20_000,
): Promise<T> {
  for (const end = Date.now() + limit; ; await new Promise((resolve) => setTimeout(resolve, 25))) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > end) throw new Error(`${limit} ms have passed, but this has not happened: ${what}`)
  }
}

function version(): string {
  return readJson<{ version: string }>(readFileSync(require.resolve("opencode-ai/package.json"), "utf8")).version
}

/** The entry of the plugin, with the setting for its frames. The plugin's own default is one conversation. */
function entry({ plugin = PLUGIN, frames = "sessions" }: ProjectOptions): unknown {
  if (plugin === null || frames === "conversation") return plugin
  const [path, options] = typeof plugin === "string" ? [plugin, {}] : plugin
  const calls = { in: "session", ...("calls" in options ? (options.calls as object) : undefined) }
  return [path, { ...options, calls }]
}

function configuration(modelUrl: string, options: ProjectOptions): object {
  const { wire = "chat", plugin, config } = options
  const model = { name: "Scripted", tool_call: true, limit: { context: 200_000, output: 8192 } }
  const provider = {
    npm: WIRES[wire],
    name: "Scripted",
    options: { baseURL: modelUrl, apiKey: "none" },
    // OpenCode gives models with this name the tool apply_patch instead of write and edit.
    models: { main: model, small: model, "gpt-5": model },
  }
  return {
    autoupdate: false,
    share: "disabled",
    model: "scripted/main",
    small_model: "scripted/small",
    enabled_providers: ["scripted"],
    provider: { scripted: provider },
    ...(plugin !== null && { plugin: [entry(options)] }),
    ...config,
  }
}

async function listening(child: ChildProcess, output: () => string): Promise<string> {
  try {
    return await until(
      "OpenCode listens",
      () => {
        if (child.exitCode !== null) throw new Error("OpenCode has ended")
        return /listening on (http:\S+)/.exec(output())?.[1]
      },
      60_000,
    )
  } catch (error) {
    child.kill("SIGKILL")
    throw new Error(`${String(error)}\n${output()}`, { cause: error })
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.on("exit", resolve))
  child.kill(signal)
  const force = setTimeout(() => child.kill("SIGKILL"), 5000)
  await gone
  clearTimeout(force)
}

// The real OpenCode, serving a project of its own from a folder of its own, with a scripted model and this plugin.

import { type ChildProcess, execFile, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { createOpencodeClient, type OpencodeClient } from "@opencode-ai/sdk"
import { readJson } from "./json.js"

/** The package of the AI SDK that speaks a wire format. */
export const WIRES = {
  chat: "@ai-sdk/openai-compatible",
  responses: "@ai-sdk/openai",
  anthropic: "@ai-sdk/anthropic",
} as const

/** What a project is set up with. */
export interface ProjectOptions {
  wire?: keyof typeof WIRES
  /** How the plugin stands in `opencode.json`; `null`: it does not. By default it is named by its path. */
  plugin?: string | [string, object] | null
  /** More of `opencode.json`. */
  config?: object
  /** Files of the project, by path. */
  files?: Record<string, string>
  /** More of the environment. */
  env?: Record<string, string>
}

/** A folder that OpenCode works in. */
export interface Project {
  /** The folder that the agent works on. */
  path: string
  /** Where the plugin keeps its stack. */
  stack: string
  env: Record<string, string | undefined>
}

/** An OpenCode that is running. */
export interface Server {
  client: OpencodeClient
  project: Project
  /** What it has printed so far: with `--print-logs`, its log. */
  output(): string
  /** Prompts a session, new unless one is given, and waits for the answer. */
  prompt(text: string, sessionID?: string): Promise<{ sessionID: string; text: string; error: unknown }>
  /** The process's signals. */
  kill(signal: NodeJS.Signals): Promise<void>
  stop(): Promise<void>
}

/** What OpenCode would otherwise fetch from outside, or do in the background. */
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

/** The plugin's file, as built. */
export const PLUGIN = require.resolve("opencode-callstack")

/** Makes a project in a folder of its own. */
export function makeProject(modelUrl: string, options: ProjectOptions = {}): Project {
  const folder = mkdtempSync(join(tmpdir(), "callstack-opencode-"))
  const path = join(folder, "project")
  const home = join(folder, "home")
  // A folder that has all that it depends on is not installed anew. The project finds this package as it would be
  // found beside OpenCode's own.
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

/** Runs `opencode run` in a project, and returns what it prints. */
export async function run({ path, env }: Project, ...words: string[]): Promise<string> {
  const running = promisify(execFile)(binary, ["run", ...words], { cwd: path, env, timeout: 60_000 })
  running.child.stdin?.end()
  const { stdout, stderr } = await running
  return stdout + stderr
}

/** Waits until something is so. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  limit = 20_000,
): Promise<T> {
  for (const end = Date.now() + limit; ; await new Promise((resolve) => setTimeout(resolve, 25))) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > end) throw new Error(`${limit} ms have passed without this: ${what}`)
  }
}

function version(): string {
  return readJson<{ version: string }>(readFileSync(require.resolve("opencode-ai/package.json"), "utf8")).version
}

function configuration(modelUrl: string, { wire = "chat", plugin, config }: ProjectOptions): object {
  const model = { name: "Scripted", tool_call: true, limit: { context: 200_000, output: 8192 } }
  const provider = {
    npm: WIRES[wire],
    name: "Scripted",
    options: { baseURL: modelUrl, apiKey: "none" },
    models: { main: model, small: model },
  }
  return {
    autoupdate: false,
    share: "disabled",
    model: "scripted/main",
    small_model: "scripted/small",
    enabled_providers: ["scripted"],
    provider: { scripted: provider },
    ...(plugin !== null && { plugin: [plugin ?? PLUGIN] }),
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

// The real OpenCode, serving a project of its own from a folder of its own, with a scripted model.

import { type ChildProcess, spawn } from "node:child_process"
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { createOpencodeClient, type OpencodeClient } from "@opencode-ai/sdk"

/** An OpenCode that is running. */
export interface Server {
  client: OpencodeClient
  /** The folder it works on. */
  project: string
  /** What it has printed so far. */
  output(): string
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
}

const require = createRequire(import.meta.url)
const opencode = dirname(require.resolve("opencode-ai/package.json"))

/** Starts OpenCode in `folder`, with a plugin's file in the project and the model at `modelUrl`. */
export async function startServer(folder: string, plugin: string, modelUrl: string): Promise<Server> {
  const project = join(folder, "project")
  const home = join(folder, "home")
  const plugins = join(project, ".opencode", "plugin")
  mkdirSync(plugins, { recursive: true })
  mkdirSync(home, { recursive: true })
  copyFileSync(plugin, join(plugins, basename(plugin)))
  // A folder that has all that it depends on is not installed anew. The project finds this package as it would be
  // found beside OpenCode's own.
  const manifest = { dependencies: { "@opencode-ai/plugin": version() } }
  for (const config of [join(project, ".opencode"), join(home, "config", "opencode")]) {
    mkdirSync(config, { recursive: true })
    writeFileSync(join(config, "package.json"), JSON.stringify(manifest))
    const lock = { name: "config", lockfileVersion: 3, requires: true, packages: { "": manifest } }
    writeFileSync(join(config, "package-lock.json"), JSON.stringify(lock))
  }
  symlinkSync(dirname(opencode), join(project, ".opencode", "node_modules"))
  mkdirSync(join(home, "config", "opencode", "node_modules"))
  writeFileSync(join(project, "opencode.json"), JSON.stringify(configuration(modelUrl)))

  const places = ["config", "data", "cache", "state"].map((name) => [`XDG_${name.toUpperCase()}_HOME`, join(home, name)])
  const env = { PATH: process.env["PATH"], LANG: "C.UTF-8", HOME: home, ...Object.fromEntries(places), ...QUIET }
  const arguments_ = ["serve", "--port", "0", "--hostname", "127.0.0.1", "--print-logs"]
  const child = spawn(join(opencode, "bin", "opencode.exe"), arguments_, { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  const read = (chunk: Buffer) => {
    output += chunk.toString()
  }
  child.stdout.on("data", read)
  child.stderr.on("data", read)
  const url = await listening(child, () => output)
  const client = createOpencodeClient({ baseUrl: url, directory: project })
  return { client, project, output: () => output, stop: () => stop(child) }
}

function version(): string {
  return (require("opencode-ai/package.json") as { version: string }).version
}

function configuration(modelUrl: string): object {
  const limit = { context: 200_000, output: 8192 }
  const model = { name: "Scripted", tool_call: true, limit }
  const provider = {
    npm: "@ai-sdk/openai-compatible",
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
  }
}

async function listening(child: ChildProcess, output: () => string): Promise<string> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    const url = /listening on (http:\S+)/.exec(output())?.[1]
    if (url !== undefined) return url
    if (child.exitCode !== null) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  child.kill("SIGKILL")
  throw new Error(`OpenCode does not listen:\n${output()}`)
}

async function stop(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.on("exit", resolve))
  child.kill("SIGTERM")
  const force = setTimeout(() => child.kill("SIGKILL"), 5000)
  await gone
  clearTimeout(force)
}

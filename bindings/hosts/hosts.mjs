// Real coding agents, started headless against a base URL, with one MCP server and a home of their own.
// Nothing leaves loopback. Install them next to this file or name the folder: NODE_MODULES=some/node_modules
//   npm i @anthropic-ai/claude-code @openai/codex @google/gemini-cli @qwen-code/qwen-code @mariozechner/pi-coding-agent @github/copilot opencode-ai
import { spawn } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"

const modules = path.resolve(process.env.NODE_MODULES ?? new URL("node_modules", import.meta.url).pathname)
export const bin = (name) => path.join(modules, ".bin", name)
const put = (file, value) => {
  fs.mkdirSync(path.dirname(file), { recursive: true })
  fs.writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value))
}

/** The version of an installed package. */
const version = (name) => JSON.parse(fs.readFileSync(path.join(modules, name, "package.json"), "utf8")).version
/** The scripted model, as OpenCode describes models. */
const SCRIPTED = { name: "Scripted", tool_call: true, limit: { context: 200_000, output: 8192 } }

/** Each host: the files of its home, its environment and its command line for a prompt. `mcp` is { command, args }, or undefined. */
export const hosts = {
  claude: {
    wire: "anthropic",
    shell: "Bash",
    input: (command) => ({ command }),
    setup: (w) =>
      put(path.join(w.home, "mcp.json"), {
        mcpServers: w.mcp ? { callstack: { ...w.mcp, type: "stdio", alwaysLoad: true } } : {},
      }),
    env: (w) => ({
      ANTHROPIC_BASE_URL: w.url,
      ANTHROPIC_API_KEY: "sk-none",
      CLAUDE_CONFIG_DIR: path.join(w.home, ".claude"),
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      ENABLE_TOOL_SEARCH: "false",
      ...(w.window ? { CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(w.window) } : {}),
    }),
    /** For a person at a terminal: answers what Claude Code asks at its first start. */
    greet: (w) =>
      put(path.join(w.home, ".claude/.claude.json"), {
        hasCompletedOnboarding: true,
        theme: "dark",
        customApiKeyResponses: { approved: ["sk-none"], rejected: [] },
        projects: { [w.project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
      }),
    interactive: (_, model = "claude-sonnet-4-5") => [bin("claude"), "--model", model, "--allowedTools=Bash"],
    run: (w, prompt) => [
      bin("claude"),
      "-p",
      prompt,
      "--model",
      "claude-sonnet-4-5",
      "--strict-mcp-config",
      "--mcp-config",
      path.join(w.home, "mcp.json"),
      "--allowedTools",
      "Bash",
      "mcp__callstack",
      ...(w.allowed ?? []),
      "--setting-sources",
      "project",
    ],
  },
  codex: {
    wire: "responses",
    shell: "exec_command",
    input: (cmd) => ({ cmd }),
    setup: (w) =>
      put(
        path.join(w.home, ".codex/config.toml"),
        `model = "gpt-5.1"\nmodel_provider = "scripted"\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${w.url}/v1"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\nrequest_max_retries = 0\n`.replace(
          /^/,
          w.window
            ? `model_context_window = ${w.window}\nmodel_auto_compact_token_limit = ${Math.round(w.window * 0.8)}\n`
            : "",
        ) +
          (w.mcp
            ? `[mcp_servers.callstack]\ncommand = ${JSON.stringify(w.mcp.command)}\nargs = ${JSON.stringify(w.mcp.args)}\n`
            : ""),
      ),
    env: (w) => ({ CODEX_HOME: path.join(w.home, ".codex"), SCRIPTED_KEY: "none" }),
    /** For a person at a terminal: the folder is trusted. */
    greet: (w) =>
      fs.appendFileSync(
        path.join(w.home, ".codex/config.toml"),
        `[projects.${JSON.stringify(w.project)}]\ntrust_level = "trusted"\n`,
      ),
    interactive: () => [bin("codex"), "--dangerously-bypass-approvals-and-sandbox"],
    run: (_, prompt) => [
      bin("codex"),
      "exec",
      "--skip-git-repo-check",
      "--dangerously-bypass-approvals-and-sandbox",
      prompt,
    ],
  },
  gemini: {
    wire: "gemini",
    shell: "run_shell_command",
    input: (command) => ({ command }),
    setup: (w) =>
      put(path.join(w.home, ".gemini/settings.json"), {
        security: { auth: { selectedType: "gemini-api-key" } },
        telemetry: { enabled: false },
        general: { disableAutoUpdate: true },
        ...(w.mcp ? { mcpServers: { callstack: { ...w.mcp, trust: true } } } : {}),
      }),
    env: (w) => ({ GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: w.url, GEMINI_CLI_HOME: w.home }),
    run: (_, prompt) => [
      bin("gemini"),
      "-m",
      "gemini-2.5-pro",
      "-p",
      prompt,
      "--approval-mode",
      "yolo",
      "--skip-trust",
    ],
  },
  qwen: {
    wire: "chat",
    shell: "run_shell_command",
    input: (command) => ({ command, is_background: false }),
    setup: (w) =>
      put(path.join(w.home, ".qwen/settings.json"), {
        tools: { exclude: ["tool_search"] },
        telemetry: { enabled: false },
        general: { disableAutoUpdate: true },
        ...(w.mcp ? { mcpServers: { callstack: { ...w.mcp, trust: true } } } : {}),
      }),
    env: (w) => ({ OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${w.url}/v1`, OPENAI_MODEL: "scripted" }),
    run: (_, prompt) => [bin("qwen"), "-p", prompt, "--auth-type", "openai", "--approval-mode", "yolo"],
  },
  pi: {
    wire: "anthropic",
    shell: "bash",
    input: (command) => ({ command }),
    noMcp: true, // pi has extensions instead of MCP
    extension: new URL("../pi", import.meta.url).pathname,
    setup: (w) =>
      put(path.join(w.home, ".pi/agent/models.json"), {
        providers: {
          scripted: {
            baseUrl: w.url,
            api: "anthropic-messages",
            apiKey: "none",
            models: [
              {
                id: "scripted",
                name: "scripted",
                reasoning: false,
                input: ["text"],
                contextWindow: 200000,
                maxTokens: 8000,
                cost: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
              },
            ],
          },
        },
      }),
    env: () => ({ PI_OFFLINE: "1" }),
    run: (w, prompt) => [
      bin("pi"),
      "--provider",
      "scripted",
      "--model",
      "scripted",
      ...(w.extension ? ["-e", w.extension] : []),
      "-p",
      prompt,
    ],
  },
  copilot: {
    wire: "chat",
    shell: "bash",
    input: (command) => ({ command, description: "run" }),
    setup: (w) =>
      put(path.join(w.home, ".copilot/mcp-config.json"), {
        mcpServers: w.mcp ? { callstack: { type: "local", tools: ["*"], ...w.mcp } } : {},
      }),
    env: (w) => ({
      COPILOT_PROVIDER_BASE_URL: `${w.url}/v1`,
      COPILOT_PROVIDER_API_KEY: "none",
      COPILOT_PROVIDER_TYPE: "openai",
      COPILOT_MODEL: "scripted",
      COPILOT_AUTO_UPDATE: "false",
      ...(w.window ? { COPILOT_PROVIDER_MAX_PROMPT_TOKENS: String(w.window) } : {}),
    }),
    run: (_, prompt) => [bin("copilot"), "-p", prompt, "--allow-all-tools"],
  },
  opencode: {
    wire: "chat",
    shell: "bash",
    input: (command) => ({ command, description: "run" }),
    noMcp: true, // its plugin is more than the server
    extension: new URL("../opencode/dist/index.js", import.meta.url).pathname,
    setup: (w) => {
      // OpenCode installs nothing into configuration folders that have all their packages.
      const manifest = { dependencies: { "@opencode-ai/plugin": version("opencode-ai") } }
      for (const folder of [path.join(w.project, ".opencode"), path.join(w.home, ".config/opencode")]) {
        put(path.join(folder, "package.json"), manifest)
        put(path.join(folder, "package-lock.json"), { lockfileVersion: 3, packages: { "": manifest } })
        fs.mkdirSync(path.join(folder, "node_modules"))
      }
      put(path.join(w.project, "opencode.json"), {
        autoupdate: false,
        share: "disabled",
        model: "scripted/main",
        small_model: "scripted/small",
        enabled_providers: ["scripted"],
        provider: {
          scripted: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${w.url}/v1`, apiKey: "none" },
            models: { main: SCRIPTED, small: SCRIPTED },
          },
        },
        ...(w.extension && { plugin: [w.extension] }),
      })
    },
    env: (w) => ({
      XDG_CONFIG_HOME: path.join(w.home, ".config"),
      XDG_DATA_HOME: path.join(w.home, ".local/share"),
      XDG_CACHE_HOME: path.join(w.home, ".cache"),
      XDG_STATE_HOME: path.join(w.home, ".local/state"),
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_SHARE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
      OPENCODE_DISABLE_CLAUDE_CODE: "1",
      OPENCODE_DISABLE_EMBEDDED_WEB_UI: "1",
      NO_COLOR: "1",
    }),
    run: (_, prompt) => [bin("opencode"), "run", prompt],
  },
}

/**
 * Makes the home and the project of a host in a world, whose `root` is a folder. Returns the working folder and the variables of its
 * process.
 */
export function prepare(name, w, files = {}, isSetUp = false) {
  Object.assign(w, { home: path.join(w.root, "home"), project: path.join(w.root, "project") })
  fs.mkdirSync(w.home, { recursive: true })
  fs.mkdirSync(w.project, { recursive: true })
  for (const [file, text] of Object.entries(files)) put(path.join(w.project, file), text)
  if (!isSetUp) hosts[name].setup(w)
  const own = { PATH: process.env.PATH, LANG: "C.UTF-8", TERM: "dumb", HOME: w.home, NO_PROXY: "127.0.0.1" }
  return { cwd: w.project, env: { ...own, ...hosts[name].env(w) } }
}

/**
 * Runs a host once and returns { code, out, ms, home, project }. `url` is the URL of the model, or of a proxy
 * in front of it. `wrapper` is placed before its command. `allowed` are more tools that Claude Code may use.
 * `given` are more arguments, `words` are the whole command instead of the host's, and `without` are options
 * that are left out. `search` is the PATH, and `environment` are more variables. `isSetUp`: the home has its
 * files. `window` is the length of conversation, in tokens, that Codex, Claude Code and Copilot CLI assume
 * for the model. `started` gets the number of the process.
 */
export async function run(
  name,
  {
    url,
    mcp,
    window,
    prompt = "Do the job.",
    extension,
    files = {},
    timeout = 300_000,
    world,
    wrapper = [],
    allowed,
    given = [],
    words: own,
    without = [],
    search,
    isSetUp = false,
    started,
    environment,
  },
) {
  const w = world ?? { root: fs.mkdtempSync(path.join(os.tmpdir(), `host-${name}-`)) }
  Object.assign(w, { url, window, allowed, mcp: hosts[name].noMcp ? undefined : mcp, extension })
  const { cwd, env } = prepare(name, w, files, isSetUp)
  const words = own ?? hosts[name].run(w, prompt)
  for (const [option, length] of without) words.splice(words.indexOf(option), length)
  const [command, ...args] = [...wrapper, ...words, ...given]
  const start = Date.now()
  const child = spawn(command, args, {
    cwd,
    env: { ...env, PATH: search ?? env.PATH, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  })
  started?.(child.pid)
  let out = ""
  child.stdout.on("data", (d) => {
    out += d
  })
  child.stderr.on("data", (d) => {
    out += d
  })
  const timer = setTimeout(() => {
    try {
      process.kill(-child.pid, "SIGKILL")
    } catch {
      // The process has ended.
    }
  }, timeout)
  const code = await new Promise((ok) => child.on("close", ok))
  clearTimeout(timer)
  return { code, out, ms: Date.now() - start, ...w }
}

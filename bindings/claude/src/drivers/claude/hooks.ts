// The hooks of a session: contexts for its requests, a guard for its tools, reports of what tools have done,
// and compaction.

import { isAbsolute, relative, resolve, sep } from "node:path"
import type {
  HookCallback,
  HookCallbackMatcher,
  HookEvent,
  HookInput,
  SyncHookJSONOutput,
} from "@anthropic-ai/claude-agent-sdk"
import { contextChanges } from "callstack-core"
import type { SessionLimits, SessionOwner } from "../../driver.js"
import { StartedAgents, startsAgent } from "./subagents.js"
import { PREFIX } from "./tools.js"

type Hooks = Partial<Record<HookEvent, HookCallbackMatcher[]>>
type InputOf<Name extends HookInput["hook_event_name"]> = Extract<HookInput, { hook_event_name: Name }>

/**
 * The tool that a session uses to give the requested summary. The SDK adds it to turns with a form of output.
 */
const OUTPUT_TOOL = "StructuredOutput"
/** The parameters of tools that name the file that the tools change. */
const PATHS = ["file_path", "notebook_path"]

/**
 * The contexts that a session has got in a turn. Unchanged parts are not sent again. The prompt of the turn
 * has the whole volatile part; later requests get only its changes. This is because the transcript keeps what
 * was told, and an older block cannot be removed. The next turn begins with the whole context, because a turn
 * that was cut off may have lost what it was told.
 */
export class SentContexts {
  readonly #owner: SessionOwner
  readonly #sessionID: string
  #stable: string | undefined
  #volatile: string | undefined

  constructor(owner: SessionOwner, sessionID: string) {
    this.#owner = owner
    this.#sessionID = sessionID
  }

  /** Returns the part of the context for the system prompt of a new turn. */
  system(): string {
    this.#stable = this.#owner.context(this.#sessionID)?.stable
    return this.#stable ?? ""
  }

  /**
   * Returns the news in the volatile part of the context, which is sent after the newest message; undefined
   * if there is no news.
   */
  news(): string | undefined {
    const volatile = this.#owner.context(this.#sessionID)?.volatile
    if (volatile === undefined) return undefined
    const news = this.#volatile === undefined ? volatile : contextChanges(this.#volatile, volatile)
    this.#volatile = volatile
    return news === "" ? undefined : news
  }

  /** Returns everything that a conversation needs after it has forgotten what it held. */
  afterCompaction(): string | undefined {
    const context = this.#owner.context(this.#sessionID)
    if (context === undefined) return undefined
    this.#volatile = context.volatile
    // The system prompt of a turn cannot be changed, so the newer form is sent in addition to it.
    if (context.stable === this.#stable) return context.volatile
    this.#stable = context.stable
    return `${context.stable}\n\n${context.volatile}`
  }
}

/** Returns the hooks of a session. They come before the hooks of the user of this library. */
export function sessionHooks(
  owner: SessionOwner,
  sessionID: string,
  sent: SentContexts,
  limits: SessionLimits,
  user: Hooks,
): Hooks {
  const agents = new StartedAgents()
  /** Reports the end of a subagent: its answer, or why it has failed. */
  const ended = async (agentID: string, answer: string, failed: boolean) => {
    const toolCallID = `${agentID}-end`
    await owner.report({ kind: "toolExecuted", sessionID, toolCallID, tool: "Agent", childID: agentID, answer, failed })
    return {}
  }
  const own: Hooks = {
    UserPromptSubmit: [hook("UserPromptSubmit", () => withContext("UserPromptSubmit", sent.news()))],
    // If a session has lost its host, every tool is refused, because the hook does not answer.
    PreToolUse: [
      {
        ...hook("PreToolUse", (input) => {
          const decision = guard(input, owner, sessionID, limits)
          const isDenied = decision.hookSpecificOutput !== undefined
          if (startsAgent(input.tool_name) && !isDenied) agents.start(input.tool_input)
          return decision
        }),
        onFailure: "block",
      },
    ],
    PostToolUse: [
      hook("PostToolUse", async (input) => {
        await reportTool(owner, input.agent_id ?? sessionID, input)
        if (!owner.isWorking(sessionID)) return OVER
        // A subagent has a context of its own. The news is for the frame's agent.
        return input.agent_id === undefined ? withContext("PostToolUse", sent.news()) : {}
      }),
    ],
    PostToolUseFailure: [
      hook("PostToolUseFailure", ({ agent_id }) => {
        if (!owner.isWorking(sessionID)) return OVER
        return agent_id === undefined ? withContext("PostToolUseFailure", sent.news()) : {}
      }),
    ],
    SubagentStart: [
      hook("SubagentStart", async ({ agent_id, agent_type }) => {
        for (const event of agents.begin(agent_id, agent_type, sessionID)) await owner.report(event)
        return withContext("SubagentStart", owner.context(agent_id)?.stable)
      }),
    ],
    SubagentStop: [
      hook("SubagentStop", ({ agent_id, last_assistant_message }) =>
        ended(agent_id, last_assistant_message ?? "", false),
      ),
    ],
    StopFailure: [
      hook("StopFailure", ({ agent_id, last_assistant_message, error }) =>
        agent_id === undefined ? {} : ended(agent_id, last_assistant_message ?? error, true),
      ),
    ],
    PreCompact: [
      hook("PreCompact", async () => {
        let systemMessage = ""
        await owner.report({ kind: "sessionCompacting", sessionID }, (text) => {
          systemMessage = text
        })
        return { systemMessage }
      }),
    ],
    SessionStart: [
      hook("SessionStart", ({ source }) => {
        if (source !== "compact") return {}
        return withContext("SessionStart", sent.afterCompaction())
      }),
    ],
    PostCompact: [
      hook("PostCompact", async ({ compact_summary: text }) => {
        const message = { id: `summary-${Date.now()}`, role: "assistant", text, summary: true }
        await owner.report({ kind: "sessionCompacted", sessionID, messages: [message] })
        return {}
      }),
    ],
  }
  return merged(own, user)
}

/** A hook for one kind of event. */
function hook<Name extends HookInput["hook_event_name"]>(
  name: Name,
  work: (input: InputOf<Name>) => SyncHookJSONOutput | Promise<SyncHookJSONOutput>,
): HookCallbackMatcher {
  const callback: HookCallback = async (input) => (isOf(input, name) ? work(input) : {})
  return { hooks: [callback] }
}

function isOf<Name extends HookInput["hook_event_name"]>(input: HookInput, name: Name): input is InputOf<Name> {
  return input.hook_event_name === name
}

/** The end of a turn. Words of the model after the end of its frame are not used, so this saves a request. */
const OVER: SyncHookJSONOutput = { continue: false, stopReason: "the frame has ended" }

type ContextEvent = "SubagentStart" | "UserPromptSubmit" | "PostToolUse" | "PostToolUseFailure" | "SessionStart"

function withContext(hookEventName: ContextEvent, additionalContext: string | undefined): SyncHookJSONOutput {
  return additionalContext === undefined ? {} : { hookSpecificOutput: { hookEventName, additionalContext } }
}

/**
 * Allows the tools of the stack. Refuses a tool that is not among those of the frame, every tool after the
 * end of the frame, and changes of files in the stack's folder.
 */
function guard(
  { tool_name: tool, tool_input: input, agent_id: agentID }: InputOf<"PreToolUse">,
  owner: SessionOwner,
  sessionID: string,
  { frame, tools }: SessionLimits,
): SyncHookJSONOutput {
  if (tool === OUTPUT_TOOL) return {}
  if (!owner.isWorking(sessionID)) return decided("deny", `frame ${frame} has ended: end your turn`)
  if (owner.tools.some(({ name }) => tool === PREFIX + name)) {
    // The tools do not learn which agent calls them: they would work in the frame of the session.
    return agentID === undefined
      ? decided("allow", "it is a tool of the stack")
      : decided("deny", "a subagent has no tools of the stack: end with your results, which become those of your frame")
  }
  if (!tools.some((name) => name === tool || tool.startsWith(`${name}__`))) {
    const own = tools.join(", ") || "those of the stack"
    return decided("deny", `frame ${frame} may not use ${tool}; its tools are ${own}`)
  }
  const path = tool === "Read" ? undefined : pathIn(input)
  if (path === undefined || !isInside(owner.folder, resolve(owner.directory, path))) return {}
  return decided("deny", `${owner.folder} belongs to the stack: use its tools`)
}

function decided(permissionDecision: "allow" | "deny", permissionDecisionReason: string): SyncHookJSONOutput {
  return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, permissionDecisionReason } }
}

/** Reports a tool that has succeeded, with its file. */
async function reportTool(
  owner: SessionOwner,
  sessionID: string,
  { tool_name: tool, tool_use_id: toolCallID, tool_input }: InputOf<"PostToolUse">,
): Promise<void> {
  const path = pathOf(owner.directory, tool_input)
  const { command } = typeof tool_input === "object" && tool_input !== null ? (tool_input as { command?: unknown }) : {}
  const run = tool === "Bash" && typeof command === "string" ? command : undefined
  await owner.report({ kind: "toolExecuted", sessionID, toolCallID, tool, path, command: run })
}

/**
 * Returns the file with which a tool was called: relative to the project's folder if the file is inside it.
 */
function pathOf(directory: string, input: unknown): string | undefined {
  const path = pathIn(input)
  return path !== undefined && isAbsolute(path) && isInside(directory, path) ? relative(directory, path) : path
}

function pathIn(input: unknown): string | undefined {
  const values = typeof input === "object" && input !== null ? (input as Record<string, unknown>) : {}
  return PATHS.map((name) => values[name]).find((value): value is string => typeof value === "string" && value !== "")
}

function isInside(folder: string, path: string): boolean {
  const inside = relative(folder, path)
  return !(inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside))
}

/**
 * Adds the hooks of the user of this library. If one of them fails before a tool call, the tool is refused.
 */
function merged(own: Hooks, user: Hooks): Hooks {
  const all: Hooks = { ...own }
  for (const [name, matchers = []] of Object.entries(user) as [HookEvent, HookCallbackMatcher[] | undefined][]) {
    const guarded =
      name === "PreToolUse" ? matchers.map((matcher) => ({ onFailure: "block" as const, ...matcher })) : matchers
    all[name] = [...(own[name] ?? []), ...guarded]
  }
  return all
}

// The options of the driver for the Claude Agent SDK, and what a session gets from them.

import type {
  HookCallbackMatcher,
  HookEvent,
  McpServerConfig,
  Options,
  PermissionMode,
  PermissionResult,
} from "@anthropic-ai/claude-agent-sdk"

/**
 * The request for permission when a session wants to use a tool that neither its permission mode nor its
 * rules allow.
 */
export interface PermissionRequest {
  /** The handle of the frame, such as `f3`. */
  frame: string
  /** A sentence that asks for the permission, if the SDK gives one. */
  title: string | undefined
  /** The file that the request is about, if there is one. */
  blockedPath: string | undefined
  /** The ID of the tool call. */
  toolUseID: string
  /** Aborted when the answer is not needed any more. */
  signal: AbortSignal
}

/** Decides on a permission. An exception counts as a refusal. */
export type CanUseTool = (
  tool: string,
  input: Record<string, unknown>,
  request: PermissionRequest,
) => Promise<PermissionResult>

/** Options of a {@link ClaudeDriver}. */
export interface ClaudeOptions {
  /**
   * The permission mode of all sessions. Default `"default"`: a question is asked for everything that the
   * rules do not allow.
   */
  permissionMode?: PermissionMode
  /** Decides on uses of tools that neither the mode nor `allowedTools` allow. Default: they are refused. */
  canUseTool?: CanUseTool
  /**
   * Tools that are allowed without a question, as rules of the SDK such as `Bash(npm test:*)`. Default: none.
   */
  allowedTools?: readonly string[]
  /**
   * Text before the context of each frame in the system prompt. `"claude_code"`: the system prompt of Claude
   * Code.
   */
  instructions?: string | "claude_code"
  /**
   * Further servers of tools. A session sees a server if the limits of its frame name one of its tools, as
   * `mcp__server__tool`, or the server, as `mcp__server`. A server inside this process (`type: "sdk"`) serves
   * one turn at a time: give a function that makes one for each turn.
   */
  mcpServers?: Readonly<Record<string, McpServerConfig | (() => McpServerConfig)>>
  /** Further hooks. A hook of PreToolUse that throws refuses the call. */
  hooks?: Partial<Record<HookEvent, HookCallbackMatcher[]>>
  /**
   * Environment variables of the sessions, in addition to those of this process. CLAUDE_CONFIG_DIR is ignored
   * here: the transcripts are read from the folder that the environment of this process names.
   */
  env?: Readonly<Record<string, string>>
  /** Which settings files are loaded, with the instructions in the same places. Default: none. */
  settingSources?: NonNullable<Options["settingSources"]>
  /** Further folders that the sessions may use. */
  additionalDirectories?: readonly string[]
  /** The program of the SDK's sessions. Default: the program that is part of the SDK. */
  pathToClaudeCodeExecutable?: string
  /**
   * After how many milliseconds without any word from the model, while no tool runs, the turn is interrupted
   * and repeated, at most twice. 0: never. Default 180,000.
   */
  silenceTimeout?: number
}

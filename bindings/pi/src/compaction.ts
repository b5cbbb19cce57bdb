// Compactions: the summary is asked for with what the frame needs, and of the folded conversation.

import {
  compact,
  type ExtensionAPI,
  type ExtensionContext,
  type SessionBeforeCompactEvent,
} from "@mariozechner/pi-coding-agent"
import type { Context } from "./context.js"
import type { Host } from "./host.js"

type Summary = Awaited<ReturnType<typeof compact>>

/** What pi takes from an extension. */
export interface SessionBeforeCompactResult {
  compaction?: Summary
}

/** Makes the summary with pi's own request. */
export async function summarize(
  pi: ExtensionAPI,
  host: Host,
  context: Context,
  { preparation, branchEntries, customInstructions, signal }: SessionBeforeCompactEvent,
  { model, modelRegistry }: ExtensionContext,
): Promise<Summary | undefined> {
  // pi can end meanwhile; then it says no more.
  const level = pi.getThinkingLevel()
  const prompts: string[] = customInstructions === undefined ? [] : [customInstructions]
  await host.engine.report({ kind: "sessionCompacting", sessionID: host.sessionID }, (text) => prompts.push(text))
  if (model === undefined) return undefined
  const auth = await modelRegistry.getApiKeyAndHeaders(model)
  if (!auth.ok) return undefined
  // pi asks for the beginning of a long turn apart, without instructions.
  const all = [...preparation.messagesToSummarize, ...preparation.turnPrefixMessages]
  const whole = { messagesToSummarize: context.fold(all), turnPrefixMessages: [], isSplitTurn: false }
  // pi does not read what it has kept of files in a summary that an extension has returned.
  const before = branchEntries.findLast((entry) => entry.type === "compaction")
  addFiles(preparation.fileOps, before?.details)
  const { apiKey = "", headers } = auth
  const instructions = prompts.join("\n\n")
  try {
    return await compact({ ...preparation, ...whole }, model, apiKey, headers, instructions, signal, level)
  } catch (error) {
    // pi says so itself.
    if (signal.aborted) return undefined
    throw error
  }
}

/** Adds the files of the summary before. */
function addFiles({ read, edited }: { read: Set<string>; edited: Set<string> }, details: unknown): void {
  const { readFiles, modifiedFiles } = (details ?? {}) as { readFiles?: unknown; modifiedFiles?: unknown }
  for (const [known, files] of [
    [read, readFiles],
    [edited, modifiedFiles],
  ] as const) {
    if (Array.isArray(files)) for (const file of files) known.add(String(file))
  }
}

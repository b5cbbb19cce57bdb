// Compactions: the request for the summary has what the frame needs, and uses the folded conversation.

import {
  compact,
  type ExtensionAPI,
  type ExtensionContext,
  type SessionBeforeCompactEvent,
} from "@mariozechner/pi-coding-agent"
import type { Context } from "./context.js"
import type { Host } from "./host.js"

type Summary = Awaited<ReturnType<typeof compact>>

/** The answer that pi takes from an extension. */
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
  // pi can end meanwhile; then it does not answer any more.
  const level = pi.getThinkingLevel()
  const prompts: string[] = customInstructions === undefined ? [] : [customInstructions]
  await host.engine.report({ kind: "sessionCompacting", sessionID: host.sessionID }, (text) => prompts.push(text))
  if (model === undefined) return undefined
  const auth = await modelRegistry.getApiKeyAndHeaders(model)
  if (!auth.ok) return undefined
  // pi asks for the beginning of a long turn separately, without instructions.
  const all = [...preparation.messagesToSummarize, ...preparation.turnPrefixMessages]
  const whole = { messagesToSummarize: context.fold(all), turnPrefixMessages: [], isSplitTurn: false }
  // If an extension has returned a summary, pi does not read the data about files that it has kept in it.
  const before = branchEntries.findLast((entry) => entry.type === "compaction")
  addFiles(preparation.fileOps, before?.details)
  const { apiKey = "", headers } = auth
  const instructions = prompts.join("\n\n")
  try {
    return await compact({ ...preparation, ...whole }, model, apiKey, headers, instructions, signal, level)
  } catch (error) {
    // pi reports the abort itself.
    if (signal.aborted) return undefined
    throw error
  }
}

/** Adds the files of the previous summary. */
function addFiles({ read, edited }: { read: Set<string>; edited: Set<string> }, details: unknown): void {
  const { readFiles, modifiedFiles } = (details ?? {}) as { readFiles?: unknown; modifiedFiles?: unknown }
  for (const [known, files] of [
    [read, readFiles],
    [edited, modifiedFiles],
  ] as const) {
    if (Array.isArray(files)) for (const file of files) known.add(String(file))
  }
}

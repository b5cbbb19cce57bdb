// How turns end: their words, or an error that says what to do.

import type { SDKAssistantMessageError, SDKResultMessage } from "@anthropic-ai/claude-agent-sdk"
import { SessionError } from "../../driver.js"
import type { TurnResult } from "./turn.js"

/** A turn that has ended, with the last words of its process's standard error. */
export type EndedTurn = TurnResult & { errors: string }

/** The reason of the end of a turn that another actor has ended. */
export const STOPPED = "the session was stopped"

/** The errors of the API that concern the account: no session can continue. */
const ACCOUNT_ERRORS: readonly (SDKAssistantMessageError | undefined)[] = [
  "authentication_failed",
  "oauth_org_not_allowed",
  "account_on_hold",
  "verification_required",
  "billing_error",
  "cloud_credential_error",
]

/** @throws SessionError if a turn has ended with an error. */
export function checkEnd(turn: EndedTurn): void {
  const { result, error, interruption, errors } = turn
  if (isRefused(turn)) throw new SessionError(refusalOf(turn), { isFatal: true, cause: error })
  // The frame of the turn has ended before: its results count.
  if (interruption === "over") return
  if (interruption === "silence")
    throw new SessionError("the model was silent too often; its connection or its provider may be down")
  if (result === undefined)
    throw new SessionError(withErrors(messageOf(error) ?? "the session ended without a result", errors), {
      cause: error,
    })
  if (!result.is_error && result.subtype === "success") return
  throw new SessionError(withErrors(problemOf(result), errors), { cause: error })
}

/** True if the API refuses the key or the account, so that no session can continue. */
export function isRefused(turn: TurnResult): boolean {
  if (turn.interruption === "refused") return true
  const status = statusOf(turn)
  if (status === 401) return true
  // The SDK calls each 403 a failed authentication. The API may have refused a model or a region, which
  // concerns only this session.
  if (status === 403) return isAboutAccount(wordsOf(turn.result))
  const isError = turn.result?.subtype === "success" && turn.result.is_error
  return isError && ACCOUNT_ERRORS.includes(turn.apiError)
}

function refusalOf(turn: TurnResult): string {
  const words = wordsOf(turn.result)
  const status = statusOf(turn)
  const isKey = turn.interruption === "refused" || status === 401
  if (isKey) return "the API refuses the key: set ANTHROPIC_API_KEY to a valid one, or log in with `claude login`"
  if (/not logged in/i.test(words)) return "there is no key: set ANTHROPIC_API_KEY, or log in with `claude login`"
  return `the API refuses the key or the account: ${words}`
}

/** The status of the API's last error. */
function statusOf({ result }: TurnResult): number | undefined {
  return result?.subtype === "success" ? (result.api_error_status ?? undefined) : undefined
}

function isAboutAccount(words: string): boolean {
  return /\b(key|account)\b/i.test(words) && !/\b(model|region|country)\b/i.test(words)
}

/**
 * The words of a result, in one line. The words of the SDK before those of the API are only a guess and are
 * left out.
 */
function wordsOf(result: SDKResultMessage | undefined): string {
  if (result?.subtype !== "success") return ""
  return result.result.replace(/\s*\n\s*/g, " ").replace(/^Failed to authenticate\. (?=API Error: 403)/, "")
}

function problemOf(result: SDKResultMessage): string {
  switch (result.subtype) {
    case "success":
      return wordsOf(result)
    case "error_max_turns":
      return `${result.errors.join("; ")}; a frame that resumes gets as many again`
    case "error_max_budget_usd":
      return `its budget is spent: ${result.errors.join("; ")}`
    case "error_during_execution":
      return result.terminal_reason?.startsWith("aborted") ? STOPPED : result.errors.join("; ")
    default:
      return result.errors.join("; ")
  }
}

function withErrors(message: string, errors: string): string {
  const words = errors.trim().split("\n").at(-1) ?? ""
  return words === "" ? message : `${message} (${words})`
}

function messageOf(error: unknown): string | undefined {
  return error instanceof Error ? error.message : undefined
}

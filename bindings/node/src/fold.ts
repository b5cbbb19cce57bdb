// Folding: takes the stretches of finished frames out of a request to a model. It needs no stack.

import type { FoldReport, FoldSettings, Wire } from "./generated/types.js"
import { readJson, writeJson } from "./json.js"
import { Native } from "./native.js"

/**
 * Folds a request to a model: takes the stretches of finished frames out of it. In a host whose agent works
 * on all its frames in one conversation, a pushed and popped frame is then a call and its return. The answer
 * of the push becomes what the frame has returned, and everything from there to the answer of the pop is
 * removed. What is not folded keeps its bytes. The result depends on the arguments only; what cannot be
 * understood comes back as it is.
 *
 * ```js
 * const { request, report } = fold("anthropic", body)
 * ```
 *
 * @param request - The body of the request, or for `opencode` and `pi` the list of messages, as JSON.
 * @throws `setting` for an unknown wire or a name that cannot be one, `json` for settings with an unknown key
 * or a wrong type.
 */
export function fold(wire: Wire, request: string, settings?: FoldSettings): { request: string; report: FoldReport } {
  const [folded, report] = Native.get().twoTexts("fold", wire, request, writeJson(settings))
  return { request: folded, report: readJson(report) }
}

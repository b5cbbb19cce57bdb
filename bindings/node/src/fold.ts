// Folding: a request to a model without what its finished frames have said. It needs no stack.

import { readJson, writeJson } from "./json.js"
import { Native } from "./native.js"
import type { FoldReport, FoldSettings, Wire } from "./types.js"

/**
 * Returns a request to a model without what its finished frames have said. In a host whose agent works on all its frames in one
 * conversation, that conversation is then as the stack is: a pushed and popped frame is a call and its return. The answer of the
 * push becomes what the frame has returned, and everything from there to the answer of the pop is gone. What is not folded keeps
 * its bytes. The result depends on the arguments alone; what cannot be understood comes back as it is.
 *
 * ```js
 * const { request, report } = fold("anthropic", body)
 * ```
 *
 * @param request - The body of the request, or for `opencode` and `pi` the list of messages, as JSON.
 * @throws `setting` for an unknown wire or a name that cannot be one, `json` for settings with an unknown key or a wrong type.
 */
export function fold(wire: Wire, request: string, settings?: FoldSettings): { request: string; report: FoldReport } {
  const [folded, report] = Native.get().twoTexts("fold", undefined, wire, request, writeJson(settings))
  return { request: folded, report: readJson(report) }
}

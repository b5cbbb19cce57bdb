// Folds a request to a model: takes the stretches of finished frames out of it.
//
//     node fold.ts anthropic < request.json > folded.json
//
// The request is read from the standard input; what was folded goes to the standard error.

import { readFileSync } from "node:fs"
import { CallstackError, fold, type Wire } from "callstack-core"

try {
  const wire = (process.argv[2] ?? "") as Wire
  const { request, report } = fold(wire, readFileSync(0, "utf8"))
  for (const { frame, status, items, bytes, tokens } of report.stretches) {
    console.error(`${frame} (${status}): ${items} items, ${bytes} bytes, ${tokens} tokens are gone`)
  }
  for (const { turns, tokens } of report.turns) console.error(`${turns} turns: ${tokens} tokens are gone`)
  process.stdout.write(request)
} catch (error) {
  if (!(error instanceof CallstackError)) throw error
  console.error(`fold: ${error.message}`)
  process.exitCode = 1
}

// Gives the driver `sdk.ts` instead of the Claude Agent SDK. Loaded by `--import`, before all other modules.

import { register } from "node:module"

const hooks = `
export function resolve(specifier, context, next) {
  const isDriver = /\\/drivers\\/claude\\/index\\.js$/.test(context.parentURL ?? "")
  if (!isDriver || specifier !== "@anthropic-ai/claude-agent-sdk") return next(specifier, context)
  return { url: ${JSON.stringify(new URL("./sdk.js", import.meta.url).href)}, shortCircuit: true }
}
`

register(`data:text/javascript,${encodeURIComponent(hooks)}`)

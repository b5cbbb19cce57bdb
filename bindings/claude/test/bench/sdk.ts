// The Claude Agent SDK as the measured driver sees it: the same SDK, with the addition that the probe learns
// when it is called and how long handlers of messages and hooks take.

import {
  type HookCallback,
  type Options,
  type Query,
  query as realQuery,
  type SDKMessage,
} from "@anthropic-ai/claude-agent-sdk"
import { probe } from "./probe.js"

export * from "@anthropic-ai/claude-agent-sdk"

/** A query whose messages and hooks are timed. */
export function query({ prompt, options = {} }: Parameters<typeof realQuery>[0]): Query {
  const session = options.sessionId ?? options.resume ?? ""
  probe.markSession(session, "queried")
  const changed = { ...options, ...timedHooks(session, options.hooks) }
  // Other frames of this process wait while the SDK starts a session.
  const real = probe.without(() => realQuery({ prompt, options: changed }))
  const messages = timedMessages(session, real)
  return new Proxy(real, {
    get(target, name) {
      if (name === Symbol.asyncIterator) return () => messages
      const value: unknown = Reflect.get(target, name)
      return typeof value === "function" ? value.bind(target) : value
    },
  })
}

async function* timedMessages(session: string, messages: AsyncIterable<SDKMessage>): AsyncGenerator<SDKMessage> {
  for await (const message of messages) {
    if (message.type === "stream_event" && message.event.type === "message_start") probe.nextRequest(session)
    if (message.type === "result") probe.markSession(session, "result")
    const begun = probe.now()
    // The reader handles the message, then asks for the next message.
    yield message
    probe.worked(session, begun)
  }
  probe.nextRequest(session)
  probe.markSession(session, "ended")
}

function timedHooks(session: string, hooks: Options["hooks"]): Pick<Options, "hooks"> {
  if (hooks === undefined) return {}
  const timed =
    (callback: HookCallback): HookCallback =>
    async (...values) => {
      const begun = probe.now()
      try {
        return await callback(...values)
      } finally {
        probe.worked(session, begun, true)
      }
    }
  const entries = Object.entries(hooks).map(([name, matchers]) => [
    name,
    matchers.map((matcher) => ({ ...matcher, hooks: matcher.hooks.map(timed) })),
  ])
  return { hooks: Object.fromEntries(entries) as NonNullable<Options["hooks"]> }
}

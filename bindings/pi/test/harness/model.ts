// A scripted model on the loopback, and scripts for it. Everything else in these tests is real.

import type * as Models from "../../../hosts/model.mjs"

export type { Item, Model, Reply, Request } from "../../../hosts/model.mjs"

const hosts = new URL("../../../../hosts/model.mjs", import.meta.url)
const { startModel: start } = (await import(hosts.href)) as typeof Models

/** A turn of a script. */
export type Turn = Models.Reply | ((request: Models.Request) => Models.Reply)

/** Starts a model that answers the requests of agents with turns, one after the other. Requests for summaries have no tools. */
export function startModel(
  turns: readonly Turn[],
  summary: Turn = { text: "A summary of the work so far" },
): Promise<Models.Model> {
  const left = [...turns]
  return start((request) => {
    const turn = request.tools.length === 0 ? summary : (left.shift() ?? { text: "Done." })
    return typeof turn === "function" ? turn(request) : turn
  })
}

/** Returns a turn with one call of a tool. */
export function call(name: string, args: object = {}): Models.Reply {
  return { calls: [{ name, args }] }
}

/** Returns a turn that begins a frame. */
export function push(title: string): Models.Reply {
  return call("stack_frame_push", {
    title,
    successCriteria: `${title} works`,
    successCriteriaCompacted: `${title} works`,
  })
}

/** Returns a turn that finishes the frame in which the conversation is. */
export function pop(results: string, status = "completed"): Models.Reply {
  return call("stack_frame_pop", { status, results, resultsCompacted: results })
}

/** Returns the texts of a request that an agent reads, in their order, without calls. */
export function texts({ items }: Models.Request): string {
  return items.map(({ text = "" }) => text).join("\n")
}

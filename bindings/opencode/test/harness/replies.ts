// Sends replies in the three wire formats as server-sent events.

import type { ServerResponse } from "node:http"
import type { Charge, Reply, ToolCall } from "./model.js"

interface Call extends ToolCall {
  id: string
}

/** The charge of a reply that does not name a charge. */
const CHARGE: Charge = { uncachedInput: 100, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 }

/** Sends a reply in the format that belongs to the path. Returns what it charges; undefined if it is an error. */
export function send(
  response: ServerResponse,
  path: string,
  model: string,
  reply: Reply,
  number: number,
): Charge | undefined {
  if (reply.status !== undefined) {
    response.writeHead(reply.status, { "content-type": "application/json", "retry-after-ms": "1" })
    response.end(JSON.stringify({ error: { message: reply.text ?? "no reason was given", type: "scripted" } }))
    return undefined
  }
  const calls = (reply.calls ?? []).map((call, index) => ({ ...call, id: `call_${number}_${index}` }))
  const charge = { ...CHARGE, ...reply.charge }
  const sent: Sent = { model, number, text: reply.text ?? "", calls, charge }
  response.writeHead(200, { "content-type": "text/event-stream" })
  if (path.endsWith("/responses")) responses(response, sent)
  else if (path.endsWith("/messages")) anthropic(response, sent)
  else chat(response, sent)
  response.end()
  return charge
}

interface Sent {
  model: string
  number: number
  text: string
  calls: Call[]
  charge: Charge
}

/** The tokens of prompt and answer, as OpenAI counts them: they include cached tokens and reasoning. */
function sums({ uncachedInput, cacheRead, cacheWrite, output, reasoning }: Charge): { prompt: number; answer: number } {
  return { prompt: uncachedInput + cacheRead + cacheWrite, answer: output + reasoning }
}

function chat(response: ServerResponse, { model, number, text, calls, charge }: Sent): void {
  const { prompt, answer } = sums(charge)
  const chunk = (fields: object) =>
    response.write(
      `data: ${JSON.stringify({ id: `reply_${number}`, object: "chat.completion.chunk", created: 0, model, ...fields })}\n\n`,
    )
  const delta = (delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason }] })
  const tool_calls = calls.map((call, index) => ({
    index,
    id: call.id,
    type: "function",
    function: { name: call.tool, arguments: JSON.stringify(call.arguments) },
  }))
  delta({ role: "assistant", content: text, ...(calls.length > 0 && { tool_calls }) })
  delta({}, calls.length > 0 ? "tool_calls" : "stop")
  const usage = {
    prompt_tokens: prompt,
    prompt_tokens_details: { cached_tokens: charge.cacheRead },
    completion_tokens: answer,
    completion_tokens_details: { reasoning_tokens: charge.reasoning },
    total_tokens: prompt + answer,
  }
  chunk({ choices: [], usage })
  response.write("data: [DONE]\n\n")
}

function responses(response: ServerResponse, { model, number, text, calls, charge }: Sent): void {
  const { prompt, answer } = sums(charge)
  let sequence_number = 0
  const event = (type: string, fields: object) =>
    response.write(
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence_number++, ...fields })}\n\n`,
    )
  const base = { id: `resp_${number}`, object: "response", created_at: 0, model, status: "in_progress", output: [] }
  const output: object[] = []
  event("response.created", { response: base })
  if (text !== "") {
    const item = {
      id: `msg_${number}`,
      type: "message",
      role: "assistant",
      status: "in_progress",
      content: [] as object[],
    }
    const place = { item_id: item.id, output_index: 0, content_index: 0 }
    const part = { type: "output_text", text, annotations: [] }
    event("response.output_item.added", { output_index: 0, item })
    event("response.content_part.added", { ...place, part: { ...part, text: "" } })
    event("response.output_text.delta", { ...place, delta: text, logprobs: [] })
    event("response.output_text.done", { ...place, text })
    const done = { ...item, status: "completed", content: [part] }
    event("response.output_item.done", { output_index: 0, item: done })
    output.push(done)
  }
  for (const call of calls) {
    const output_index = output.length
    const item = {
      id: `fc_${call.id}`,
      type: "function_call",
      call_id: call.id,
      name: call.tool,
      arguments: "",
      status: "in_progress",
    }
    const done = { ...item, arguments: JSON.stringify(call.arguments), status: "completed" }
    event("response.output_item.added", { output_index, item })
    event("response.function_call_arguments.delta", { item_id: item.id, output_index, delta: done.arguments })
    event("response.function_call_arguments.done", { item_id: item.id, output_index, arguments: done.arguments })
    event("response.output_item.done", { output_index, item: done })
    output.push(done)
  }
  const usage = {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: charge.cacheRead },
    output_tokens: answer,
    output_tokens_details: { reasoning_tokens: charge.reasoning },
    total_tokens: prompt + answer,
  }
  event("response.completed", { response: { ...base, status: "completed", output, usage } })
}

function anthropic(response: ServerResponse, { model, number, text, calls, charge }: Sent): void {
  const event = (type: string, fields: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
  const usage = {
    input_tokens: charge.uncachedInput,
    cache_read_input_tokens: charge.cacheRead,
    cache_creation_input_tokens: charge.cacheWrite,
    output_tokens: 1,
  }
  event("message_start", {
    message: {
      id: `msg_${number}`,
      type: "message",
      role: "assistant",
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    },
  })
  const blocks = [
    ...(text === "" ? [] : [{ block: { type: "text", text: "" }, delta: { type: "text_delta", text } }]),
    ...calls.map((call) => ({
      block: { type: "tool_use", id: call.id, name: call.tool, input: {} },
      delta: { type: "input_json_delta", partial_json: JSON.stringify(call.arguments) },
    })),
  ]
  blocks.forEach(({ block, delta }, index) => {
    event("content_block_start", { index, content_block: block })
    event("content_block_delta", { index, delta })
    event("content_block_stop", { index })
  })
  event("message_delta", {
    delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
    usage: { output_tokens: sums(charge).answer },
  })
  event("message_stop", {})
}

// Sends replies in the three wire formats as server-sent events.

import type { ServerResponse } from "node:http"
import type { Reply, ToolCall } from "./model.js"

interface Call extends ToolCall {
  id: string
}

/** Sends a reply in the format that belongs to the path. */
export function send(response: ServerResponse, path: string, model: string, reply: Reply, number: number): void {
  if (reply.status !== undefined) {
    response.writeHead(reply.status, { "content-type": "application/json" })
    response.end(JSON.stringify({ error: { message: reply.text ?? "no reason was given", type: "scripted" } }))
    return
  }
  const calls = (reply.calls ?? []).map((call, index) => ({ ...call, id: `call_${number}_${index}` }))
  const sent: Sent = { model, number, text: reply.text ?? "", calls, tokens: reply.tokens ?? 100 }
  response.writeHead(200, { "content-type": "text/event-stream" })
  if (path.endsWith("/responses")) responses(response, sent)
  else if (path.endsWith("/messages")) anthropic(response, sent)
  else chat(response, sent)
  response.end()
}

interface Sent {
  model: string
  number: number
  text: string
  calls: Call[]
  tokens: number
}

function chat(response: ServerResponse, { model, number, text, calls, tokens }: Sent): void {
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
  chunk({ choices: [], usage: { prompt_tokens: tokens, completion_tokens: 10, total_tokens: tokens + 10 } })
  response.write("data: [DONE]\n\n")
}

function responses(response: ServerResponse, { model, number, text, calls, tokens }: Sent): void {
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
    input_tokens: tokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: tokens + 10,
  }
  event("response.completed", { response: { ...base, status: "completed", output, usage } })
}

function anthropic(response: ServerResponse, { model, number, text, calls, tokens }: Sent): void {
  const event = (type: string, fields: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
  const usage = { input_tokens: tokens, output_tokens: 1 }
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
    usage: { output_tokens: 10 },
  })
  event("message_stop", {})
}

#!/usr/bin/env node
// A scripted model on loopback that speaks the wire formats of four providers, so that real agents run against it:
//   POST /v1/messages              Anthropic Messages (SSE or JSON; count_tokens)
//   POST /v1/responses             OpenAI Responses (SSE)
//   POST /v1/chat/completions      OpenAI Chat Completions (SSE or JSON)
//   POST …:generateContent, …:streamGenerateContent    Gemini
//
//   const model = await startModel((request) => request.results.length ? { text: "done" } : { calls: [{ name: "push", args: {} }] })
//   model.url, model.requests, model.bill(), await model.close()
//
// The script gets the same neutral request for each wire: { wire, session, system, tools, items, results,
// news, headers, body }.
//   items     the conversation in order: { role: "user" | "assistant" | "system", kind: "text" | "call" | "result" | "reasoning", text, id, name, args, isError }
//   results   the items that are results, with the name of their call
//   news      the results that no assistant item follows
// It answers { text, reasoning, calls: [{ name, args }] }, or { status, message } for an HTTP error. No answer means { text: "ok" }.
// A call may name a tool by its end: "push" finds "mcp__callstack__push". `wait: ms` delays the answer;
// `cut: n` cuts the connection after n pieces of it. A request that a provider would refuse (strict.mjs) is
// refused with 400, before the script sees it; `model.refused` says why.
//
// Every request is billed as its provider would: see Bill.
import http from "node:http"
import zlib from "node:zlib"
import { violations } from "./strict.mjs"

const sleep = (ms) => new Promise((done) => setTimeout(done, ms))
const textOf = (content) =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
      ? content
          .map((b) => b.text ?? b.output ?? (b.content === undefined ? "" : textOf(b.content)))
          .filter(Boolean)
          .join("\n")
      : content == null
        ? ""
        : JSON.stringify(content)

// ---- the content of each wire, as neutral items -----------------------------------------------------------
const readers = {
  anthropic(body) {
    const items = []
    for (const { role, content } of body.messages ?? [])
      for (const b of typeof content === "string" ? [{ type: "text", text: content }] : content)
        if (b.type === "tool_use") items.push({ role, kind: "call", id: b.id, name: b.name, args: b.input })
        else if (b.type === "tool_result")
          items.push({ role, kind: "result", id: b.tool_use_id, text: textOf(b.content), isError: b.is_error === true })
        else if (b.type === "thinking" || b.type === "redacted_thinking")
          items.push({ role, kind: "reasoning", text: b.thinking ?? "" })
        else items.push({ role, kind: "text", text: b.text ?? `[${b.type}]` })
    return { system: textOf(body.system ?? ""), tools: (body.tools ?? []).map((t) => t.name), items }
  },
  responses(body) {
    const items = (typeof body.input === "string" ? [{ role: "user", content: body.input }] : (body.input ?? [])).map(
      (i) =>
        i.type === "function_call"
          ? {
              role: "assistant",
              kind: "call",
              id: i.call_id,
              name: i.namespace ? `${i.namespace}${i.name}` : i.name,
              args: JSON.parse(i.arguments || "{}"),
            }
          : i.type === "custom_tool_call"
            ? { role: "assistant", kind: "call", id: i.call_id, name: i.name, args: i.input }
            : i.type === "function_call_output" || i.type === "custom_tool_call_output"
              ? { role: "user", kind: "result", id: i.call_id, text: textOf(i.output) }
              : i.type === "reasoning"
                ? { role: "assistant", kind: "reasoning", text: textOf(i.summary) }
                : {
                    role: i.role === "developer" ? "system" : (i.role ?? "system"),
                    kind: "text",
                    text: textOf(i.content ?? i),
                  },
    )
    const flat = (t) => (t.type === "namespace" ? t.tools.map((u) => `${t.name}${u.name}`) : [t.name ?? t.type])
    return { system: body.instructions ?? "", tools: (body.tools ?? []).flatMap(flat), items, flatTools: body.tools }
  },
  chat(body) {
    const items = []
    for (const m of body.messages ?? []) {
      if (m.role === "tool") {
        items.push({ role: "user", kind: "result", id: m.tool_call_id, text: textOf(m.content) })
        continue
      }
      if (m.role === "system" || m.role === "developer") {
        items.push({ role: "system", kind: "text", text: textOf(m.content) })
        continue
      }
      if (m.content) items.push({ role: m.role, kind: "text", text: textOf(m.content) })
      for (const c of m.tool_calls ?? [])
        items.push({
          role: "assistant",
          kind: "call",
          id: c.id,
          name: c.function.name,
          args: JSON.parse(c.function.arguments || "{}"),
        })
    }
    return {
      system: items
        .filter((i) => i.role === "system")
        .map((i) => i.text)
        .join("\n"),
      tools: (body.tools ?? []).map((t) => t.function?.name),
      items: items.filter((i) => i.role !== "system"),
    }
  },
  gemini(body) {
    const items = []
    let n = 0,
      open = []
    for (const { role, parts } of body.contents ?? [])
      for (const p of parts ?? [])
        if (p.functionCall) {
          const id = p.functionCall.id ?? `g${n++}`
          open.push({ id, name: p.functionCall.name })
          items.push({ role: "assistant", kind: "call", id, name: p.functionCall.name, args: p.functionCall.args })
        } else if (p.functionResponse) {
          const at = open.findIndex((o) => o.name === p.functionResponse.name)
          const [call] = at < 0 ? [{}] : open.splice(at, 1)
          items.push({
            role: "user",
            kind: "result",
            id: p.functionResponse.id ?? call.id,
            text: textOf(p.functionResponse.response?.output ?? p.functionResponse.response),
          })
        } else
          items.push({
            role: role === "model" ? "assistant" : "user",
            kind: p.thought ? "reasoning" : "text",
            text: p.text ?? "",
          })
    return {
      system: textOf(body.systemInstruction?.parts ?? ""),
      tools: (body.tools ?? []).flatMap((t) => t.functionDeclarations ?? []).map((f) => f.name),
      items,
    }
  },
}
const wireOf = (url) =>
  url.includes("/messages")
    ? "anthropic"
    : url.includes("/responses")
      ? "responses"
      : url.includes("/chat/completions")
        ? "chat"
        : /generatecontent/i.test(url)
          ? "gemini"
          : undefined
const sessionOf = (h, b) =>
  h["x-claude-code-session-id"] ??
  (h["x-codex-turn-metadata"] ? JSON.parse(h["x-codex-turn-metadata"]).thread_id : undefined) ??
  h["x-session-id"] ??
  b.prompt_cache_key

function parse(wire, url, headers, body) {
  const r = { wire, url, headers, body, session: sessionOf(headers, body), ...readers[wire](body) }
  const calls = new Map(r.items.filter((i) => i.kind === "call").map((i) => [i.id, i]))
  r.results = r.items
    .filter((i) => i.kind === "result")
    .map((i) => ({ ...i, name: calls.get(i.id)?.name, args: calls.get(i.id)?.args }))
  const last = r.items.findLastIndex((i) => i.role === "assistant")
  r.news = r.results.filter((x) => r.items.findIndex((i) => i.kind === "result" && i.id === x.id) > last)
  r.orphans = r.results
    .filter((x) => !x.name)
    .map((x) => x.id)
    .concat([...calls.keys()].filter((id) => !r.results.some((x) => x.id === id)))
  return r
}

// ---- the bill ----------------------------------------------------------------------------------------------------------
// A prompt is a list of blocks (tools, system, then the conversation), one after the other; a token is four characters of JSON.
//   Anthropic: a prefix is read from the cache only if it ends at a block that was a breakpoint
//   (cache_control) of an earlier request, or within 20 blocks before a breakpoint of this one. The blocks
//   after the prefix up to the last breakpoint are written (1.25 ×).
//   The others: the longest common prefix with any earlier request, in whole blocks, nothing below 1,024
//   tokens, no cost of writing.
export class Bill {
  constructor() {
    this.cached = new Set()
    this.rows = []
  }
  static blocks(wire, body) {
    const bare = (b) => JSON.stringify(b, (k, v) => (k === "cache_control" ? undefined : v))
    const one = (b) => ({ text: bare(b), mark: !!b?.cache_control })
    if (wire === "anthropic")
      return [
        ...(body.tools ?? []).map(one),
        ...(typeof body.system === "string" ? [one({ text: body.system })] : (body.system ?? []).map(one)),
        ...(body.messages ?? []).flatMap((m) =>
          typeof m.content === "string"
            ? [{ text: m.role + bare(m.content), mark: false }]
            : m.content.map((b) => ({ ...one(b), text: m.role + bare(b) })),
        ),
      ]
    if (wire === "responses")
      return [
        ...(body.tools ?? []),
        body.instructions ?? "",
        ...(Array.isArray(body.input) ? body.input : [body.input]),
      ].map(one)
    if (wire === "chat") return [...(body.tools ?? []), ...(body.messages ?? [])].map(one)
    return [...(body.tools ?? []), body.systemInstruction ?? "", ...(body.contents ?? [])].map(one)
  }
  add(wire, body, session) {
    const blocks = Bill.blocks(wire, body)
    let key = `${wire}:${body.model ?? ""}`
    const at = []
    let sum = 0
    for (const b of blocks) {
      key = hash(key + b.text)
      sum += b.text.length / 4
      at.push({ key, tokens: sum, mark: b.mark })
    }
    const total = Math.round(sum)
    let read = 0,
      write = 0
    if (wire === "anthropic") {
      const marks = at.map((a, i) => (a.mark ? i : -1)).filter((i) => i >= 0)
      for (const m of marks)
        for (let i = m; i >= Math.max(0, m - 20); i--)
          if (this.cached.has(at[i].key)) {
            read = Math.max(read, at[i].tokens)
            break
          }
      if (marks.length) write = Math.max(0, at[marks.at(-1)].tokens - read)
      for (const m of marks) this.cached.add(at[m].key)
    } else {
      for (const a of at)
        if (this.cached.has(a.key)) read = a.tokens
        else break
      if (read < 1024) read = 0
      for (const a of at) this.cached.add(a.key)
    }
    const row = {
      session,
      total,
      read: Math.round(read),
      write: Math.round(write),
      uncached: Math.round(total - read - write),
    }
    this.rows.push(row)
    return row
  }
  sum() {
    const s = { requests: this.rows.length, peak: 0, total: 0, read: 0, write: 0, uncached: 0 }
    for (const r of this.rows) {
      s.peak = Math.max(s.peak, r.total)
      for (const k of ["total", "read", "write", "uncached"]) s[k] += r[k]
    }
    return { ...s, cost: Math.round(s.uncached + 0.1 * s.read + 1.25 * s.write) }
  }
}
const hash = (s) => {
  let a = 0x811c9dc5,
    b = 5381
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i)
    a = Math.imul(a ^ c, 16777619)
    b = (Math.imul(b, 33) ^ c) | 0
  }
  return `${a >>> 0}.${b >>> 0}.${s.length}`
}

// ---- answers -----------------------------------------------------------------------------------------------------------
const full = (name, tools) =>
  tools.find((t) => t === name) ??
  tools.find((t) => t?.endsWith(`_${name}`) || t?.endsWith(`-${name}`)) ??
  tools.find((t) => t?.endsWith(`callstack${name}`)) ??
  name
function* slices(text, size = 80) {
  for (let i = 0; i < text.length; i += size) yield text.slice(i, i + size)
  if (!text) yield ""
}

/** The signature of the thought of an answer. */
const signatureOf = (n) => Buffer.from(`the thought of answer ${n}`).toString("base64")

const idOf = (call, n, place) => call.id ?? `call_${n}_${place}`

function write(wire, res, request, answer, n, bill) {
  const calls = (answer.calls ?? []).map((c, i) => ({
    id: idOf(c, n, i),
    name: full(c.name, request.tools),
    args: c.args ?? {},
  }))
  const out = Math.round(JSON.stringify([answer.text ?? "", calls]).length / 4)
  const sse = () => res.writeHead(200, { "content-type": "text/event-stream" })
  if (wire === "anthropic") {
    const usage = {
      input_tokens: bill.uncached,
      cache_read_input_tokens: bill.read,
      cache_creation_input_tokens: bill.write,
      output_tokens: out,
    }
    const content = []
    if (answer.reasoning) content.push({ type: "thinking", thinking: answer.reasoning, signature: signatureOf(n) })
    if (answer.text !== undefined || !calls.length) content.push({ type: "text", text: answer.text ?? "ok" })
    for (const c of calls) content.push({ type: "tool_use", id: c.id, name: c.name, input: c.args })
    const message = {
      id: `msg_${n}`,
      type: "message",
      role: "assistant",
      model: request.body.model,
      content,
      stop_reason: calls.length ? "tool_use" : "end_turn",
      stop_sequence: null,
      usage,
    }
    if (!request.body.stream) {
      res.setHeader("content-type", "application/json")
      return res.end(JSON.stringify(message))
    }
    sse()
    const ev = (type, d) => res.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...d })}\n\n`)
    ev("message_start", {
      message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    })
    content.forEach((b, index) => {
      const delta = (d) => ev("content_block_delta", { index, delta: d })
      if (b.type === "text") {
        ev("content_block_start", { index, content_block: { type: "text", text: "" } })
        for (const text of slices(b.text)) delta({ type: "text_delta", text })
      } else if (b.type === "thinking") {
        ev("content_block_start", { index, content_block: { type: "thinking", thinking: "", signature: "" } })
        delta({ type: "thinking_delta", thinking: b.thinking })
        delta({ type: "signature_delta", signature: b.signature })
      } else {
        ev("content_block_start", { index, content_block: { ...b, input: {} } })
        for (const partial_json of slices(JSON.stringify(b.input))) delta({ type: "input_json_delta", partial_json })
      }
      ev("content_block_stop", { index })
    })
    ev("message_delta", { delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage })
    ev("message_stop", {})
    return res.end()
  }
  if (wire === "responses") {
    sse()
    const ev = (type, d) => res.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...d })}\n\n`)
    const output = []
    if (answer.reasoning)
      output.push({
        type: "reasoning",
        id: `rs_${n}`,
        summary: [{ type: "summary_text", text: answer.reasoning }],
        encrypted_content: signatureOf(n),
      })
    if (answer.text !== undefined || !calls.length)
      output.push({
        type: "message",
        id: `m_${n}`,
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: answer.text ?? "ok", annotations: [] }],
      })
    for (const [i, c] of calls.entries()) {
      const space = (request.flatTools ?? []).find(
        (t) => t.type === "namespace" && t.tools.some((u) => t.name + u.name === c.name),
      )
      output.push({
        type: "function_call",
        id: `fc_${n}_${i}`,
        call_id: c.id,
        name: space ? c.name.slice(space.name.length) : c.name,
        ...(space ? { namespace: space.name } : {}),
        arguments: JSON.stringify(c.args),
        status: "completed",
      })
    }
    const usage = {
      input_tokens: bill.total,
      input_tokens_details: { cached_tokens: bill.read },
      output_tokens: out,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: bill.total + out,
    }
    ev("response.created", { response: { id: `r_${n}`, status: "in_progress", output: [] } })
    output.forEach((item, output_index) => {
      ev("response.output_item.added", {
        output_index,
        item: item.type === "message" ? { ...item, content: [] } : item,
      })
      if (item.type === "message")
        ev("response.output_text.delta", {
          item_id: item.id,
          output_index,
          content_index: 0,
          delta: item.content[0].text,
        })
      ev("response.output_item.done", { output_index, item })
    })
    ev("response.completed", { response: { id: `r_${n}`, status: "completed", output, usage } })
    return res.end()
  }
  if (wire === "chat") {
    const usage = {
      prompt_tokens: bill.total,
      completion_tokens: out,
      total_tokens: bill.total + out,
      prompt_tokens_details: { cached_tokens: bill.read },
    }
    const message = {
      role: "assistant",
      content: answer.text ?? (calls.length ? null : "ok"),
      ...(calls.length
        ? {
            tool_calls: calls.map((c, index) => ({
              index,
              id: c.id,
              type: "function",
              function: { name: c.name, arguments: JSON.stringify(c.args) },
            })),
          }
        : {}),
    }
    const head = { id: `c_${n}`, created: 1, model: request.body.model }
    const finish_reason = calls.length ? "tool_calls" : "stop"
    if (!request.body.stream) {
      res.setHeader("content-type", "application/json")
      return res.end(
        JSON.stringify({ ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage }),
      )
    }
    sse()
    const chunk = (d) => res.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...d })}\n\n`)
    chunk({ choices: [{ index: 0, delta: message, finish_reason: null }] })
    chunk({ choices: [{ index: 0, delta: {}, finish_reason }] })
    chunk({ choices: [], usage })
    res.write("data: [DONE]\n\n")
    return res.end()
  }
  const parts = [
    ...(answer.reasoning ? [{ text: answer.reasoning, thought: true }] : []),
    ...(answer.text !== undefined || !calls.length ? [{ text: answer.text ?? "ok" }] : []),
    ...calls.map((c, i) => ({
      functionCall: { id: c.id, name: c.name, args: c.args },
      ...(answer.reasoning && i === 0 ? { thoughtSignature: signatureOf(n) } : {}),
    })),
  ]
  const reply = {
    candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }],
    usageMetadata: {
      promptTokenCount: bill.total,
      cachedContentTokenCount: bill.read,
      candidatesTokenCount: out,
      totalTokenCount: bill.total + out,
    },
    modelVersion: "scripted",
  }
  if (request.url.toLowerCase().includes("stream")) {
    sse()
    res.write(`data: ${JSON.stringify(reply)}\n\n`)
    return res.end()
  }
  res.setHeader("content-type", "application/json")
  res.end(JSON.stringify(reply))
}

/**
 * Remembers the thoughts of an answer, and which calls have them: in Gemini the first call, elsewhere all
 * calls of one answer.
 */
function remember(said, wire, answer, n) {
  if (!answer.reasoning) return
  said.thoughts.set(signatureOf(n), answer.reasoning)
  const calls = wire === "gemini" ? (answer.calls ?? []).slice(0, 1) : (answer.calls ?? [])
  for (const [place, call] of calls.entries()) said.ofCall.set(idOf(call, n, place), signatureOf(n))
}

/** A writer of an answer that ends after some of its pieces: the connection is cut. */
function cutting(res, pieces) {
  const write = res.write.bind(res)
  let count = 0
  res.write = (data) => {
    count += 1
    if (count < pieces) write(data)
    if (count === pieces) write(data, () => res.destroy())
  }
  res.end = () => undefined
  return res
}

export async function startModel(script, { port = 0 } = {}) {
  const requests = [],
    refused = [],
    said = { thoughts: new Map(), ofCall: new Map() },
    bill = new Bill()
  let n = 0
  const server = http.createServer((req, res) => {
    const chunks = []
    req.on("data", (d) => chunks.push(d))
    req.on("end", async () => {
      let raw = Buffer.concat(chunks)
      const coding = req.headers["content-encoding"]
      try {
        if (coding === "zstd") raw = zlib.zstdDecompressSync(raw)
        else if (coding === "gzip") raw = zlib.gunzipSync(raw)
      } catch {
        res.writeHead(400)
        return res.end("cannot decode")
      }
      let body = {}
      try {
        body = JSON.parse(raw.toString() || "{}")
      } catch {
        res.writeHead(400)
        return res.end("no JSON")
      }
      const wire = wireOf(req.url)
      if (req.url.includes("count_tokens")) {
        res.setHeader("content-type", "application/json")
        return res.end(JSON.stringify({ input_tokens: Math.round(JSON.stringify(body).length / 4) }))
      }
      if (!wire || req.method !== "POST") {
        res.setHeader("content-type", "application/json")
        return res.end('{"data":[],"models":[],"object":"list"}')
      }
      let request, answer
      try {
        request = parse(wire, req.url, req.headers, body)
        request.raw = raw
        requests.push(request)
        const problems = violations(wire, body, said)
        if (problems.length > 0) {
          refused.push(...problems.map((problem) => `request ${requests.length}: ${problem}`))
          answer = { status: 400, message: problems.join("; ") }
        } else answer = (await script(request, requests.length)) ?? {}
      } catch (error) {
        answer = { status: 500, message: `the script failed: ${error.stack}` }
      }
      if (answer.wait) await sleep(answer.wait)
      if (answer.status) {
        res.writeHead(answer.status, { "content-type": "application/json", ...(answer.headers ?? {}) })
        return res.end(
          JSON.stringify({
            type: "error",
            error: { type: answer.type ?? "invalid_request_error", message: answer.message ?? "scripted" },
          }),
        )
      }
      request.bill = bill.add(wire, body, request.session)
      remember(said, wire, answer, ++n)
      write(wire, answer.cut ? cutting(res, answer.cut) : res, request, answer, n, request.bill)
    })
  })
  await new Promise((ok) => server.listen(port, "127.0.0.1", ok))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    refused,
    bill: () => bill.sum(),
    rows: bill.rows,
    close: () =>
      new Promise((ok) => {
        server.closeAllConnections?.()
        server.close(ok)
      }),
  }
}

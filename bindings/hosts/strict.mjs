// What providers refuse: the rules of each wire that a request must keep, even if its conversation was
// folded.

/**
 * The turns of a conversation: neighbouring messages of the same role are one turn, as providers treat them.
 */
function turns(messages, parts) {
  const all = []
  for (const message of messages) {
    if (all.at(-1)?.role !== message.role) all.push({ role: message.role, parts: [] })
    all.at(-1).parts.push(...parts(message))
  }
  return all
}

const same = (one, other) => one.length === other.length && one.every((item, place) => item === other[place])
const twice = (items) => items.filter((item, place) => items.indexOf(item) !== place)

const rules = {
  anthropic(body, said) {
    const problems = []
    const blocks = ({ content }) => (typeof content === "string" ? [{ type: "text", text: content }] : content)
    const all = turns(
      body.messages.filter(({ role }) => role !== "system"),
      blocks,
    )
    if (all[0]?.role !== "user" || all.at(-1)?.role !== "user") problems.push("it does not begin and end with the user")
    for (const [place, { role, parts }] of all.entries()) {
      const calls = parts.filter(({ type }) => type === "tool_use").map(({ id }) => id)
      const before = all[place - 1]?.parts.filter(({ type }) => type === "tool_use").map(({ id }) => id) ?? []
      const results = parts.filter(({ type }) => type === "tool_result").map(({ tool_use_id }) => tool_use_id)
      if (role === "user" && !same(before.toSorted(), results.toSorted()))
        problems.push(`results of [${results}] behind calls of [${before}]`)
      if (role === "user" && parts.slice(0, results.length).some(({ type }) => type !== "tool_result"))
        problems.push("results stand behind a text")
      if (role !== "assistant" && calls.length > 0) problems.push(`calls of the ${role}`)
      for (const { type, thinking, signature } of parts)
        if (type === "thinking" && said.thoughts.get(signature) !== thinking)
          problems.push(`a thought with the signature ${signature} is not the model's`)
    }
    const last = all.findLast(({ role }) => role === "assistant")?.parts ?? []
    for (const { type, id } of last)
      if (
        type === "tool_use" &&
        said.ofCall.has(id) &&
        !last.some(({ signature }) => signature === said.ofCall.get(id))
      )
        problems.push(`the newest call ${id} has lost its thought`)
    const marked = body.messages.map((message) => blocks(message).filter(({ cache_control }) => cache_control).length)
    const others = [...(body.tools ?? []), ...(Array.isArray(body.system) ? body.system : [])]
    const marks = marked.reduce((sum, count) => sum + count, others.filter(({ cache_control }) => cache_control).length)
    if (marks > 4) problems.push(`${marks} marks of the cache`)
    return problems
  },
  responses(body, said) {
    const problems = []
    const input = typeof body.input === "string" ? [] : body.input
    const ids = (type) => input.filter((item) => item.type === type).map(({ call_id }) => call_id)
    const [calls, outputs] = [ids("function_call"), ids("function_call_output")]
    if (!same(calls.toSorted(), outputs.toSorted())) problems.push(`outputs of [${outputs}] for calls of [${calls}]`)
    for (const [place, item] of input.entries()) {
      const isBefore = (call) =>
        input.slice(0, place).some((other) => other.type === "function_call" && other.call_id === call)
      if (item.type === "function_call_output" && !isBefore(item.call_id))
        problems.push(`${item.call_id} ends before it begins`)
      if (item.type === "reasoning") {
        const text = item.summary.map(({ text }) => text).join("")
        if (said.thoughts.get(item.encrypted_content) !== text) problems.push(`a thought is not the model's: ${text}`)
        const next = input[place + 1]
        const isAnswer = next?.type === "function_call" || (next?.type === "message" && next.role === "assistant")
        if (!isAnswer) problems.push(`a thought without what it led to: ${text}`)
      }
      if (item.type === "function_call" && said.ofCall.has(item.call_id)) {
        const answer = input.slice(0, place).findLast(({ type }) => type === "reasoning")
        if (answer?.encrypted_content !== said.ofCall.get(item.call_id))
          problems.push(`${item.call_id} has lost its thought`)
      }
    }
    return problems
  },
  chat(body) {
    const problems = []
    let open = []
    for (const { role, tool_calls, tool_call_id } of body.messages) {
      if (role === "tool") {
        if (!open.includes(tool_call_id)) problems.push(`a result of ${tool_call_id} behind calls of [${open}]`)
        open = open.filter((id) => id !== tool_call_id)
        continue
      }
      if (open.length > 0) problems.push(`a message of the ${role} before the results of [${open}]`)
      open = (tool_calls ?? []).map(({ id }) => id)
    }
    if (open.length > 0) problems.push(`no results of [${open}]`)
    return problems
  },
  gemini(body, said) {
    const problems = []
    const all = body.contents ?? []
    if (all[0]?.role !== "user") problems.push("it does not begin with the user")
    for (const [place, { role, parts }] of all.entries()) {
      const before = all[place - 1]?.parts ?? []
      const calls = before.filter(({ functionCall }) => functionCall).map(({ functionCall }) => functionCall.name)
      const answers = parts.filter(({ functionResponse }) => functionResponse).map((part) => part.functionResponse.name)
      if (!same(calls.toSorted(), answers.toSorted()))
        problems.push(`responses of [${answers}] behind calls of [${calls}]`)
      if (role === all[place - 1]?.role && calls.length + answers.length > 0) problems.push(`two turns of the ${role}`)
      for (const { functionCall, thoughtSignature } of parts)
        if (said.ofCall.has(functionCall?.id) && said.ofCall.get(functionCall.id) !== thoughtSignature)
          problems.push(`${functionCall.id} has lost its signature`)
    }
    return problems
  },
}

/**
 * The faults of a request for which a provider would refuse it.
 *
 * @param said - `thoughts`: the texts of the model's thoughts by their signatures; `ofCall`: the signatures
 * by the calls that have one.
 */
export function violations(wire, body, said) {
  const problems = rules[wire](body, said)
  const ids = {
    anthropic: () =>
      body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).map(({ id }) => id),
    responses: () =>
      (Array.isArray(body.input) ? body.input : [])
        .filter(({ type }) => type === "function_call")
        .map((i) => i.call_id),
    chat: () => body.messages.flatMap(({ tool_calls }) => tool_calls ?? []).map(({ id }) => id),
    gemini: () => (body.contents ?? []).flatMap(({ parts }) => parts).map(({ functionCall }) => functionCall?.id),
  }[wire]()
  return problems.concat(twice(ids.filter(Boolean)).map((id) => `${id} is there twice`))
}

// Changes of requests that pi has written for a provider.

type Fields = Record<string, unknown>

/**
 * Returns a value in which a text is replaced by another one, in all places within strings. Parts without the
 * text are not copied.
 */
export function replaceText<T>(value: T, before: string, now: string): T {
  if (typeof value === "string") return value.replaceAll(before, () => now) as T
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [key, replaceText(item, before, now)] as const)
  if (entries.every(([key, item]) => (value as Fields)[key] === item)) return value
  return (Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries)) as T
}

/**
 * Moves the mark of a prompt cache from the newest message to the message before it. pi marks the newest
 * message. If the next request does not have that message, nothing after the previous mark would ever be read
 * from the cache.
 *
 * @param text - The text of the newest message.
 */
export function markBefore(payload: unknown, text: string): void {
  const messages = isFields(payload) ? payload["messages"] : undefined
  if (!Array.isArray(messages)) return
  const [before, newest] = messages.slice(-2).map((message) => (isFields(message) ? message : undefined))
  const blocks = newest?.["content"]
  if (before === undefined || !Array.isArray(blocks) || !isFields(blocks[0]) || blocks[0]["text"] !== text) return
  const [own, point] = blocks
  if (own["cache_control"] !== undefined) {
    const place = messages.slice(0, -1).findLast(canBeMarked)
    if (place === undefined) return
    lastBlock(place)["cache_control"] = own["cache_control"]
    delete own["cache_control"]
  } else if (isFields(point) && "cachePoint" in point && Array.isArray(before["content"])) {
    // Bedrock has a separate block for the mark.
    before["content"].push(blocks.pop())
  }
}

/**
 * Whether a message has a text or another part that can have a mark. In Chat Completions, outcomes of tools
 * cannot have a mark.
 */
function canBeMarked(message: unknown): message is Fields {
  if (!(isFields(message) && ["user", "assistant"].includes(String(message["role"])))) return false
  const content = message["content"]
  return typeof content === "string" ? content !== "" : Array.isArray(content) && content.some(isMarkable)
}

/** The last block of a message that can have a mark. */
function lastBlock(message: Fields): Fields {
  const content = message["content"]
  const blocks = Array.isArray(content) ? content : [{ type: "text", text: content }]
  message["content"] = blocks
  return blocks.findLast(isMarkable)
}

function isMarkable(block: unknown): boolean {
  return isFields(block) && ["text", "image", "tool_result"].includes(String(block["type"]))
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null
}

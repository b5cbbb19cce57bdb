// @ts-check
// The panel with everything about the selected frame.
import {
  byId,
  cachedShare,
  count,
  duration,
  element,
  moment,
  money,
  nameOf,
  number,
  replaceContent,
  statusMark,
} from "./words.js"

/** @typedef {import("./model.js").Frame} Frame */
/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./model.js").Usage} Usage */

/** Texts with these names are lists. */
const LISTS = new Set(["Decision", "Artifact"])
/** The largest number of links to frames that need the selected one. */
const MOST_LINKS = 50

/**
 * @param {Model} model
 * @param {Frame | null} frame
 * @param {(frame: Frame) => void} select
 */
export function showDetails(model, frame, select) {
  const panel = byId("details", HTMLDivElement)
  const isOther = panel.dataset["frame"] !== frame?.handle
  panel.dataset["frame"] = frame?.handle
  if (!frame) {
    const text = model.frames.length === 0 ? "There are no frames yet." : "Choose a frame in the chart or in the list."
    replaceContent(panel, element("p", "empty", text))
    return
  }
  const state = element("p", "state")
  state.append(
    statusMark(frame.status),
    element("span", "", nameOf(frame.status)),
    element("span", "handle", frame.handle),
  )
  if (model.active === frame.number) state.append(element("span", "handle", "· active"))
  /** @type {HTMLElement[]} */
  const content = [state, element("p", "name", frame.title || "(no title)"), facts(model, frame)]
  if (frame.total.requests > 0) content.push(usageTable(model, frame))
  let name = ""
  for (const [kind, text] of frame.texts) {
    if (kind !== name) content.push(element("h3", "", LISTS.has(kind) ? `${kind}s` : kind))
    name = kind
    content.push(element("p", "text", LISTS.has(kind) ? `• ${text}` : text))
  }
  const others = links(model, "Needs", frame.dependencies, select)
  const further = frame.furtherDependencies
  if (further > 0) others.push(element("p", "cut", `and ${count(further, "further frame")}`))
  const neededBy = frame.neededBy.map((other) => other.number)
  const dependents = links(model, "Needed by", neededBy.slice(0, MOST_LINKS), select)
  const rest = neededBy.length - MOST_LINKS
  if (rest > 0) dependents.push(element("p", "cut", `and ${count(rest, "further frame")}`))
  const earlier = links(model, "Attempt after", frame.retryOf === null ? [] : [frame.retryOf], select)
  const above = links(model, "Below", frame.parent ? [frame.parent.number] : [], select)
  content.push(...others, ...dependents, ...earlier, ...above)
  if (frame.isCut) content.push(element("p", "cut", "Texts were cut to keep this page small. This shows them whole:"))
  content.push(command(frame))
  replaceContent(panel, ...content)
  if (isOther) panel.closest("section")?.scrollTo(0, 0)
}

/**
 * @param {Model} model
 * @param {Frame} frame
 */
function facts(model, frame) {
  const list = element("dl", "facts")
  /** @type {[string, string][]} */
  const rows = []
  if (frame.bar) {
    const { from, to, isOpen, blocked, older, blockedTime } = frame.bar
    rows.push(["Begun", moment(model.origin + from)])
    rows.push(isOpen ? ["Ended", "not yet"] : ["Ended", moment(model.origin + to)])
    rows.push(["Duration", duration(to - from)])
    if (blocked.length + older > 0) rows.push(["of it blocked", duration(blockedTime)])
    if (older > 0)
      rows.push(["Blocked", `${count(blocked.length + older, "time")}, the chart has the last ${blocked.length}`])
  } else {
    rows.push(["Begun", "never"])
  }
  if (model.hasPrices && frame.total.requests > 0) {
    rows.push(["Cost", money(frame.total.cost, frame.total.isComplete)])
  }
  if (frame.toldCost > 0) rows.push(["Cost as reported by hosts", `${money(frame.toldCost, true)} US dollars`])
  if (frame.limits) rows.push(["Limits", frame.limits])
  for (const [name, value] of rows) list.append(element("dt", "", name), element("dd", "", value))
  return list
}

/**
 * @param {Model} model
 * @param {Frame} frame
 */
function usageTable(model, frame) {
  const isLeaf = frame.own === frame.total
  const table = element("table")
  const head = table.createTHead().insertRow()
  const columns = isLeaf ? ["Tokens", "own"] : ["Tokens", "own", "with all below"]
  for (const column of columns) {
    const cell = element("th", "", column)
    cell.scope = "col"
    head.append(cell)
  }
  const body = table.createTBody()
  /** @param {string} name @param {(usage: Usage) => string} value */
  const row = (name, value) => {
    const line = body.insertRow()
    const label = element("th", "", name)
    label.scope = "row"
    line.append(label, element("td", "", value(frame.own)))
    if (!isLeaf) line.append(element("td", "", value(frame.total)))
  }
  row("all", (usage) => number(usage.tokens))
  row("uncached prompt", (usage) => number(usage.uncached))
  row("read from cache", (usage) => number(usage.cached))
  row("written to cache", (usage) => number(usage.written))
  row("cached share", cachedShare)
  row("output", (usage) => number(usage.output))
  row("reasoning", (usage) => number(usage.reasoning))
  row("requests", (usage) => `${number(usage.requests)}${usage.failed > 0 ? ` (${number(usage.failed)} failed)` : ""}`)
  if (model.hasPrices)
    row("cost", (usage) => money(usage.requests > 0 ? usage.cost : 0, usage.requests === 0 || usage.isComplete))
  return table
}

/**
 * Frames that a frame names, as buttons that select them.
 * @param {Model} model
 * @param {string} name
 * @param {number[]} numbers
 * @param {(frame: Frame) => void} select
 * @returns {HTMLElement[]}
 */
function links(model, name, numbers, select) {
  if (numbers.length === 0) return []
  const buttons = numbers.map((each) => {
    const frame = model.byNumber.get(each)
    const button = element("button", "link", `f${each} ${frame?.title ?? ""}`)
    button.type = "button"
    button.dataset["key"] = `f${each}`
    if (frame) button.addEventListener("click", () => select(frame))
    const line = element("p", "text")
    line.append(button)
    return line
  })
  return [element("h3", "", name), ...buttons]
}

/**
 * The command that shows everything about a frame.
 * @param {Frame} frame
 */
function command(frame) {
  const line = element("p", "command")
  const text = `callstack show ${frame.handle}`
  const copy = element("button", "", "Copy")
  copy.type = "button"
  copy.dataset["key"] = "copy"
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text)
      copy.textContent = "Copied"
    } catch {
      // Files may not use the clipboard everywhere. The text is selected instead.
      getSelection()?.selectAllChildren(code)
    }
  })
  const code = element("code", "", text)
  line.append(code, copy)
  return line
}

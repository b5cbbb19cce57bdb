// @ts-check
// The ten frames whose own requests cost most: in money if there are prices, else in tokens.
import { byId, element, money, number, replaceContent } from "./words.js"

/** @typedef {import("./model.js").Frame} Frame */
/** @typedef {import("./model.js").Model} Model */

/**
 * @param {Model} model
 * @param {(frame: Frame) => void} select
 */
export function showCostliest(model, select) {
  /** @param {Frame} frame */
  const size = (frame) => (model.hasPrices ? (frame.own.cost ?? 0) : frame.own.tokens)
  const frames = model.costliest
  const list = byId("costliest", HTMLDivElement)
  if (frames.length === 0) {
    replaceContent(list, element("p", "empty", "No request to a model was recorded."))
    return
  }
  const first = frames[0]
  const most = first ? size(first) : 1
  const table = element("table")
  const head = table.createTHead().insertRow()
  for (const column of ["Frame", model.hasPrices ? "Own cost" : "Own tokens"]) {
    const cell = element("th", "", column)
    cell.scope = "col"
    head.append(cell)
  }
  const body = table.createTBody()
  for (const frame of frames) {
    const row = body.insertRow()
    const button = element("button", "link", `${frame.handle} ${frame.title}`)
    button.type = "button"
    button.dataset["key"] = frame.handle
    button.addEventListener("click", () => select(frame))
    const amount = model.hasPrices ? money(frame.own.cost, frame.own.isComplete) : number(size(frame))
    const share = element("span", "bar")
    share.style.width = `${Math.max((100 * size(frame)) / most, 1)}%`
    const cell = row.insertCell()
    cell.append(button, share)
    row.append(element("td", "", amount))
  }
  replaceContent(list, table)
}

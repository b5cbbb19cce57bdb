// @ts-check
// Connects the parts of the page: what is selected, found and in view is the same in all of them.
import { drawAxis } from "./axis.js"
import { Chart } from "./chart.js"
import { showCostliest } from "./costliest.js"
import { showDetails } from "./details.js"
import { layOut } from "./layout.js"
import { follow } from "./live.js"
import { Model } from "./model.js"
import { Search } from "./search.js"
import { Strip } from "./strip.js"
import { Theme } from "./theme.js"
import { Tree } from "./tree.js"
import { byId, count, duration, element, money, nameOf, number, STATUSES, short, statusMark } from "./words.js"

/** @typedef {import("./layout.js").Mode} Mode */
/** @typedef {import("./model.js").Data} Data */
/** @typedef {import("./model.js").Frame} Frame */
/** @typedef {import("./model.js").Request} Request */
/** @typedef {import("./words.js").Status} Status */

class Page {
  /** @param {Data} data */
  constructor(data) {
    this.model = new Model(data)
    this.search = new Search()
    /** @type {Frame | null} */
    this.selected = null
    /** @type {Mode} */
    this.mode = "time"
    this.theme = new Theme(() => this.draw())
    this.strip = new Strip(this.model, this.theme)
    /** @type {Data[]} Changes that will be taken before the screen is drawn. */
    this.changes = []
    this.chart = new Chart(layOut(this.model, this.mode), this.theme, {
      selected: (frame) => this.selectAndSay(frame),
      hovered: (frame, x, y) => this.tip(frame ? frameTip(frame) : null, x, y),
      moved: () => this.drawSides(),
    })
    this.tree = new Tree(
      this.model,
      (frame) => this.select(frame),
      (frame) => this.chart.zoomTo(frame),
    )
    this.isDimmed = (/** @type {Frame} */ frame) => this.search.isOn() && !this.search.found.has(frame)
    this.chart.isDimmed = this.isDimmed
    this.chart.isFound = (frame) => this.search.found.has(frame)
    this.tree.isDimmed = this.isDimmed
    this.listenToTools()
    this.listenToKeys()
    this.listenToStrip()
    this.describe()
    this.choose(this.model.roots[0] ?? null)
  }

  /**
   * Makes a frame the selected one in all parts.
   * @param {Frame | null} frame
   */
  choose(frame) {
    this.selected = frame
    this.chart.selected = frame
    this.strip.selected = frame
    this.tree.selected = frame
    this.details()
  }

  /**
   * Takes a change together with all others before the screen is drawn.
   * @param {Data} data
   */
  change(data) {
    if (this.changes.length === 0) requestAnimationFrame(() => this.takeChanges())
    if (data.isWhole) this.changes = []
    this.changes.push(data)
  }

  /** Takes the changes. What is selected, found and in view stays. */
  takeChanges() {
    const { origin } = this.model
    this.model.merge(this.changes)
    this.changes = []
    const selected = this.selected ?? this.model.roots[0]
    this.choose((selected && this.model.byNumber.get(selected.number)) ?? null)
    const shift = this.mode === "time" ? origin - this.model.origin : 0
    this.chart.setLayout(layOut(this.model, this.mode), shift)
    this.tree.update()
    this.describe()
    this.find()
  }

  /** @param {Frame} frame */
  select(frame) {
    this.choose(frame)
    this.tree.select(frame)
    this.chart.reveal(frame)
    this.draw()
  }

  /**
   * Selects a frame and says which frame it is, for parts that screen readers cannot read themselves.
   * @param {Frame} frame
   */
  selectAndSay(frame) {
    this.select(frame)
    const size = frame.bar ? `, ${duration(frame.bar.to - frame.bar.from)}` : ""
    const children = frame.children.length
    const below = children > 0 ? `, ${count(children, "child", "children")}` : ""
    this.say(`${frame.handle} ${frame.title}, ${nameOf(frame.status)}${size}${below}`)
  }

  /** @param {string} text */
  say(text) {
    byId("said", HTMLParagraphElement).textContent = text
  }

  details() {
    showDetails(this.model, this.selected, (frame) => {
      this.select(frame)
      // The button that was pressed is gone.
      byId("panel", HTMLElement).focus({ preventScroll: true })
    })
  }

  draw() {
    this.drawSides()
    this.chart.show()
    this.tree.draw()
  }

  /** Draws what is above the chart and has the same view. */
  drawSides() {
    this.strip.view = this.mode === "time" ? this.chart.view : { from: 0, to: Math.max(this.model.to, 1) }
    this.strip.draw()
    drawAxis(byId("axis", HTMLCanvasElement), this.chart.view, this.mode, this.theme)
  }

  /** Writes everything about the whole: titles, sums, statuses, costliest frames. */
  describe() {
    const { model } = this
    const [first] = model.roots
    const more = model.roots.length > 1 ? ` and ${number(model.roots.length - 1)} more` : ""
    const title = first ? `${first.title || "(no title)"}${more}` : "An empty stack"
    byId("title", HTMLHeadingElement).textContent = title
    document.title = `${title} – callstack`
    const { total } = model
    const parts = [count(model.frames.length, "frame"), duration(model.to)]
    if (total.requests > 0) parts.push(count(total.requests, "request"), `${short(total.tokens)} tokens`)
    if (model.hasPrices) parts.push(`cost ${money(total.cost, total.isComplete)}`)
    parts.push(`revision ${number(model.revision)}`)
    byId("summary", HTMLParagraphElement).textContent = parts.join(" · ")
    this.chart.canvas.setAttribute("aria-label", `${count(model.frames.length, "frame")}, width by ${this.mode}`)
    const { boxes } = this.chart.layout
    const hidden = model.frames.filter((frame) => !(frame.isOut || boxes.has(frame))).length
    const unbegun = hidden === 1 ? "that has not begun" : "that have not begun"
    const reason = this.mode === "time" ? unbegun : "without tokens"
    const only =
      hidden > 0 ? `${count(hidden, "frame")} ${reason} ${hidden === 1 ? "is" : "are"} only in the list.` : ""
    byId("note", HTMLParagraphElement).textContent = only
    this.strip.describe(this.mode !== "time")
    this.legend()
    showCostliest(model, (frame) => this.select(frame))
  }

  /** The numbers of frames by status, as buttons that filter. The buttons stay, and so does the focus. */
  legend() {
    const list = byId("legend", HTMLUListElement)
    for (const [status, name] of STATUSES) {
      const frames = this.model.frames.filter((frame) => frame.status === status).length
      const id = `status-${status}`
      let button = document.getElementById(id)
      if (!button) {
        button = element("button")
        button.id = id
        button.setAttribute("type", "button")
        button.addEventListener("click", () => this.filter(status))
        const item = element("li")
        item.append(button)
        list.append(item)
      }
      button.replaceChildren(statusMark(status), element("span", "", name), element("span", "count", number(frames)))
      const isPressed = this.search.statuses.has(status)
      button.setAttribute("aria-pressed", String(isPressed))
      if (button.parentElement) button.parentElement.hidden = frames === 0 && !isPressed
    }
  }

  /** @param {Status} status */
  filter(status) {
    if (!this.search.statuses.delete(status)) this.search.statuses.add(status)
    this.legend()
    this.find()
  }

  /** Finds frames again, and says how many there are. */
  find() {
    this.search.run(this.model.frames)
    const found = this.search.found.size
    // The frames that were found are in the list.
    if (this.search.isOn() && [...this.search.found].some((frame) => frame.isOut)) this.tree.showOut()
    byId("found", HTMLOutputElement).textContent = this.search.isOn() ? `${number(found)} found` : ""
    this.draw()
  }

  /** @param {boolean} isBackward */
  findNext(isBackward) {
    const next = this.search.next(this.model.frames, this.selected, isBackward)
    if (next) this.select(next)
  }

  /** @param {Mode} mode */
  setMode(mode) {
    this.mode = mode
    for (const input of document.querySelectorAll("input[name=mode]")) {
      if (input instanceof HTMLInputElement) input.checked = input.value === mode
    }
    this.chart.setLayout(layOut(this.model, mode), 0)
    this.describe()
    this.draw()
  }

  listenToTools() {
    for (const input of document.querySelectorAll("input[name=mode]")) {
      input.addEventListener("change", () =>
        this.setMode(/** @type {HTMLInputElement} */ (input).value === "time" ? "time" : "tokens"),
      )
    }
    byId("zoom-in", HTMLButtonElement).addEventListener("click", () => this.chart.zoom(1 / 1.6))
    byId("zoom-out", HTMLButtonElement).addEventListener("click", () => this.chart.zoom(1.6))
    byId("zoom-all", HTMLButtonElement).addEventListener("click", () => this.chart.all())
    const input = byId("search", HTMLInputElement)
    input.addEventListener("input", () => {
      this.search.setText(input.value)
      this.find()
    })
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.findNext(event.shiftKey)
      if (event.key === "Escape") {
        input.value = ""
        this.search.setText("")
        this.find()
        this.chart.canvas.focus()
      }
      event.stopPropagation()
    })
    const keys = byId("keys", HTMLDialogElement)
    byId("help", HTMLButtonElement).addEventListener("click", () => keys.showModal())
  }

  listenToKeys() {
    this.chart.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return
      if (event.key.startsWith("Arrow")) {
        event.preventDefault()
        const next = this.chart.neighbour(event.key)
        if (next) this.selectAndSay(next)
      } else if (event.key === "Enter" && this.selected) {
        this.chart.zoomTo(this.selected)
      }
    })
    document.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Escape" || byId("tip", HTMLDivElement).hidden) return
        // Only the tip changes: nothing else may change below the pointer.
        this.tip(null, 0, 0)
        event.stopPropagation()
      },
      { capture: true },
    )
    document.addEventListener("keydown", (event) => {
      if (!this.hasKeys() || event.ctrlKey || event.altKey || event.metaKey || byId("keys", HTMLDialogElement).open)
        return
      const action = this.action(event.key)
      if (!action) return
      event.preventDefault()
      action()
    })
  }

  /**
   * True if the chart, the strip, the list or nothing has the focus: letters and signs are keys only in these
   * places.
   */
  hasKeys() {
    const focused = document.activeElement
    return (
      !focused || [document.body, this.chart.canvas, this.strip.canvas, this.tree.root].some((one) => one === focused)
    )
  }

  /**
   * @param {string} key
   * @returns {(() => void) | null}
   */
  action(key) {
    switch (key) {
      case "/":
        return () => byId("search", HTMLInputElement).focus()
      case "t":
        return () => this.setMode(this.mode === "time" ? "tokens" : "time")
      case "?":
        return () => byId("keys", HTMLDialogElement).showModal()
      case "0":
      case "Escape":
        return () => this.chart.all()
      case "+":
      case "=":
        return () => this.chart.zoom(1 / 1.6)
      case "-":
        return () => this.chart.zoom(1.6)
      default:
        return null
    }
  }

  listenToStrip() {
    const { canvas } = this.strip
    canvas.addEventListener("pointermove", (event) => {
      const request = this.strip.at(event.offsetX)
      this.tip(request ? this.strip.words(request) : null, event.clientX, event.clientY)
    })
    canvas.addEventListener("pointerleave", () => this.tip(null, 0, 0))
    canvas.addEventListener("click", (event) => {
      const request = this.strip.at(event.offsetX)
      if (request) this.selectFrameOf(request)
    })
    canvas.addEventListener("keydown", (event) => this.pressInStrip(event))
    canvas.addEventListener("blur", () => {
      this.strip.current = null
      this.tip(null, 0, 0)
      this.strip.draw()
    })
  }

  /** @param {Request} request */
  selectFrameOf(request) {
    const frame = request.frame === null ? null : this.model.byNumber.get(request.frame)
    if (frame) this.selectAndSay(frame)
  }

  /** @param {KeyboardEvent} event */
  pressInStrip(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return
    const isMoved = this.strip.go(event.key)
    const request = this.strip.currentRequest()
    if (!request) return
    if (event.key === "Enter") this.selectFrameOf(request)
    if (!isMoved) return
    event.preventDefault()
    if (this.mode === "time") this.chart.include(request.from, request.to)
    this.strip.draw()
    const words = this.strip.words(request)
    const { left, bottom } = this.strip.canvas.getBoundingClientRect()
    this.tip(words, left + this.strip.middleOf(request), bottom)
    this.say(words.join(", "))
  }

  /**
   * Shows lines next to the pointer, or hides them.
   * @param {string[] | null} lines
   * @param {number} x
   * @param {number} y
   */
  tip(lines, x, y) {
    const tip = byId("tip", HTMLDivElement)
    tip.hidden = !lines
    if (!lines) return
    const [title, ...rest] = lines
    tip.replaceChildren(element("strong", "", title), ...rest.map((line) => element("div", "", line)))
    const left = Math.min(x + 14, innerWidth - tip.offsetWidth - 8)
    const top = y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18
    tip.style.left = `${Math.max(left, 8)}px`
    tip.style.top = `${top}px`
  }
}

/** @param {Frame} frame */
function frameTip(frame) {
  const blocked = frame.bar?.blockedTime ?? 0
  const time = frame.bar
    ? [`${duration(frame.bar.to - frame.bar.from)}${blocked > 0 ? `, of it ${duration(blocked)} blocked` : ""}`]
    : []
  const { tokens } = frame.total
  const own = frame.own === frame.total ? "" : `, of it ${number(frame.own.tokens)} own`
  return [
    `${frame.handle} ${frame.title}`,
    nameOf(frame.status),
    ...time,
    ...(tokens > 0 ? [`${number(tokens)} tokens${own}`] : []),
  ]
}

const data = /** @type {Data} */ (JSON.parse(document.getElementById("data")?.textContent ?? ""))
const page = new Page(data)
page.draw()
follow(data.revision, (changes) => page.change(changes))

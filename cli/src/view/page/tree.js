// @ts-check
// All frames as a tree for keyboards and screen readers. Only the items in view are in the document.
import { byId, count, duration, element, nameOf, short, statusMark } from "./words.js"

/** @typedef {import("./model.js").Frame} Frame */
/** @typedef {import("./model.js").Model} Model */

/** The height of an item in pixels, as in the style sheet. */
const ITEM = 26
/** The smallest and the largest height of the tree in pixels. Larger ones scroll. */
const HEIGHTS = [104, 388]
/** The number of items above and below the visible ones that are in the document. */
const MARGIN = 6
/** The largest number of levels that are indented. */
const LEVELS = 14
/** New frames are shown expanded in stacks with at most this many frames. */
const SMALL = 60

export class Tree {
  /**
   * @param {Model} model
   * @param {(frame: Frame) => void} selected
   * @param {(frame: Frame) => void} opened
   */
  constructor(model, selected, opened) {
    this.root = byId("tree", HTMLDivElement)
    this.model = model
    this.hooks = { selected, opened }
    /** @type {Set<number>} The numbers of the expanded frames. */
    this.expanded = new Set()
    /** @type {Set<number>} The numbers of all frames so far. */
    this.known = new Set()
    /** @type {Frame[]} The frames that no ancestor hides. */
    this.shown = []
    /** @type {Frame | null} */
    this.selected = null
    /** @type {(frame: Frame) => boolean} */
    this.isDimmed = () => false
    /** True: frames that are out of the plan are shown too. */
    this.showsOut = false
    this.out = byId("out", HTMLButtonElement)
    this.out.addEventListener("click", () => {
      this.showsOut = !this.showsOut
      this.refresh()
      this.keepSelected()
    })
    this.root.addEventListener("scroll", () => this.draw())
    this.root.addEventListener("keydown", (event) => this.press(event))
    this.root.addEventListener("click", (event) => this.click(event))
    this.root.addEventListener("dblclick", () => this.selected && this.hooks.opened(this.selected))
    this.root.addEventListener("focus", () => {
      const first = this.shown[0]
      if (!this.selected && first) this.hooks.selected(first)
    })
    this.update()
  }

  /** Takes frames that are new or have changed. */
  update() {
    const isSmall = this.model.frames.length <= SMALL
    for (const { number, level } of this.model.frames) {
      if (this.known.has(number)) continue
      this.known.add(number)
      if (isSmall || level === 0) this.expanded.add(number)
    }
    this.refresh()
    this.keepSelected()
  }

  /** Shows the frames that are out of the plan too. */
  showOut() {
    if (this.showsOut) return
    this.showsOut = true
    this.refresh()
  }

  /** Selects a frame above, if the selected one is hidden: the list always shows the selected frame. */
  keepSelected() {
    const { selected } = this
    if (selected && this.isHidden(selected)) {
      const above = lineage(selected).find((frame) => !this.isHidden(frame))
      if (above) this.hooks.selected(above)
    }
  }

  /** Finds the frames that are shown, after frames or what is expanded have changed. */
  refresh() {
    this.shown = []
    const rest = this.visible(this.model.roots).reverse()
    for (let frame = rest.pop(); frame; frame = rest.pop()) {
      this.shown.push(frame)
      if (this.expanded.has(frame.number)) for (const child of this.visible(frame.children).reverse()) rest.push(child)
    }
    const out = this.model.frames.filter((frame) => frame.isOut).length
    this.out.hidden = out === 0
    this.out.textContent = `${this.showsOut ? "Hide" : "Show"} ${count(out, "frame")} out of the plan`
    const [least = 0, most = 0] = HEIGHTS
    this.root.style.height = `${Math.min(Math.max(this.shown.length * ITEM + 8, least), most)}px`
    this.draw()
  }

  /**
   * The frames of this list that are not hidden.
   * @param {Frame[]} frames
   */
  visible(frames) {
    return frames.filter((frame) => this.showsOut || !frame.isOut)
  }

  /**
   * True if a frame, or one above it, is out of the plan and not shown.
   * @param {Frame} frame
   */
  isHidden(frame) {
    return !this.showsOut && frame.isOut
  }

  /**
   * Shows a frame as the selected one, with its ancestors expanded.
   * @param {Frame} frame
   */
  select(frame) {
    this.selected = frame
    let isNew = this.isHidden(frame)
    this.showsOut ||= isNew
    for (let above = frame.parent; above; above = above.parent) {
      isNew ||= !this.expanded.has(above.number)
      this.expanded.add(above.number)
    }
    if (isNew) this.refresh()
    const top = this.shown.indexOf(frame) * ITEM
    const { scrollTop, clientHeight } = this.root
    if (top < scrollTop || top + ITEM > scrollTop + clientHeight) {
      this.root.scrollTop = top < scrollTop ? top : top + ITEM - clientHeight
    }
    this.draw()
  }

  draw() {
    const { scrollTop, clientHeight } = this.root
    const first = Math.max(Math.floor(scrollTop / ITEM) - MARGIN, 0)
    const last = Math.min(Math.ceil((scrollTop + clientHeight) / ITEM) + MARGIN, this.shown.length)
    const items = this.shown.slice(first, last).map((frame, place) => this.item(frame, first + place))
    // The room of all items, so that the bar for scrolling has its right size.
    const room = element("div")
    room.style.height = `${this.shown.length * ITEM}px`
    room.setAttribute("role", "presentation")
    const isSelected = this.selected && this.shown.slice(first, last).includes(this.selected)
    setChildren(this.root, [room, ...items])
    if (isSelected && this.selected) this.root.setAttribute("aria-activedescendant", `item-${this.selected.number}`)
    else this.root.removeAttribute("aria-activedescendant")
    if (this.shown.length === 0) this.root.replaceChildren(element("p", "empty", "There are no frames."))
    this.root.setAttribute("role", this.shown.length === 0 ? "group" : "tree")
  }

  /**
   * @param {Frame} frame
   * @param {number} place
   */
  item(frame, place) {
    const item = element("div", this.isDimmed(frame) ? "item dim" : "item")
    item.id = `item-${frame.number}`
    item.setAttribute("role", "treeitem")
    item.style.top = `${place * ITEM}px`
    item.style.paddingLeft = `${8 + Math.min(frame.level, LEVELS) * 16}px`
    const siblings = this.visible(frame.parent?.children ?? this.model.roots)
    item.setAttribute("aria-level", String(frame.level + 1))
    item.setAttribute("aria-setsize", String(siblings.length))
    item.setAttribute("aria-posinset", String(siblings.indexOf(frame) + 1))
    item.setAttribute("aria-selected", String(frame === this.selected))
    const isExpanded = this.expanded.has(frame.number)
    const hasChildren = this.visible(frame.children).length > 0
    if (hasChildren) item.setAttribute("aria-expanded", String(isExpanded))
    const twist = element("span", "twist", hasChildren ? (isExpanded ? "▾" : "▸") : "")
    twist.setAttribute("aria-hidden", "true")
    const name = element("span", "name", frame.title || "(no title)")
    const sizes = frame.bar ? [duration(frame.bar.to - frame.bar.from)] : []
    const needed = frame.status === "planned" ? this.unfinished(frame.dependencies) : []
    if (needed.length > 0) sizes.push(`after ${needed.join(", ")}`)
    if (frame.total.requests > 0) sizes.push(`${short(frame.total.tokens)} tokens`)
    const status = element("span", "unseen", nameOf(frame.status))
    item.append(twist, statusMark(frame.status), element("span", "handle", frame.handle), name, status)
    item.append(element("span", "size", sizes.join(" · ")))
    return item
  }

  /**
   * The handles of the frames in this list that are not completed.
   * @param {number[]} numbers
   */
  unfinished(numbers) {
    const frames = numbers.flatMap((number) => this.model.byNumber.get(number) ?? [])
    return frames.filter((frame) => frame.status !== "completed").map((frame) => frame.handle)
  }

  /** @param {MouseEvent} event */
  click(event) {
    const { top } = this.root.getBoundingClientRect()
    const frame = this.shown[Math.floor((event.clientY - top + this.root.scrollTop) / ITEM)]
    if (!frame) return
    const isTwist = event.target instanceof Element && event.target.classList.contains("twist")
    if (isTwist) this.toggle(frame, !this.expanded.has(frame.number))
    else this.hooks.selected(frame)
  }

  /**
   * @param {Frame} frame
   * @param {boolean} isExpanded
   */
  toggle(frame, isExpanded) {
    if (isExpanded) this.expanded.add(frame.number)
    else this.expanded.delete(frame.number)
    this.refresh()
    // The list always shows the selected frame.
    if (this.selected && !isExpanded && isBelow(this.selected, frame)) this.hooks.selected(frame)
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return
    const target = this.target(event.key)
    if (target === undefined) return
    event.preventDefault()
    event.stopPropagation()
    if (target) this.hooks.selected(target)
  }

  /**
   * The frame that a key leads to; null if the key does something else; undefined if it does nothing here.
   * @param {string} key
   * @returns {Frame | null | undefined}
   */
  target(key) {
    const frame = this.selected ?? this.shown[0]
    if (!frame) return undefined
    const place = this.shown.indexOf(frame)
    const page = Math.max(Math.floor(this.root.clientHeight / ITEM) - 1, 1)
    const isExpanded = this.expanded.has(frame.number)
    switch (key) {
      case "ArrowDown":
        return this.shown[place + 1] ?? null
      case "ArrowUp":
        return this.shown[place - 1] ?? null
      case "PageDown":
        return this.shown[Math.min(place + page, this.shown.length - 1)] ?? null
      case "PageUp":
        return this.shown[Math.max(place - page, 0)] ?? null
      case "Home":
        return this.shown[0] ?? null
      case "End":
        return this.shown.at(-1) ?? null
      case "ArrowRight":
        if (this.visible(frame.children).length === 0) return null
        if (isExpanded) return this.visible(frame.children)[0] ?? null
        this.toggle(frame, true)
        return null
      case "ArrowLeft":
        if (!isExpanded || this.visible(frame.children).length === 0) return frame.parent
        this.toggle(frame, false)
        return null
      case "Enter":
      case " ":
        this.hooks.opened(frame)
        return null
      default:
        return undefined
    }
  }
}

/**
 * @param {Frame} frame
 * @param {Frame} ancestor
 */
function isBelow(frame, ancestor) {
  return frame !== ancestor && lineage(frame).includes(ancestor)
}

/**
 * A frame, its parent, and so on up to the root.
 * @param {Frame} frame
 */
function lineage(frame) {
  const frames = [frame]
  for (let above = frame.parent; above; above = above.parent) frames.push(above)
  return frames
}

/**
 * Replaces the children of an element one by one, except those that stay as they are: if an element were
 * replaced, a click that has begun on it would be lost.
 * @param {Element} parent
 * @param {Element[]} children
 */
function setChildren(parent, children) {
  const known = new Map([...parent.children].map((child) => [child.id, child]))
  const next = children.map((child) => {
    const earlier = known.get(child.id)
    return earlier?.isEqualNode(child) ? earlier : child
  })
  const kept = new Set(next)
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove()
  for (const [place, child] of next.entries()) {
    const there = parent.children[place] ?? null
    if (there !== child) parent.insertBefore(child, there)
  }
}

// @ts-check
// The flame chart: draws the bars that are in view, and turns wheel, pointer and keys into zooming and moving.
import { ticks } from "./axis.js"
import { firstAfter } from "./layout.js"
import { font, prepare } from "./theme.js"
import { byId, markOf } from "./words.js"

/** @typedef {import("./layout.js").Box} Box */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./model.js").Frame} Frame */
/** @typedef {import("./theme.js").Theme} Theme */

/** The height of a row with its gap, and that of a bar, in pixels. */
const ROW = 24
const BAR = 21
/** The room above the first row. */
const TOP = 6
/** Bars narrower than this, in pixels, are drawn together with the bars next to them. */
const NARROW = 1
/** Marks are written into bars that are at least this wide, and titles if some of their letters fit in. */
const LEAST_MARK = 20
const LEAST_LETTERS = 2
/** The part of the chart that remains in view at the largest zoom. */
const SMALLEST_VIEW = 1e-7
/** The length of the tip of an arrow. */
const TIP = 7
/** The pixels that a pointer moves before it drags. */
const DRAG = 4

/**
 * @typedef {object} Hooks
 * @property {(frame: Frame) => void} selected
 * @property {(frame: Frame | null, x: number, y: number) => void} hovered
 * @property {() => void} moved
 */

export class Chart {
  /**
   * @param {Layout} layout
   * @param {Theme} theme
   * @param {Hooks} hooks
   */
  constructor(layout, theme, hooks) {
    this.canvas = byId("flame", HTMLCanvasElement)
    this.scroll = byId("scroll", HTMLDivElement)
    this.layout = layout
    this.theme = theme
    this.hooks = hooks
    this.view = { from: 0, to: layout.end }
    /** @type {Frame | null} */
    this.selected = null
    /** @type {Frame | null} */
    this.hovered = null
    /** @type {(frame: Frame) => boolean} Whether a frame is drawn faintly. */
    this.isDimmed = () => false
    /** @type {(frame: Frame) => boolean} Whether a frame is drawn in any case. */
    this.isFound = () => false
    this.isRequested = false
    /** @type {Map<number, {x: number, y: number}>} The places of the pointers that press. */
    this.pointers = new Map()
    this.isDrag = false
    this.listen()
  }

  /**
   * Takes another layout. The view stays where it was. If it reached the end, it stays at the end.
   * @param {Layout} layout
   * @param {number} shift The distance by which everything has moved to the right.
   */
  setLayout(layout, shift) {
    const isAll = this.isAll()
    const isOther = layout.mode !== this.layout.mode
    const isAtEnd = this.view.to >= this.layout.end
    const size = Math.min(this.view.to - this.view.from, layout.end)
    this.layout = layout
    if (isAll || isOther) {
      this.view = { from: 0, to: layout.end }
    } else {
      const from = isAtEnd ? layout.end - size : Math.min(this.view.from + shift, layout.end - size)
      this.view = { from, to: from + size }
    }
    this.show()
  }

  isAll() {
    return this.view.from <= 0 && this.view.to >= this.layout.end
  }

  /** Draws before the next frame of the screen, once for all changes until then. */
  show() {
    if (this.isRequested) return
    this.isRequested = true
    requestAnimationFrame(() => {
      this.isRequested = false
      this.draw()
    })
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  look(from, to) {
    const { end } = this.layout
    const size = Math.min(Math.max(to - from, Math.max(end * SMALLEST_VIEW, 1)), end)
    const start = Math.min(Math.max(from, 0), end - size)
    this.view = { from: start, to: start + size }
    this.hooks.moved()
    this.show()
  }

  /**
   * Moves the view so that a part of the chart is in it.
   * @param {number} from
   * @param {number} to
   */
  include(from, to) {
    const size = this.view.to - this.view.from
    if (to < this.view.from || from > this.view.to) this.look((from + to - size) / 2, (from + to + size) / 2)
  }

  all() {
    this.look(0, this.layout.end)
  }

  /**
   * @param {number} factor If it is more than 1, more is shown.
   * @param {number} [x] The place that stays where it is, in pixels.
   */
  zoom(factor, x = this.canvas.clientWidth / 2) {
    const { from, to } = this.view
    const point = from + ((to - from) * x) / Math.max(this.canvas.clientWidth, 1)
    this.look(point - (point - from) * factor, point + (to - point) * factor)
  }

  /**
   * Zooms to a frame, with a little room on both sides.
   * @param {Frame} frame
   */
  zoomTo(frame) {
    const box = this.layout.boxes.get(frame)
    if (!box) return
    const room = Math.max((box.to - box.from) * 0.04, 0.5)
    this.look(box.from - room, box.to + room)
    this.reveal(frame)
  }

  /**
   * Moves the view so that a frame is in it.
   * @param {Frame} frame
   */
  reveal(frame) {
    const box = this.layout.boxes.get(frame)
    if (!box) return
    const { from, to } = this.view
    if (box.to < from || box.from > to) {
      const middle = (Math.min(box.to, box.from + (to - from)) + box.from) / 2
      this.look(middle - (to - from) / 2, middle + (to - from) / 2)
    }
    const top = TOP + box.row * ROW
    const { scrollTop, clientHeight } = this.scroll
    if (top < scrollTop + TOP) this.scroll.scrollTop = top - ROW
    if (top + ROW > scrollTop + clientHeight) this.scroll.scrollTop = top + 2 * ROW - clientHeight
    this.show()
  }

  draw() {
    const { layout, scroll, view } = this
    const whole = TOP + layout.rows.length * ROW + TOP
    const limit = Number.parseFloat(getComputedStyle(scroll).maxHeight) || whole
    const height = Math.max(Math.min(whole, limit), 60)
    this.canvas.style.height = `${height}px`
    byId("height", HTMLDivElement).style.height = `${Math.max(whole - height, 0)}px`
    const width = this.canvas.clientWidth
    const context = prepare(this.canvas, width, height)
    if (!context || width === 0) return
    context.fillStyle = this.theme.colors.grid
    for (const place of ticks(view.from, view.to, width, layout.mode)) {
      context.fillRect(Math.round(((place - view.from) / (view.to - view.from)) * width), 0, 1, height)
    }
    context.font = font(12)
    context.textBaseline = "middle"
    const first = Math.max(Math.floor((scroll.scrollTop - TOP) / ROW), 0)
    const last = Math.min(Math.ceil((scroll.scrollTop + height) / ROW), layout.rows.length)
    for (const row of layout.rows.slice(first, last)) this.drawRow(context, row, width)
    if (this.selected) this.drawDependencies(context, this.selected, width)
    const box = this.selected && layout.boxes.get(this.selected)
    if (box) this.outline(context, box, width, this.theme.colors.accent, 2.5)
    const under = this.hovered && this.hovered !== this.selected && layout.boxes.get(this.hovered)
    if (under) this.outline(context, under, width, this.theme.colors.text, 1.5)
  }

  /**
   * Draws an arrow from each bar that a frame needs, and to each bar that needs the frame.
   * @param {CanvasRenderingContext2D} context
   * @param {Frame} frame
   * @param {number} width
   */
  drawDependencies(context, frame, width) {
    const { boxes } = this.layout
    const own = boxes.get(frame)
    if (!own) return
    for (const other of frame.needs) {
      const box = boxes.get(other)
      if (box) this.arrow(context, box, own, width)
    }
    for (const other of frame.neededBy) {
      const box = boxes.get(other)
      if (box) this.arrow(context, own, box, width)
    }
  }

  /**
   * An arrow from the end of a bar to the beginning of another one.
   * @param {CanvasRenderingContext2D} context
   * @param {Box} from
   * @param {Box} to
   * @param {number} width
   */
  arrow(context, from, to, width) {
    const [first, second] = [this.place(from, width), this.place(to, width)]
    const [left, right] = [first.left + first.wide, second.left]
    const [top, bottom] = [first.top + BAR / 2, second.top + BAR / 2]
    // If the second bar begins before the first has ended, the line still leaves and arrives to the right.
    const bend = Math.max((right - left) / 2, ROW / 2)
    for (const [color, line] of /** @type {const} */ ([
      [this.theme.colors.card, 4],
      [this.theme.colors.accent, 1.5],
    ])) {
      context.strokeStyle = color
      context.lineWidth = line
      context.beginPath()
      context.moveTo(left, top)
      context.bezierCurveTo(left + bend, top, right - bend, bottom, right, bottom)
      context.lineTo(right - TIP, bottom - TIP / 2)
      context.moveTo(right, bottom)
      context.lineTo(right - TIP, bottom + TIP / 2)
      context.stroke()
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Box[]} row
   * @param {number} width
   */
  drawRow(context, row, width) {
    const { from, to } = this.view
    const scale = width / (to - from)
    let drawn = Number.NEGATIVE_INFINITY
    for (let place = firstAfter(row, from); place < row.length; place++) {
      const box = row[place]
      if (!box || box.from > to) break
      const right = (box.to - from) * scale
      // Of several bars within one pixel, the first one and those that were found are drawn.
      if (right < drawn + NARROW && box.frame !== this.selected && !this.isFound(box.frame)) continue
      drawn = right
      this.drawBox(context, box, width)
    }
  }

  /**
   * The rectangle of a bar. The part that is out of view is cut, so that numbers stay small.
   * @param {Box} box
   * @param {number} width
   */
  place(box, width) {
    const { from, to } = this.view
    const scale = width / (to - from)
    const left = Math.max((box.from - from) * scale, -10)
    const right = Math.min((box.to - from) * scale, width + 10)
    const wide = right - left
    return {
      left,
      top: TOP + box.row * ROW - this.scroll.scrollTop,
      wide: Math.max(wide > 3 ? wide - 1 : wide, NARROW),
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Box} box
   * @param {number} width
   */
  drawBox(context, box, width) {
    const { frame } = box
    const { colors } = this.theme
    const { left, top, wide } = this.place(box, width)
    context.globalAlpha = this.isDimmed(frame) ? 0.22 : 1
    context.fillStyle = colors[frame.status]
    context.beginPath()
    if (wide > 6) context.roundRect(left, top, wide, BAR, 3)
    else context.rect(left, top, wide, BAR)
    context.fill()
    if (wide > 3) {
      this.hatch(context, box, width, top)
      context.strokeStyle = colors.edge
      context.lineWidth = 1
      context.setLineDash(frame.bar?.isOpen ? [4, 3] : [])
      context.strokeRect(left + 0.5, top + 0.5, wide - 1, BAR - 1)
      context.setLineDash([])
    }
    if (wide >= LEAST_MARK) this.write(context, frame, Math.max(left, 0), Math.min(left + wide, width), top)
    context.globalAlpha = 1
  }

  /**
   * Hatches the times in which a frame was blocked.
   * @param {CanvasRenderingContext2D} context
   * @param {Box} box
   * @param {number} width
   * @param {number} top
   */
  hatch(context, { frame, row }, width, top) {
    const blocked = this.layout.mode === "time" ? (frame.bar?.blocked ?? []) : []
    for (const [from, to] of blocked) {
      const { left, wide } = this.place({ frame, from, to, row }, width)
      context.fillStyle = this.theme.colors.blocked
      context.fillRect(left, top, wide, BAR)
      context.fillStyle = this.theme.hatching ?? this.theme.colors.edge
      context.fillRect(left, top, wide, BAR)
    }
  }

  /**
   * Writes the mark, and as much of the title as there is room for.
   * @param {CanvasRenderingContext2D} context
   * @param {Frame} frame
   * @param {number} left
   * @param {number} right
   * @param {number} top
   */
  write(context, frame, left, right, top) {
    const room = right - left - 12
    const mark = markOf(frame.status)
    const whole = `${mark ? `${mark} ` : ""}${frame.title}`
    const fitting = cut(context, whole, room)
    const text = fitting === whole || fitting.length > LEAST_LETTERS + 2 ? fitting : mark
    if (!text) return
    if (this.isDimmed(frame)) {
      context.globalAlpha = 0.8
      context.fillStyle = this.theme.colors.faint
    } else {
      context.fillStyle = this.theme.colors.ink
      if (this.isHatched(frame, left, left + context.measureText(text).width + 12)) {
        // Letters on hatching need an edge.
        context.strokeStyle = this.theme.colors.halo
        context.lineWidth = 3
        context.lineJoin = "round"
        context.strokeText(text, left + 6, top + BAR / 2 + 1)
      }
    }
    context.fillText(text, left + 6, top + BAR / 2 + 1)
  }

  /**
   * True if a part of a bar between two places is hatched.
   * @param {Frame} frame
   * @param {number} left
   * @param {number} right
   */
  isHatched(frame, left, right) {
    if (this.layout.mode !== "time") return false
    const { from, to } = this.view
    const pixel = (to - from) / Math.max(this.canvas.clientWidth, 1)
    const blocked = frame.bar?.blocked ?? []
    return blocked.some(([begin, end]) => end > from + left * pixel && begin < from + right * pixel)
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Box} box
   * @param {number} width
   * @param {string} color
   * @param {number} line
   */
  outline(context, box, width, color, line) {
    const { left, top, wide } = this.place(box, width)
    context.strokeStyle = this.theme.colors.card
    context.lineWidth = line + 2
    context.strokeRect(left - 0.5, top - 0.5, wide + 1, BAR + 1)
    context.strokeStyle = color
    context.lineWidth = line
    context.strokeRect(left - 0.5, top - 0.5, wide + 1, BAR + 1)
  }

  /**
   * The frame at a point of the canvas. The point can be up to two pixels beside a narrow bar.
   * @param {number} x
   * @param {number} y
   * @returns {Frame | null}
   */
  at(x, y) {
    const offset = y + this.scroll.scrollTop - TOP
    const row = this.layout.rows[Math.floor(offset / ROW)]
    if (!row || offset < 0 || offset % ROW > BAR) return null
    const { from, to } = this.view
    const pixel = (to - from) / Math.max(this.canvas.clientWidth, 1)
    const point = from + x * pixel
    const box = row[firstAfter(row, point)]
    if (box && box.from <= point) return box.frame
    const near = row[firstAfter(row, point - 2 * pixel)]
    return near && near.from <= point + 2 * pixel ? near.frame : null
  }

  listen() {
    const { canvas } = this
    this.scroll.addEventListener("wheel", (event) => this.turn(event), { passive: false })
    this.scroll.addEventListener("scroll", () => this.show())
    canvas.addEventListener("pointerdown", (event) => this.press(event))
    canvas.addEventListener("pointermove", (event) => this.movePointer(event))
    canvas.addEventListener("pointerup", (event) => this.release(event))
    canvas.addEventListener("pointercancel", (event) => this.release(event))
    canvas.addEventListener("pointerleave", () => this.setHovered(null, 0, 0))
    canvas.addEventListener("dblclick", (event) => {
      const frame = this.at(event.offsetX, event.offsetY)
      if (frame) this.zoomTo(frame)
      else this.all()
    })
    new ResizeObserver(() => {
      this.hooks.moved()
      this.show()
    }).observe(this.scroll)
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button !== 0) return
    this.canvas.setPointerCapture(event.pointerId)
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY })
    this.isDrag = this.pointers.size > 1
  }

  /** @param {PointerEvent} event */
  movePointer(event) {
    const pressed = this.pointers.get(event.pointerId)
    if (!pressed) {
      this.hover(event)
      return
    }
    const moved = event.offsetX - pressed.x
    if (!this.isDrag && Math.abs(moved) < DRAG) return
    if (!this.isDrag) this.canvas.classList.add("grabbing")
    this.isDrag = true
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1]
    if (other) this.pinch(pressed.x, event.offsetX, other.x)
    else this.drag(moved)
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY })
  }

  /**
   * Moves the view with a pointer.
   * @param {number} moved in pixels
   */
  drag(moved) {
    const { from, to } = this.view
    const shift = (moved * (to - from)) / Math.max(this.canvas.clientWidth, 1)
    this.look(from - shift, to - shift)
  }

  /**
   * Zooms with two pointers.
   * @param {number} earlier the place of the pointer that moves, in pixels
   * @param {number} now
   * @param {number} other the place of the other pointer
   */
  pinch(earlier, now, other) {
    const [before, after] = [Math.abs(earlier - other), Math.abs(now - other)]
    if (before > DRAG && after > DRAG) this.zoom(before / after, (now + other) / 2)
  }

  /** @param {PointerEvent} event */
  release(event) {
    const isClick = this.pointers.delete(event.pointerId) && !this.isDrag && event.type === "pointerup"
    this.canvas.classList.remove("grabbing")
    const frame = isClick ? this.at(event.offsetX, event.offsetY) : null
    if (frame) this.hooks.selected(frame)
  }

  /** @param {WheelEvent} event */
  turn(event) {
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault()
      // A pinch on a touchpad arrives as many small turns, and a wheel as few large ones.
      const turn = Math.max(Math.min(event.deltaY, 60), -60)
      this.zoom(1.006 ** turn, event.clientX - this.canvas.getBoundingClientRect().left)
    } else if (Math.abs(sideways) > 0 && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))) {
      event.preventDefault()
      const { from, to } = this.view
      const shift = (sideways * (to - from)) / Math.max(this.canvas.clientWidth, 1)
      this.look(from + shift, to + shift)
    }
  }

  /** @param {PointerEvent} event */
  hover(event) {
    this.setHovered(this.at(event.offsetX, event.offsetY), event.clientX, event.clientY)
  }

  /**
   * @param {Frame | null} frame
   * @param {number} x
   * @param {number} y
   */
  setHovered(frame, x, y) {
    if (frame !== this.hovered) this.show()
    this.hovered = frame
    this.canvas.style.cursor = frame ? "pointer" : ""
    this.hooks.hovered(frame, x, y)
  }

  /**
   * The frame in a direction from the selected one, among those that have a bar.
   * @param {string} key
   * @returns {Frame | null}
   */
  neighbour(key) {
    const { boxes, rows } = this.layout
    const selected = this.selected
    if (!(selected && boxes.has(selected))) return rows[0]?.[0]?.frame ?? null
    if (key === "ArrowUp") {
      let above = selected.parent
      while (above && !boxes.has(above)) above = above.parent
      return above
    }
    if (key === "ArrowDown") return selected.children.find((child) => boxes.has(child)) ?? null
    const siblings = (selected.parent?.children ?? [...boxes.keys()].filter((frame) => !frame.parent))
      .filter((frame) => boxes.has(frame))
      .sort((one, other) => (boxes.get(one)?.from ?? 0) - (boxes.get(other)?.from ?? 0))
    return siblings[siblings.indexOf(selected) + (key === "ArrowRight" ? 1 : -1)] ?? null
  }
}

/**
 * The beginning of a text that fits into the room.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room
 */
function cut(context, text, room) {
  // No letter is narrower than two pixels; the rest is not measured.
  let end = Math.min(text.length, Math.max(Math.ceil(room / 2), 0))
  let wide = context.measureText(text.slice(0, end)).width
  if (wide <= room && end === text.length) return text
  while (end > 0 && wide > room - 10) {
    end = Math.min(end - 1, Math.floor((end * (room - 10)) / wide))
    wide = context.measureText(text.slice(0, Math.max(end, 0))).width
  }
  return end > 1 ? `${text.slice(0, end)}…` : ""
}

// @ts-check
// The colours of the style sheet for canvases, the patterns that stand for statuses, and the switch of light and dark.
import { byId } from "./words.js"

/** @typedef {import("./words.js").Status} Status */

const NAMES = /** @type {const} */ ([
  "card",
  "text",
  "faint",
  "line",
  "grid",
  "accent",
  "ink",
  "edge",
  "hatching",
  "halo",
  "cached",
  "uncached",
  "alarm",
  "completed",
  "in_progress",
  "blocked",
  "failed",
  "planned",
  "invalidated",
])

/** @typedef {Record<typeof NAMES[number], string>} Colors */

/** The colours as they are now: they follow the system and the reader's choice. */
export class Theme {
  /** @param {() => void} changed is called when the colours have changed */
  constructor(changed) {
    this.changed = changed
    this.dark = matchMedia("(prefers-color-scheme: dark)")
    this.dark.addEventListener("change", () => this.refresh())
    matchMedia("(forced-colors: active)").addEventListener("change", () => this.refresh())
    this.button = byId("theme", HTMLButtonElement)
    this.button.addEventListener("click", () => {
      document.documentElement.dataset["theme"] = this.isDark() ? "light" : "dark"
      this.refresh()
    })
    /** @type {Colors} */
    this.colors = this.read()
    /** @type {CanvasPattern | null} */
    this.hatching = hatching(this.colors.hatching)
  }

  isDark() {
    const chosen = document.documentElement.dataset["theme"]
    return chosen ? chosen === "dark" : this.dark.matches
  }

  refresh() {
    this.colors = this.read()
    this.hatching = hatching(this.colors.hatching)
    this.changed()
  }

  /** @returns {Colors} */
  read() {
    this.button.textContent = this.isDark() ? "Light" : "Dark"
    this.button.setAttribute("aria-label", this.isDark() ? "Light colours" : "Dark colours")
    const probe = document.body.appendChild(document.createElement("span"))
    // The system would give the element one of its own colours, no matter what the name is.
    probe.className = "probe"
    const colors = /** @type {Colors} */ ({})
    for (const name of NAMES) {
      probe.style.color = `var(--${name})`
      colors[name] = getComputedStyle(probe).color
    }
    probe.remove()
    return colors
  }
}

/** Diagonal lines of a colour, for the times in which a frame was blocked. */
function hatching(/** @type {string} */ color) {
  const tile = document.createElement("canvas")
  tile.width = 6
  tile.height = 6
  const context = tile.getContext("2d")
  if (!context) return null
  context.strokeStyle = color
  context.lineWidth = 1.3
  context.beginPath()
  for (const start of [-6, 0, 6]) {
    context.moveTo(start, 6)
    context.lineTo(start + 6, 0)
  }
  context.stroke()
  return context.createPattern(tile, "repeat")
}

/**
 * Gives a canvas the size of its element in pixels of the screen. Returns its context, or nothing if it has no room.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function prepare(canvas, width, height) {
  const scale = window.devicePixelRatio || 1
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)]
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide
    canvas.height = high
  }
  const context = canvas.getContext("2d")
  context?.setTransform(scale, 0, 0, scale, 0, 0)
  context?.clearRect(0, 0, width, height)
  return context
}

/** The font of a canvas. */
export function font(/** @type {number} */ size) {
  return `${size}px ${getComputedStyle(document.body).fontFamily}`
}

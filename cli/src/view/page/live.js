// @ts-check
// The changes of a served page, which come as server-sent events, and whether the connection is alive.
import { byId } from "./words.js"

/** @typedef {import("./model.js").Data} Data */

const TEXTS = { live: "Live", lost: "Connection lost, tries again", over: "Ended" }

/**
 * Follows the changes, if the page is served.
 * @param {number} revision the revision of the page's data
 * @param {(data: Data) => void} changed
 */
export function follow(revision, changed) {
  if (document.documentElement.dataset["live"] === undefined) return
  const line = byId("live", HTMLParagraphElement)
  line.hidden = false
  /** @param {keyof typeof TEXTS} state */
  const say = (state) => {
    line.dataset["state"] = state
    line.textContent = TEXTS[state]
  }
  const source = new EventSource(`events?since=${revision}`)
  source.addEventListener("open", () => say("live"))
  source.addEventListener("message", (event) => changed(JSON.parse(event.data)))
  source.addEventListener("over", () => {
    source.close()
    say("over")
  })
  // A source that is closed will not try again: its server has another token now.
  source.addEventListener("error", () => say(source.readyState === EventSource.CLOSED ? "over" : "lost"))
}

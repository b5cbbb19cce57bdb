// JSON at the boundary to the native library.

/**
 * Reads a record that the native library has written. Its shape is not checked here: the Rust tests hold the
 * library to the documented shapes, and a check in JavaScript would cost more than most calls. This is the
 * only place where text becomes a typed record.
 */
export function readJson<T>(text: string): T {
  return JSON.parse(text) as T
}

/** Writes a record for the native library; undefined stays undefined, which the library receives as NULL. */
export function writeJson(record: object | string): string
export function writeJson(record: object | string | undefined): string | undefined
export function writeJson(record: object | string | undefined): string | undefined {
  if (record === undefined) return undefined
  // A number that JSON does not have would become null, which is not the value: as a text it is refused.
  const text = JSON.stringify(record, (_, value) =>
    typeof value === "number" && !Number.isFinite(value) ? String(value) : value,
  )
  if (!text.includes("\\ud")) return text
  // JSON.stringify writes a lone surrogate as an escape such as \ud800. It is not a character, so it becomes
  // U+FFFD.
  return text.replaceAll(/\\(?:ud[89a-f]..|.)/g, (escaped) => (escaped.length > 2 ? "\ufffd" : escaped))
}

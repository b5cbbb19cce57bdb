// The warnings of Node.js and of libraries: they must not be written into the screen of the program.

/** The SDK says that it does not ask for the tools of the stack, which are always allowed. */
const EXPECTED = "CLAUDE_SDK_CAN_USE_TOOL_SHADOWED"

/** Gives warnings to `tell` from now on, instead of writing them. */
export function takeWarnings(tell: (text: string) => void): void {
  process.removeAllListeners("warning")
  process.on("warning", (warning: Error & { code?: string }) => {
    if (warning.code !== EXPECTED) tell(`warning: ${warning.message}`)
  })
}

// What hosts show to people, and what people type there. Nothing of this module loads the native library.

export { type CommandPlace, commandNote, runCommand, type SlashCommand, slashCommands } from "./commands.js"
export { printable, singleLine } from "./lines.js"

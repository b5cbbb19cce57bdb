// An extension for tests: `/go-to TEXT` does what a person does with /tree.

import type { ExtensionAPI } from "@mariozechner/pi-coding-agent"

export default function navigator(pi: ExtensionAPI): void {
  pi.registerCommand("go-to", {
    description: "Go to the newest entry of the session that has a text",
    handler: async (text, context) => {
      const entry = context.sessionManager.getEntries().findLast((entry) => JSON.stringify(entry).includes(text))
      const { cancelled } = await context.navigateTree(entry?.id ?? "", { summarize: false })
      context.ui.notify(cancelled ? "cancelled" : "there")
    },
  })
}

// The public API of callstack-flame.

export type * from "./driver.js"

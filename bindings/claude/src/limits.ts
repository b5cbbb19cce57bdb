// The limits of frames, with costs in US dollars. The engine keeps them and decides; see FrameLimits of
// callstack-core.

import type { FrameLimits as EngineLimits } from "callstack-core"
import { given } from "./given.js"

/** Limits of a frame. `maxTokens` and `maxBudgetUsd` are for the frame and all frames below it. */
export interface FrameLimits {
  /** The model of the frame, and of frames below it that name no model. */
  model?: string
  /** Tools in addition to those of the stack. A frame has at most the tools of its parent. */
  tools?: readonly string[]
  /**
   * Turns of the model in one prompt. Frames below it have the same limit unless they have a limit of their
   * own.
   */
  maxTurns?: number
  /** Tokens of all requests, of prompts and answers together. */
  maxTokens?: number
  /** US dollars. */
  maxBudgetUsd?: number
}

/**
 * Units of the engine's costs in a US dollar. The division by a whole number keeps readable values: 0.1, not
 * 0.0999….
 */
const MICRO_PER_DOLLAR = 1_000_000

/**
 * Returns limits as the engine has them.
 *
 * @throws RangeError for a limit that is not a positive number.
 */
export function engineLimits({ maxBudgetUsd, ...limits }: FrameLimits): EngineLimits {
  const { maxTurns, maxTokens } = limits
  for (const [name, value] of Object.entries({ maxTurns, maxTokens, maxBudgetUsd })) {
    if (value === undefined || (value > 0 && Number.isFinite(value))) continue
    throw new RangeError(`${name} is ${value}; give a positive number, or leave it out for no limit`)
  }
  const maxCostMicroUsd = maxBudgetUsd === undefined ? undefined : Math.max(1, microUsd(maxBudgetUsd))
  return given({ ...limits, maxCostMicroUsd })
}

/** Returns US dollars in the unit of the engine. */
export function microUsd(dollars: number): number {
  return Math.round(dollars * MICRO_PER_DOLLAR)
}

/** Returns an amount of the engine in US dollars. */
export function dollars(amount: number): number {
  return amount / MICRO_PER_DOLLAR
}

// SPDX-License-Identifier: Apache-2.0
// The part of Node's types that the app of the guide uses. Debian has no package of them.
declare const process: {
  argv: string[]
  env: Record<string, string | undefined>
  once(signal: string, act: () => void): void
}

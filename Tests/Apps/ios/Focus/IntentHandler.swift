// SPDX-License-Identifier: Apache-2.0
// Reports each change of the Focus.
import StillwireApple

nonisolated final class IntentHandler: FocusStatusHandler {
  override func makeReporter() throws -> FocusReporter { chat.focusReporter }
}

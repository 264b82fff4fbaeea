// SPDX-License-Identifier: Apache-2.0

/// The message with the wall clock of a node. Every node sends it once in ``interval``.
public struct ClockNotice: Hashable, Sendable {
  public static let interval = Duration.seconds(1)
  private static let word = "clock"

  public let node: String
  /// The wall clock, in whole milliseconds since 1970.
  public let time: Duration

  public init(node: String, time: Duration) {
    self.node = node
    self.time = .milliseconds(time.wholeMilliseconds)
  }

  /// The notice as text: three words. No heartbeat has this text, because the first word of a heartbeat is a number.
  public var text: String { "\(Self.word) \(node) \(time.wholeMilliseconds)" }

  /// Parses ``text``. Returns `nil` for any other text.
  public init?(text: String) {
    guard text.utf8.count <= Heartbeat.maxText else { return nil }
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[0] == Self.word, Leader.isName(words[1], maxLength: Leader.maxName),
      let time = words[2].strictNumber(), time <= LogRecord.maxTime
    else { return nil }
    self.init(node: String(words[1]), time: .milliseconds(Int64(time)))
  }
}

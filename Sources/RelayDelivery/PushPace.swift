// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Limits the pushes of one sender to one recipient in each minute of the clock. Pushes beyond the limit wait for the
/// end of the minute, where they become one digest.
public struct PushPace: Sendable {
  public static let maxPerMinute = 20
  /// The maximum number of pairs of sender and recipient that are counted in a minute. Further pairs are not limited.
  public static let maxPairs = 131_072
  private static let minute = Duration.seconds(60)

  private struct Pair: Hashable {
    let sender, recipient: UserID
  }

  private let maxPerMinute: Int
  private var end = Timestamp(rawValue: 0)
  private var counts: [Pair: Int] = [:]

  public init(maxPerMinute: Int = Self.maxPerMinute) { self.maxPerMinute = maxPerMinute }

  /// Counts a message that is to be pushed.
  /// - Returns: The time at which the push may be sent: `now` if it is within the limit, otherwise the end of the
  ///   minute. The limit does not apply to calls, Notify Anyway, silent pushes, and messages that would expire before
  ///   the end of the minute.
  public mutating func due(of message: MessageFacts, to recipient: UserID, now: Timestamp) -> Timestamp {
    guard message.kind == .message, !message.isNotifyAnyway, message.isSilent != true else { return now }
    let due = due(from: message.sender, to: recipient, now: now)
    return due < message.expires ? due : now
  }

  mutating func due(from sender: UserID, to recipient: UserID, now: Timestamp) -> Timestamp {
    // The second condition is true when the clock was set back.
    if now >= end || now < end - Self.minute {
      end = Timestamp(rawValue: (now.rawValue / Self.minute.milliseconds + 1) * Self.minute.milliseconds)
      counts.removeAll()
    }
    let pair = Pair(sender: sender, recipient: recipient)
    guard let count = counts[pair] else {
      if counts.count < Self.maxPairs { counts[pair] = 1 }
      return now
    }
    counts[pair] = count + 1
    return count < maxPerMinute ? now : end
  }
}

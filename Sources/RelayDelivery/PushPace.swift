// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// How fast one sender's messages become pushes to one recipient: so many in each minute of the clock. Those beyond wait
/// for its end, where they become one.
public struct PushPace: Sendable {
  public static let most = 20
  /// Senders and recipients that are counted in a minute; others are not throttled.
  public static let mostPairs = 131_072
  private static let minute = Duration.seconds(60)

  private struct Pair: Hashable {
    let sender, recipient: UserID
  }

  private let most: Int
  private var end = Timestamp(rawValue: 0)
  private var counts: [Pair: Int] = [:]

  public init(most: Int = Self.most) { self.most = most }

  /// Counts a message that is to be pushed.
  /// - Returns: When it may be: `now`, unless it is beyond the pace. Calls, what is to notify anyway and what would have
  ///   expired by then are not put off.
  public mutating func due(of message: MessageFacts, to recipient: UserID, now: Timestamp) -> Timestamp {
    guard message.kind == .message, !message.isNotifyAnyway, message.isSilent != true else { return now }
    let due = due(from: message.sender, to: recipient, now: now)
    return due < message.expires ? due : now
  }

  mutating func due(from sender: UserID, to recipient: UserID, now: Timestamp) -> Timestamp {
    // Also where the clock was set back.
    if now >= end || now < end - Self.minute {
      end = Timestamp(rawValue: (now.rawValue / Self.minute.milliseconds + 1) * Self.minute.milliseconds)
      counts.removeAll()
    }
    let pair = Pair(sender: sender, recipient: recipient)
    guard let count = counts[pair] else {
      if counts.count < Self.mostPairs { counts[pair] = 1 }
      return now
    }
    counts[pair] = count + 1
    return count < most ? now : end
  }
}

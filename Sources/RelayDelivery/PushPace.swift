// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

/// Limits how often one sender notifies one recipient in a minute: with pushes of messages, with alerts at the level
/// `critical`, and with calls. The kinds count separately. Pushes of messages beyond the limit wait for the end of the
/// minute, where they become one digest.
///
/// The minute begins with the first use after the end of the one before, and is the same for all pairs. The caller
/// measures it on a clock that nobody can set.
public struct PushPace: Sendable {
  /// The maximum numbers for a pair of sender and recipient in a minute. 0 means no limit.
  public struct Limits: Equatable, Sendable {
    public var messages: Int
    public var critical: Int
    public var calls: Int

    public init(messages: Int = 20, critical: Int = 6, calls: Int = 10) {
      self.messages = messages
      self.critical = critical
      self.calls = calls
    }
  }

  public enum Kind: Sendable {
    case message, critical, call
  }

  /// The maximum number of pairs of each kind that are counted in a minute. Further pairs are not limited.
  public static let maxPairs = 131_072
  public static let minute = Duration.seconds(60)

  private struct Pair: Hashable {
    let sender, recipient: UserID
  }

  public var limits: Limits
  private var now = Duration.zero
  private var end = Self.minute
  private var counts: [Kind: [Pair: Int]] = [:]

  public init(limits: Limits = Limits()) { self.limits = limits }

  /// Sets the present time on the caller's clock, and begins a minute if the last one is over. Call it before each use.
  public mutating func advance(to now: Duration) {
    self.now = now
    guard now >= end else { return }
    end = now + Self.minute
    counts.removeAll()
  }

  /// The time until the end of the minute.
  public var rest: Duration { end - now }

  /// Counts a notification. Returns false if it is beyond the limit.
  public mutating func admits(_ kind: Kind, from sender: UserID, to recipient: UserID) -> Bool {
    let limit = limits[kind]
    guard limit > 0 else { return true }
    let pair = Pair(sender: sender, recipient: recipient)
    guard let count = counts[kind]?[pair] else {
      if counts[kind]?.count ?? 0 < Self.maxPairs { counts[kind, default: [:]][pair] = 1 }
      return true
    }
    guard count < limit else { return false }
    counts[kind]?[pair] = count + 1
    return true
  }

  /// Counts a message that is to be pushed.
  /// - Returns: The time at which the push may be sent: `now` if it is within the limit, otherwise the end of the
  ///   minute. The limit does not apply to calls, Notify Anyway, silent pushes, and messages that would expire before
  ///   the end of the minute.
  public mutating func due(of message: MessageFacts, to recipient: UserID, now: Timestamp) -> Timestamp {
    guard message.kind == .message, !message.isNotifyAnyway, message.isSilent != true,
      !admits(.message, from: message.sender, to: recipient)
    else { return now }
    let due = now + rest
    return due < message.expires ? due : now
  }
}

extension PushPace.Limits {
  fileprivate subscript(kind: PushPace.Kind) -> Int {
    switch kind {
    case .message: messages
    case .critical: critical
    case .call: calls
    }
  }
}

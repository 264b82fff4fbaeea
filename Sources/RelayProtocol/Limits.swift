// SPDX-License-Identifier: Apache-2.0

/// Every bound of the protocol that an operator can change, under the name that `welcome` reports.
///
/// Rates are per second, sizes in bytes, times in seconds. 0 lifts a limit, except of `frame`, `outgoingQueue`,
/// `nesting`, `history`, the bursts, `helloTimeout`, `heartbeat` and `pongTimeout`, which cannot be 0.
public struct Limits: Equatable, Sendable {
  public var frame = 65_536
  public var outgoingQueue = 1_048_576
  public var roomsPerSession = 128
  public var roomsPerUser = 1_000
  public var sessionsPerUser = 32
  public var devicesPerUser = 16
  public var membersPerRoom = 10_000
  public var sendRate = 50.0
  public var sendBurst = 100
  public var requestRate = 50.0
  public var requestBurst = 200
  public var focusRate = 1.0
  public var focusBurst = 10
  public var watched = 1_024
  public var nesting = 128
  public var helloTimeout = 10.0
  public var heartbeat = 25.0
  public var pongTimeout = 10.0
  public var history = 300
  public var memberList = 256
  public var pushedMembersPerRoom = 1_000

  public init() {}

  /// One limit: how to reach it and which values make sense.
  public struct Entry: Sendable {
    public let name: String
    public let summary: String
    public let allowed: ClosedRange<Double>
    public let isWhole: Bool
    let get: @Sendable (Limits) -> Double
    let set: @Sendable (inout Limits, Double) -> Void

    static func count(
      _ name: String, _ summary: String, _ path: any WritableKeyPath<Limits, Int> & Sendable,
      _ allowed: ClosedRange<Double>
    ) -> Entry {
      Entry(name: name, summary: summary, allowed: allowed, isWhole: true, get: { Double($0[keyPath: path]) }) {
        $0[keyPath: path] = Int($1)
      }
    }

    static func decimal(
      _ name: String, _ summary: String, _ path: any WritableKeyPath<Limits, Double> & Sendable,
      _ allowed: ClosedRange<Double>
    ) -> Entry {
      Entry(name: name, summary: summary, allowed: allowed, isWhole: false, get: { $0[keyPath: path] }) {
        $0[keyPath: path] = $1
      }
    }
  }

  /// In the order in which help and `welcome` name them.
  public static let entries: [Entry] = [
    .count("frame", "bytes of a frame from a client", \.frame, 256...1_048_576),
    .count("outgoingQueue", "bytes of events that may wait for a session", \.outgoingQueue, 4_096...268_435_456),
    .count("roomsPerSession", "rooms that a session may hear", \.roomsPerSession, 0...65_535),
    .count("roomsPerUser", "rooms that keep something and have a user as a member", \.roomsPerUser, 0...100_000),
    .count("sessionsPerUser", "sessions of a user", \.sessionsPerUser, 0...100_000),
    .count("devicesPerUser", "devices of a user", \.devicesPerUser, 0...1_000),
    .count("membersPerRoom", "members of a room", \.membersPerRoom, 0...1_000_000),
    .decimal(
      "sendRate", "send, signal, edit and delete a second and session (twice that per user, four times per room)",
      \.sendRate,
      0...1_000_000),
    .count("sendBurst", "send, signal, edit and delete at once", \.sendBurst, 1...1_000_000),
    .decimal("requestRate", "other requests a second and session", \.requestRate, 0...1_000_000),
    .count("requestBurst", "other requests at once", \.requestBurst, 1...1_000_000),
    .decimal("focusRate", "reports of a user's focus and filters a second", \.focusRate, 0...1_000_000),
    .count("focusBurst", "reports of a user's focus and filters at once", \.focusBurst, 1...1_000_000),
    .count("watched", "users that a session may watch", \.watched, 0...100_000),
    .count("nesting", "depth of arrays and objects in a frame", \.nesting, 4...1_000),
    .decimal("helloTimeout", "seconds until `hello` must have come", \.helloTimeout, 0.1...300),
    .decimal("heartbeat", "seconds of silence before a ping", \.heartbeat, 0.1...3_600),
    .decimal("pongTimeout", "seconds until its pong must have come", \.pongTimeout, 0.1...300),
    .count("history", "messages in one reply", \.history, 1...10_000),
    .count("memberList", "members above which a room is large", \.memberList, 0...10_000),
    .count("pushedMembersPerRoom", "members above which a room pushes nothing", \.pushedMembersPerRoom, 0...100_000),
  ]

  public subscript(entry: Entry) -> Double { entry.get(self) }

  /// The value of the limit of this name; nil for an unknown name.
  public subscript(name: String) -> Double? {
    Self.entries.first { $0.name == name }?.get(self)
  }

  /// Sets a limit; throws what is wrong, in words for an operator.
  public mutating func set(_ entry: Entry, to value: Double) throws(LimitError) {
    guard value.isFinite, entry.allowed.contains(value), !entry.isWhole || value == value.rounded() else {
      throw LimitError(entry: entry, value: value)
    }
    entry.set(&self, value)
  }
}

/// A limit outside its range.
public struct LimitError: Error, CustomStringConvertible {
  let entry: Limits.Entry
  let value: Double

  public var description: String {
    let bounds = "\(spelled(entry.allowed.lowerBound)) to \(spelled(entry.allowed.upperBound))"
    return "limits.\(entry.name) must be \(entry.isWhole ? "a whole number from " : "")\(bounds), not \(spelled(value))"
  }

  private func spelled(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : String(number)
  }
}

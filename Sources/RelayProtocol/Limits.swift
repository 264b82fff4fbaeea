// SPDX-License-Identifier: Apache-2.0

/// The limits of the protocol that an operator can change, under the names that `welcome` reports.
///
/// Rates are per second, sizes in bytes, times in seconds. 0 removes a limit, except for `frame`, `outgoingQueue`,
/// `nesting`, `history`, the bursts, `helloTimeout`, `heartbeat` and `pongTimeout`, which cannot be 0.
public struct Limits: Equatable, Sendable {
  public var frame = 65_536
  public var outgoingQueue = 1_048_576
  public var roomsPerSession = 128
  public var roomsPerUser = 1_000
  public var invitations = 100
  public var newPeoplePerDay = 100
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

  /// One limit: its name, its meaning and its bounds.
  public struct Entry: Sendable {
    public let name: String
    public let meaning: String
    public let unit: Unit
    public let allowed: ClosedRange<Double>
    public let isWhole: Bool
    let get: @Sendable (Limits) -> Double
    let set: @Sendable (inout Limits, Double) -> Void

    static func count(
      _ name: String, _ path: any WritableKeyPath<Limits, Int> & Sendable, _ allowed: ClosedRange<Double>,
      in unit: Unit = .count, _ meaning: String
    ) -> Entry {
      Entry(
        name: name, meaning: meaning, unit: unit, allowed: allowed, isWhole: true, get: { Double($0[keyPath: path]) },
        set: { $0[keyPath: path] = Int($1) })
    }

    static func decimal(
      _ name: String, _ path: any WritableKeyPath<Limits, Double> & Sendable, _ allowed: ClosedRange<Double>,
      in unit: Unit, _ meaning: String
    ) -> Entry {
      Entry(
        name: name, meaning: meaning, unit: unit, allowed: allowed, isWhole: false, get: { $0[keyPath: path] },
        set: { $0[keyPath: path] = $1 })
    }
  }

  /// The unit of a limit's value.
  public enum Unit: Sendable {
    case count, bytes, seconds, perSecond
  }

  /// All limits, in the order of `--help` and `welcome`.
  public static let entries: [Entry] = [
    .count("frame", \.frame, 256...1_048_576, in: .bytes, "Maximum size of a frame that a client sends."),
    .count(
      "outgoingQueue", \.outgoingQueue, 4_096...268_435_456, in: .bytes,
      "Maximum size of the events that wait for a session."),
    .count(
      "roomsPerSession", \.roomsPerSession, 0...65_535, "Maximum number of rooms in which a session receives messages."),
    .count(
      "roomsPerUser", \.roomsPerUser, 0...100_000,
      "Maximum number of rooms that store messages and that a user is a member of."),
    .count(
      "invitations", \.invitations, 0...10_000,
      "Maximum number of open invitations of a user. A new invitation ends the oldest."),
    .count(
      "newPeoplePerDay", \.newPeoplePerDay, 0...100_000, "Maximum number of invitations that a user makes in 24 hours."),
    .count("sessionsPerUser", \.sessionsPerUser, 0...100_000, "Maximum number of sessions of a user."),
    .count("devicesPerUser", \.devicesPerUser, 0...1_000, "Maximum number of devices of a user."),
    .count("membersPerRoom", \.membersPerRoom, 0...1_000_000, "Maximum number of members of a room."),
    .decimal(
      "sendRate", \.sendRate, 0...1_000_000, in: .perSecond,
      """
      Rate of `send`, `signal`, `edit` and `delete` of a session. A user has twice this rate, a room four times. A \
      message that may push counts as one more for the user and the room for each 100 members to push to. So do a \
      deletion, and an edit that phones show.
      """),
    .count(
      "sendBurst", \.sendBurst, 1...1_000_000, "Maximum number of `send`, `signal`, `edit` and `delete` at once."),
    .decimal(
      "requestRate", \.requestRate, 0...1_000_000, in: .perSecond,
      """
      Rate of all other requests of a session. A user has twice this rate, for all sessions and HTTP requests \
      together. For new and ended memberships a room has 20 times this rate.
      """),
    .count("requestBurst", \.requestBurst, 1...1_000_000, "Maximum number of all other requests at once."),
    .decimal(
      "focusRate", \.focusRate, 0...1_000_000, in: .perSecond, "Rate of the reports of a user's Focus and filters."),
    .count(
      "focusBurst", \.focusBurst, 1...1_000_000, "Maximum number of reports of a user's Focus and filters at once."),
    .count("watched", \.watched, 0...100_000, "Maximum number of users that a session watches."),
    .count("nesting", \.nesting, 4...1_000, "Maximum depth of arrays and objects in a frame."),
    .decimal("helloTimeout", \.helloTimeout, 0.1...300, in: .seconds, "Timeout for the `hello` of a new session."),
    .decimal(
      "heartbeat", \.heartbeat, 0.1...3_600, in: .seconds,
      "Time without a frame from the client before the relay pings it. The ping may be early by a 64th of it."),
    .decimal("pongTimeout", \.pongTimeout, 0.1...300, in: .seconds, "Timeout for the pong."),
    .count("history", \.history, 1...10_000, "Maximum number of messages in one reply."),
    .count(
      "memberList", \.memberList, 0...10_000,
      "Number of members above which a room is large: clients then get counts instead of the list of members."),
    .count(
      "pushedMembersPerRoom", \.pushedMembersPerRoom, 0...100_000,
      "Number of members above which a room pushes only to users whom a message names or answers."),
  ]

  public subscript(entry: Entry) -> Double {
    get { entry.get(self) }
    set { entry.set(&self, newValue) }
  }

  /// The value of the limit with this name. Is `nil` for an unknown name.
  public subscript(name: String) -> Double? {
    Self.entries.first { $0.name == name }?.get(self)
  }
}

/// Entries are equal if they have the same name. A key path with an entry as its subscript requires `Hashable`.
extension Limits.Entry: Hashable {
  public static func == (a: Self, b: Self) -> Bool { a.name == b.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

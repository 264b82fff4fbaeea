// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import RelayProtocol

/// One option for each limit; what it means and its range are where the limits are.
struct LimitOptions: ParsableArguments {
  @Option(name: .customLong("limits-frame"), help: .limit("frame")) var frame: String?
  @Option(name: .customLong("limits-outgoing-queue"), help: .limit("outgoingQueue")) var outgoingQueue: String?
  @Option(name: .customLong("limits-rooms-per-session"), help: .limit("roomsPerSession")) var roomsPerSession: String?
  @Option(name: .customLong("limits-rooms-per-user"), help: .limit("roomsPerUser")) var roomsPerUser: String?
  @Option(name: .customLong("limits-sessions-per-user"), help: .limit("sessionsPerUser")) var sessionsPerUser: String?
  @Option(name: .customLong("limits-devices-per-user"), help: .limit("devicesPerUser")) var devicesPerUser: String?
  @Option(name: .customLong("limits-members-per-room"), help: .limit("membersPerRoom")) var membersPerRoom: String?
  @Option(name: .customLong("limits-send-rate"), help: .limit("sendRate")) var sendRate: String?
  @Option(name: .customLong("limits-send-burst"), help: .limit("sendBurst")) var sendBurst: String?
  @Option(name: .customLong("limits-request-rate"), help: .limit("requestRate")) var requestRate: String?
  @Option(name: .customLong("limits-request-burst"), help: .limit("requestBurst")) var requestBurst: String?
  @Option(name: .customLong("limits-focus-rate"), help: .limit("focusRate")) var focusRate: String?
  @Option(name: .customLong("limits-focus-burst"), help: .limit("focusBurst")) var focusBurst: String?
  @Option(name: .customLong("limits-watched"), help: .limit("watched")) var watched: String?
  @Option(name: .customLong("limits-nesting"), help: .limit("nesting")) var nesting: String?
  @Option(name: .customLong("limits-hello-timeout"), help: .limit("helloTimeout")) var helloTimeout: String?
  @Option(name: .customLong("limits-heartbeat"), help: .limit("heartbeat")) var heartbeat: String?
  @Option(name: .customLong("limits-pong-timeout"), help: .limit("pongTimeout")) var pongTimeout: String?
  @Option(name: .customLong("limits-history"), help: .limit("history")) var history: String?
  @Option(name: .customLong("limits-member-list"), help: .limit("memberList")) var memberList: String?
  @Option(name: .customLong("limits-pushed-members-per-room"), help: .limit("pushedMembersPerRoom"))
  var pushedMembersPerRoom: String?

  /// The options that were given, by the names of the limits.
  var given: [String: String?] {
    [
      "frame": frame, "outgoingQueue": outgoingQueue, "roomsPerSession": roomsPerSession,
      "roomsPerUser": roomsPerUser, "membersPerRoom": membersPerRoom, "sessionsPerUser": sessionsPerUser,
      "devicesPerUser": devicesPerUser, "sendRate": sendRate,
      "sendBurst": sendBurst, "requestRate": requestRate,
      "requestBurst": requestBurst, "focusRate": focusRate, "focusBurst": focusBurst, "watched": watched,
      "nesting": nesting, "helloTimeout": helloTimeout, "heartbeat": heartbeat,
      "pongTimeout": pongTimeout, "history": history, "memberList": memberList,
      "pushedMembersPerRoom": pushedMembersPerRoom,
    ]
  }
}

extension ArgumentHelp {
  /// What the limit is and its default.
  fileprivate static func limit(_ name: String) -> ArgumentHelp {
    guard let entry = Limits.entries.first(where: { $0.name == name }), let value = Limits()[name] else {
      preconditionFailure("an option for a limit that is none: \(name)")
    }
    let number = value == value.rounded() ? String(Int(value)) : String(value)
    return ArgumentHelp("\(entry.summary) (default: \(number))", valueName: "n")
  }
}

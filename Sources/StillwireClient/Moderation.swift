// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol
import StillwireExtension

/// The requests of moderators and owners, and reports to them.
extension Room {
  /// Restricts a member until a time, or ends the restriction: the member reads, but sends nothing. Requires the role of
  /// a moderator or an owner.
  /// - Parameter until: Is `nil` to end the restriction.
  public func restrict(_ user: UserID, until: Timestamp?) async throws {
    try await request(
      "restrict", ["user": .string(user.rawValue), "until": until?.rawValue.json ?? .null])
  }

  /// Lets only moderators and owners send, or all members. Requires the role of a moderator or an owner.
  public func setReadOnly(_ isReadOnly: Bool) async throws {
    try await request("update", ["readOnly": .bool(isReadOnly)])
  }

  /// Reports a message to the moderators. A second report of the same message changes nothing.
  /// - Parameter reason: At most 1,000 bytes.
  @discardableResult
  public func report(_ seq: Int64, reason: String) async throws -> MessageReport {
    try MessageReport(from: await request("report", ["seq": seq.json, "reason": .string(reason)]))
  }

  /// Lists the reports of messages of others, newest first. Requires the role of a moderator or an owner.
  /// - Parameters:
  ///   - state: The state of the reports. All states if `nil`.
  ///   - before: The id of the last report of the page before.
  ///   - limit: Maximum number of reports, at most 100.
  public func reports(
    _ state: MessageReport.State? = nil, before: Int64? = nil, limit: Int = 100
  ) async throws -> (reports: [MessageReport], hasMore: Bool) {
    var fields: [String: JSON] = ["limit": .number(String(limit))]
    fields["state"] = state.map { .string($0.rawValue) }
    fields["before"] = before?.json
    let reply = try await request("reports", fields)
    return (reply["reports"]?.items?.compactMap(MessageReport.init) ?? [], reply["more"]?.flag ?? false)
  }

  /// Ends a report, or opens it again. Requires the role of a moderator or an owner.
  @discardableResult
  public func end(_ report: Int64, as state: MessageReport.State) async throws -> MessageReport {
    try MessageReport(from: await request("resolve", ["report": report.json, "state": .string(state.rawValue)]))
  }
}

extension MessageReport {
  fileprivate init(from reply: JSON) throws {
    guard let report = MessageReport(reply) else {
      throw StillwireError(.malformed, "the reply is not a report of a message")
    }
    self = report
  }

  /// Parses a report. Returns `nil` if the value is not a report.
  public init?(_ json: JSON) {
    guard let id = json["report"]?.integer, let room: RoomID = json.name("room"), let seq = json["seq"]?.integer,
      let author: UserID = json.name("from"), let user: UserID = json.name("user"), let reason = json["reason"]?.text,
      let time = json.time("time"), let state = json["state"]?.text.flatMap(State.init(rawValue:))
    else { return nil }
    self.init(
      id: id, message: MessageReference(room: room, seq: seq), author: author, user: user, reason: reason, time: time,
      state: state, closer: json.name("by"), closed: json.time("closed"))
  }
}

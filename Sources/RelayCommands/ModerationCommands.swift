// SPDX-License-Identifier: Apache-2.0

// Commands about moderation: restrict a member, report a message, list reports, end a report. `Rooms` performs the
// restrictions, and the store has the reports.

import RelayFollowers
import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Restricts a member until a time: the member reads, but sends nothing. Ends the restriction without a time.
struct RestrictMember: Command {
  package static let declaration = Declaration(
    frame: "restrict", "PUT", "/v1/rooms/{room}/restrictions",
    room: .member(.join, role: .moderator, "the restriction of a member"), fields: [SharedFields.user, end],
    errors: [.notFound, .tooLarge, .unsupported])

  private static let end = Field<Timestamp?>.time(
    "until", "The end of the restriction, in the future. null or absent: ends it.")

  private let request: Request
  private let user: UserID
  private let until: Timestamp?

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
    user = try SharedFields.user.value(in: request)
    until = try Self.end.value(in: request)
    guard request.caller.by != user else { throw request.fields.wrong("user", "must be another user") }
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      try relay.rooms.checkKeeps(access, request, on: core)
      if let until, until <= core.hub.now { throw request.fields.wrong("until", "is in the past") }
      try await relay.rooms.restrict(user, until: until, access, request, on: core)
      return Reply {
        $0["room"] = access.room.rawValue
        $0["user"] = user.rawValue
        $0.integer("until", until?.rawValue)
      }
    }
  }
}

/// Reports a message to the moderators of its room.
struct ReportMessage: Command {
  package static let declaration = Declaration(
    frame: "report", "POST", "/v1/rooms/{room}/messages/{seq}/reports", room: .member(.join, "a report"),
    fields: [explanation, reporter], errors: [.conflict, .notFound, .tooLarge, .unsupported])

  private static let explanation = Field<String?>.text(
    "reason", maxLength: MessageReport.maxReasonLength, schema: "ReportReason"
  ).required()
  private static let reporter = RequestField.actor(
    "user",
    """
    The user who reports the message. An API key needs it, unless `X-Stillwire-User` names the user. A token must not \
    have it.
    """)

  private let request: Request
  private let seq: Int64
  private let reason: String
  private let user: UserID

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
    seq = try request.seq
    reason = try Self.explanation.value(in: request)
    guard !reason.allSatisfy(\.isWhitespace) else { throw request.fields.wrong("reason", "must not be blank") }
    user = try Self.reporter.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      try relay.rooms.checkKeeps(access, request, on: core)
      let message = MessageReference(room: access.room, seq: seq)
      let kept = relay.memory.policy(of: access.room, on: core).history.count
      let added = try await core.store.write { [reason, user] in
        try $0.reports.add(reason, about: message, by: user, kept: kept)
      }
      guard let added else { throw Messages.notFound }
      var report = added.report
      // The reporter need not know the moderator who has ended the report.
      report.closer = nil
      return Reply(status: added.isNew ? 201 : 200) { [report] in
        Replies.report(report)(&$0)
        if !added.isNew { $0.bool("duplicate", true) }
      }
    }
  }
}

/// Lists the reports of messages of a room, newest first. A moderator gets none about the own messages.
struct ListReports: Command {
  package static let declaration = Declaration(
    frame: "reports", "GET", "/v1/rooms/{room}/reports", room: .member(.moderate, "reports of messages"),
    fields: ReportPage.fields)

  private let request: Request
  private let page: ReportPage

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
    page = try ReportPage(request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      let page = try await page.read(of: access.room, for: request.caller.owner, on: core)
      return Reply {
        $0["room"] = access.room.rawValue
        page(&$0)
      }
    }
  }
}

/// Lists the reports of messages of all rooms, newest first.
struct ListAllReports: Command {
  package static let declaration = Declaration(
    "GET", "/v1/reports", by: .backend, fields: ReportPage.fields, reach: .everything)

  private let page: ReportPage

  init(_ request: Request) throws(RequestError) { page = try ReportPage(request) }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    Reply(try await page.read(of: nil, for: nil, on: core))
  }
}

/// Ends a report as resolved or dismissed, or opens it again. A moderator cannot do so with a report about the own
/// message.
struct EndReport: Command {
  package static let operation = "resolveReport"
  package static let declaration = Declaration(
    frame: "resolve", "PUT", "/v1/rooms/{room}/reports/{report}", room: .member(.moderate, "the state of a report"),
    fields: [id, newState], errors: [.notFound])

  private static let id = Field<Int64?>.seq("report", "The id of the report.").required()
  private static let newState = Field<MessageReport.State?>.choice(
    "state", schema: "schemas.json#/ReportState"
  ).required()

  private let request: Request
  private let report: Int64
  private let state: MessageReport.State

  init(_ request: Request) throws(RequestError) {
    self.request = request
    _ = try request.room
    report = try Self.id.value(in: request)
    state = try Self.newState.value(in: request)
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    try await inRoom(of: request, relay, on: core) { access in
      let (by, viewer) = (request.caller.by, request.caller.owner)
      let ended = try await core.store.write { [report, state] in
        try $0.reports.end(report, in: access.room, as: state, by: by, for: viewer)
      }
      return Reply(Replies.report(ended))
    }
  }
}

/// A request for a page of reports.
private struct ReportPage: Sendable {
  private static let state = Field<MessageReport.State?>.choice(
    "state", schema: "schemas.json#/ReportState", "Only reports of this state.")
  private static let before = Field<Int64?>.seq("before", "The last report of the page before.")

  // Each report has a reason of at most `MessageReport.maxReasonLength` bytes.
  static let fields: [any DeclaredField] = [Self.state, Self.before, SharedFields.limit]

  let before: Int64
  let limit: Int
  let state: MessageReport.State?

  init(_ request: Request) throws(RequestError) {
    before = try Self.before.value(in: request) ?? maxInteger
    limit = try SharedFields.limit.value(in: request)
    state = try Self.state.value(in: request)
  }

  func read(of room: RoomID?, for viewer: UserID?, on core: isolated Core) async throws -> Reply.Members {
    // The reader's thread writes the text.
    let page = try await core.store.read { reader in
      let page = try reader.reports.page(of: room, state, for: viewer, before: before, limit: limit)
      return (JSONWriter.array(page.reports.map { JSONWriter.object(Replies.report($0)) }), page.more)
    }
    return {
      $0.raw("reports", page.0)
      $0.bool("more", page.1)
    }
  }
}

extension Replies {
  /// The report of a message.
  static func report(_ report: MessageReport) -> Reply.Members {
    {
      $0.integer("report", report.id)
      report.message.write(to: &$0)
      $0["from"] = report.author.rawValue
      $0["user"] = report.user.rawValue
      $0["reason"] = report.reason
      $0.integer("time", report.time.rawValue)
      $0["state"] = report.state.rawValue
      $0["by"] = report.closer?.rawValue
      $0.integer("closed", report.closed?.rawValue)
    }
  }
}

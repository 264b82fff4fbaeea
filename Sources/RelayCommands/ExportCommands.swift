// SPDX-License-Identifier: Apache-2.0

// The command of backends that exports everything about a person. A reader's thread writes the pages.

import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// Exports everything that the relay has about a user, as JSON Lines in pages.
///
/// The hub cannot wait for a client that reads slowly, so one answer is a page of bounded size. The last line of each
/// page has the position of the next one, or ends the export.
struct ExportUser: Command {
  private static let cursor = Field<ExportPosition?>.made(
    "cursor", maxLength: 64, "the cursor of an export", "The cursor of the page before. Without it the export begins.",
    ExportPosition.init)
  private static let limit = Field<Int>.whole(
    "limit", 1...1_000, default: 500,
    "The maximum number of entries of the page. The first page has all entries that belong to no room, even if they are "
      + "more.")

  package static let declaration = Declaration(
    "GET", "/v1/users/{user}/export", by: StoredText.export.callers,
    fields: [Self.cursor, Self.limit], reach: .rooms, errors: [.notFound])

  private let user: UserID
  private let position: ExportPosition
  private let bounds: ExportBounds

  init(_ request: Request) throws(RequestError) {
    user = try request.user
    bounds = ExportBounds(entries: try Self.limit.value(in: request))
    position = try Self.cursor.value(in: request) ?? .start
  }

  package func run(_ relay: Relay, on core: isolated Core) async throws -> Reply {
    let (warnings, now) = (relay.warnings(on: core), core.hub.now)
    let lines: [UInt8]? = try await core.store.read { [user, position, bounds] reader in
      guard let page = try reader.export.page(of: user, from: position, within: bounds) else { return nil }
      var lines = ExportLines(user: user, warnings: warnings, now: now)
      for entry in page.entries { lines.add(entry) }
      lines.end(page.next)
      return lines.bytes
    }
    guard let lines else {
      throw RequestError(.notFound, "the user was erased, or is a new one, after the page before", at: "/path/user")
    }
    return .lines(lines)
  }
}

/// The text of a page.
private struct ExportLines {
  let user: UserID
  let warnings: ReplyWarnings
  let now: Timestamp
  private(set) var bytes: [UInt8] = []

  init(user: UserID, warnings: ReplyWarnings, now: Timestamp) {
    self.user = user
    self.warnings = warnings
    self.now = now
  }

  private mutating func line(_ type: String, _ members: (inout JSONWriter.Object) -> Void) {
    bytes += JSONWriter.object {
      $0["type"] = type
      members(&$0)
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Writes the last line of a page.
  mutating func end(_ next: ExportPosition?) {
    guard let next else { return line("end") { _ in } }
    line("next") { $0["cursor"] = next.text }
  }

  mutating func add(_ entry: ExportEntry) {
    switch entry {
    case .person(let person): add(person)
    case .membership(let membership): add(membership)
    case .invitation(let room, let invited):
      line("invitation") {
        $0["room"] = room.rawValue
        invited.write(to: &$0)
      }
    case .ban(let room, let until):
      line("ban") {
        $0["room"] = room.rawValue
        $0.integer("until", until?.rawValue)
      }
    case .restriction(let room, let until):
      line("restriction") {
        $0["room"] = room.rawValue
        $0.integer("until", until.rawValue)
      }
    case .message(let room, let message, let push): add(message, in: room, push)
    case .reactions(let message, let keys):
      line("reactions") {
        message.write(to: &$0)
        $0.array("keys") { list in keys.forEach { list.string($0) } }
      }
    case .report(let report):
      line("report") {
        report.message.write(to: &$0)
        $0["reason"] = report.reason
        $0.integer("time", report.time.rawValue)
        $0["state"] = report.state.rawValue
      }
    case .call(let call): add(call)
    case .response(let response, let time): add(response, at: time)
    case .push(let job):
      line("push") {
        $0.members(of: job)
        $0.raw("explanation", job.explanation)
      }
    case .audit(let action):
      // The name of the key and the address are facts about the backend.
      line("audit") {
        $0.integer("time", action.time.rawValue)
        $0["operation"] = action.operation
        $0["result"] = action.error?.rawValue ?? "ok"
        $0["room"] = action.room?.rawValue
        $0["target"] = action.target
      }
    }
  }

  // MARK: The person

  private mutating func add(_ person: ExportedPerson) {
    let status = person.record.status.flatMap { $0.isOn(at: now) ? $0 : nil }
    line("profile") {
      Replies.profile(person.profile)(&$0)
      $0.raw("status", status?.json)
      $0.integer("lastSeen", person.record.lastSeen?.rawValue)
      $0.raw("rooms", person.grants)
    }
    add(person.access)
    line("preferences") { Replies.preferences(person.record.preferences)(&$0) }
    for focus in person.record.focus { add(focus) }
    for filter in person.record.filters { add(filter) }
    for found in person.devices {
      let ofDevice = warnings.about(found.device)
      line("device") {
        Replies.device(found.device, ofDevice)(&$0)
        $0.integer("registered", found.registered.rawValue)
        $0.integer("reportKeys", found.reportKeys)
      }
    }
    for other in person.record.blocks.sorted() { line("block") { $0["user"] = other.rawValue } }
  }

  private mutating func add(_ access: UserAccess) {
    guard !access.isEmpty else { return }
    let isSuspended = access.suspension?.isOn(at: now) ?? false
    line("access") {
      $0.bool("suspended", isSuspended)
      $0.integer("until", access.suspension?.until?.rawValue)
      $0["reason"] = access.suspension?.reason
      $0.integer("notBefore", access.notBefore?.rawValue)
    }
  }

  private mutating func add(_ focus: FocusRecord) {
    line("focus") {
      $0["device"] = focus.device.rawValue
      $0.boolOrNull("isFocused", focus.isFocused)
      $0["authorization"] = focus.authorization.rawValue
      $0["source"] = focus.source?.rawValue
      $0.integer("at", focus.at.rawValue)
      $0.integer("number", focus.number)
      $0.integer("received", focus.received.rawValue)
      $0.integer("focusSince", focus.since?.rawValue)
    }
  }

  private mutating func add(_ filter: FilterRecord) {
    line("filter") {
      $0["device"] = filter.device.rawValue
      $0.bool("active", filter.isActive)
      $0.array("allow") { list in filter.allow.forEach { list.string($0) } }
      $0.integer("at", filter.at.rawValue)
      $0.integer("number", filter.number)
      $0.integer("received", filter.received.rawValue)
    }
  }

  // MARK: Rooms, messages and responses

  private mutating func add(_ membership: ExportedMembership) {
    line("membership") {
      $0["room"] = membership.room.rawValue
      $0["kind"] = membership.kind
      $0["title"] = membership.title
      $0["role"] = membership.role.name
      $0.integer("joined", membership.joined.rawValue)
      $0.integer("read", membership.read)
      $0.integer("received", membership.received)
      $0.integer("restrictedUntil", membership.restrictedUntil?.rawValue)
    }
  }

  private mutating func add(_ message: StoredMessage, in room: RoomID, _ push: PushRequest) {
    // A message of another user is a notification that this one has received.
    let sender = message.from == user ? nil : message.from.rawValue
    line("message") {
      MessageReference(room: room, seq: message.seq).write(to: &$0)
      $0["from"] = sender
      $0.integer("time", message.time.rawValue)
      guard !message.isDeleted else { return $0.bool("deleted", true) }
      $0.integer("editedAt", message.edited?.rawValue)
      Replies.address(message.mentions, message.replyTo)(&$0)
      $0.raw("body", message.body)
      if push != PushRequest() { $0.raw("push", push.storedRest) }
    }
  }

  private mutating func add(_ call: ExportedCall) {
    line("call") {
      call.message.write(to: &$0)
      $0["from"] = call.caller.rawValue
      $0["media"] = call.media
      $0["state"] = call.state
      $0.integer("time", call.began.rawValue)
      $0.integer("ended", call.ended?.rawValue)
      $0["own"] = call.own
      $0["device"] = call.device
    }
  }

  private mutating func add(_ response: StoredResponse, at time: Timestamp) {
    line("response") {
      $0["notification"] = response.notification
      response.message.write(to: &$0)
      $0["to"] = response.sender.rawValue
      $0["action"] = response.action.rawValue
      $0["text"] = response.text
      $0.integer("posted", response.posted)
      $0.integer("time", time.rawValue)
    }
  }
}

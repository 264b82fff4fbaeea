// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayStore

/// Why somebody would be pushed to, or would not, before a message is sent.
extension Relay {
  static let decisionRoutes = [
    Route("/v1/decisions", .called("POST", by: .backend) { relay, call in try await relay.postDecision(call) })
  ]

  /// What would become of a message now. Nothing is sent or stored.
  private func postDecision(_ call: HTTPCall) async throws -> HTTPResponse {
    let fields = try parser.parse(call.request.body)
    let name = try fields.room
    let sender: UserID = try fields.required("from", fields.name("from"))
    let user: UserID = try fields.required("user", fields.name("user"))
    pin(name)
    defer { unpin(name) }
    guard let room = try await policy(of: name).isStored ? load(name) : hub.room(name) else {
      throw StoreError.noRoom(name)
    }
    var draft = MessageDraft(room: name, from: User(id: sender), time: hub.now, body: [])
    try draft.read(
      fields, rights: try fields.has("rights") ? fields.rights("rights") : rights(of: sender, in: name),
      newest: hub.position(of: room)?.seq ?? 0, isStored: policy(of: name).isStored)
    try draft.push?.check(in: categories.registry)
    let handle = try await retain(user)
    defer { hub.release(handle) }
    var traits = draft.traits
    if !hub.pushes(room) { traits.push.isAsked = false }
    let decisions = decisions(about: traits, for: handle, user, in: room, name)
    return .json(200) {
      $0["room"] = name.rawValue
      $0["from"] = sender.rawValue
      $0["user"] = user.rawValue
      $0.array("devices") { list in
        for decision in decisions {
          list.object {
            $0["device"] = decision.device?.id.rawValue
            $0.raw("decision", Explanation.json(of: decision.explanation.decision))
            $0.raw("facts", Explanation.json(of: decision.explanation.facts))
          }
        }
      }
    }
  }

  /// The rights of a sender in a room: those of the sender's sessions, or, if there is no session, those that the room's
  /// pattern gives.
  private func rights(of sender: UserID, in room: RoomID) -> Rights {
    let sessions = hub.user(sender).map { hub.sessions(of: $0) } ?? []
    guard !sessions.isEmpty else { return policy(of: room).can ?? .standard }
    return sessions.reduce(into: Rights()) { $0.formUnion(rights(of: $1, in: room)) }
  }

  private func decisions(
    about message: MessageTraits, for user: UserHandle, _ name: UserID, in room: RoomHandle, _ roomName: RoomID
  ) -> [DeviceDecision] {
    let now = hub.now
    let recipient = recipient(user)
    let presence = hub.member(user, of: room).map { RoomMember($0).presence }
    let member = PlanMember(
      name, recipient, as: Membership(forNextMessage: presence, now: now),
      quiet: deliveries.quiet(of: recipient, at: now))
    return planner.decisions(about: PlanMessage(message, in: roomName, at: now), for: member, now: now)
  }
}

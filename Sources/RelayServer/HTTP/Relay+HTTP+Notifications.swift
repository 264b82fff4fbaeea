// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayPush
import RelayStore

/// Pushes that no message of a room causes.
extension Relay {
  static let notificationRoutes = [
    Route(
      "/v1/users/{user}/notifications",
      .called("POST", by: .backend) { relay, call in try await relay.postNotification(call) })
  ]

  private func postNotification(_ call: HTTPCall) async throws -> HTTPResponse {
    let user = try call.user
    let fields = try parser.parse(call.request.body)
    let sender = try call.actor("from", fields)
    let key = try call.key(fields)
    guard var push = try PushRequest(fields, rights: .standard), push.isAsked else {
      throw fields.wrong("push", "must be an object: without a push there is no notification")
    }
    // The app counts its orders or dates by itself: the number of unread messages would overwrite that badge.
    if try fields.object("push")?.has("badge") != true { push.manner.badge = .unchanged }
    if push.manner.isCommunication == nil, push.manner.title != nil, !push.isSilent, push.kind == .message {
      push.manner.isCommunication = try await isPerson(sender) ? nil : false
    }
    let room = RoomID.notifications(of: user)
    try check(push, from: sender, to: room)
    let handle = try await retain(user)
    defer { hub.release(handle) }
    let now = hub.now
    let recipient = recipient(handle)
    let decisions = planner.decisions(
      about: PlanMessage(MessageTraits(from: sender, push: push), in: room, at: now),
      for: PlanMember(user, recipient, as: .absent, quiet: deliveries.quiet(of: recipient, at: now)), now: now)
    for decision in decisions { tally.count(decision.outcome) }
    let pushes = decisions.compactMap(\.push)
    let draft = MessageDraft(
      room: room, from: User(id: sender), time: now, body: Array("null".utf8), push: push,
      isCounted: false,
      key: key, cursorFollows: true, retention: RoomPolicy.notifications.history)
    let epoch = Self.newEpoch()
    let posted = try await store.write { transaction in
      var draft = draft
      draft.jobs = pushes.map(JobDraft.init)
      return try transaction.messages.post(draft, epoch: epoch)
    }
    guard !posted.stored.isDuplicate else {
      // What was decided of the first its pushes tell.
      let devices = posted.pushes.keys.sorted().map { (device: DeviceID?.some($0), decision: Decision?.none) }
      return .notification(200, to: user, posted, devices)
    }
    worker.wake()
    if let end = decisions.compactMap(\.explanation.decision.holdEnd).min() {
      deliveries.holds.expectEnd(by: end, on: self)
    }
    return .notification(201, to: user, posted, decisions.map { ($0.device?.id, $0.explanation.decision) })
  }
}

extension Relay {
  /// True if the name belongs to somebody who uses an app: the user is or was connected, has a device, or is a member of
  /// a room.
  fileprivate func isPerson(_ user: UserID) async throws -> Bool {
    if let handle = hub.user(user), !hub.sessions(of: handle).isEmpty { return true }
    return try await store.read { try $0.people.isPerson(user) }
  }
}

extension HTTPResponse {
  fileprivate static func notification(
    _ status: Int, to user: UserID, _ posted: (stored: Appended, pushes: [DeviceID: String]),
    _ devices: [(device: DeviceID?, decision: Decision?)]
  ) -> HTTPResponse {
    .json(status) {
      $0["user"] = user.rawValue
      $0.integer("time", posted.stored.time.rawValue)
      if posted.stored.isDuplicate { $0.bool("duplicate", true) }
      $0.array("devices") { list in
        for (device, decision) in devices {
          list.object {
            $0["device"] = device?.rawValue
            $0["push"] = device.flatMap { posted.pushes[$0] }
            $0.raw("decision", decision.map(Explanation.json(of:)))
          }
        }
      }
    }
  }
}

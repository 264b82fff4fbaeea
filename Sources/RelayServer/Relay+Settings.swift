// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayGateways
import RelayHub
import RelayIdentity
import RelayProtocol
import RelayPush

/// What can change while the relay runs.
extension Relay {
  struct Settings: Sendable {
    var authentication: Authentication
    /// The keys of backends.
    var apiKeys: APIKeys
    /// For how long a session outlives its token.
    var identityGrace: Duration
    var limits: Limits
    var policy: DeliveryPolicy
    var rooms: RoomPatterns
    /// Whether everybody may read the metrics.
    var isMetricsOpen: Bool
    /// True if devices of the platform `simulator` may register.
    var takesSimulators = true
    var apps = Apps()
    /// The relay's own texts of pushes.
    var pushTexts = PushTextTable()
    /// Those of the apps that Apple's service pushes to, with their keys.
    var appleApps: [AppleApp] = []
    /// Those that push gateways of their own push to, with their secrets.
    var gatewayApps: [HTTPGatewayApp] = []
    /// With what browsers are pushed to; nil: they are not.
    var webPushKey: VAPIDKey?
    /// Whose subscriptions are accepted.
    var pushServices = PushServices()

    /// The part that the push worker reads.
    var push: PushSettings {
      PushSettings(apps: apps, texts: pushTexts) { [rooms] in rooms.policy(for: $0).hasPreview }
    }
  }

  var authentication: Authentication { settings.authentication }
  var apiKeys: APIKeys { settings.apiKeys }
  var identityGrace: Duration { settings.identityGrace }
  var limits: Limits { settings.limits }
  var policy: DeliveryPolicy { settings.policy }
  var isMetricsOpen: Bool { settings.isMetricsOpen }
  var apps: Apps { settings.apps }

  /// Everything is as the new settings say from now on, except whether a room in memory is stored.
  func reload(_ settings: Settings) {
    let former = self.settings
    self.settings = settings
    worker.use(settings.push)
    serveGateways(settings)
    parser = JSONParser(deepest: settings.limits.nesting)
    hub.setLimits(settings.limits, grace: settings.policy.grace)
    for (handle, known) in policies {
      guard let room = hub.name(of: handle) else { continue }
      var policy = settings.rooms.policy(for: room)
      // Who is a member, and where the messages are, cannot change under those who are there.
      if policy.isStored != known.isStored {
        policy.history = known.history
        policy.pushes = known.pushes
      }
      configure(handle, policy)
      if policy.can != known.can { withdraw(in: handle) }
    }
    if settings.rooms != former.rooms { judgeWatches() }
  }

  nonisolated func serveGateways(_ settings: Settings) {
    apple?.serve(settings.appleApps)
    webPush?.serve(settings.webPushKey, to: settings.pushServices)
    http?.serve(settings.gatewayApps)
  }

  /// What the room does: as it was made if it is in memory, else as its name says.
  func policy(of room: RoomID) -> RoomPolicy {
    hub.room(room).flatMap { policies[$0] } ?? settings.rooms.policy(for: room)
  }

  /// The room in memory, made as its name says when it is not there.
  func makeRoom(_ room: RoomID, epoch: String, seq: Int64 = 0, cursor: Int64 = 0) -> RoomHandle {
    if let handle = hub.room(room) { return handle }
    let policy = settings.rooms.policy(for: room)
    let handle = hub.makeRoom(room, epoch: epoch, seq: seq, cursor: cursor, traits: policy.traits)
    configure(handle, policy)
    return handle
  }

  private func configure(_ room: RoomHandle, _ policy: RoomPolicy) {
    policies[room] = policy
    hub.configure(
      room, traits: policy.traits, memberList: policy.memberList ?? limits.memberList,
      mostMembers: policy.members ?? limits.membersPerRoom)
  }
}

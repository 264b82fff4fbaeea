// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayGateways
package import RelayIdentity
package import RelayProtocol
package import RelayPush

/// The settings that can change while the relay runs.
package struct RelaySettings: Sendable {
  /// The authentication of clients.
  package enum Authentication: Sendable {
    /// The relay trusts the user name that a client sends.
    case open
    case tokens(TokenVerifier)

    fileprivate var isOpen: Bool { if case .open = self { true } else { false } }
  }

  package var authentication: Authentication { didSet { isOpen = authentication.isOpen } }
  /// True if the relay trusts the user name that a client sends. Is stored, because each message asks for it.
  package private(set) var isOpen: Bool
  /// The keys of backends.
  package var apiKeys = APIKeys()
  /// The time that a session stays open after its token has expired.
  package var identityGrace = Duration.zero
  package var limits = Limits()
  package var policy = DeliveryPolicy()
  package var pace = PushPace.Limits()
  /// The time that clients may need to reconnect after a start, in addition to the grace.
  package var reconnect = Duration.seconds(20)
  package var rooms = RoomPatterns()
  /// The people whom a user only invites.
  package var invitations = InvitationPolicy.unknown
  /// The maximum number of open streams of server-sent events of an API key. 0 means no limit.
  package var streamsPerKey = 16
  /// The settings of the audit log.
  package var audit = AuditPolicy()
  /// True if everybody may read the metrics.
  package var isMetricsOpen = false
  /// True if devices of the platform `simulator` may register.
  package var takesSimulators = true
  package var apps = Apps()
  /// The relay's own texts of pushes.
  package var pushTexts = PushTextTable()
  /// The apps that Apple's service pushes to, with their keys.
  package var appleApps: [AppleApp] = []
  /// The apps with a Matrix gateway, with their secrets.
  package var matrixApps: [MatrixApp] = []
  /// The key for pushes to browsers. Is `nil` if the relay does not push to browsers.
  package var webPushKey: VAPIDKey?
  /// The push services whose subscriptions of browsers the relay accepts.
  package var pushServices = PushServices()
  /// The time zones of the system.
  package var timeZones = TimeZones()

  package init(_ authentication: Authentication) {
    (self.authentication, isOpen) = (authentication, authentication.isOpen)
  }

  package var returns: ReturnPolicy { ReturnPolicy(grace: policy.grace, reconnect: reconnect) }

  /// The settings of the push worker.
  /// - Parameter zones: The time zones of the system, and those that only the store knows.
  package func push(_ zones: TimeZones) -> PushSettings {
    PushSettings(apps: apps, texts: pushTexts, zones: zones) { [rooms] in rooms.policy(for: $0).hasPreview }
  }
}

extension RelaySettings {
  package var planner: Planner { Planner(policy: policy, apps: apps.entitlements) }
}

// SPDX-License-Identifier: Apache-2.0

/// How push services are reached.
public struct WebPushService: Sendable, Equatable {
  /// Addresses that are not of the public Internet, and may be connected to all the same.
  public var allowedAddresses: [AddressRange]
  /// Certificates, as PEM, that are trusted instead of the system's.
  public var caFile: String?
  /// For a connection and an answer together.
  public var timeout: Duration

  public init(allowedAddresses: [AddressRange] = [], caFile: String? = nil, timeout: Duration = .seconds(10)) {
    self.allowedAddresses = allowedAddresses
    self.caFile = caFile
    self.timeout = timeout
  }
}

/// A push service whose pushes wait, because it does not accept them from the relay.
public struct PausedService: Sendable, Equatable {
  public var origin: String
  public var reason: GatewayReason
}

/// What the gateway to push services did, and what waits.
public struct WebPushStatistics: Sendable {
  public var pushes = GatewayStatistics()
  public var paused: [PausedService] = []
}

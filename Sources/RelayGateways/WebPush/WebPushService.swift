// SPDX-License-Identifier: Apache-2.0

/// The settings of connections to push services of browsers.
public struct WebPushService: Sendable, Equatable {
  /// Addresses outside the public Internet that the relay may connect to.
  public var allowedAddresses: [AddressRange]
  /// A PEM file of certificates to trust instead of the system's.
  public var caFile: String?
  /// The timeout of a request: for the connection and the answer together.
  public var timeout: Duration

  public init(allowedAddresses: [AddressRange] = [], caFile: String? = nil, timeout: Duration = .seconds(10)) {
    self.allowedAddresses = allowedAddresses
    self.caFile = caFile
    self.timeout = timeout
  }
}

/// A push service that refuses the relay's pushes, so that they wait.
public struct PausedService: Sendable, Equatable {
  public var origin: String
  public var reason: GatewayReason
}

/// The counters of the gateway to push services of browsers, and the paused services.
public struct WebPushStatistics: Sendable {
  public var pushes = GatewayStatistics()
  public var paused: [PausedService] = []
}

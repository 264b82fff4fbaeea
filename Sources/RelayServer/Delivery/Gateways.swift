// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayGateways
import RelayIdentity
import RelayStore

/// The gateways that reach out of the relay.
struct Gateways: Sendable {
  let apple: AppleGateway
  let webPush: WebPushGateway
  let http: HTTPGateway

  /// Throws ``StartupError`` of certificates that cannot be used.
  init(_ configuration: ServerConfiguration, _ log: Logger) throws(StartupError) {
    let clock = GatewayClock(wall: Store.timeOfDay)
    apple = try Self.made("apple.caFile", configuration.apple.caFile) {
      try AppleGateway(configuration.apple, clock: clock, log: log)
    }
    let service = configuration.webPush.service
    webPush = try Self.made("webPush.caFile", service.caFile) {
      try WebPushGateway(service, clock: clock, log: log)
    }
    http = try Self.made("apps", nil) { try HTTPGateway(clock: clock, log: log) }
  }

  private static func made<Made>(
    _ key: String, _ file: String?, _ make: () throws -> Made
  ) throws(StartupError) -> Made {
    do {
      return try make()
    } catch {
      throw StartupError("\(key): \(file ?? "the system's certificates") cannot be used")
    }
  }

  /// Closes the connections; what is under way may be answered.
  func close() {
    apple.close()
    webPush.close()
    http.close()
  }
}

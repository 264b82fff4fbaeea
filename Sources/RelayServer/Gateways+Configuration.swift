// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayCommands
import RelayGateways
import RelayIdentity
import RelayStore

// Creates the gateways to the push services from the configuration.

extension Gateways {
  /// Throws ``StartupError`` if a file of certificates cannot be used.
  init(_ configuration: ServerConfiguration, _ log: Logger) throws(StartupError) {
    let simulator = SimulatedGateway(now: Store.timeOfDay)
    let clock = GatewayClock(wall: Store.timeOfDay)
    let apple = try Self.made("apple.caFile", configuration.apple.caFile) {
      try AppleGateway(configuration.apple, clock: clock, log: log)
    }
    let service = configuration.webPush.service
    let webPush = try Self.made("webPush.caFile", service.caFile) {
      try WebPushGateway(service, clock: clock, log: log)
    }
    let matrix = try Self.made("apps", nil) { try MatrixGateway(clock: clock, log: log) }
    self.init(simulator: simulator, apple: apple, webPush: webPush, matrix: matrix)
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
}

// SPDX-License-Identifier: Apache-2.0
import Logging
package import RelayGateways
package import RelayProtocol
package import RelayRequests

/// The gateways to which the push worker sends pushes.
package struct Gateways: Sendable {
  package let simulator: SimulatedGateway
  package let apple: AppleGateway?
  package let webPush: WebPushGateway?
  package let matrix: MatrixGateway?

  /// Makes only the simulated gateway, for tests.
  package init(_ simulator: SimulatedGateway) {
    (self.simulator, apple, webPush, matrix) = (simulator, nil, nil, nil)
  }

  package init(
    simulator: SimulatedGateway, apple: AppleGateway, webPush: WebPushGateway, matrix: MatrixGateway
  ) {
    (self.simulator, self.apple, self.webPush, self.matrix) = (simulator, apple, webPush, matrix)
  }

  /// Each gateway by the platform of its devices.
  package var byPlatform: [Platform: any Gateway] {
    let gateways: [Platform: (any Gateway)?] = [.simulator: simulator, .apns: apple, .webpush: webPush, .http: matrix]
    return gateways.compactMapValues { $0 }
  }

  /// Applies new settings.
  package func use(_ settings: RelaySettings) {
    apple?.serve(settings.appleApps)
    webPush?.serve(settings.webPushKey, to: settings.pushServices)
    matrix?.serve(settings.matrixApps)
  }

  /// Closes the connections. Pushes that were already sent may still get an answer.
  package func close() {
    apple?.close()
    webPush?.close()
    matrix?.close()
  }
}

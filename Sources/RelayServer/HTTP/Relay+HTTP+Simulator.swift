// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol

/// The simulated phones.
extension Relay {
  static let simulatorRoutes = [
    Route(
      "/v1/simulator/devices/{token}",
      .called("GET", by: .backend) { relay, call in
        .json(200, relay.simulator.phone(try call.token).json)
      },
      .called("PUT", by: .backend) { relay, call in
        let fields = try relay.parser.parse(call.request.body)
        let isReachable = try fields.required("isReachable", fields.bool("isReachable"))
        relay.simulator.setReachable(isReachable, try call.token)
        return .json(200) { $0.bool("isReachable", isReachable) }
      }),
    Route(
      "/v1/simulator/devices/{token}/events",
      .called("GET", by: .backend) { relay, call in try relay.lockScreenEvents(call) }),
  ]

  private func lockScreenEvents(_ call: HTTPCall) throws -> HTTPResponse? {
    let exchange = call.request.exchange
    let headers = [(name: "Content-Type", value: "text/event-stream"), (name: "Cache-Control", value: "no-store")]
    let token = try call.token
    guard call.request.method != "HEAD" else { return HTTPResponse(status: 200, headers: headers) }
    guard stage != .stopping else {
      throw RequestError(.unavailable, "the server is shutting down", retryAfter: .seconds(1))
    }
    let events = simulator.events(of: token)
    hub.stream(to: exchange, headers: headers)
    // Now what is listed afterwards is not missed. It fails where no stream has begun, or its client is gone.
    guard hub.write(Array(": listening\n\n".utf8), to: exchange) else { return nil }
    streams[exchange] = Task {
      for await event in events {
        let text = Array("event: \(event.name)\ndata: ".utf8) + event.json + Array("\n\n".utf8)
        guard hub.write(text, to: exchange) else { break }
      }
    }
    return nil
  }
}

extension HTTPCall {
  /// The simulated gateway's tokens are spelled like names of devices.
  fileprivate var token: String {
    get throws(RequestError) {
      let token: DeviceID = try name("token")
      return token.rawValue
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol
import RelayPush
import RelayStore

/// What operators, tools and clients without a caller's name ask for.
extension Relay {
  static let operationRoutes = [
    Route("/live", .open("GET") { _, _ in .json(200) { $0["status"] = "live" } }),
    Route("/ready", .open("GET") { relay, request in await relay.readiness(request) }),
    Route("/openapi.json", .open("GET") { _, request in Document.openAPI.response(to: request) }),
    Route("/asyncapi.json", .open("GET") { _, request in Document.asyncAPI.response(to: request) }),
    Route("/metrics", .open("GET") { relay, request in try await relay.metrics(request) }),
    Route(
      "/v1/connect",
      .open("GET") { _, _ in
        throw RequestError(.unsupported, "sessions connect here with a WebSocket upgrade", status: 426)
      }),
  ]

  /// The stage for everybody. The details are for callers who may read the metrics: they name apps and services.
  private func readiness(_ request: HTTPRequest) async -> HTTPResponse {
    let showsDetails = await mayReadOperations(request)
    let stage = stage
    guard showsDetails else { return .json(stage == .ready ? 200 : 503) { $0["status"] = stage.rawValue } }
    let paused = apple?.statistics.paused ?? []
    let services = webPush?.statistics.paused ?? []
    let gateways = http?.statistics.paused ?? []
    let forgetting = worker.pausedForgetting
    let storeWorks = store.statistics.isAvailable
    return .json(stage == .ready ? 200 : 503) {
      $0["status"] = stage.rawValue
      // Still ready: who is sent elsewhere finds nobody there, and rooms that keep nothing go on here.
      $0["store"] = storeWorks ? "available" : "unavailable"
      guard !(paused.isEmpty && services.isEmpty && gateways.isEmpty && forgetting.isEmpty) else { return }
      $0.array("paused") { list in
        for app in paused {
          list.object {
            $0["app"] = app.app
            $0["environment"] = app.environment.rawValue
            $0["reason"] = app.reason.rawValue
          }
        }
        for pause in forgetting {
          list.object {
            $0["app"] = pause.app
            $0["reason"] = ForgettingPause.reason
            $0.integer("until", pause.until.rawValue)
          }
        }
        for gateway in gateways {
          list.object {
            $0["app"] = gateway.app
            $0["platform"] = Platform.http.rawValue
            $0["reason"] = gateway.reason.rawValue
          }
        }
        for service in services {
          list.object {
            $0["origin"] = service.origin
            $0["reason"] = service.reason.rawValue
          }
        }
      }
    }
  }
}

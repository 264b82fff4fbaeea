// SPDX-License-Identifier: Apache-2.0
import HTTPTypes
import RelayCommands
import RelayFollowers
import RelayGateways
import RelayHub
import RelayJSON
import RelayProtocol
import RelayPush
import RelayRequests
import RelayState
import RelayStore

/// The resources that are not commands: those for operators, tools and app extensions, and the streams.
extension HTTPService {
  static let resources: [Route] = [
    .resource("GET", "/live") { _, _, _, _ in .json(200) { $0["status"] = "live" } },
    .resource("GET", "/ready") { http, core, request, _ in await http.readiness(request, on: core) },
    .resource("GET", "/openapi.json") { _, _, request, _ in await Document.named(.openapi).response(to: request) },
    .resource("GET", "/asyncapi.json") { _, _, request, _ in await Document.named(.asyncapi).response(to: request) },
    .resource("GET", "/metrics", errors: [.unauthorized, .badRequest, .internal]) { http, core, request, _ in
      try await http.metrics(request, on: core)
    },
    .resource("GET", "/v1/connect", errors: [.notFound, .upgradeRequired]) { _, _, _, _ in
      throw RequestError(.unsupported, "sessions connect here with a WebSocket upgrade", status: 426)
    },
    .resource("GET", "/v1/webpush") { _, core, _, _ in .webPush(core.settings.webPushKey) },
    .resource(
      "POST", "/v1/notifications/{id}/received",
      errors: [.unauthorized, .badRequest, .notFound, .unsupportedMediaType, .internal]
    ) { http, core, request, parts in
      try await http.received(request, parts["id"] ?? "", on: core)
    },
    .resource("GET", "/v1/presence/events", errors: Route.Action.callerErrors) { http, core, request, _ in
      try await http.presenceEvents(request, on: core)
    },
    .resource("GET", "/v1/simulator/devices/{token}/events", errors: Route.Action.callerErrors) {
      http, core, request, parts in
      try await http.lockScreenEvents(request, parts, on: core)
    },
  ]

  /// Answers `/ready` with the stage, and with a damage of the store. Adds details, which contain apps, services and
  /// paths, if the caller may read the metrics.
  private func readiness(_ request: HTTPRequest, on core: isolated Core) async -> HTTPResponse {
    let showsDetails = await mayReadOperations(request, on: core)
    let store = core.store.statistics
    let readiness = Readiness(core.stage, store)
    guard showsDetails else {
      return .json(readiness.code) {
        $0["status"] = readiness.status
        if store.isDamaged { $0["store"] = readiness.store }
      }
    }
    let gateways = core.relay.gateways
    let paused = gateways.apple?.statistics.paused ?? []
    let services = gateways.webPush?.statistics.paused ?? []
    let apps = gateways.matrix?.statistics.paused ?? []
    let forgetting = core.relay.worker.pausedForgetting
    let outages = core.relay.worker.serviceOutages
    let aging = core.store.readClock()
    let damage = core.store.damage
    let report = cluster?.report
    return .json(readiness.code) {
      $0["status"] = readiness.status
      $0["store"] = readiness.store
      $0["text"] = damage.map { "\($0)" }
      report?.write(warnings: &$0)
      if let cause = aging.cause {
        $0.object("clock") {
          $0["cause"] = cause.rawValue
          $0.integer("wait", aging.remaining.components.seconds)
        }
      }
      if let blocked = store.logBlocked {
        $0.object("blockedLog") {
          $0.integer("bytes", Int64(store.logSize))
          $0.integer("seconds", blocked.components.seconds)
        }
      }
      if !outages.isEmpty {
        $0.array("failing") { list in
          for outage in outages {
            list.object {
              $0["platform"] = outage.platform.rawValue
              $0["app"] = outage.app
              $0["environment"] = outage.environment?.rawValue
              $0["origin"] = outage.origin
              $0["reason"] = outage.reason.rawValue
              $0["cause"] = outage.cause
              $0.integer("since", outage.since.rawValue)
            }
          }
        }
      }
      guard !(paused.isEmpty && services.isEmpty && apps.isEmpty && forgetting.isEmpty) else { return }
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
        for app in apps {
          list.object {
            $0["app"] = app.app
            $0["platform"] = Platform.http.rawValue
            $0["reason"] = app.reason.rawValue
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

  // MARK: Receipts

  /// The maximum size of a receipt's body in bytes. A receipt has at most 256 characters. The relay checks the size
  /// before it authenticates the caller.
  static let maxReceiptBody = 1_024

  /// Stores the receipt of a push. An app extension authenticates with the receipt or with its report key.
  private func received(_ request: HTTPRequest, _ id: String, on core: isolated Core) async throws -> HTTPResponse {
    try request.checkContentType()
    guard request.body.count <= Self.maxReceiptBody else {
      throw RequestError(.tooLarge, "the body of a receipt is longer than \(Self.maxReceiptBody) bytes")
    }
    let now = core.hub.now
    if let reporter = try await Self.reporter(request, on: core) {
      _ = try receipt(in: request)
      try await core.relay.people.withUser(reporter.user, on: core) { handle in
        try core.spend(.request, of: handle)
        try await core.relay.access.check(id, isPushedTo: reporter, on: core)
      }
    } else {
      let (fields, receipt) = try receipt(in: request)
      guard core.relay.responses.receipts.accepts(try fields.required("receipt", receipt), for: id, now: now) else {
        throw RequestError(
          .unauthorized, "this is not the receipt of the notification, or it is no longer valid", at: "/receipt")
      }
    }
    guard let received = try await core.store.write({ try $0.queue.received(id, now: now) }) else {
      throw RequestError(.notFound, "there is no such notification, or it is no longer kept", at: "/path/id")
    }
    if received.isFirst {
      for (message, _) in try await core.store.read({ try $0.queue.reported(by: id, limit: PushWorker.maxReported) }) {
        core.relay.deliveries.notifySender(.onPhone, of: message, to: received.user, on: core)
      }
    }
    return .json(200) {
      $0["notification"] = id
      $0.integer("received", received.time.rawValue)
    }
  }

  private func receipt(in request: HTTPRequest) throws -> (fields: Fields, receipt: String?) {
    let fields = try parse(request.body)
    return (fields, try fields.string("receipt", maxLength: 256))
  }

  // MARK: Streams

  /// Streams the events of a simulated phone.
  private func lockScreenEvents(
    _ request: HTTPRequest, _ parts: [String: String], on core: isolated Core
  ) async throws -> HTTPResponse? {
    let caller = try await admit(request, to: .followLockScreen, on: core)
    let fields = Fields([:]).adding(parts.mapValues(JSON.string), at: "/path")
    let phone = try Request(fields, by: caller, core.settings).simulatedPhone
    guard request.method != "HEAD" else { return HTTPResponse(status: 200, headers: ServerSentEvent.headers) }
    try stream(
      core.relay.gateways.simulator.events(of: phone).map { ServerSentEvent(name: $0.name, json: $0.json) },
      to: request.exchange, of: caller.key, on: core)
    await core.relay.audit.record(.followLockScreen, by: caller, from: request.address, on: core)
    return nil
  }

  /// Streams the changes of the presence of all users, or of the users of the parameter `users`.
  private func presenceEvents(_ request: HTTPRequest, on core: isolated Core) async throws -> HTTPResponse? {
    let caller = try await admit(request, to: .followPresence, on: core)
    let key = caller.key
    var filter = PresenceFilter.all
    if case .string(let users) = try request.arguments(["users": .text])["users"] { filter = try PresenceFilter(users) }
    filter = try await recordRefusal(of: .followPresence, request, by: caller, on: core) {
      [filter] core throws(RequestError) in try core.relay.backends.limit(filter, to: key)
    }
    guard request.method != "HEAD" else { return HTTPResponse(status: 200, headers: ServerSentEvent.headers) }
    if try beginStream(to: request.exchange, of: key, on: core) {
      core.relay.presenceStreams.add(request.exchange, filter, after: request.fields[.lastEventID], on: core)
      await core.relay.audit.record(.followPresence, by: caller, from: request.address, on: core)
    }
    return nil
  }
}

extension HTTPResponse {
  /// The public key with which a page subscribes to pushes. `publicKey` is null if the relay does not push to browsers.
  fileprivate static func webPush(_ key: VAPIDKey?) -> HTTPResponse {
    .json(200) {
      if let key { $0["publicKey"] = key.publicKey } else { $0.raw("publicKey", "null".utf8) }
    }
  }
}

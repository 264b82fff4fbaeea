// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

extension AppleSimulator {
  /// The control API: what a request asks, and the answer. The simulator's DocC article lists it.
  struct ControlRequest {
    var method: String
    /// Without its query.
    var path: String
    var query: [String: String]
    var body: [UInt8]

    static let longestBody = 1 << 20
    /// Arrivals of an answer, unless it is asked for fewer.
    static let mostArrivals = 1000

    init(method: String, target: String, body: [UInt8]) {
      let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      self.method = method
      path = String(parts.first ?? "")
      query = [:]
      for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
        let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        query[String(sides[0])] = sides.count > 1 ? String(sides[1]) : ""
      }
      self.body = body
    }

    /// An empty body is an empty object.
    func fields() throws(RequestError) -> Fields {
      guard !body.isEmpty else { return Fields([:]) }
      guard let json = JSON(reading: body) else { throw RequestError(.badRequest, "the body is not JSON", status: 400) }
      return try Fields(json)
    }

    func number(_ name: String) throws(RequestError) -> UInt64? {
      guard let text = query[name] else { return nil }
      guard let number = UInt64(text) else { throw RequestError(.badRequest, "\(name) must be a number ≥ 0") }
      return number
    }
  }

  struct ControlAnswer: Equatable {
    var status: Int
    /// JSON.
    var body: [UInt8]

    static let done = ControlAnswer(status: 204, body: [])

    init(status: Int = 200, body: [UInt8]) {
      self.status = status
      self.body = body
    }

    init(_ error: RequestError) {
      status = error.status
      body = JSONWriter.object {
        $0["error"] = error.message
        $0["at"] = error.at
      }
    }
  }

  func answer(_ request: ControlRequest) async -> ControlAnswer {
    do throws(RequestError) {
      return try await perform(request)
    } catch {
      return ControlAnswer(error)
    }
  }

  private func perform(_ request: ControlRequest) async throws(RequestError) -> ControlAnswer {
    let path = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    switch (request.method, path.first, path.dropFirst().first) {
    case ("GET", "settings", nil): return ControlAnswer(body: settings.json)
    case ("PATCH", "settings", nil): return try await changeSettings(request.fields())
    case ("GET", "faults", nil): return faultsAnswer
    case ("PUT", "faults", nil): return try setFaults(request.fields())
    case ("GET", "phones", let token?): return try phoneAnswer(String(token))
    case ("PUT", "phones", let token?): return try setPhone(String(token), request.fields())
    case ("DELETE", "phones", let token?):
      service.shelf.forget(token.lowercased())
      return .done
    case ("GET", "counts", nil): return ControlAnswer(body: await counts().json)
    case ("GET", "arrivals", nil): return try await arrivalsAnswer(request)
    case ("POST", "goaway", nil): return try await goAway(request.fields())
    case ("POST", "disconnect", nil):
      await resetConnections(connection: try request.fields().count("connection"))
      return .done
    case ("POST", "reset", nil):
      await reset()
      return .done
    case (_, "settings", nil), (_, "faults", nil), (_, "phones", .some), (_, "counts", nil), (_, "arrivals", nil),
      (_, "goaway", nil), (_, "disconnect", nil), (_, "reset", nil):
      throw RequestError(.unsupported, "\(request.path) has no \(request.method)")
    default: throw RequestError(.notFound, "there is no \(request.path)")
    }
  }

  private func changeSettings(_ fields: Fields) async throws(RequestError) -> ControlAnswer {
    try service.change { settings throws(RequestError) in
      var changed = settings
      try changed.change(fields)
      settings = changed
    }
    await change { _ in }
    return ControlAnswer(body: settings.json)
  }

  private var faultsAnswer: ControlAnswer {
    ControlAnswer(
      body: JSONWriter.object { object in
        object.array("faults") { list in for fault in faults { list.raw(fault.json) } }
      })
  }

  private func setFaults(_ fields: Fields) throws(RequestError) -> ControlAnswer {
    var faults: [Fault] = []
    for item in try fields.required("faults", fields.objects("faults", most: FaultScript.mostFaults)) {
      faults.append(try Fault(item))
    }
    script(faults)
    return faultsAnswer
  }

  private func phoneAnswer(_ token: String) throws(RequestError) -> ControlAnswer {
    guard let phone = phone(token) else { throw RequestError(.notFound, "no script has spoken of this device") }
    return ControlAnswer(body: phone.json)
  }

  private func setPhone(_ token: String, _ fields: Fields) throws(RequestError) -> ControlAnswer {
    guard Checks.isToken(token, digits: 2...Self.longestToken) else {
      throw RequestError(.badRequest, "a device token is 2 to \(Self.longestToken) hexadecimal digits")
    }
    var scripted = Phone()
    try scripted.script(fields)
    let isKept = changePhone(token) { phone in
      scripted.stored = phone.stored
      scripted.shown = phone.shown
      phone = scripted
    }
    guard isKept else { throw RequestError(.conflict, "there are \(Shelf.mostPhones) devices already") }
    return try phoneAnswer(token)
  }

  private func arrivalsAnswer(_ request: ControlRequest) async throws(RequestError) -> ControlAnswer {
    let most = Int(clamping: try request.number("most") ?? UInt64(ControlRequest.mostArrivals))
    let arrivals = await arrivals(after: try request.number("after") ?? 0)
    return ControlAnswer(
      body: JSONWriter.object { object in
        object.array("arrivals") { list in
          for arrival in arrivals.prefix(min(most, ControlRequest.mostArrivals)) { list.raw(arrival.json) }
        }
      })
  }

  private func goAway(_ fields: Fields) async throws(RequestError) -> ControlAnswer {
    await goAway(
      try fields.choice("reason") ?? .shutdown, leaving: try fields.count("leaving") ?? 0,
      connection: try fields.count("connection"))
    return .done
  }
}

extension Fields {
  fileprivate func count(_ key: String) throws(RequestError) -> Int? {
    try integer(key, 0...largestInteger).map { Int($0) }
  }
}

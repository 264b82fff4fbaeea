// SPDX-License-Identifier: Apache-2.0
// The requests of the control API and their answers. `AppleSimulator+ControlHandler.swift` is their HTTP server.
import Foundation
import RelayJSON
import RelayProtocol

extension AppleSimulator {
  /// A request to the control API. The simulator's DocC article lists all requests.
  struct ControlRequest {
    var method: String
    /// The path without the query.
    var path: String
    var query: [String: String]
    var body: [UInt8]

    static let maxBody = 1 << 20
    /// The maximum number of arrivals in an answer. A request may ask for fewer.
    static let maxArrivals = 1000

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

    /// Decodes the body. An empty body is an empty object.
    func decode<Value: Decodable>(_: Value.Type = Value.self) throws(RequestError) -> Value {
      try JSONDecoder.value(from: body.isEmpty ? Array("{}".utf8) : body)
    }

    /// The members of the body. An empty body has none.
    func members() throws(RequestError) -> [String: JSON] {
      guard !body.isEmpty else { return [:] }
      guard let json = JSON(reading: body) else { throw RequestError(.badRequest, "the body is not JSON", status: 400) }
      return try Fields(json).members
    }

    func number(_ name: String) throws(RequestError) -> UInt64? {
      guard let text = query[name] else { return nil }
      guard let number = UInt64(text) else { throw RequestError(.badRequest, "\(name) must be a number ≥ 0") }
      return number
    }
  }

  struct ControlAnswer: Equatable {
    var status: Int
    /// The body as JSON.
    var body: [UInt8]

    static let done = ControlAnswer(status: 204, body: [])

    init(status: Int = 200, body: [UInt8]) {
      self.status = status
      self.body = body
    }

    init(_ value: some Encodable) { self.init(body: JSONEncoder.body(value)) }

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
    case ("GET", "settings", nil): return ControlAnswer(settings)
    case ("PATCH", "settings", nil): return try await changeSettings(request.members())
    case ("GET", "faults", nil): return faultsAnswer
    case ("PUT", "faults", nil): return try setFaults(request.decode())
    case ("GET", "phones", let token?): return try phoneAnswer(String(token))
    case ("PUT", "phones", let token?): return try setPhone(String(token), request.decode())
    case ("DELETE", "phones", let token?):
      service.shelf.forget(token.lowercased())
      return .done
    case ("GET", "counts", nil): return ControlAnswer(await counts())
    case ("GET", "arrivals", nil): return try await arrivalsAnswer(request)
    case ("POST", "goaway", nil): return try await goAway(request.decode())
    case ("POST", "disconnect", nil):
      await resetConnections(connection: try request.decode(ConnectionChoice.self).connection)
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

  private func changeSettings(_ members: [String: JSON]) async throws(RequestError) -> ControlAnswer {
    try service.change { settings throws(RequestError) in try settings.change(members) }
    await change { _ in }
    return ControlAnswer(settings)
  }

  private struct Faults: Codable {
    var faults: [Fault]
  }

  private var faultsAnswer: ControlAnswer { ControlAnswer(Faults(faults: faults)) }

  private func setFaults(_ body: Faults) throws(RequestError) -> ControlAnswer {
    guard body.faults.count <= FaultScript.maxFaults else {
      throw RequestError(.badRequest, "faults: must have at most \(FaultScript.maxFaults) items", at: "/faults")
    }
    script(body.faults)
    return faultsAnswer
  }

  private func phoneAnswer(_ token: String) throws(RequestError) -> ControlAnswer {
    guard let phone = phone(token) else { throw RequestError(.notFound, "no script has set this device") }
    return ControlAnswer(body: phone.json)
  }

  private func setPhone(_ token: String, _ script: Phone.Script) throws(RequestError) -> ControlAnswer {
    guard Checks.isToken(token, digits: 2...Self.maxTokenLength) else {
      throw RequestError(.badRequest, "a device token is 2 to \(Self.maxTokenLength) hexadecimal digits")
    }
    var scripted = Phone(script)
    let isKept = changePhone(token) { phone in
      scripted.stored = phone.stored
      scripted.shown = phone.shown
      phone = scripted
    }
    guard isKept else { throw RequestError(.conflict, "there are \(Shelf.maxPhones) devices already") }
    return try phoneAnswer(token)
  }

  private func arrivalsAnswer(_ request: ControlRequest) async throws(RequestError) -> ControlAnswer {
    let max = Int(clamping: try request.number("most") ?? UInt64(ControlRequest.maxArrivals))
    let arrivals = await arrivals(after: try request.number("after") ?? 0)
    let newest = arrivals.prefix(min(max, ControlRequest.maxArrivals))
    return ControlAnswer(
      body: JSONWriter.object { $0.array("arrivals") { list in for arrival in newest { list.raw(arrival.json) } } })
  }

  private struct GoAway: Decodable {
    var reason: Reason?
    var leaving: Int?
    var connection: Int?
  }

  private func goAway(_ body: GoAway) async throws(RequestError) -> ControlAnswer {
    guard body.leaving ?? 0 >= 0 else {
      throw RequestError(.badRequest, "leaving: must not be negative", at: "/leaving")
    }
    await goAway(body.reason ?? .shutdown, leaving: body.leaving ?? 0, connection: body.connection)
    return .done
  }

  /// The number of a connection. Is `nil` for all connections.
  private struct ConnectionChoice: Decodable {
    var connection: Int?
  }
}

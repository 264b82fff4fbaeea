import Foundation
import RelayJSON
import RelayProtocol
import SeededRandom
import Testing

// SPDX-License-Identifier: Apache-2.0
import struct HTTPTypes.HTTPField

@testable import RelayCommands
@testable import RelayHTTP
@testable import RelayHub
@testable import RelayRequests
@testable import RelayState

/// The relay accepts any input of a client within its limits, or rejects it. Each test generates many inputs from its
/// seed.
struct HostileInputTests {
  private static let seeds = 1...8
  private static let rounds = 250

  @Test(arguments: seeds)
  func `the parser returns the value of any JSON text`(seed: Int) throws {
    var random = SeededGenerator(seed: seed)
    let parser = JSONParser(maxDepth: 16)
    for _ in 0..<Self.rounds {
      var members = random.object(depth: 5)
      members["body"] = nil
      let text = random.spelled(.object(members))
      #expect(try parser.read(Array(text.utf8)).members == members, "\(text)")
    }
  }

  @Test(arguments: seeds)
  func `the parser rejects damaged JSON with a position, unless it is still JSON`(seed: Int) {
    var random = SeededGenerator(seed: seed)
    let parser = JSONParser(maxDepth: 8)
    var accepted = 0
    for _ in 0..<Self.rounds {
      let bytes = random.damaged(Array(random.spelled(.object(random.object(depth: 4, keys: ["body", "a"]))).utf8))
      do throws(JSONFailure) {
        let fields = try parser.read(bytes)
        accepted += 1
        // Foundation's parser accepts the same texts, except for numbers that do not fit a double.
        guard !String(decoding: bytes, as: UTF8.self).contains(/[0-9]{300}|[eE][-+]?[0-9]{3}/) else { continue }
        let other = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        #expect(other?.count == fields.members.count, "\(String(decoding: bytes, as: UTF8.self))")
      } catch {
        #expect((0...bytes.count).contains(error.offset ?? 0))
      }
    }
    #expect((1..<Self.rounds).contains(accepted))
  }

  @Test(arguments: seeds)
  func `requests with any fields are parsed within limits, or rejected with a pointer`(seed: Int) {
    var random = SeededGenerator(seed: seed)
    let settings = RelaySettings(.open)
    let keys = [
      "id", "users", "other", "push", "from", "body", "payload", "headers", "state", "action", "text", "key", "room",
      "user", "name", "avatar", "after", "epoch", "seq", "history", "device", "acks", "activity", "client",
      "app",
      "before", "limit", "isFocused", "authorization", "at", "number", "source", "platform", "token",
    ]
    for _ in 0..<Self.rounds {
      let fields = Fields(random.object(depth: 2, keys: keys))
      let request = Request(fields, by: .backend(acting: nil), settings)
      let commands = Commands.all.filter { $0.declaration.route != nil }
      let parsers: [() throws -> Void] = commands.map { command in { _ = try command.init(request) } }
      let readers: [() throws -> Void] =
        parsers + [
          { _ = try fields.openUser }, { _ = try HelloDetails(fields) },
          {
            guard let position = try fields.position else { return }
            #expect((0...maxInteger).contains(position.seq) && position.epoch.utf8.count <= Position.maxEpochLength)
          },
          {
            let query = try RoomHistory.Query(fields, max: 300)
            #expect((1...300).contains(query.limit) && (query.before == nil || query.after == nil))
          },
          { _ = try FocusReport(fields, device: nil) }, { _ = try DeviceRequest(fields, for: PushTargets()) },
        ]
      for read in readers {
        do {
          try read()
        } catch {
          let refusal = error as? RequestError
          #expect(refusal?.at?.hasPrefix("/") == true, "\(error) of \(fields.members)")
        }
      }
    }
  }

  @Test(arguments: seeds)
  func `a path matches at most one resource`(seed: Int) {
    var random = SeededGenerator(seed: seed)
    let pieces = HTTPService.routes.flatMap { PathTemplate.split($0.path.description).map({ String($0) }) }
    for _ in 0..<Self.rounds {
      let parts = (0...random.below(8)).map { _ in
        random.hits(oneIn: 8) ? random.text() : random.one(of: pieces + ["me", "ann", "..", "%00"])
      }
      let path = PathTemplate.split(parts.joined(separator: "/"))
      let literal = HTTPService.routes.filter { $0.path.match(path) != nil }
      #expect(literal.count <= 1, "\(parts)")
    }
  }

  private static func encode(_ text: String) -> String {
    text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test(arguments: seeds)
  func `arguments of a query are numbers and texts, and a repeated argument is rejected`(seed: Int) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<Self.rounds {
      let query = (0..<random.below(5)).map { _ in
        (
          name: random.one(of: ["limit", "before", "after", random.text()]),
          value: random.one(of: [random.number(), random.text()])
        )
      }
      let names = query.map(\.name).filter { ["limit", "before", "after"].contains($0) }
      let request = HTTPRequest(
        exchange: ExchangeHandle(rawValue: 0), path: "/",
        query: query.map { "\(Self.encode($0.name))=\(Self.encode($0.value))" }.joined(separator: "&"),
        fields: [.contentType: random.text(), .acceptEncoding: random.text()], body: [0])
      let fields = try? Fields(request.arguments(["limit": .number, "before": .number, "after": .text]))
      #expect((fields != nil) == (Set(names).count == names.count))
      if let fields, let query = try? RoomHistory.Query(fields, max: 100) { #expect((1...100).contains(query.limit)) }
      #expect(throws: RequestError.self) { try request.checkContentType() }
    }
  }
}

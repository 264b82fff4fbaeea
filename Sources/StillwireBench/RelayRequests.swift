// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayGateways
import RelayIdentity
import RelayJSON

/// The HTTP requests of a backend to the relay, over a number of connections that stay open.
struct RelayRequests: Sendable {
  struct Request: Sendable {
    let method, path: String
    let body: [UInt8]

    /// - Parameter path: The path without percent encoding. The relay's names contain no `/`.
    init(_ method: String, _ path: String, _ body: [UInt8] = []) {
      self.method = method
      self.path = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
      self.body = body
    }
  }

  let width: Int
  private let connections: HTTPClient.Connections
  private let fields: [(name: String, value: String)]

  /// - Parameters:
  ///   - width: The number of connections.
  ///   - apiKeyFile: The file with the API key. Is `nil` in open mode.
  init(to relay: BenchRelay, width: Int, apiKeyFile: String?) throws {
    let host = relay.address.contains(":") ? "[\(relay.address)]" : relay.address
    guard let client = HTTPClient(url: "http://\(host):\(relay.port)") else {
      throw BenchError("--address \(relay.address) is not a host name or an IP address")
    }
    let authorization = try apiKeyFile.map { try Self.authorization(keyFile: $0) }
    fields = [("Content-Type", "application/json")] + (authorization.map { [$0] } ?? [])
    connections = try client.connections(atMost: width, timeout: .seconds(10))
    self.width = width
  }

  /// Returns the header field with the API key in a file.
  static func authorization(keyFile: String) throws -> (name: String, value: String) {
    try APIKeys.authorization(String(decoding: try SecretFile(path: keyFile).secret, as: UTF8.self))
  }

  func send(_ request: Request) async throws(HTTPClient.Failure) -> (status: Int, body: [UInt8]) {
    try await connections.send(request.method, request.path, fields: fields, body: request.body)
  }

  /// Sends all requests, in any order. Throws ``BenchError`` if the relay refuses one.
  func perform(_ requests: [Request]) async throws {
    try await withThrowingTaskGroup { group in
      for worker in 0..<width {
        group.addTask {
          for index in stride(from: worker, to: requests.count, by: width) { try await perform(requests[index]) }
        }
      }
      try await group.waitForAll()
    }
  }

  private func perform(_ request: Request) async throws {
    let answer: (status: Int, body: [UInt8])
    do {
      answer = try await send(request)
    } catch {
      throw BenchError("\(request.method) \(request.path): \(error)")
    }
    guard (200..<300).contains(answer.status) else {
      throw BenchError("\(request.method) \(request.path): \(Self.refusal(answer.status, answer.body))")
    }
  }

  /// Describes an answer that is an error: the status, and the words of the problem document (RFC 9457).
  static func refusal(_ status: Int, _ body: [UInt8]) -> String {
    ["status \(status)", JSON(reading: body)?["detail"]?.text].compactMap(\.self).joined(separator: ", ")
  }

  func close() { connections.close() }
}

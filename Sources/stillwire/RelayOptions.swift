// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayGateways
import RelayIdentity
import RelayServer

/// The options of commands that send requests to a relay: its URL, and the API key.
struct RelayOptions: ParsableArguments {
  @Option(help: "URL of the relay.")
  var url = "http://127.0.0.1:8080"

  @Option(
    help: ArgumentHelp(
      "File with the API key (default: the environment variable STILLWIRE_API_KEY). Open mode needs no key.",
      valueName: "file"))
  var apiKeyFile: String?

  /// Sends a request, and returns the body of the answer. If the relay does not answer, or answers with an error, prints
  /// the error in one line and throws ``ExitCode``.
  /// - Parameter body: JSON. Is empty for a request without a body.
  func send(_ method: String, _ path: String, body: [UInt8] = []) async throws -> [UInt8] {
    do {
      return try await client.answer(method, path, body: body)
    } catch {
      throw ExitCode.failure(error)
    }
  }

  /// Throws ``StartupError`` if the key cannot be read, or the URL is wrong.
  var client: RelayClient {
    get throws {
      let fields = try key.map { [try APIKeys.authorization($0)] } ?? []
      guard let client = HTTPClient(url: url) else { throw StartupError("--url \(url) is not an http or https URL") }
      return RelayClient(url: url, client: client, fields: fields)
    }
  }

  private var key: String? {
    get throws {
      if let apiKeyFile {
        String(decoding: try SecretFile(path: apiKeyFile).secret, as: UTF8.self)
      } else {
        ProcessInfo.processInfo.environment["STILLWIRE_API_KEY"]
      }
    }
  }

  /// Reads a list. The query has the parameters that are set.
  func list(_ path: String, _ query: [(name: String, value: String?)]) async throws -> [UInt8] {
    let arguments = query.compactMap { name, value in value.map { "\(name)=\(Self.escaped($0))" } }
    return try await send("GET", "\(path)?\(arguments.joined(separator: "&"))")
  }

  /// Percent-encodes text for a path or a query.
  static func escaped(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
  }

  /// The unreserved characters (RFC 3986, section 2.3).
  private static let unreserved = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

  static func read<Value: Decodable>(_: Value.Type, from json: [UInt8]) throws -> Value {
    do {
      return try JSONDecoder().decode(Value.self, from: Data(json))
    } catch {
      throw ExitCode.failure(StartupError("the answer is not that of a relay of this version"))
    }
  }

  static func print(_ json: [UInt8]) throws {
    try FileHandle.standardOutput.write(contentsOf: Data(json + [0x0A]))
  }
}

/// Sends requests to a relay.
struct RelayClient: Sendable {
  let url: String
  fileprivate let client: HTTPClient
  /// The header fields with the API key.
  fileprivate let fields: [(name: String, value: String)]

  /// Sends a request, and returns the body of the answer. Throws ``StartupError`` if the relay does not answer, or
  /// answers with an error.
  /// - Parameter body: JSON. Is empty for a request without a body.
  func answer(_ method: String, _ path: String, body: [UInt8] = []) async throws -> [UInt8] {
    let answer: (status: Int, body: [UInt8])
    let type = body.isEmpty ? [] : [("Content-Type", "application/json")]
    do {
      answer = try await client.send(method, path, fields: fields + type, body: body)
    } catch {
      throw StartupError("\(url) does not answer: \(error)")
    }
    guard (200..<300).contains(answer.status) else {
      throw StartupError(Problem.words(of: answer.body) ?? "\(url) answers with status \(answer.status)")
    }
    return answer.body
  }
}

/// A problem document (RFC 9457).
private struct Problem: Decodable {
  var detail: String

  static func words(of body: [UInt8]) -> String? {
    (try? JSONDecoder().decode(Problem.self, from: Data(body)))?.detail
  }
}

// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayGateways
import RelayIdentity
import RelayServer

/// The relay that a command sends its requests to, and the key for them.
struct RelayOptions: ParsableArguments {
  @Option(help: "Where the relay is.")
  var url = "http://127.0.0.1:8080"

  @Option(
    help: ArgumentHelp(
      "A file with the API key (default: STILLWIRE_API_KEY of the environment; in open mode none is needed).",
      valueName: "file"))
  var apiKeyFile: String?

  /// Sends a request, and returns the body of the answer. Prints an error in one line and throws ``ExitCode`` when there
  /// is no answer, or one with an error.
  func send(_ method: String, _ path: String) async throws -> [UInt8] {
    do {
      let fields = try key.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
      guard let client = HTTPClient(url: url) else { throw StartupError("--url \(url) is not an http or https URL") }
      let answer: (status: Int, body: [UInt8])
      do {
        answer = try await client.send(method, path, fields: fields)
      } catch {
        throw StartupError("\(url) does not answer: \(error)")
      }
      guard (200..<300).contains(answer.status) else {
        throw StartupError(Problem.words(of: answer.body) ?? "\(url) answers with status \(answer.status)")
      }
      return answer.body
    } catch {
      throw ExitCode.failure(error)
    }
  }

  private var key: String? {
    get throws {
      let key =
        if let apiKeyFile { String(decoding: try SecretFile(path: apiKeyFile).secret, as: UTF8.self) } else {
          ProcessInfo.processInfo.environment["STILLWIRE_API_KEY"]
        }
      guard key?.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) ?? true else {
        throw StartupError("the API key has a character that keys have not")
      }
      return key
    }
  }

  /// As a part of a path or a query.
  static func escaped(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
  }

  /// RFC 3986, section 2.3.
  private static let unreserved = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

  static func read<Value: Decodable>(_: Value.Type, from json: [UInt8]) throws -> Value {
    do {
      return try JSONDecoder().decode(Value.self, from: Data(json))
    } catch {
      throw ExitCode.failure(StartupError("this is not the answer of a relay of this release"))
    }
  }

  static func print(_ json: [UInt8]) throws {
    try FileHandle.standardOutput.write(contentsOf: Data(json + [0x0A]))
  }
}

/// A problem document (RFC 9457).
private struct Problem: Decodable {
  var detail: String

  static func words(of body: [UInt8]) -> String? {
    (try? JSONDecoder().decode(Problem.self, from: Data(body)))?.detail
  }
}

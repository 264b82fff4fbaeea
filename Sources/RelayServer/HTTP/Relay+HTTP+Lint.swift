// SPDX-License-Identifier: Apache-2.0
import PushLint
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol

/// What is wrong with a push that somebody else would send.
extension Relay {
  static let lintRoutes = [
    Route("/v1/pushes/lint", .called("POST") { relay, call in try await relay.postLint(call) })
  ]

  private func postLint(_ call: HTTPCall) async throws -> HTTPResponse {
    let (fields, spelling) = try parser.parse(call.request.body, spelling: "payload")
    return .json(200, try await LintRequest(fields, spelling: spelling).report())
  }
}

/// A push to be looked at.
private struct LintRequest: Sendable {
  let text: [UInt8]
  let headers: [(name: String, value: String)]
  let isLenient: Bool

  /// - Parameter spelling: The member `payload` as it came: what is no string is the payload itself.
  init(_ fields: Fields, spelling: [UInt8]?) throws(RequestError) {
    let payload = try fields.required("payload", spelling)
    if case .string(let text) = fields.members["payload"] { self.text = Array(text.utf8) } else { text = payload }
    guard text.count <= PushLint.longestText else {
      throw RequestError(.tooLarge, "payload must be at most \(PushLint.longestText) bytes long", at: "/payload")
    }
    headers = try fields.object("headers")?.headers ?? []
    isLenient = try fields.bool("lenient") ?? false
  }

  /// Not on the hub's thread: the largest text takes milliseconds.
  @concurrent func report() async -> [UInt8] {
    PushLint.check(text, headers: headers, isLenient: isLenient).json
  }
}

extension Fields {
  fileprivate static let mostHeaders = 32
  fileprivate static let longestHeader = 4096

  /// Texts, or numbers as they are spelled.
  fileprivate var headers: [(name: String, value: String)] {
    get throws(RequestError) {
      guard members.count <= Self.mostHeaders else {
        throw RequestError(.badRequest, "headers must have at most \(Self.mostHeaders) members", at: place)
      }
      var headers: [(name: String, value: String)] = []
      for name in members.keys.sorted() {
        switch members[name] {
        case .number(let spelling): headers.append((name, spelling))
        case .string, .null:
          if let value = try string(name, longest: Self.longestHeader) { headers.append((name, value)) }
        default: throw wrong(name, "must be a string or a number")
        }
      }
      return headers
    }
  }
}

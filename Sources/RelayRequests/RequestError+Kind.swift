// SPDX-License-Identifier: Apache-2.0
package import RelayProtocol

extension RequestError {
  /// The code of an error and its HTTP status. Commands and routes declare the kinds of errors that they return.
  package struct Kind: Hashable, Sendable {
    package let code: ErrorCode
    package let status: Int

    package init(_ code: ErrorCode, status: Int? = nil) {
      self.code = code
      self.status = status ?? code.status
    }
  }

  package var kind: Kind { Kind(code, status: status) }
}

extension RequestError.Kind {
  package static let badRequest = Self(.badRequest)
  package static let unauthorized = Self(.unauthorized)
  package static let forbidden = Self(.forbidden)
  package static let restricted = Self(.restricted)
  package static let notJoined = Self(.notJoined)
  package static let notFound = Self(.notFound)
  package static let conflict = Self(.conflict)
  package static let tooLarge = Self(.tooLarge)
  package static let rateLimited = Self(.rateLimited)
  package static let unavailable = Self(.unavailable)
  package static let `internal` = Self(.internal)

  /// The head of the request or the syntax of its body is wrong.
  package static let malformed = Self(.badRequest, status: 400)
  package static let requestTimeout = Self(.badRequest, status: 408)
  package static let pathTooLong = Self(.tooLarge, status: 414)
  package static let headTooLarge = Self(.tooLarge, status: 431)
  /// The relay does not know the method, or cannot decode the coding of the body.
  package static let notImplemented = Self(.unsupported, status: 501)
  /// The current version of the resource differs from `If-Match`.
  package static let preconditionFailed = Self(.conflict, status: 412)
  package static let unsupportedMediaType = Self(.unsupported, status: 415)
  /// The request is well-formed, but the room or the configuration does not support it.
  package static let unsupported = Self(.unsupported, status: 422)
  package static let upgradeRequired = Self(.unsupported, status: 426)
}

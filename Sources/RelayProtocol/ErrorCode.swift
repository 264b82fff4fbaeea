// SPDX-License-Identifier: Apache-2.0

/// The names of errors: the same in frames, in HTTP problem documents, in logs and as metric labels.
public enum ErrorCode: String, Sendable, CaseIterable {
  case badRequest = "bad_request"
  case unauthorized
  case forbidden
  case notJoined = "not_joined"
  case notFound = "not_found"
  case unsupported
  case conflict
  case tooLarge = "too_large"
  case rateLimited = "rate_limited"
  case unavailable
  case `internal`

  /// The status of an HTTP answer with this code, where no other is named (``RequestError/status``).
  public var status: Int {
    switch self {
    case .badRequest: 422
    case .unauthorized: 401
    case .forbidden, .notJoined: 403
    case .notFound: 404
    case .unsupported: 405
    case .conflict: 409
    case .tooLarge: 413
    case .rateLimited: 429
    case .unavailable: 503
    case .internal: 500
    }
  }

  /// Whether the same request may succeed later.
  public var isTemporary: Bool {
    switch self {
    case .rateLimited, .unavailable, .internal: true
    default: false
    }
  }
}

/// Why a request was refused: what is told to the peer who made it.
public struct RequestError: Error, Equatable, Sendable {
  public var code: ErrorCode
  /// One sentence for a developer; never holds a token or a body.
  public var message: String
  /// Where in the request, as a JSON pointer (RFC 6901).
  public var at: String?
  /// After how long to try again.
  public var retryAfter: Duration?
  /// The HTTP status, where it is not the usual one of ``code``.
  public var status: Int

  public init(
    _ code: ErrorCode, _ message: String, at: String? = nil, retryAfter: Duration? = nil, status: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.at = at
    self.retryAfter = retryAfter
    self.status = status ?? code.status
  }
}

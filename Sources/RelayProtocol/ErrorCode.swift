// SPDX-License-Identifier: Apache-2.0

// The errors that the relay reports to clients and backends: the codes, and the error with its message and position.
// Frames, problem documents, logs and metrics use the same names.

/// The codes of errors. Frames, HTTP problem documents, logs and metric labels use the same names.
public enum ErrorCode: String, Sendable, CaseIterable {
  case badRequest = "bad_request"
  case unauthorized
  case forbidden
  /// A moderator has restricted the user in the room, or the room is read-only.
  case restricted
  case notJoined = "not_joined"
  case notFound = "not_found"
  case unsupported
  case conflict
  case tooLarge = "too_large"
  /// The reply to a later `join` of the room takes the place of this one.
  case superseded
  case rateLimited = "rate_limited"
  case unavailable
  case `internal`

  /// The HTTP status of this code, unless the error sets another one (``RequestError/status``).
  public var status: Int {
    switch self {
    case .badRequest: 422
    case .unauthorized: 401
    case .forbidden, .restricted, .notJoined: 403
    case .notFound: 404
    case .unsupported: 405
    case .conflict, .superseded: 409
    case .tooLarge: 413
    case .rateLimited: 429
    case .unavailable: 503
    case .internal: 500
    }
  }

  /// True if the same request may succeed later.
  public var isTemporary: Bool {
    switch self {
    case .rateLimited, .unavailable, .internal: true
    default: false
    }
  }
}

/// The error that the relay sends to the client whose request it rejects.
public struct RequestError: Error, Equatable, Sendable {
  public var code: ErrorCode
  /// One sentence for a developer. It never contains a token or a body.
  public var message: String
  /// The location of the error in the request, as a JSON pointer (RFC 6901).
  public var at: String?
  /// The delay after which the client may retry.
  public var retryAfter: Duration?
  /// The end of a restriction.
  public var until: Timestamp?
  /// The HTTP status. The default is the status of ``code``.
  public var status: Int

  public init(
    _ code: ErrorCode, _ message: String, at: String? = nil, retryAfter: Duration? = nil, until: Timestamp? = nil,
    status: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.at = at
    self.retryAfter = retryAfter
    self.until = until
    self.status = status ?? code.status
  }
}

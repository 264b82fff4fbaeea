// SPDX-License-Identifier: Apache-2.0

/// The WebSocket close codes that the relay sends. A client reconnects after 4000 to 4499, and not after 4500 to 4999.
public enum CloseCode: UInt16, Sendable, CaseIterable {
  case shutdown = 4000
  case serverError = 4001
  case tokenExpired = 4002
  case tooSlow = 4003
  case noPong = 4004
  case resynchronize = 4005
  case overRate = 4006
  case tokenNotYetValid = 4007
  case badRequest = 4500
  case unauthorized = 4501
  case noHello = 4502
  case forbidden = 4503
  case tooManySessions = 4504
  case tooLarge = 4505
  case byOperator = 4506
  case suspended = 4507

  /// True if the client should reconnect.
  public var reconnects: Bool { rawValue < 4500 }
}

// SPDX-License-Identifier: Apache-2.0

// Typed handles for the objects of the hub in C. Depends on nothing.

/// The id of an object that the hub owns. A stale handle is harmless: a call with it does nothing.
public protocol Handle: RawRepresentable, Hashable, Sendable where RawValue == UInt64 {
  init(rawValue: UInt64)
}

extension Handle {
  /// Returns `nil` for 0, which is the hub's id for "none".
  init?(id: UInt64) {
    guard id != 0 else { return nil }
    self.init(rawValue: id)
  }
}

/// A WebSocket connection.
public struct SessionHandle: Handle {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A room in memory.
public struct RoomHandle: Handle {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A user in memory.
public struct UserHandle: Handle {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// An HTTP request that has no answer yet, or a stream.
public struct ExchangeHandle: Handle {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

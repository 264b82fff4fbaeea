// SPDX-License-Identifier: Apache-2.0

/// The hub's name for something that it owns. One that is gone is harmless: the call does nothing.
public protocol Handle: RawRepresentable, Hashable, Sendable where RawValue == UInt64 {
  init(rawValue: UInt64)
}

extension Handle {
  /// nil for the hub's "none".
  init?(id: UInt64) {
    guard id != 0 else { return nil }
    self.init(rawValue: id)
  }
}

/// A connection that speaks the protocol.
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

/// An HTTP request that waits for its answer, or a stream.
public struct ExchangeHandle: Handle {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

// SPDX-License-Identifier: Apache-2.0

/// Limits the decisions that the hub's thread makes at once, and the push jobs that wait for the store.
///
/// A decision is one message for one device, or for one user without a device.
public enum DecisionBounds {
  /// The maximum number of decisions that are made and stored together with their message.
  public static let maxWithMessage = 128
  /// The maximum number of such decisions for all messages that are not stored yet.
  public static let maxUnstored = 256
  /// The maximum number of decisions of due members between two turns of the loop. One slice at a time waits for the
  /// store.
  public static let maxSlice = 256
}

/// One slice of decisions for due members.
public struct DecisionSlice: Sendable {
  private var left = DecisionBounds.maxSlice

  public init() {}

  public var isFull: Bool { left <= 0 }

  /// Returns the number of messages to decide for a member. It is at least one, so that each slice makes progress.
  public func maxMessages(devices: Int) -> Int { max(1, left / max(1, devices)) }

  public mutating func add(messages: Int, devices: Int) { left -= max(1, messages) * max(1, devices) }
}

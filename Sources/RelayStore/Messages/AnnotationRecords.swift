// SPDX-License-Identifier: Apache-2.0

/// The state of one kind that members give to a message after it was sent, such as its reactions.
public struct Annotation: Equatable, Sendable {
  public enum Kind: String, Sendable, CaseIterable {
    case reactions
    /// The message is pinned. The value is the time of the pin.
    case pinned
  }

  public var kind: Kind
  /// JSON as messages and events have it. Is `nil` when the annotation has ended.
  public var value: [UInt8]?

  public init(_ kind: Kind, _ value: [UInt8]?) {
    self.kind = kind
    self.value = value
  }
}

/// The result of a change of an annotation.
public struct Annotated: Equatable, Sendable {
  /// The current value. Is `nil` when the message has no such annotation.
  public var value: [UInt8]?
  /// The number of the change in the room. Is `nil` if nothing was changed.
  public var change: Int64?
  /// The room's newest message at that time.
  public var newest: Int64
}

// SPDX-License-Identifier: Apache-2.0

/// The push that the sender of a message requests, as the store keeps it: the whole request, and a column for each part
/// that SQL reads.
public struct RequestedPush: Equatable, Sendable {
  /// The whole request as JSON, `false` or an object. The store does not parse it.
  public var json: [UInt8]
  /// For example `call`; nil: a message.
  public var kind: String?
  /// The category whose actions users may answer with; nil: none.
  public var category: String?
  /// The scope of the pushes that this one replaces, for example `room`; nil: the pushes of the same message.
  public var collapse: String?
  /// The requested level; nil: active.
  public var level: String?
  /// The rest of what decides how a push looks and sounds: two pushes of one level become one push only if their styles
  /// are equal. Is `nil` for the default style.
  public var style: String?

  public init(
    json: [UInt8], kind: String? = nil, category: String? = nil, collapse: String? = nil, level: String? = nil,
    style: String? = nil
  ) {
    self.json = json
    self.kind = kind
    self.category = category
    self.collapse = collapse
    self.level = level
    self.style = style
  }

  /// The ``kind`` of a call.
  static let call = "call"
  /// The ``collapse`` of a push that replaces every push of its room.
  static let room = "room"
}

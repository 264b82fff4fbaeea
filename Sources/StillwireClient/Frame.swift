// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// An object from the relay, with the `type` that says what it is; unknown members are there, and do no harm.
public struct Frame: Equatable, Sendable {
  public let type: String
  public let members: JSON

  /// Arrays and objects inside each other at most: twice the relay's usual `limits.nesting`.
  static let deepest = 256

  /// nil: it is no JSON, or no object.
  init?(reading text: [UInt8]) {
    guard let members = JSON(reading: text, deepest: Self.deepest), case .object = members else { return nil }
    self.init(members)
  }

  /// A frame of members that were parsed before.
  init(_ members: JSON) {
    // A frame without a type is unknown to this client, which ignores it.
    type = members["type"]?.text ?? ""
    self.members = members
  }

  public subscript(key: String) -> JSON? { members[key] }

  /// Of the request that it answers; requests of ours have numbers.
  var id: Int64? { members["id"]?.integer }
  public var user: UserID? { members.name("user") }
  public var room: RoomID? { members.name("room") }
  public var seq: Int64? { members["seq"]?.integer }
}

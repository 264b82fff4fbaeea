// SPDX-License-Identifier: Apache-2.0
public import RelayJSON
public import RelayProtocol

/// A frame from the relay, as a JSON object with its `type`. It includes members that this client does not know.
public struct Frame: Equatable, Sendable {
  public let type: String
  public let members: JSON

  /// Parses a frame. Returns `nil` if the text is not a JSON object.
  init?(reading text: [UInt8]) {
    guard let members = JSON(reading: text, maxDepth: JSON.maxNesting), case .object = members else { return nil }
    self.init(members)
  }

  /// Makes a frame of members that are already parsed.
  init(_ members: JSON) {
    // The client ignores a frame without a type, as it ignores unknown types.
    type = members["type"]?.text ?? ""
    self.members = members
  }

  public subscript(key: String) -> JSON? { members[key] }

  /// The id of the request that this frame answers. All ids of this client are integers.
  var id: Int64? { members["id"]?.integer }
  public var user: UserID? { members.name("user") }
  public var room: RoomID? { members.name("room") }
  public var seq: Int64? { members["seq"]?.integer }
}

// SPDX-License-Identifier: Apache-2.0
import RelayJSON
package import RelayProtocol

/// Members that requests have in common.
package enum SharedFields {
  package static let anyRoom = Field<RoomID?>.name("room")
  package static let room = anyRoom.required()
  package static let user = Field<UserID?>.name("user").required()
  package static let otherInPath = Field<UserID?>.name("other").required().onlyHTTP
  package static let seq = Field<Int64?>.seq("seq", from: 0).required()
  package static let body = Field<[UInt8]?>.raw("body", "Any JSON. The relay passes it on byte for byte.")
  package static let limit = Field<Int>.whole(
    "limit", 1...100, default: 100, "The maximum number of entries of the page.")
}

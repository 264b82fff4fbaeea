// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayJSON
package import RelayProtocol
import RelayStore

extension Replies {
  /// The record of a room.
  package static func room(_ room: RoomID, _ details: RoomDetails) -> Reply.Members {
    {
      $0["room"] = room.rawValue
      $0["kind"] = details.kind.rawValue
      $0["join"] = details.join.rawValue
      $0["title"] = details.title
      $0["avatar"] = details.avatar
      $0.raw("metadata", details.metadata)
      if details.isReadOnly { $0.bool("readOnly", true) }
      $0.integer("version", details.version)
      $0.integer("created", details.created?.rawValue)
    }
  }

  /// The `room` event.
  /// - Parameters:
  ///   - details: Is `nil` for a deleted room.
  ///   - user: The user who caused the event. Is `nil` for a backend that names no user.
  package static func roomEvent(_ event: String, _ room: RoomID, _ details: RoomDetails?, by user: UserID?) -> [UInt8] {
    JSONWriter.object {
      $0["type"] = "room"
      $0["event"] = event
      if let details { self.room(room, details)(&$0) } else { $0["room"] = room.rawValue }
      if event == "deleted" || event == "removed" { $0.bool("removed", true) }
      $0["by"] = user?.rawValue
    }
  }
}

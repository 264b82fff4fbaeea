// SPDX-License-Identifier: Apache-2.0
import CRelay
import RelayJSON
public import RelayProtocol

// The status of users in memory.

extension Hub {
  /// Sets the status that presence shows. A change is sent to all who may see whether the user is online, except to the
  /// session `requester`.
  public func setStatus(_ status: UserStatus?, of user: UserHandle, requester: SessionHandle? = nil) {
    let json = status?.json ?? []
    json.withBytes { _ = relay_user_set_status(hub, user.rawValue, $0, requester?.rawValue ?? 0) }
  }
}

extension Hub {
  /// Forgets when a user without a session was last seen, and ends the grace, so that the user is offline at once.
  public func forgetSeen(_ user: UserHandle) { _ = relay_user_forget_seen(hub, user.rawValue) }
}

extension UserStatus {
  /// The status as a JSON object.
  public var json: [UInt8] {
    JSONWriter.object {
      $0["text"] = text
      $0["emoji"] = emoji
      $0.integer("until", until?.rawValue)
    }
  }
}

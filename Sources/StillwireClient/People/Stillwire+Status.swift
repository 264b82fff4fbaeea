// SPDX-License-Identifier: Apache-2.0
package import RelayJSON
public import RelayProtocol

extension Stillwire {
  /// Sets the status of this user, in place of the earlier one. Everybody who may see whether the user is online sees
  /// it in ``Presence/status``. The relay ends it at ``UserStatus/until``.
  /// - Parameter status: Is `nil` to end the status.
  /// - Returns: The status as the relay shows it.
  @discardableResult
  public func setStatus(_ status: UserStatus?) async throws -> UserStatus? {
    try await request("status", UserStatus.fields(setting: status))["status"].flatMap(UserStatus.init)
  }
}

extension UserStatus {
  /// The fields of a request that sets the status. Without fields the request ends the status.
  package static func fields(setting status: UserStatus?) -> [String: JSON] {
    var fields: [String: JSON] = [:]
    fields["text"] = status?.text.map(JSON.string)
    fields["emoji"] = status?.emoji.map(JSON.string)
    fields["until"] = status?.until.map { .number(String($0.rawValue)) }
    return fields
  }

  /// Parses a status of presence. Returns `nil` if it has neither a text nor an emoji.
  package init?(_ json: JSON) {
    self.init(text: json["text"]?.text, emoji: json["emoji"]?.text, until: json.time("until"))
    if text == nil, emoji == nil { return nil }
  }
}

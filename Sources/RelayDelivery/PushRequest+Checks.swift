// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension PushRequest {
  /// Throws an error if the room does not allow the push, or if a payload could exceed its size.
  /// - Parameters:
  ///   - hasPreview: True if texts of the room's messages may leave the relay.
  ///   - maxSize: The maximum size of a payload, in bytes.
  public func check(sender: UserID, room: RoomID, hasPreview: Bool, maxSize: Int) throws(RequestError) {
    // A silent push has only data, which has its own limit.
    guard style != PushStyle(), !isSilent else { return }
    if !hasPreview, let key = style.firstText {
      throw RequestError(
        .forbidden, "this room allows no push text: \(key) may only be a key of the app's texts, without arguments",
        at: "/push/\(key)")
    }
    do {
      try checkSize(sender: sender, room: room, hasPreview: hasPreview, maxSize: maxSize)
    } catch {
      throw RequestError(
        .tooLarge, "a push may need \(error.size) bytes without its body, and \(error.maxSize) are allowed",
        at: "/push")
    }
  }

  /// Throws an error if the category is not in the registry.
  public func check(in registry: CategoryRegistry) throws(RequestError) {
    guard let category = style.category, registry[category] == nil else { return }
    throw RequestError(.badRequest, "the category is not in the registry, see PUT /v1/categories", at: "/push/category")
  }
}

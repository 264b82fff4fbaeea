// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayProtocol
import RelayRequests
package import RelayState
package import RelayStore

/// The mentions of a message that is sent.
extension Messages {
  /// Finds the members who are online, for a message that mentions them. Throws `too_large`.
  package func resolveMentions(
    of draft: inout MessageDraft, in room: RoomHandle, _ pointer: String, on core: isolated Core
  )
    throws(RequestError)
  {
    guard draft.mentions.online, memory.policy(of: room)?.isStored != false, !core.hub.isCrowded(room) else { return }
    let present = core.hub.members(of: room).filter { !core.hub.sessions(of: $0).isEmpty }.compactMap(
      core.hub.name(of:))
    draft.mentions.present = present.filter { $0 != draft.from.id }.sorted()
    guard draft.mentions.present.count <= Mentions.maxOnline else {
      throw RequestError(
        .tooLarge, "more than \(Mentions.maxOnline) members are online", at: "\(pointer)/mentions", status: 413)
    }
  }

  /// Counts a message that mentions many members at once, and a message that begins a call (see
  /// ``admitCall(of:in:on:)``). Throws `rate_limited` if one of them comes too early; then neither counts. Does nothing
  /// for any other message. Call this last, because a message that is refused must not count.
  package func admit(_ draft: inout MessageDraft, in room: RoomHandle, on core: isolated Core) throws(RequestError) {
    let now = ContinuousClock.now
    if draft.mentions.isBroad, let delay = deliveries.broadMentions.delay(of: draft, at: now) {
      throw RequestError(.rateLimited, "a room accepts one mention of all members a minute", retryAfter: delay)
    }
    try admitCall(of: &draft, in: room, on: core)
    if draft.mentions.isBroad { deliveries.broadMentions.count(draft, at: now) }
  }
}

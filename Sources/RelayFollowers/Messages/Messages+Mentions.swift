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

  /// Counts a message that mentions all members or all who are online. Throws `rate_limited` if it is too early for one.
  /// Does nothing for any other message. Call this last, because a message that is refused must not count.
  package func admitMentions(of draft: MessageDraft) throws(RequestError) {
    guard draft.mentions.isBroad else { return }
    if let delay = deliveries.broadMentions.admit(draft, at: .now) {
      throw RequestError(.rateLimited, "a room accepts one mention of all members a minute", retryAfter: delay)
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayHub
import RelayJSON
import RelayProtocol
import RelayRequests
import RelayState
import RelayStore

/// The pace of calls from one user to another.
extension Messages {
  /// Counts a message that begins a call in its room. The call does not ring for the members above the pace, which the
  /// draft then contains. Throws `rate_limited` if no other member is left. Does nothing for any other message.
  func admitCall(of draft: inout MessageDraft, in room: RoomHandle, on core: isolated Core) throws(RequestError) {
    guard let push = draft.push, push.kind == .call, memory.policy(of: room)?.isStored != false,
      core.hub.memberCount(of: room) <= Call.maxMembers
    else { return }
    let callees = core.hub.members(of: room).compactMap(core.hub.name(of:)).filter { $0 != draft.from.id }
    let (unrung, delay) = deliveries.countCall(from: draft.from.id, to: callees, on: core)
    guard callees.isEmpty || unrung.count < callees.count else {
      throw RequestError(
        .rateLimited,
        "the limit `pace.calls` is exceeded: \(core.settings.pace.calls) calls a minute to the same member",
        retryAfter: delay)
    }
    var call = draft.call ?? CallDraft(media: push.style.callMedia)
    call.unrung = unrung
    draft.call = call
  }
}

extension PushStyle {
  /// The medium of a call that a message begins: its custom key `video`.
  var callMedia: Call.Media {
    guard !data.isEmpty, case .object(let members)? = JSON(reading: data), members["video"] == .bool(true) else {
      return .audio
    }
    return .video
  }
}

// SPDX-License-Identifier: Apache-2.0
package import RelayHub
package import RelayProtocol
import RelayRequests
package import RelayState
package import RelayStore

/// Changes to a message that leave its body as it is, such as reactions.
extension Messages {
  /// Changes an annotation of a message, and sends the event. Throws `not_found` if the history does not have the
  /// message, or if it was deleted.
  /// - Parameter work: Changes the annotation. Its arguments are the transaction, the number of messages in the history,
  ///   and the time.
  package func annotate(
    _ kind: Annotation.Kind, of seq: Int64, in access: RoomAccess, requester: SessionHandle?, on core: isolated Core,
    _ work: @escaping @Sendable (Transaction, _ kept: Int, Timestamp) throws -> Annotated?
  ) async throws -> Annotated {
    let now = core.hub.now
    let (room, handle) = (access.room, access.handle)
    let kept = memory.policy(of: room, on: core).history.count
    memory.retain(room)
    defer { memory.release(room, on: core) }
    let annotated = try await core.commit(rows: 4) {
      try work($0, kept, now)
    } then: { annotated in
      guard let annotated = try? annotated.get() else { return [] }
      return .annotation(annotated, kind, of: seq, in: room, handle, requester: requester, at: now)
    }
    guard let annotated else { throw Self.notFound }
    return annotated
  }
}

extension [Change] {
  /// The change of an annotation. Is empty if nothing was changed.
  package static func annotation(
    _ annotated: Annotated, _ kind: Annotation.Kind, of seq: Int64, in room: RoomID, _ handle: RoomHandle,
    requester: SessionHandle?, at time: Timestamp
  ) -> [Change] {
    guard let number = annotated.change else { return [] }
    let annotation = Annotation(kind, annotated.value)
    let message = ChangedMessage(seq: seq, change: number, time: time, body: nil, annotation: annotation)
    return [
      .annotated(
        MessageChange(message: message, room: room, handle: handle, requester: requester, newest: annotated.newest))
    ]
  }
}

// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol
import RelayStore
import Synchronization

/// Makes the payloads of pushes from claimed jobs and the settings.
extension PushWorker {
  /// Returns the push of an update, or `nil` if it cannot be made or is no longer needed.
  /// - Parameter maxSize: The largest payload with texts, in bytes.
  func push(of claim: UpdateClaim, maxSize: Int = Push.maxPayload) -> Push? {
    let topic = claim.device.app ?? Self.defaultTopic
    switch claim.content {
    case .badge(let count):
      return Push(id: claim.id, badge: count, expires: now() + Self.updateLifetime, topic: topic)
    case .silent(let room, let epoch, let message, let request):
      let expires = request.expires(from: message.time)
      guard now() < expires else { return nil }
      return Push(
        id: claim.id, waking: MessageReference(room: room, seq: message.seq), epoch: epoch, data: request.style.data,
        expires: expires, topic: topic)
    case .change(let kind, let job):
      let request = job.push
      let isOver = now() >= request.expires(from: job.message.time)
      let body: PushText?
      switch kind {
      case .edited: body = nil
      case .deleted: body = texts(for: claim.device).text(.messageDeleted)
      case .missed: body = texts(for: claim.device).text(.missedCall)
      case .answered: body = texts(for: claim.device).text(.callAnswered)
      case .declined: body = texts(for: claim.device).text(.callDeclined)
      case .badge, .silent: preconditionFailure("an update of kind \(kind) was stored as a change of a push")
      }
      guard kind != .edited || !isOver else { return nil }
      // A notification may stay on the phone, so a change expires as late as any push of the message could.
      let expires = job.message.time + PushRequest.maxLifetime
      let subject = subject(of: job, request, expires: expires)
      return try? Push(id: claim.id, changing: subject, to: body, maxSize: maxSize)
    }
  }

  /// Returns the contents of a push: one message, or several that were held back together.
  func digest(of claim: Claim, _ request: PushRequest, expires: Timestamp) -> DigestSubject {
    DigestSubject(
      newest: subject(of: claim, request, expires: expires), count: claim.count,
      others: claim.others.map { other in
        let style = other.push.style
        return DigestRoom(
          room: other.room, count: other.count, seq: other.message.seq, sender: other.sender,
          text: style.line(JSON.shownText(ofBody: other.message.body), hasPreview: hasPreview(other.room)))
      })
  }

  private func hasPreview(_ room: RoomID) -> Bool { settings.withLock { $0.hasPreview(room) } }

  /// True if the push is a VoIP push, which opens the phone's call screen.
  func rings(_ device: Device, _ request: PushRequest) -> Bool {
    request.kind == .call && device.voipToken != nil && settings.withLock { $0.apps.entitlements.has(.voip, device) }
  }

  /// Returns the relay's own texts in the language of a device.
  private func texts(for device: Device) -> PushTexts { settings.withLock { $0.texts.texts(for: device.locale) } }

  private func app(of device: Device) -> PayloadApp {
    PayloadApp(
      topic: device.app ?? Self.defaultTopic, ringtone: settings.withLock { $0.apps.ringtone(of: device) },
      texts: texts(for: device))
  }

  private func subject(of claim: Claim, _ request: PushRequest, expires: Timestamp) -> PayloadSubject {
    PayloadSubject(
      notification: claim.id, sender: claim.sender,
      room: PayloadRoom(
        id: claim.room, title: claim.title, avatar: claim.avatar, recipientCount: claim.recipientCount,
        isGroup: claim.isGroup),
      epoch: claim.epoch, seq: claim.message.seq,
      kind: request.kind, text: JSON.shownText(ofBody: claim.message.body),
      style: request.style, hasPreview: hasPreview(claim.room),
      level: claim.level ?? request.level, badge: claim.unread,
      isMention: claim.message.mentions.contains(claim.recipient), isReply: claim.isReply,
      isNotifyAnyway: claim.isNotifyAnyway, criteria: claim.criteria ?? request.criteria, expires: expires,
      app: app(of: claim.device), replaces: claim.collapse,
      // The receipt expires when the job does: it would change nothing later.
      receipt: receipts.receipt(for: claim.id, until: now() + Self.retention))
  }
}

// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol
import RelayStore
import Synchronization

/// Makes the payloads of pushes from claimed jobs and the settings.
extension PushWorker {
  /// Returns the push of a claimed job.
  func push(of claim: Claim, expires: Timestamp) -> PhonePush {
    let content: PhonePush.Content
    var keptUntil: Timestamp? = expires
    switch claim.content {
    case .alert(let shown):
      let digest = digest(of: shown, for: claim, expires: expires)
      content = rings(claim.device, shown.push) ? .ring(digest.newest, for: expires - now()) : .alert(digest)
    case .change(let text, let shown):
      let end = store.readClock().wallTime(shown.message.time, steps: shown.steps) + PushRequest.maxLifetime
      content = .change(digest(of: shown, for: claim, expires: end), text)
      keptUntil = claim.keptUntil
    case .phone(let phone):
      content = phone.badge.map(PhonePush.Content.badge) ?? .removal
      keptUntil = claim.keptUntil
    case .silent(let room, let epoch, let message, let request):
      content = .wake(MessageReference(room: room, seq: message.seq), epoch: epoch, data: request.style.data)
    }
    return PhonePush(
      id: claim.id, to: claim.recipient, topic: claim.device.app ?? Self.defaultTopic, content,
      removals: claim.removals, keptUntil: keptUntil, expires: expires)
  }

  /// Returns the contents of a push: one message, or several that were held back together.
  private func digest(of shown: ShownMessages, for claim: Claim, expires: Timestamp) -> DigestSubject {
    DigestSubject(
      newest: subject(of: shown, for: claim, expires: expires), count: shown.count,
      others: shown.others.map { other in
        let style = other.push.style
        return DigestRoom(
          room: other.room, count: other.count, seq: other.message.seq, sender: other.sender,
          text: style.line(JSON.shownText(ofBody: other.message.body), hasPreview: hasPreview(other.room)))
      })
  }

  private func hasPreview(_ room: RoomID) -> Bool { settings.withLock { $0.hasPreview(room) } }

  /// True if the push is a VoIP push, which opens the phone's call screen.
  func rings(_ device: Device, _ request: PushRequest) -> Bool {
    request.kind == .call && settings.withLock { $0.apps.entitlements.rings(device) }
  }

  /// Returns the relay's own texts in the language of a device.
  private func texts(for device: Device) -> PushTexts { settings.withLock { $0.texts.texts(for: device.locale) } }

  private func app(of device: Device) -> PayloadApp {
    PayloadApp(
      topic: device.app ?? Self.defaultTopic, ringtone: settings.withLock { $0.apps.ringtone(of: device) },
      texts: texts(for: device))
  }

  private func subject(of shown: ShownMessages, for claim: Claim, expires: Timestamp) -> PayloadSubject {
    let request = shown.push
    var subject = PayloadSubject(
      notification: shown.notification, recipient: claim.recipient, sender: shown.sender,
      room: shown.room, epoch: shown.epoch, seq: shown.message.seq, badge: shown.unread, expires: expires,
      app: app(of: claim.device))
    subject.kind = request.kind
    subject.text = JSON.shownText(ofBody: shown.message.body)
    subject.style = request.style
    subject.hasPreview = hasPreview(shown.room.id)
    subject.level = shown.level ?? request.level
    subject.isMention = shown.message.mentions.contains(claim.recipient)
    subject.isReply = shown.isReply
    subject.isNotifyAnyway = shown.isNotifyAnyway
    subject.criteria = shown.criteria ?? request.criteria
    subject.replaces = shown.collapse
    subject.replacesScope = shown.collapseScope
    // The receipt expires when the job does: it would change nothing later.
    subject.receipt = receipts.receipt(for: shown.notification, until: now() + Self.retention)
    if request.kind == .invitation { subject.invitation = PayloadInvitation(body: shown.message.body) }
    return subject
  }
}

extension PayloadInvitation {
  /// Parses the body of the notification. Returns `nil` for a body of another form, which the relay does not store.
  init?(body: [UInt8]) {
    guard let value = JSON(reading: body), let fields = try? Fields(value),
      let room: RoomID = try? fields.name("room"), let kind: RoomKind = try? fields.choice("kind")
    else { return nil }
    self.init(room: room, kind: kind, title: try? fields.string("title", maxLength: RoomDetails.maxTitleLength))
  }
}

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
    let digest = digest(of: claim, claim.push, expires: expires)
    return PhonePush(
      id: claim.id, to: claim.recipient, topic: digest.newest.app.topic,
      rings(claim.device, claim.push) ? .ring(digest.newest, for: expires - now()) : .alert(digest),
      removals: claim.removals, keptUntil: expires, expires: expires)
  }

  /// Returns the push of an update. Is `nil` if the update is too late.
  func push(of claim: UpdateClaim) -> PhonePush? {
    let content: PhonePush.Content
    let clock = store.readClock()
    var expires = now() + Self.lifetime(of: claim)
    var keptUntil = claim.keptUntil
    switch claim.content {
    case .phone(let phone): content = phone.badge.map(PhonePush.Content.badge) ?? .removal
    case .silent(let room, let epoch, let message, let request):
      expires = request.expires(from: clock.wallTime(message.time, steps: claim.steps))
      guard now() < expires else { return nil }
      keptUntil = expires
      content = .wake(MessageReference(room: room, seq: message.seq), epoch: epoch, data: request.style.data)
    case .change(let text, of: _, let shown):
      let end = clock.wallTime(shown.message.time, steps: shown.steps) + PushRequest.maxLifetime
      content = .change(digest(of: shown, shown.push, expires: end), text)
    }
    return PhonePush(
      id: claim.id, to: claim.recipient, topic: claim.device.app ?? Self.defaultTopic, content,
      removals: claim.removals, keptUntil: keptUntil, expires: expires)
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
    request.kind == .call && settings.withLock { $0.apps.entitlements.rings(device) }
  }

  /// Returns the relay's own texts in the language of a device.
  private func texts(for device: Device) -> PushTexts { settings.withLock { $0.texts.texts(for: device.locale) } }

  private func app(of device: Device) -> PayloadApp {
    PayloadApp(
      topic: device.app ?? Self.defaultTopic, ringtone: settings.withLock { $0.apps.ringtone(of: device) },
      texts: texts(for: device))
  }

  private func subject(of claim: Claim, _ request: PushRequest, expires: Timestamp) -> PayloadSubject {
    var subject = PayloadSubject(
      notification: claim.id, recipient: claim.recipient, sender: claim.sender,
      room: claim.room, epoch: claim.epoch, seq: claim.message.seq, badge: claim.unread, expires: expires,
      app: app(of: claim.device))
    subject.kind = request.kind
    subject.text = JSON.shownText(ofBody: claim.message.body)
    subject.style = request.style
    subject.hasPreview = hasPreview(claim.room.id)
    subject.level = claim.level ?? request.level
    subject.isMention = claim.message.mentions.contains(claim.recipient)
    subject.isReply = claim.isReply
    subject.isNotifyAnyway = claim.isNotifyAnyway
    subject.criteria = claim.criteria ?? request.criteria
    subject.replaces = claim.collapse
    subject.replacesScope = claim.collapseScope
    // The receipt expires when the job does: it would change nothing later.
    subject.receipt = receipts.receipt(for: claim.id, until: now() + Self.retention)
    if request.kind == .invitation { subject.invitation = PayloadInvitation(body: claim.message.body) }
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

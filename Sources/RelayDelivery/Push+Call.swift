// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

extension Push {
  /// A VoIP push, with which the app reports a call to CallKit. The payload has these members:
  ///
  /// - `call`: the id of the notification
  /// - `ringUntil`: the end of the ringing, in milliseconds since 1970
  /// - `ringFor`: the milliseconds until this end. A phone whose clock is wrong rings for this time
  /// - `data`: the caller, and the sender's custom keys
  ///
  /// Source: Apple's "Responding to VoIP notifications from PushKit". The gateway tries the push once, because a late
  /// call is of no use.
  /// - Parameter rest: The time until the end of the ringing.
  public init(
    ringing subject: PayloadSubject, for rest: Duration, maxSize: Int = Self.maxVoIPPayload
  ) throws(PayloadError) {
    let payloads = subject.lighter.lazy.map { callPayload(of: $0, rest) }
    guard let payload = payloads.first(where: { $0.count <= maxSize }) else {
      throw PayloadError(code: .tooLarge, size: callPayload(of: subject.lightest, rest).count, maxSize: maxSize)
    }
    self.init(
      id: subject.notification,
      headers: PushHeaders(
        type: .voip, priority: .high, expiration: 0, collapseID: subject.collapseID,
        topic: subject.app.topic + PushHeaders.voipSuffix),
      payload: payload, expires: subject.expires)
  }
}

private func callPayload(of subject: PayloadSubject, _ rest: Duration) -> [UInt8] {
  JSONWriter.object { payload in
    payload["call"] = subject.notification
    payload.integer("ringUntil", subject.expires.rawValue)
    payload.integer("ringFor", rest.milliseconds)
    payload.object("data") { data in
      subject.writeOrigin(to: &data, isCommunication: true)
      data.members(of: subject.style.data)
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

extension Push {
  /// A VoIP push, with which the app reports a call to CallKit. The payload has these members:
  ///
  /// - `call`: the id of the notification
  /// - `ringUntil`: the end of the ringing, in milliseconds since 1970
  /// - `data`: the caller, and the sender's custom keys
  ///
  /// Source: Apple's "Responding to VoIP notifications from PushKit". The gateway tries the push once, because a late
  /// call is of no use.
  public init(ringing subject: PayloadSubject, maxSize: Int = Self.maxVoIPPayload) throws(PayloadError) {
    let payloads = subject.lighter.lazy.map(callPayload)
    guard let payload = payloads.first(where: { $0.count <= maxSize }) else {
      throw PayloadError(code: .tooLarge, size: callPayload(of: subject.lightest).count, maxSize: maxSize)
    }
    self.init(
      id: subject.notification,
      headers: PushHeaders(
        type: .voip, priority: .high, expiration: 0, collapseID: subject.collapseID,
        topic: subject.app.topic + PushHeaders.voipSuffix),
      payload: payload, expires: subject.expires)
  }
}

private func callPayload(of subject: PayloadSubject) -> [UInt8] {
  JSONWriter.object { payload in
    payload["call"] = subject.notification
    payload.integer("ringUntil", subject.expires.rawValue)
    payload.object("data") { data in
      subject.writeOrigin(to: &data, isCommunication: true)
      data.members(of: subject.style.data)
    }
  }
}

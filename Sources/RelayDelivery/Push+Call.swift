// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol

extension Push {
  /// A VoIP push, which has the app report a call: `call`, the notification's id, `ringUntil`, when it is over, in
  /// milliseconds since 1970, and `data`, who calls and what the caller tells the app.
  ///
  /// From Apple's "Responding to VoIP notifications from PushKit". It is tried once: a call that comes late is none.
  public init(ringing subject: PayloadSubject, largest: Int = Self.largestVoIPPayload) throws(PayloadError) {
    let payloads = subject.lighter.lazy.map(callPayload)
    guard let payload = payloads.first(where: { $0.count <= largest }) else {
      throw PayloadError(code: .tooLarge, size: callPayload(of: subject.lightest).count, largest: largest)
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
      data.members(of: subject.manner.data)
    }
  }
}

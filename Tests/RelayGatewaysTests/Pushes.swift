// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import RelayProtocol
import Synchronization

@testable import RelayDelivery
@testable import RelayGateways

func uuid(_ number: Int) -> String {
  let digits = String(number, radix: 16)
  return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
}

func push(_ number: Int = 1, collapse: String? = nil, payload: String? = nil) -> Push {
  Push(
    id: uuid(number),
    headers: PushHeaders(
      type: .alert, priority: .high, expiration: 1_700_000_000, collapseID: collapse ?? "room/\(number)",
      topic: "org.example.chat"),
    payload: Array((payload ?? #"{"n":\#(number)}"#).utf8))
}

extension PhonePush {
  /// A push of a message from Ann.
  static func message(
    _ number: Int = 1, in room: String = "tea", to user: String = "bob", text: String? = "hi",
    level: Level = .active, kind: MessageKind = .message
  ) -> PhonePush {
    let subject = PayloadSubject(
      notification: uuid(number), recipient: UserID(unchecked: user),
      sender: User(id: UserID(unchecked: "ann"), name: "Ann"),
      room: PayloadRoom(id: RoomID(unchecked: room), title: "Tea", recipientCount: 2, isGroup: true), epoch: "e",
      seq: Int64(number),
      kind: kind, text: text, level: level, badge: 3, isMention: true, expires: Timestamp(rawValue: 1_900_000_000_000),
      app: PayloadApp(topic: "org.example.chat"))
    return PhonePush(
      id: uuid(number), to: UserID(unchecked: user), topic: "org.example.chat",
      .alert(DigestSubject(newest: subject)), keptUntil: subject.expires, expires: subject.expires)
  }

  /// The same message after a change.
  func changed(to text: EntryText) -> PhonePush {
    guard case .alert(let digest) = content else { return self }
    var push = self
    push.content = .change(digest, text)
    return push
  }
}

func phone(_ token: String) -> Device {
  Device(id: DeviceID(unchecked: "phone"), platform: .simulator, token: token)
}

/// A clock that a test advances.
final class TestClock: Sendable {
  private let time = Mutex<Int64>(1_000)

  func advance(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }
  func now() -> Timestamp { Timestamp(rawValue: time.withLock { $0 }) }
}

extension SimulatedGateway {
  /// The numbers of the pushes on a lock screen, in order.
  func numbers(_ token: String) -> [Int] { phone(token).notifications.compactMap { $0.push.number } }
}

extension SimulatedGateway {
  /// Sends a push as if its contents were those of its payload.
  func send(_ push: Push, to device: Device) async -> PushOutcome { send(push, ScreenContents(push), to: device) }
}

extension ScreenContents {
  /// The contents of a payload: its alert and its badge.
  init(_ push: Push) {
    self.init()
    let aps = JSON(reading: push.payload)?["aps"]
    hasAlert = aps.map { $0["alert"] != nil } ?? true
    if case .number(let text)? = aps?["badge"] { badge = Double(text).flatMap(Int.init(exactly:)) }
  }
}

extension Push {
  var number: Int? { Int(id.suffix(12), radix: 16) }
}

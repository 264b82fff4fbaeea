// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Synchronization

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

extension Push {
  var number: Int? { Int(id.suffix(12), radix: 16) }
}

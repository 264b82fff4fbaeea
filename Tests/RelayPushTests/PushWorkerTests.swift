// SPDX-License-Identifier: Apache-2.0
import Foundation
import Logging
import RelayDelivery
import RelayGateways
import RelayProtocol
import RelayStore
import Synchronization
import Testing

@testable import RelayPush

@Suite struct PushWorkerTests {
  private final class Recorder: Gateway {
    let sent = Mutex(0)

    func send(_ push: PhonePush, to device: Device, noting log: AttemptLog) async -> PushOutcome {
      sent.withLock { $0 += 1 }
      return .dead(.other)
    }
  }

  @Test func `a push is not sent while another node may have its claim`() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/stillwire-push-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let time = Timestamp(rawValue: 1_700_000_000_000)
    let store = try Store(folder: folder, now: { time }) { for completion in $0 { completion() } }
    defer { store.close() }
    let room = RoomID(unchecked: "room")
    let bob = User(id: UserID(unchecked: "bob"), name: "Bob")
    let ann = User(id: UserID(unchecked: "ann"), name: "Ann")
    let phone = Device(
      id: DeviceID(unchecked: "phone"), app: "org.example.chat", platform: .simulator, token: "token")
    try await store.write { transaction in
      for user in [ann, bob] {
        _ = try transaction.rooms.join(user, room: room, epoch: "epoch", now: time)
      }
      try transaction.devices.register(phone, of: bob.id, now: time)
      let job = JobDraft(
        user: bob.id, device: phone.id, token: phone.token, platform: .simulator, due: time, reasons: [])
      _ = try transaction.messages.append(
        MessageDraft(room: room, from: ann, time: time, body: Array("1".utf8), key: nil, jobs: [job]))
    }
    let gateway = Recorder()
    // The number of pushes that were sent before each question.
    let questions = Mutex<[Int]>([])
    let worker = PushWorker(
      store: store, gateways: [.simulator: gateway], now: { time },
      ownsClaims: {
        let sent = gateway.sent.withLock { $0 }
        return questions.withLock { questions in
          questions.append(sent)
          return questions.count > 1
        }
      }, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    await worker.workOff()
    let jobs = try await store.read { try $0.queue.jobs(limit: 9) }
    #expect(questions.withLock { $0 } == [0, 0])
    #expect(gateway.sent.withLock { $0 } == 1)
    // The claim that was not used does not count as an attempt.
    #expect(jobs.map(\.attempts) == [1], "\(jobs)")
  }
}

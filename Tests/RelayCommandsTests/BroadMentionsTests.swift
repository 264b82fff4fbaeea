// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayJSON
import RelayProtocol
import RelayStore
import TestRelay
import Testing

@testable import RelayCommands
@testable import RelayFollowers
@testable import RelayRequests

/// The pace of messages that mention all members of a room.
@Suite struct BroadMentionsTests {
  /// A message with the time at which it is sent, in milliseconds.
  private struct Attempt {
    private static let start = ContinuousClock.now
    var room = "tea"
    var from = "ann"
    var key: String?
    let at: Int64

    var draft: MessageDraft {
      MessageDraft(
        room: RoomID(unchecked: room), from: User(id: UserID(unchecked: from)), time: Timestamp(rawValue: 1_000_000),
        body: [], key: key)
    }

    var time: ContinuousClock.Instant { Self.start + .milliseconds(at) }
  }

  /// The milliseconds that each message has to wait for, 0 if it is accepted.
  private func waits(_ attempts: Attempt...) -> [Int64] {
    var pace = BroadMentions()
    return attempts.map { attempt in
      if let delay = pace.delay(of: attempt.draft, at: attempt.time) { return delay.milliseconds }
      pace.count(attempt.draft, at: attempt.time)
      return 0
    }
  }

  @Test func `a room accepts one a minute`() {
    let waits = waits(
      Attempt(at: 0), Attempt(from: "bob", at: 1), Attempt(at: 59_999), Attempt(room: "den", at: 1),
      Attempt(at: 60_000), Attempt(at: 60_001))
    #expect(waits == [0, 59_999, 1, 0, 0, 59_999])
  }

  @Test func `a retry with the same key is the same message`() {
    let waits = waits(
      Attempt(key: "k", at: 0), Attempt(key: "k", at: 1), Attempt(key: "l", at: 1),
      Attempt(from: "bob", key: "k", at: 1), Attempt(at: 1))
    #expect(waits == [0, 0, 59_999, 59_999, 59_999])
  }

  @Test func `rooms whose minute is over are forgotten`() {
    var pace = BroadMentions()
    for number in 0..<5_000 {
      let attempt = Attempt(room: "r\(number)", at: Int64(number) * 1_000)
      #expect(pace.delay(of: attempt.draft, at: attempt.time) == nil)
      pace.count(attempt.draft, at: attempt.time)
      #expect(pace.count <= 1_024)
    }
  }

  @Test(arguments: [
    (JSON.object(["category": .string("unknown")]), ErrorCode.badRequest),
    (.object(["kind": .string("call")]), .rateLimited),
  ])
  func `a message that is refused does not count`(_ refused: JSON, _ code: ErrorCode) async throws {
    try await TestRelay.run {
      $0.pace.calls = 1
    } _: { test async throws in
      let backend = Caller.backend(acting: nil)
      for user in ["ann", "bob"] {
        _ = try await test.perform(
          AddMember.self, by: backend, ["room": .string("tea"), "user": .string(user)])
      }
      let call: [String: JSON] = ["room": .string("tea"), "from": .string("ann"), "media": .string("audio")]
      _ = try await test.perform(Ring.self, by: backend, call)
      func refusal(_ body: () async throws -> Void) async -> RequestError? {
        do {
          try await body()
          return nil
        } catch {
          return error as? RequestError
        }
      }
      func post(_ push: JSON) async throws {
        let message: [String: JSON] = [
          "room": .string("tea"), "from": .string("ann"), "body": .raw(Array("1".utf8)),
          "mentions": .array([.string("*")]),
          "push": push,
        ]
        _ = try await test.perform(PostMessage.self, by: backend, message)
      }
      let error = await refusal { try await post(refused) }
      #expect(error?.code == code && (error?.at?.hasPrefix("/push") == true) == (code == .badRequest))
      try await post(.bool(true))
      let early = await refusal { try await post(.bool(true)) }
      #expect(early?.code == .rateLimited)
    }
  }
}

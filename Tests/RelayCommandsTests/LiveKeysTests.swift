// SPDX-License-Identifier: Apache-2.0
import RelayHub
import RelayProtocol
import Testing

@testable import RelayState

@Suite struct LiveKeysTests {
  private var keys = LiveKeys()

  private func key(_ number: Int, room: UInt64 = 1, user: String = "a") -> LiveKeys.Key {
    LiveKeys.Key(room: RoomHandle(rawValue: room), user: UserID(unchecked: user), key: String(number))
  }

  private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(rawValue: milliseconds) }

  @Test mutating func `a key is remembered for five minutes to the millisecond`() {
    keys.remember(key(1), seq: 7, time: at(99), at: at(100))
    #expect(keys.first(key(1), at: at(300_099))?.seq == 7)
    #expect(keys.first(key(1), at: at(300_099))?.time == at(99))
    #expect(keys.first(key(1), at: at(300_100)) == nil)
    keys.remember(key(1), seq: 8, time: at(300_100), at: at(300_100))
    #expect(keys.first(key(1), at: at(600_099))?.seq == 8)
  }

  @Test(arguments: [-3_600_000, 3_600_000] as [Int64])
  mutating func `a key keeps its remaining time when the wall clock is set`(step: Int64) {
    keys.remember(key(1), seq: 7, time: at(0), at: at(0))
    keys.clockWasSet(by: .milliseconds(step))
    #expect(keys.first(key(1), at: at(step + 299_999))?.seq == 7)
    #expect(keys.first(key(1), at: at(step + 300_000)) == nil)
  }

  @Test mutating func `a key belongs to one user in one room`() {
    keys.remember(key(1), seq: 7, time: at(0), at: at(0))
    #expect(keys.first(key(1, room: 2), at: at(1)) == nil)
    #expect(keys.first(key(1, user: "b"), at: at(1)) == nil)
  }

  @Test mutating func `a key beyond the maximum replaces the oldest one`() {
    func own(_ number: Int) -> LiveKeys.Key { key(number, user: "user\(number / 1_000)") }
    for number in 0...LiveKeys.max { keys.remember(own(number), seq: 1, time: at(0), at: at(Int64(number % 1_000))) }
    #expect(keys.count == LiveKeys.max)
    #expect(keys.first(own(0), at: at(1_000)) == nil)
    #expect(keys.first(own(1), at: at(1_000)) != nil)
    #expect(keys.first(own(LiveKeys.max), at: at(1_000)) != nil)
  }

  @Test mutating func `forgotten keys in the queue do not raise the maximum`() {
    keys.remember(key(0, user: "first"), seq: 1, time: at(0), at: at(0))
    // Most of these keys are forgotten. Their entries stay in the queue after the first key.
    for number in 0..<5 * LiveKeys.maxPerUser { keys.remember(key(number), seq: 1, time: at(0), at: at(0)) }
    for number in 0..<LiveKeys.max + 1_000 {
      keys.remember(key(number, user: "user\(number / 1_000)"), seq: 1, time: at(0), at: at(0))
      #expect(keys.count <= LiveKeys.max)
    }
    #expect(keys.count == LiveKeys.max)
  }

  @Test mutating func `a user with too many keys loses the own oldest keys`() {
    keys.remember(key(0, user: "other"), seq: 7, time: at(0), at: at(0))
    for number in 0..<3 * LiveKeys.max { keys.remember(key(number), seq: 1, time: at(0), at: at(1)) }
    #expect(keys.first(key(0, user: "other"), at: at(2))?.seq == 7)
    #expect(keys.count == LiveKeys.maxPerUser + 1)
    let first = 3 * LiveKeys.max - LiveKeys.maxPerUser
    #expect(keys.first(key(first - 1), at: at(2)) == nil)
    #expect(keys.first(key(first), at: at(2)) != nil)
    #expect(keys.queued < 3 * LiveKeys.maxPerUser)
  }

  @Test mutating func `a key that is used again after it has expired counts once`() {
    for round in 0..<3 {
      let now = at(Int64(round) * 400_000)
      for number in 0..<LiveKeys.maxPerUser { keys.remember(key(number), seq: Int64(round), time: now, at: now) }
      #expect(keys.count == LiveKeys.maxPerUser)
      #expect(keys.first(key(0), at: now)?.seq == Int64(round))
    }
  }

  @Test mutating func `expired keys are removed while new ones are added`() {
    func own(_ number: Int) -> LiveKeys.Key { key(number, user: "user\(number / 1_000)") }
    for number in 0..<10_000 { keys.remember(own(number), seq: 1, time: at(0), at: at(0)) }
    for number in 10_000..<13_000 { keys.remember(own(number), seq: 1, time: at(0), at: at(400_000)) }
    #expect(keys.count < 4_000)
    #expect(keys.first(own(12_999), at: at(400_000)) != nil)
  }
}

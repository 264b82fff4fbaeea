// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

@testable import RelayServer

@Suite struct SystemNodeClockTests {
  private let clock = SystemNodeClock()

  @Test func `a wait ends after its time, and a stop ends all waits`() async {
    #expect(clock.wait(.zero))
    let began = clock.now
    #expect(clock.wait(.milliseconds(20)))
    #expect(clock.now - began >= .milliseconds(19))
    async let waiting = Self.wait(for: .seconds(600), on: clock)
    clock.stop()
    #expect(await !waiting)
    #expect(!clock.wait(.zero))
    #expect(!clock.wait(.seconds(600)))
  }

  @concurrent private static func wait(for time: Duration, on clock: SystemNodeClock) async -> Bool { clock.wait(time) }

  @Test func `an id is unique and valid in a record`() throws {
    let ids = (0..<1_000).map { _ in clock.gid() }
    #expect(Set(ids).count == ids.count)
    for id in ids {
      let record = LogRecord(sequence: 1, term: 1, gid: id, time: clock.reading.timeOfDay, content: .noop)
      #expect(try LogRecord(sequence: 1, headers: record.headers, body: []) == record)
    }
  }

  @Test func `a snapshot has the SHA-256 of its bytes`() {
    var digest = SHA256Digest()
    digest.update(Array("a".utf8))
    digest.update(Array("bc".utf8))
    #expect(digest.finish() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }
}

// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

@Suite struct MessageReaderTests {
  private let log = TestLog()
  private let clock = TestClock()

  private func reader(after sequence: UInt64) -> MessageReader {
    MessageReader(log, after: sequence) { [clock] in _ = clock.wait($0) }
  }

  private func store(_ sequences: ClosedRange<UInt64>) {
    log.change { log in for sequence in sequences { _ = log.model.store(.noop(sequence)) } }
  }

  private func sequences(_ reads: [LogRead]) -> [UInt64] {
    reads.compactMap { if case .record(let record) = $0 { record.sequence } else { nil } }
  }

  @Test func `records are read one by one, without a wait while there are more`() throws {
    store(1...5)
    let reader = reader(after: 1)
    #expect(try sequences(reader.next(max: 3, timeout: .milliseconds(50))) == [2, 3, 4])
    #expect(try sequences(reader.next(max: 3, timeout: .milliseconds(50))) == [5])
    #expect(clock.elapsed == .zero)
    #expect(reader.last == 5)
  }

  @Test(arguments: [(30, 30), (1_000, 100)])
  func `without a new record the reader waits`(_ timeout: Int, _ waited: Int) throws {
    store(1...5)
    #expect(try reader(after: 5).next(max: 3, timeout: .milliseconds(timeout)).isEmpty)
    #expect(clock.elapsed == .milliseconds(waited))
    clock.onWait { [log] _ in log.change { _ = $0.model.store(.noop(6)) } }
    #expect(try sequences(reader(after: 5).next(max: 3, timeout: .milliseconds(timeout))) == [6])
  }

  @Test func `a truncated log continues with its first record`() throws {
    store(1...9)
    log.change { $0.model.truncate(below: 7) }
    #expect(try sequences(reader(after: 2).next(max: 2, timeout: .zero)) == [7, 8])
  }

  @Test func `an outage is an error`() {
    log.change { $0.isDown = true }
    #expect(throws: LogUnavailable.self) { try reader(after: 0).next(max: 1, timeout: .zero) }
  }
}

// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Synchronization
import Testing

@testable import RelayHub

@Suite struct HubThreadTests {
  /// The lines that jobs and events write, in their order.
  private final class Record: Sendable {
    private let entries = Mutex<[String]>([])
    var lines: [String] { entries.withLock { $0 } }
    func add(_ line: String) { entries.withLock { $0.append(line) } }
  }

  @Test(arguments: [Duration.zero, .milliseconds(5), .seconds(60)])
  func `jobs run in their order, whatever the slice`(slice: Duration) {
    let thread = HubThread(slice: slice)
    let record = Record()
    for number in 0..<100 {
      thread.perform {
        record.add("\(number)")
        if number % 10 == 0 { thread.perform { record.add("added by \(number)") } }
      }
    }
    thread.start {}
    thread.end()
    let added = stride(from: 0, to: 100, by: 10).map { "added by \($0)" }
    #expect(record.lines == (0..<100).map(String.init) + added)
  }

  @Test func `a job behind the slice wakes the thread by itself`() async {
    let thread = HubThread(slice: .zero)
    await withCheckedContinuation { continuation in
      for _ in 0..<3 { thread.perform {} }
      thread.perform { continuation.resume() }
      thread.start {}
    }
    thread.end()
  }

  /// The alarm is due at once, so the loop delivers it in its next iteration.
  @Test(arguments: [(Duration.zero, ["first", "alarm", "second"]), (.seconds(60), ["first", "second", "alarm"])])
  func `the loop goes on between the slices of a batch`(slice: Duration, expected: [String]) async throws {
    let thread = HubThread(slice: slice)
    let record = Record()
    let hub = try Hub(
      HubConfiguration(
        address: "127.0.0.1", port: 0, subprotocol: "stillwire.v1.json", path: "/v1/connect", origins: [], requests: [],
        limits: Limits(), grace: .seconds(10)),
      thread: thread
    ) { _, _ in }
    nonisolated(unsafe) let owned = hub  // used on its own thread only, once it runs
    await withCheckedContinuation { continuation in
      let isDone = Mutex(false)
      let finish: @Sendable () -> Void = {
        guard record.lines.count == 3,
          isDone.withLock({ done in
            defer { done = true }
            return !done
          })
        else { return }
        continuation.resume()
      }
      owned.receive = { events in
        for case .alarm in events { record.add("alarm") }
        finish()
      }
      thread.perform {
        owned.setAlarm(Timestamp(rawValue: 1))
        record.add("first")
      }
      thread.perform {
        record.add("second")
        finish()
      }
      owned.start()
    }
    #expect(record.lines == expected)
    thread.perform { owned.stop() }
    thread.end()
  }
}

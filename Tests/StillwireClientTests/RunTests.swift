// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import StillwireClient

/// Several calls of `run()` of one client, for example of two windows.
@Suite(.timeLimit(.minutes(15))) struct RunTests {
  private func client(_ address: RelayAddress) -> Stillwire {
    var configuration = Stillwire.Configuration(address, device: "phone") { _ in .open("ann") }
    configuration.timeout = patience
    return Stillwire(configuration)
  }

  private func become(_ state: ConnectionState, _ events: Subscription<Event>) async {
    _ = await events.first { $0 == .stateChanged(state) }
  }

  @Test func `a second run waits for the first one, and then connects`() async throws {
    try await LiveRelay().serve { address in
      let ann = client(address)
      let events = ann.events()
      let first = Task { await ann.run() }
      await become(.open, events)
      let second = Task { await ann.run() }
      while ann.waitingRuns < 2 { await Task.yield() }
      #expect(ann.state == .open)
      first.cancel()
      await first.value
      await become(.closed, events)
      await become(.open, events)
      try await ann.room("tea").join()
      second.cancel()
      await second.value
      #expect(ann.state == .closed && ann.waitingRuns == 0)
    }
  }

  @Test func `a task that restarts at once connects again`() async throws {
    try await LiveRelay().serve { address in
      let ann = client(address)
      let events = ann.events()
      var task = Task { await ann.run() }
      for _ in 0..<5 {
        task.cancel()
        task = Task { await ann.run() }
      }
      await become(.open, events)
      task.cancel()
      await task.value
      #expect(ann.state == .closed)
    }
  }

  @Test func `a waiting run ends with its task, and close() ends all`() async throws {
    try await LiveRelay().serve { address in
      let ann = client(address)
      let events = ann.events()
      let first = Task { await ann.run() }
      await become(.open, events)
      let second = Task { await ann.run() }
      let third = Task { await ann.run() }
      while ann.waitingRuns < 3 { await Task.yield() }
      second.cancel()
      await second.value
      #expect(ann.state == .open && ann.waitingRuns == 2)
      ann.close()
      await first.value
      await third.value
      #expect(ann.state == .closed && ann.waitingRuns == 0)
    }
  }
}

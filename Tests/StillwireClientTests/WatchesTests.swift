// SPDX-License-Identifier: Apache-2.0
import RelayJSON
import Testing

@testable import StillwireClient

@Suite struct WatchesTests {
  private var watches = Watches()

  @Test mutating func `the lists of a session that has ended are forgotten`() {
    watches.requested("watch", ["users": ["bob"]], 1)
    watches.ended(1, isAccepted: true)
    watches.welcomed()
    #expect(watches.next() == ["bob"])
    watches.postponed(at: .zero, retryAfter: .seconds(1), random: 0)
    #expect(watches.retryAt == .seconds(1))
    watches.connectionLost()
    #expect(watches.retryAt == nil)
    #expect(watches.next() == nil)
    #expect(watches.users == ["bob"])
  }

  @Test mutating func `a list that unwatch has emptied is not sent`() {
    watches.requested("watch", ["users": ["bob"]], 1)
    watches.ended(1, isAccepted: true)
    watches.welcomed()
    watches.requested("unwatch", ["users": ["bob"]], 2)
    #expect(watches.next() == nil)
  }

  @Test mutating func `a cancelled request is not repeated`() {
    watches.requested("watch", ["users": ["bob"]], 1)
    watches.ended(1, isAccepted: false)
    watches.welcomed()
    #expect(watches.next() == nil)
  }
}

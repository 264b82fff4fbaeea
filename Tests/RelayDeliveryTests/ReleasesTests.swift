// SPDX-License-Identifier: Apache-2.0
import RelayDelivery
import RelayProtocol
import Testing

/// The bound of the waits after a hold, for each user.
@Suite struct ReleasesTests {
  private static let (ann, bob) = (UserID(unchecked: "ann"), UserID(unchecked: "bob"))
  private var releases = Releases()

  private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(rawValue: milliseconds) }

  @Test mutating func `the waits of a user count from the first one`() {
    #expect(releases.begin(of: Self.bob, now: at(5)) == at(5))
    releases.set(Self.bob, since: at(5), until: at(45))
    #expect(releases.begin(of: Self.bob, now: at(9)) == at(5))
    #expect(releases.begin(of: Self.ann, now: at(9)) == at(9))
    // The decision at the end of the wait may be late. The wait does not begin again.
    #expect(releases.begin(of: Self.bob, now: at(99)) == at(5))
    releases.set(Self.bob, since: at(5), until: nil)
    #expect(releases.begin(of: Self.bob, now: at(99)) == at(99))
    #expect(releases.nextEnd == nil)
  }

  @Test mutating func `a wait without a new decision is forgotten at its end`() {
    releases.set(Self.bob, since: at(5), until: at(45))
    releases.set(Self.ann, since: at(6), until: at(50))
    #expect(releases.nextEnd == at(45))
    releases.forget(by: at(44), except: [])
    #expect(releases.begin(of: Self.bob, now: at(44)) == at(5))
    releases.forget(by: at(45), except: [])
    #expect(releases.begin(of: Self.bob, now: at(45)) == at(45))
    #expect(releases.begin(of: Self.ann, now: at(45)) == at(6))
    #expect(releases.nextEnd == at(50))
  }

  @Test mutating func `a wait that is being decided is kept`() {
    releases.set(Self.bob, since: at(5), until: at(45))
    releases.forget(by: at(60), except: [Self.bob])
    #expect(releases.begin(of: Self.bob, now: at(60)) == at(5))
  }

  @Test(arguments: [-3_600_000, 3_600_000] as [Int64])
  mutating func `waits keep their length when the wall clock is set`(step: Int64) {
    releases.set(Self.bob, since: at(5), until: at(45))
    releases.move(by: .milliseconds(step))
    #expect(releases.begin(of: Self.bob, now: at(20 + step)) == at(5 + step))
    #expect(releases.nextEnd == at(45 + step))
  }

  @Test mutating func `a release is never later than now`() {
    releases.set(Self.bob, since: at(50), until: at(95))
    #expect(releases.begin(of: Self.bob, now: at(20)) == at(20))
  }
}

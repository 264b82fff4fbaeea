// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@Suite struct UserAccessTests {
  @Test(
    arguments: [
      (nil, nil, false), (nil, 1_000, false), (5_000, nil, true), (5_000, 4_999, true), (5_000, 5_000, false),
      (5_999, 5_000, false), (5_999, 4_999, true), (5_000, 9_000, false),
    ] as [(Int64?, Int64?, Bool)])
  func `older tokens and tokens without a time are revoked`(notBefore: Int64?, issued: Int64?, isRevoked: Bool) {
    let access = UserAccess(notBefore: notBefore.map(Timestamp.init(rawValue:)))
    #expect(access.revokes(tokenIssued: issued.map(Timestamp.init(rawValue:))) == isRevoked)
  }

  @Test(arguments: [(nil, true), (1_000, false), (1_001, true)] as [(Int64?, Bool)])
  func `a suspension ends at its time`(until: Int64?, isOn: Bool) {
    let now = Timestamp(rawValue: 1_000)
    let suspension = UserAccess.Suspension(until: until.map(Timestamp.init(rawValue:)))
    #expect(suspension.isOn(at: now) == isOn)
  }

  @Test func `the longest reason fits into a close frame`() {
    let longest = String(repeating: "x", count: UserAccess.Suspension.maxReasonLength)
    #expect(UserAccess.Suspension(reason: longest).text.utf8.count == 123)
  }
}

// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import RelayDelivery

/// The label of a push that Focus filters match.
@Suite struct CriteriaTests {
  @Test(
    arguments: [
      (nil, nil, nil, nil), ("a", "b", "c", "a"), ("a", nil, nil, "a"), (nil, "b", "c", "b"), (nil, "b", nil, "b"),
      (nil, nil, "c", "c"), ("a", nil, "c", "a"), ("", "b", "c", ""),
    ] as [(String?, String?, String?, String?)])
  func `the recipient's labels take precedence over the sender's`(
    room: String?, device: String?, sender: String?, expected: String?
  ) {
    #expect(Criteria.of(room: room, device: device, sender: sender) == expected)
  }

  @Test(
    arguments: [
      ([], nil, true), (["a"], nil, true), ([], "a", false), (["a"], "a", true), (["a", "b"], "b", true),
      (["a"], "A", false), (["a"], "", false), ([""], "", true), (["ab"], "a", false),
    ] as [([String], String?, Bool)])
  func `a filter passes its labels and messages without a label`(allow: [String], criteria: String?, passes: Bool) {
    #expect(FilterFacts(allow: allow, until: .at(0)).passes(criteria) == passes)
  }
}

// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@testable import RelayIdentity

@Suite struct PermissionsTests {
  static let room = RoomID(unchecked: "tea")
  static let granted = Permissions(grants: [grant("tea", .join)], watch: [], account: [])
  static let nowhere = Permissions(grants: [], watch: [], account: [])
  static let unsaid = Permissions(grants: nil, watch: [], account: [])

  private static func grant(_ match: String, _ can: Rights) -> Grant {
    guard let glob = Glob(match) else { preconditionFailure("\(match) is a pattern") }
    return Grant(match: glob, can: can)
  }

  /// Each row: the permissions, the `can` of the pattern, membership, open mode, and the expected rights.
  static let table: [(Permissions, Rights?, Bool, Bool, Rights)] = [
    // The token takes precedence.
    (granted, nil, false, false, .join), (granted, .send, true, false, .join), (nowhere, .send, true, false, []),
    // Then the pattern.
    (unsaid, .send, false, false, .send), (unsaid, [], true, false, []), (unsaid, .send, true, true, .send),
    // Then membership, or open mode.
    (unsaid, nil, true, false, .member), (unsaid, nil, false, false, []), (unsaid, nil, false, true, .standard),
    (unsaid, nil, true, true, .standard),
  ]

  @Test(arguments: table.indices)
  func `rights come from the token, the pattern, membership or open mode`(row: Int) {
    let (permissions, pattern, isMember, isOpen, rights) = Self.table[row]
    #expect(permissions.rights(in: Self.room, pattern: pattern, isMember: isMember, isOpen: isOpen) == rights)
  }

  @Test func `only a grant for every room gives a right everywhere`() {
    func givesJoin(_ grants: [Grant]?) -> Bool {
      Permissions(grants: grants, watch: [], account: []).givesEverywhere(.join)
    }
    #expect(givesJoin([Self.grant("*", .standard)]))
    #expect(givesJoin([Self.grant("tea", [.join, .send]), Self.grant("*", .join)]))
    #expect(!givesJoin([Self.grant("tea", .send), Self.grant("*", .join)]))
    #expect(!givesJoin([Self.grant("tea*", .join)]))
    #expect(!givesJoin([Self.grant("*", .send)]))
    #expect(!givesJoin([]))
    #expect(!givesJoin(nil))
  }
}

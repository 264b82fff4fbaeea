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

  static let memberRows = Self.table.indices.filter { Self.table[$0].2 }

  @Test(arguments: table.indices)
  func `rights come from the token, the pattern, membership or open mode`(row: Int) {
    let (permissions, pattern, isMember, isOpen, rights) = Self.table[row]
    #expect(permissions.rights(in: Self.room, pattern: pattern, isMember: isMember, isOpen: isOpen) == rights)
  }

  @Test(arguments: memberRows)
  func `the rights that many members need are those of each member`(row: Int) {
    let (permissions, pattern, _, isOpen, rights) = Self.table[row]
    for needed in [.join, .send, .history, [.join, .send], []] as [Rights] {
      let need = RoomNeed(needed, in: Self.room, pattern: pattern, isOpen: isOpen)
      #expect(need.isMet(by: permissions) == rights.isSuperset(of: needed))
    }
  }

  @Test func `members need rights in the room, and not in another one`() {
    let need = RoomNeed(.join, in: RoomID(unchecked: "jam"), pattern: .join, isOpen: false)
    #expect(!need.isMet(by: Self.granted) && !need.isMet(by: Self.nowhere) && need.isMet(by: Self.unsaid))
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

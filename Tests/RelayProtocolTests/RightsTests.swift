// SPDX-License-Identifier: Apache-2.0
import RelayProtocol
import Testing

@Suite struct RightsTests {
  private func grant(_ match: String, _ can: Rights) throws -> Grant {
    Grant(match: try #require(Glob(match)), can: can)
  }

  @Test func `the first grant that matches counts`() throws {
    let grants = [try grant("team.a", [.join]), try grant("team.*", [.join, .send]), try grant("*", [])]
    #expect(grants.rights(in: RoomID(unchecked: "team.a")) == .join)
    #expect(grants.rights(in: RoomID(unchecked: "team.b")) == [.join, .send])
    #expect(grants.rights(in: RoomID(unchecked: "else")) == [])
  }

  @Test func `a room that no grant matches gives no rights`() throws {
    #expect([try grant("a*", .standard)].rights(in: RoomID(unchecked: "b")) == [])
    #expect([Grant]().rights(in: RoomID(unchecked: "b")) == [])
  }

  @Test func `every right has one name`() {
    let all = Rights.named.reduce(into: Rights()) { $0.formUnion($1.right) }
    #expect(all.names == Rights.named.map(\.name))
    for (name, right) in Rights.named { #expect(Rights(name: name) == right) }
    #expect(Rights(name: "all") == nil)
    #expect(Rights.standard == all.subtracting([.moderate, .mentionAll]))
    #expect(Rights.member == all.subtracting([.moderate, .mentionAll, .urgent]))
  }
}

// SPDX-License-Identifier: Apache-2.0
import RelayCluster
import Testing

@testable import RelayNATS

@Suite struct BodyCompressionTests {
  private static func noise(_ count: Int) -> [UInt8] {
    var random = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  @Test(arguments: [32_001, 500_000, LogRecord.maxBody])
  func `a compressed body comes back`(_ count: Int) throws {
    let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 / 100) }
    let packed = try #require(BodyCompression.compressed(body))
    #expect(packed.count < count / 4)
    #expect(BodyCompression.body(of: packed, size: count) == body)
    #expect(BodyCompression.body(of: packed, size: count - 1) == nil)
    #expect(BodyCompression.body(of: packed, size: LogRecord.maxBody + 1) == nil)
    #expect(BodyCompression.body(of: packed, size: 0) == nil)
    #expect(BodyCompression.body(of: Array(packed.dropLast()), size: count) == nil)
    #expect(BodyCompression.body(of: [], size: count) == nil)
  }

  @Test func `small bodies, and bodies that do not become smaller, are sent as they are`() {
    #expect(BodyCompression.compressed([UInt8](repeating: 0, count: 32_000)) == nil)
    #expect(BodyCompression.compressed(Self.noise(100_000)) == nil)
    #expect(BodyCompression.compressed([]) == nil)
  }

  @Test func `a damaged block is an error or another body, and never more than its size`() throws {
    let packed = try #require(BodyCompression.compressed([UInt8](repeating: 7, count: 100_000)))
    for _ in 0..<2_000 {
      var damaged = packed
      for _ in 0..<3 { damaged[Int.random(in: damaged.indices)] = UInt8.random(in: 0...255) }
      #expect([nil, 100_000].contains(BodyCompression.body(of: damaged, size: 100_000)?.count))
      #expect([nil, 400].contains(BodyCompression.body(of: Self.noise(100), size: 400)?.count))
    }
  }
}

// SPDX-License-Identifier: Apache-2.0
// Tests the cache of pictures, its limits, and the hash.
import Crypto
import Foundation
import Testing

@testable import StillwireExtension

@Suite(.timeLimit(.minutes(15))) final class AvatarCacheTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "pictures-\(UUID().uuidString)")
  private let loads = Locked(0)
  private let time = Locked(Date(timeIntervalSince1970: 1_000_000))

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func cache(
    _ answer: Data = Data("a picture".utf8), scale: @escaping @Sendable (Data) throws -> Data = { $0 }
  ) -> AvatarCache {
    let (loads, time) = (loads, time)
    return AvatarCache(
      folder: folder, maxAge: .seconds(100), now: { time.current },
      load: { _ in
        loads.withLock { $0 += 1 }
        return answer
      }, scale: scale)
  }

  private var stored: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }

  @Test func `a picture is loaded once, and stored after it is scaled`() async throws {
    let cache = cache { Data($0.prefix(3)) }
    for _ in 0..<3 { #expect(try await cache.picture("https://a.example/1") == Data("a p".utf8)) }
    #expect(loads.current == 1)
    #expect(stored.count == 1)
    #expect(stored.allSatisfy { $0.isSHA256 })
  }

  @Test(arguments: [
    "http://a.example/1", "file:///etc/passwd", "https://", "", "https:///1", "data:image/png;base64,AA==",
    "https://a.example/a b",
  ])
  func `only https URLs are loaded`(_ url: String) async {
    let cache = cache()
    await #expect(throws: AvatarCache.Failure.notSecure) { try await cache.picture(url) }
    #expect(loads.current == 0)
  }

  @Test func `a picture has at most 1 MB`() async throws {
    let largest = Data(count: AvatarCache.maxSize)
    #expect(try await cache(largest).picture("https://a.example/1") == largest)
    let larger = cache(largest + [0])
    await #expect(throws: AvatarCache.Failure.tooLarge) { try await larger.picture("https://a.example/2") }
    #expect(stored.count == 1)
  }

  @Test func `a picture with another hash is refused, and a new hash loads it again`() async throws {
    let hash = SHA256Digest.hexadecimal(of: "a picture".utf8)
    let cache = cache()
    _ = try await cache.picture("https://a.example/1", sha256: hash)
    await #expect(throws: AvatarCache.Failure.wrongHash) {
      try await cache.picture("https://a.example/1", sha256: String(repeating: "0", count: 64))
    }
    _ = try await cache.picture("https://a.example/1", sha256: hash)
    #expect(loads.current == 2)
    #expect(stored.count == 1)
  }

  @Test func `a file that is no picture is not stored`() async {
    let cache = cache { _ in throw AvatarCache.Failure.notPicture }
    await #expect(throws: AvatarCache.Failure.notPicture) { try await cache.picture("https://a.example/1") }
    #expect(stored.isEmpty)
  }

  @Test func `old pictures are loaded again and removed`() async throws {
    let cache = cache()
    _ = try await cache.picture("https://a.example/1")
    time.withLock { $0 += 60 }
    _ = try await cache.picture("https://a.example/2")
    time.withLock { $0 += 60 }
    _ = try await cache.picture("https://a.example/2")
    #expect(loads.current == 2)
    #expect(stored.count == 2)
    _ = try await cache.picture("https://a.example/3")
    #expect(stored.count == 2)
    _ = try await cache.picture("https://a.example/1")
    #expect(loads.current == 4)
  }

  @Test func `a picture from the future, after a change of the clock, is loaded again`() async throws {
    let cache = cache()
    _ = try await cache.picture("https://a.example/1")
    time.withLock { $0 -= 1_000 }
    _ = try await cache.picture("https://a.example/1")
    #expect(loads.current == 2)
  }

  @Test func `the oldest pictures beyond the maximum are removed`() async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for number in 0..<AvatarCache.maxCount {
      let file = folder.appending(path: String(number))
      try Data().write(to: file)
      let modified = time.current - 50 + Double(number) / 20
      try FileManager.default.setAttributes([.modificationDate: modified], ofItemAtPath: file.path)
    }
    _ = try await cache().picture("https://a.example/1")
    #expect(stored.count == AvatarCache.maxCount)
    #expect(!stored.contains("0") && stored.contains("1"))
  }

  @Test func `after a sign-out the folder has no picture, and pictures are loaded again`() async throws {
    let cache = cache()
    cache.removeAll()
    _ = try await cache.picture("https://a.example/1")
    #expect(stored.count == 1)
    cache.removeAll()
    #expect(stored.isEmpty)
    _ = try await cache.picture("https://a.example/1")
    #expect(loads.current == 2 && stored.count == 1)
  }

  /// Before the first unlock of the phone the system locks the folder.
  @Test func `a picture that cannot be stored is shown nevertheless`() async throws {
    try Data().write(to: folder)
    let cache = cache()
    for _ in 0..<2 { #expect(try await cache.picture("https://a.example/1") == Data("a picture".utf8)) }
    #expect(loads.current == 2)
  }

  @Test func `a picture that nobody waits for is not stored`() async {
    let cache = cache()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await cache.picture("https://a.example/1")
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(stored.isEmpty)
  }

  @Test func `the hash is that of the library Crypto`() {
    for count in Array(0...260) + [1_000, 65_537] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ count) }
      let expected = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
      #expect(SHA256Digest.hexadecimal(of: bytes) == expected, "\(count) bytes")
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

/// Describes a copy of a node's file.
public struct SnapshotManifest: Hashable, Sendable {
  /// The size of a chunk, in bytes, except for the last one.
  public static let chunkSize = 512 << 10

  public let id: String
  /// The position in the copy. The log may remove the records before it, but not those after it.
  public let position: LogPosition
  /// The size of the copy, in bytes.
  public let size: UInt64
  /// The SHA-256 of the copy, as 64 hexadecimal digits.
  public let hash: String

  public init(id: String, position: LogPosition, size: UInt64, hash: String) {
    self.id = id
    self.position = position
    self.size = size
    self.hash = hash
  }

  public var chunks: Int { Int((size + UInt64(Self.chunkSize) - 1) / UInt64(Self.chunkSize)) }

  /// True if a node may continue from the loaded copy. The position in the file decides what is applied, so it must be
  /// the manifest's.
  /// - Parameters:
  ///   - file: The position in the copy.
  ///   - state: The state of the log, read after the manifest.
  public func fits(file: LogPosition, _ state: LogState) -> Bool {
    file == position && position.generation == state.generation && state.first <= position.sequence + 1
      && position.sequence <= state.last
  }

  /// The manifest as text: seven words.
  public var text: String {
    "\(id) \(position.generation) \(position.term) \(position.sequence) \(position.gid) \(size) \(hash)"
  }

  /// Parses ``text``. Returns `nil` for any other text.
  public init?(text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 7, text.utf8.count <= 320, words[0].isIdentifier(maxLength: LogRecord.maxGid),
      let generation = words[1].strictNumber().flatMap(Int64.init(exactly:)), let term = words[2].strictNumber(),
      let sequence = words[3].strictNumber(), words[4].isIdentifier(maxLength: LogRecord.maxGid),
      let size = words[5].strictNumber(), size <= 1 << 40,
      words[6].utf8.count == 64,
      words[6].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return nil }
    self.init(
      id: String(words[0]),
      position: LogPosition(generation: generation, term: term, sequence: sequence, gid: String(words[4])),
      size: size, hash: String(words[6]))
  }
}

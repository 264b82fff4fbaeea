// SPDX-License-Identifier: Apache-2.0

extension String {
  /// The name of which this text is most likely a misspelling. Returns `nil` if no name is similar.
  public func nearest(of names: some Sequence<String>) -> String? {
    let own = Array(lowercased().utf8.prefix(64))
    let ranked = names.sorted().map { (name: $0, distance: Self.distance(own, Array($0.lowercased().utf8))) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }), best.distance <= 1 + own.count / 4 else {
      return nil
    }
    return best.name
  }

  /// The number of bytes to change, insert or delete (Levenshtein distance).
  private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var row = Array(0...b.count)
    for (i, byte) in a.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, other) in b.enumerated() {
        let changed = diagonal + (byte == other ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = Swift.min(changed, row[j] + 1, diagonal + 1)
      }
    }
    return row[b.count]
  }
}

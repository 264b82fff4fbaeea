// SPDX-License-Identifier: Apache-2.0
// Limits the files of a folder, such as stored pictures and people.
import Foundation

extension URL {
  /// Removes the oldest files of this folder beyond a number, and those whose time of modification is not fresh.
  func removeOldFiles(beyond maxCount: Int, isFresh: (Date) -> Bool = { _ in true }) {
    let key = URLResourceKey.contentModificationDateKey
    let files =
      (try? FileManager.default.contentsOfDirectory(at: self, includingPropertiesForKeys: [key])) ?? []
    let newestFirst = files.map { file in
      (file, (try? file.resourceValues(forKeys: [key]))?.contentModificationDate ?? .distantPast)
    }.sorted { $0.1 > $1.1 }
    for (index, (file, time)) in newestFirst.enumerated() where index >= maxCount || !isFresh(time) {
      try? FileManager.default.removeItem(at: file)
    }
  }
}

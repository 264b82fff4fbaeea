// SPDX-License-Identifier: Apache-2.0
import Foundation

extension AvatarCache {
  /// Removes all stored pictures, for a sign-out. The pictures of the other accounts are loaded again.
  public func removeAll() { try? FileManager.default.removeItem(at: folder) }
}

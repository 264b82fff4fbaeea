// SPDX-License-Identifier: Apache-2.0
import GRDB
import RelayJSON
import RelayProtocol

/// A requested push in the columns of `messages`: one for each value that SQL reads, and one for the rest. All of them
/// are NULL for the default.
extension PushRequest {
  static let columns = """
    messages.push AS message_push, messages.push_kind AS message_push_kind,
    messages.push_category AS message_push_category, messages.push_collapse AS message_push_collapse
    """

  /// - Parameter row: Has the ``columns``.
  init(_ row: Row) throws {
    guard let rest = try row.bytesIfAny("message_push") else {
      self.init()
      return
    }
    let category: String? = row["message_push_category"]
    self.init(
      storedRest: rest, kind: try row.choiceIfAny("message_push_kind") ?? .message,
      category: category.map(CategoryID.init(unchecked:)),
      collapse: try row.choiceIfAny("message_push_collapse") ?? .message)
  }
}
